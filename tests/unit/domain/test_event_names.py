"""The other vocabulary of events is the one that the docs print."""

import re
from pathlib import Path

from pincite.domain.events import SPEC_NAMES, EventType, event_name

DOCS = Path(__file__).parents[3] / "docs" / "events.md"


def test_the_table_of_the_docs_is_the_one_in_force() -> None:
    table = DOCS.read_text(encoding="utf-8").partition("## Other names")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)
    told = {EventType(own): name for name, events in rows for own in re.findall(r"`([\w.]+)`", events)}
    assert told == SPEC_NAMES


def test_what_has_no_other_name_keeps_its_own() -> None:
    assert event_name(EventType.GAP_FOUND, "spec") == "gap.found"
    assert event_name(EventType.CHUNK_MADE) == "chunk.made"

"""Sentences of many kinds, sorted by hand: none that states a fact passes as a phrase that states nothing."""

import json
from pathlib import Path

from pincite.verification.verdicts import states_nothing

SENTENCES = json.loads((Path(__file__).parent / "data" / "sentences.json").read_text(encoding="utf-8"))


def test_no_fact_passes_as_a_connective() -> None:
    facts = [row["text"] for row in SENTENCES if row["fact"]]
    assert len(facts) > 40
    assert [text for text in facts if states_nothing(text)] == []
    assert states_nothing("In short,")

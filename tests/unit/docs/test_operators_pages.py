"""The operator's pages: each invariant of the design has its line, with a place and a test that exist."""

import re
from pathlib import Path

from typer.main import get_command

from pincite.settings import Settings
from pincite.surfaces.cli.app import app

ROOT = Path(__file__).parents[3]
LINE = re.compile(r"^\| (\d+) \| (?P<what>[^|]+) \| (?P<where>[^|]+) \| `(?P<test>[^`]+)` \|$", re.MULTILINE)
KEYWORDS = {
    1: "slice",
    2: "factual sentence",
    3: "evidence",
    4: "reserved before",
    5: "address",
    6: "invent",
    7: "kill -9",
    8: "another user",
    9: "offline",
    10: "secret",
}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_each_invariant_has_its_line_with_a_place_and_a_test() -> None:
    found = {int(m[1]): m for m in LINE.finditer(page("security-checklist.md"))}
    assert sorted(found) == list(range(1, 11))
    for number, m in found.items():
        assert KEYWORDS[number] in m["what"], number
        assert (ROOT / m["test"]).is_file(), m["test"]
        for place in re.findall(r"`([a-z_/]+\.py)`", m["where"]):
            assert (ROOT / "src" / "pincite" / place).is_file(), place


def test_what_operators_are_told_to_set_and_call_is_there() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]  # a group of click's
    for name in ("security-checklist.md", "runbook.md", "costs.md"):
        text = page(name)
        for command in re.findall(r"`pincite ([a-z]+)", text):
            assert command in commands, (name, command)
        for setting in re.findall(r"`((?:allow|log|max|llm|search|runs|webhook)_[a-z_]+)`", text):
            assert setting in Settings.model_fields, (name, setting)

"""What somebody meets in the first hour over a folder of notes: the program's own files work with its own commands."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.e2e.commands import Pincite

from pincite.audit.references import find_url
from pincite.domain.events import Event, EventType
from pincite.domain.statements import ONE_SOURCE_NOTE
from pincite.surfaces.progress import progress_of

NOTES = {
    "pump.md": "# Pump\n\nThe pump of Halden moves 40 litres a minute.\n\n## Care\n\nOil the pump every 50 hours.\n",
    "lamp.md": "# Lamp\n\nThe lamp of Halden came from Paris in 1911.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "notes"
    folder.mkdir(parents=True)
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_report_over_a_folder_is_audited_as_it_was_exported(pincite: Pincite, notes: Path) -> None:
    asked = ("research", "How many litres a minute does the pump of Halden move?", "--source", "local:notes")
    made = pincite(*asked, "-o", "own.md", "-o", "own.html")
    assert made.code == 0, made.err
    assert "local:notes/pump.md" in (notes.parent / "own.md").read_text()
    judged = pincite("audit", "own.md", "--json").json["sentences"]
    assert "supported" in {one["outcome"] for one in judged if "40 litres a minute" in one["text"]}, judged
    altered = (notes.parent / "own.md").read_text().replace("40 litres", "41 litres")
    (notes.parent / "own.md").write_text(altered)
    wrong = pincite("audit", "own.md")
    assert (wrong.code, "41 litres" in wrong.out) == (1, True)
    refused = pincite("check", "own.html", "--json")
    assert refused.json["error"]["message"] == "this is neither a bundle nor a report as JSON"
    assert "pincite bundle" in refused.json["error"]["hint"]


def test_that_all_has_one_source_is_said_once_and_the_report_passes_its_check(pincite: Pincite, notes: Path) -> None:
    """Where two sources were asked for, all files of a folder are of one publisher: every sentence would be marked."""
    (notes / "start.md").write_text(
        "# Pump\n\nStart the pump of Halden by its command:\n\n```sh\npump --start\npump --flow 40\n```\n"
    )
    asked = ("research", "How do I start the pump of Halden?", "--source", "local:notes", "-o", "own.json")
    made = pincite(*asked, environ={"PINCITE_INDEPENDENT_SHARE": "0.9"})
    assert made.code == 0, made.err
    assert "pump --start\n> pump --flow 40\n> ```" in made.out
    assert made.out.count(ONE_SOURCE_NOTE) == 1
    assert "(one source)" not in made.out
    assert "(90% were wanted)" in made.out
    checked = pincite("check", "own.json")
    assert checked.code == 0, checked.out


def test_code_carries_no_marks_and_the_report_passes_its_check(pincite: Pincite, notes: Path) -> None:
    """Where some sentences have two sources, the others say that they have one; inside of code that would break it."""
    known = "The pump of Halden starts within two seconds of its command."
    (notes / "trade").mkdir()
    (notes / "pincite-library.toml").write_text(
        '[[folders]]\npath = "."\nbase_url = "https://halden.example/"\n'
        '[[folders]]\npath = "trade"\nbase_url = "https://trade.example/"\n'
    )
    (notes / "trade" / "pump.md").write_text(f"# Pump trade\n\n{known}\n")
    (notes / "start.md").write_text(
        f"# Pump\n\n{known}\n\nStart the pump of Halden by its command:\n\n```sh\npump --start\npump --flow 40\n```\n"
    )
    asked = ("research", "How do I start the pump of Halden?", "--source", "local:notes", "-o", "own.json")
    made = pincite(*asked, environ={"PINCITE_INDEPENDENT_SHARE": "0.9"})
    assert made.code == 0, made.err
    assert "pump --start\n> pump --flow 40\n> ```" in made.out
    assert "by its command: (one source)" in made.out
    checked = pincite("check", "own.json")
    assert checked.code == 0, checked.out


def test_no_passages_are_offered_where_nothing_was_answered(pincite: Pincite, notes: Path) -> None:
    ended = pincite("research", "Who won the chess world title in 2031?", "--source", "local:notes")
    assert ended.code == 7
    assert "INSUFFICIENT_EVIDENCE" in ended.err
    assert "Every sentence with its passage" not in ended.err
    again = pincite("runs", "resume", "last")
    assert again.err.count("Run run_") == 1, again.err


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Pump\nlocal:notes/pump.md\naccessed 2026-11-23", "local:notes/pump.md"),
        ("Pump, www.pump.test/a", "https://www.pump.test/a"),
        ("Pump, https://pump.test/a.", "https://pump.test/a"),
        ("Sold at local: 5 shops/day", ""),
        ("A vocal:choir/one", ""),
    ],
)
def test_pages_of_a_library_are_addresses(text: str, url: str) -> None:
    assert find_url(text) == url


def test_one_of_a_kind_is_told_as_one() -> None:
    told = [
        Event(n, kind, "run_1", datetime(2026, 11, 23, tzinfo=UTC), {"claim_id": str(n), "url": f"https://a.test/{n}"})
        for n in range(2)
        for kind in (EventType.PAGE_FETCHED, EventType.CLAIM_VERIFIED, EventType.GAP_FOUND)
    ]
    assert progress_of(told[:3]).summary() == "1 read · 1 claim verified · 1 gap"
    assert progress_of(told).summary() == "2 read · 2 claims verified · 2 gaps"
    assert progress_of([]).summary() == "planning"

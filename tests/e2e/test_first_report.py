"""The first report: the whole path through the real command, over real pages."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, command, with_library


def report_of(home: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((home / "report.json").read_text(encoding="utf-8"))
    return report


def test_the_report_answers_with_numbered_references(demo_home: Path) -> None:
    text = (demo_home / "report.md").read_text(encoding="utf-8")
    assert QUESTION in text
    assert "[1]" in text
    assert "https://www.postgresql.org/docs/15/" in text
    cited = {int(n) for n in re.findall(r"\[(\d+)\]", text)}
    assert cited == set(range(1, max(cited) + 1))


def test_the_readme_shows_what_the_demo_prints(demo_home: Path) -> None:
    readme = (EXAMPLES.parent.parent / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("The report begins:")[2].split("```")[1]
    printed = " ".join((demo_home / "report.md").read_text(encoding="utf-8").split())
    beginning, reference = " ".join(shown.split()).split(" ... ")
    assert printed.startswith(beginning)
    assert reference in printed


def test_progress_is_one_plain_line_per_event(demo_home: Path) -> None:
    lines = (demo_home / "progress.txt").read_text(encoding="utf-8").splitlines()
    kinds = [line.split(" ", 1)[0] for line in lines]
    for expected in ("run.started", "plan.created", "search.completed", "page.fetched", "claim.verified"):
        assert expected in kinds
    assert "\x1b" not in "".join(lines)


def test_every_sentence_of_the_report_has_an_exact_quote(demo_home: Path) -> None:
    report = report_of(demo_home)
    claims = {claim["id"]: claim for claim in report["claims"]}
    sentences = report["summary"]["sentences"] + [s for part in report["sections"] for s in part["sentences"]]
    stated = [sentence for sentence in sentences if sentence["kind"] == "claim"]
    assert len(stated) >= 5
    found = [part for part in report["sections"] if part["kind"] == "findings"]
    assert all(len(part["sentences"]) > 1 for part in found), "what is left of a part that stands above is no section"
    for sentence in stated:
        assert sentence["references"]
        for claim_id in sentence["claim_ids"]:
            assert claims[claim_id]["evidence"][0]["quote"]


def test_check_passes_on_the_untouched_report(demo: Pincite) -> None:
    ended = demo("check", "report.json")
    assert ended.code == 0, ended.out


def _flip(text: str) -> str:
    """`text` with its first digit, or else its first letter, changed."""
    for index, character in enumerate(text):
        if character.isdigit():
            return text[:index] + str((int(character) + 1) % 10) + text[index + 1 :]
    return ("X" if text[0] != "X" else "Y") + text[1:]


@pytest.mark.parametrize("target", ["quote", "body_sha256", "sentence", "reference", "markdown"])
def test_check_fails_when_one_character_changes(demo: Pincite, demo_home: Path, tmp_path: Path, target: str) -> None:
    report = report_of(demo_home)
    evidence = report["claims"][0]["evidence"][0]
    sentence = report["summary"]["sentences"][0]
    match target:
        case "quote" | "body_sha256":
            evidence[target] = _flip(evidence[target])
        case "sentence":
            sentence["text"] = sentence["text"] + " It has 4711 parts."
        case "reference":
            sentence["references"] = [99]
        case "markdown":
            report["markdown"] = _flip(report["markdown"])
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    ended = demo("check", str(file))
    assert ended.code == 1, ended.out


def test_check_without_the_stored_pages_is_unchecked_not_clean(
    pincite: Pincite, demo_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    shutil.copy(demo_home / "report.json", file)
    ended = pincite("check", str(file))
    assert ended.code == 1
    assert "unchecked" in ended.out
    assert "pincite bundle RUN -o evidence.wacz" in ended.out, "it says which file is enough"


def test_the_same_question_gives_the_same_report(demo_home: Path, tmp_path: Path) -> None:
    again = command(tmp_path, tmp_path)
    ended = again(
        *("research", QUESTION, "--source", f"local:{EXAMPLES}", "--json"), environ={"PINCITE_EMBEDDINGS": "auto"}
    )
    assert ended.code == 0, ended.err
    assert _lasting(ended.json) == _lasting(report_of(demo_home))


def _lasting(report: dict[str, Any]) -> dict[str, Any]:
    """The report without run id, times, metrics and the ids made from them (architecture §6)."""
    text = json.dumps({k: v for k, v in report.items() if k not in {"run_id", "report_id", "created_at", "metrics"}})
    text = re.sub(r"snap_[0-9a-f]{32}", "snap", text)
    text = re.sub(r"\d{4}-\d\d-\d\d(T[0-9:.]+(Z|\+00:00))?", "day", text)
    lasting: dict[str, Any] = json.loads(text)
    return lasting


def test_runs_list_show_and_export(demo: Pincite) -> None:
    assert QUESTION in demo("runs", "list").out
    shown = demo("runs", "show", "last")
    assert shown.code == 0, shown.err
    for word in ("complete,", "Plan", "Pages", "Claims"):
        assert word in shown.out
    exported = demo("runs", "export", "last", "--format", "bib")
    assert exported.code == 0, exported.err
    assert "@" in exported.out


def test_a_finished_run_can_be_resumed_without_new_calls(demo: Pincite, demo_home: Path) -> None:
    ended = demo("runs", "resume", "last", "--json")
    assert ended.code == 0, ended.err
    assert _lasting(ended.json) == _lasting(report_of(demo_home))


def test_report_html_is_self_contained(demo_home: Path) -> None:
    page = (demo_home / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "Content-Security-Policy" in page


def test_index_then_search_and_research_without_naming_a_source(pincite: Pincite) -> None:
    indexed = pincite("index", str(EXAMPLES))
    assert indexed.code == 0, indexed.err
    found = pincite("search", "autovacuum vacuum threshold", "--json")
    assert found.code == 0, found.err
    assert "postgresql.org" in found.json["results"][0]["url"]
    answered = pincite("research", "What is the default of autovacuum_vacuum_threshold?")
    assert answered.code == 0, answered.err
    assert "50" in answered.out


def test_indexing_says_what_it_made_and_where_no_page_was(pincite: Pincite, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    empty = pincite("index", str(folder))
    assert (empty.code, "No page was found there" in empty.err, "Now:" in empty.err) == (0, True, False)
    (folder / "oncall.md").write_text("# On call\n\nWhoever is on call answers a page within ten minutes.\n")
    words = pincite("index", str(folder), "--words-only")
    assert "Now:" in words.err
    assert ": 1 page, 1 passage (" in words.out
    assert "vector" not in words.out
    by_meaning = {"PINCITE_EMBEDDINGS": "auto"}
    assert "; 1 vector made" in pincite("index", str(folder), environ=by_meaning).out
    assert "vector" not in pincite("index", str(folder), environ=by_meaning).out, "they are made once"


def test_nothing_found_is_said_and_has_its_own_exit_code(pincite: Pincite, demo_home: Path, tmp_path: Path) -> None:
    with_library(tmp_path / "home", demo_home)
    ended = pincite("research", "Who won the 1954 football world cup final in Bern?", "--source", f"local:{EXAMPLES}")
    assert ended.code == 7, ended.out


def test_a_plain_folder_is_a_library_with_names_of_its_own(pincite: Pincite, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "deploy.md").write_text("# Deploying\n\nThe release train leaves every Tuesday at 14:00 UTC.\n")
    (folder / "oncall.txt").write_text("Whoever is on call answers a page within ten minutes.\n")
    (folder / "noise.html").write_bytes(b"\x00\x01\x02 not a page")
    ended = pincite("research", "When does the release train leave?", "--source", f"local:{folder}", "--json")
    assert ended.code == 0, ended.err
    assert "Tuesday at 14:00 UTC" in ended.json["markdown"]
    assert ended.json["references"][0]["url"] == "local:handbook/deploy.md"

"""`pincite audit` as a user types it, over the bundled pages, with nothing fetched."""

import json
import zipfile
from pathlib import Path
from typing import Protocol

import pytest
from tests.e2e.commands import EXAMPLES

from pincite.surfaces.cli.app import run
from pincite.testing.web import html, write_warc

PAGE = "https://www.postgresql.org/docs/15/sql-vacuum.html"
TRUE = f"# Notes\n\nVACUUM reclaims storage occupied by dead tuples.[1]\n\n## Sources\n\n1. {PAGE}\n"
FALSE = TRUE.replace("dead tuples", "8,190 dead tuples")
PARAPHRASE = TRUE.replace("reclaims storage occupied by", "gives back the space of")


class Audit(Protocol):
    def __call__(self, text: str, *options: str) -> tuple[int, str]: ...


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Audit:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))

    def call(text: str, *options: str) -> tuple[int, str]:
        report = tmp_path / "report.md"
        report.write_text(text, encoding="utf-8")
        code = run(["audit", str(report), "--sources", str(EXAMPLES), *options])
        return code, capsys.readouterr().out

    return call


def test_a_true_report_passes_and_a_false_one_fails(audit: Audit, tmp_path: Path) -> None:
    assert audit(TRUE)[0] == 0
    annotated = tmp_path / "annotated.html"
    code, out = audit(FALSE, "-o", str(annotated))
    assert code == 1
    assert "8,190 is nowhere on the page" in out
    assert "<mark" in annotated.read_text(encoding="utf-8")


def test_json_and_the_floor_for_ci(audit: Audit) -> None:
    code, out = audit(FALSE, "--json", "--fail-under", "0")
    assert code == 0
    assert json.loads(out)["counts"] == {"not_found": 1, "not_a_claim": 1}
    assert audit(FALSE, "--fail-under", "50")[0] == 1


def test_what_nobody_judged_has_the_exit_code_of_what_is_not_known(audit: Audit) -> None:
    code, out = audit(PARAPHRASE)
    assert code == 7
    assert "0 of 1 statements judged: 1 is not in its sources' words and nobody judged it (" in out
    code, out = audit(PARAPHRASE, "--json", "--judge", "none", "--strict")
    plain = json.loads(out)
    assert (code, plain["clean"], plain["strict"], plain["judge"]) == (7, False, True, "")
    assert plain["counts"] == {"unchecked": 1, "not_a_claim": 1}


def test_a_text_without_a_claim_has_an_exit_code_of_its_own(audit: Audit) -> None:
    code, out = audit("hello")
    assert code == 7
    assert out.startswith("Nothing to check")
    assert audit("hello", "--fail-under", "50")[0] == 7
    unread = TRUE.replace(PAGE, "https://www.never-given.org/page")
    assert audit(unread)[0] == 7
    assert audit(unread, "--fail-under", "50")[0] == 1
    assert audit(f"hello\n\n## Sources\n\n1. {PAGE}\n")[0] == 1, "an entry is never cited"


def test_a_missing_file_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "nowhere.md", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("kind", ["warc", "wacz"])
def test_the_pages_may_come_from_an_archive(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    url = "https://www.havel-park.com/about"
    words = "It has ninety-nine turbines and a visitor centre that opens every day of the week. " * 6
    warc = tmp_path / "pages.warc.gz"
    write_warc(warc, {url: html("Park", f"The Havel Wind Park makes 398 MW. {words}")})
    archive = warc
    if kind == "wacz":
        archive = tmp_path / "pages.wacz"
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.write(warc, "archive/pages.warc.gz")
    report = tmp_path / "report.md"
    report.write_text(f"The Havel Wind Park makes 412 MW. [1]\n\n[1]: {url}\n", encoding="utf-8")
    assert run(["audit", str(report), "--sources", str(archive), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"] == {"contradicted": 1}


@pytest.mark.parametrize("named", ["bundled", f"local:{EXAMPLES}"])
def test_the_pages_may_be_named_as_sources_are(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    report = tmp_path / "report.md"
    report.write_text(TRUE, encoding="utf-8")
    assert run(["audit", str(report), "--sources", named, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"supported": 1, "not_a_claim": 1}


def test_a_folder_is_meant_before_a_library_that_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("bundled").mkdir()
    Path("bundled/vacuum.md").write_text(f"URL: {PAGE}\n\nVACUUM reclaims storage.", encoding="utf-8")
    Path("report.md").write_text(TRUE.replace("dead tuples", "8,190 dead tuples"), encoding="utf-8")
    assert run(["audit", "report.md", "--sources", "bundled", "--json"]) == 1
    (entry,) = json.loads(capsys.readouterr().out)["references"]
    assert "vacuum.md" in entry["reason"]


def test_the_pages_may_be_files_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "park-opens.txt").write_text("The Havel Wind Park makes 398 MW. It opened in March 2019.", "utf-8")
    (folder / "river.html").write_bytes(html("The Orla and its lake", "The Orla is 512 kilometres long."))
    report = tmp_path / "report.md"
    report.write_text(
        "The Havel Wind Park makes 412 MW. [1] The Orla is 512 kilometres long. [2]\n\n"
        "[1]: https://www.wind-news.com/2019/park-opens\n[2]: River atlas, The Orla and its lake.\n",
        encoding="utf-8",
    )
    assert run(["audit", str(report), "--sources", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"contradicted": 1, "supported": 1}
    assert [entry["reason"] for entry in found["references"]] == [
        "read from park-opens.txt, by its file name",
        "read from river.html, by its title",
    ]

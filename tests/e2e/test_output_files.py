"""Files that commands are asked to write: refused before anything is done, and never at the cost of the result."""

import json
from pathlib import Path

import pytest
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite

from pincite.surfaces.cli.app import run
from pincite.surfaces.cli.options import report_formats

NOWHERE = "no/such/folder"
LOCAL = ("--source", f"local:{EXAMPLES}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("research", QUESTION, *LOCAL, "-o", f"{NOWHERE}/report.html"), "no folder"),
        (("research", QUESTION, *LOCAL, "-o", "report.xyz"), "no format 'xyz'"),
        (("research", QUESTION, *LOCAL, "--bundle", f"{NOWHERE}/b.wacz"), "no folder"),
        (("research", QUESTION, *LOCAL, "--bundle", "b.zip"), "WACZ"),
        (("research", QUESTION, *LOCAL, "-o", "."), "is a folder"),
        (("audit", "report.md", "-o", f"{NOWHERE}/audit.html"), "no folder"),
        (("audit", "report.md", "-o", "audit.pdf"), "no format 'pdf'"),
        (("batch", "questions.jsonl", "-o", f"{NOWHERE}/answers.jsonl"), "no folder"),
        (("bundle", "last", "-o", "x.zip"), "WACZ"),
        (("bundle", "last", "-o", f"{NOWHERE}/x.wacz"), "no folder"),
        (("runs", "export", "last", "-o", "x.xyz"), "no format 'xyz'"),
        (("runs", "export", "last", "--format", "wacz", "-o", "x.zip"), "WACZ"),
        (("scope", "export", "local", "-o", f"{NOWHERE}/rows.jsonl"), "no folder"),
    ],
    ids=lambda value: " ".join(value[:1] + value[-1:]) if isinstance(value, tuple) else "",
)
def test_a_file_that_can_not_be_written_is_refused_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PINCITE_HOME", str(home))
    (work / "report.md").write_text("The sky is blue. [1]\n\n[1] https://example.org/sky\n")
    (work / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n")
    code = run([*arguments, "--json"])
    error = json.loads(capsys.readouterr().out)["error"]
    assert (code, error["code"]) == (2, "INVALID_INPUT"), error
    assert said in error["message"]
    assert not home.exists(), "something was done before"
    assert {path.name for path in work.iterdir()} == {"report.md", "questions.jsonl"}


def test_the_formats_that_are_listed_are_all_there_are(demo: Pincite, demo_home: Path) -> None:
    hint = demo("runs", "export", "last", "-o", "x.xyz", "--json").json["error"]["hint"]
    assert set(report_formats()) == set(hint.removeprefix("Known: ").removesuffix(".").split(", "))
    assert "wacz" in report_formats()
    for format_ in ("wacz", "ris"):
        target = demo_home / f"exported.{format_}"
        assert demo("runs", "export", "last", "-o", target.name).code == 0
        assert target.stat().st_size > 0


def test_a_file_that_fails_at_the_end_takes_nothing_from_the_result(pincite: Pincite, tmp_path: Path) -> None:
    """/dev/full takes no byte: a disk that filled up while the run went on."""
    work = tmp_path / "work"
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    for name in ("full.html", "full.wacz"):
        (work / name).symlink_to("/dev/full")
    files = ("full.html", "other.md", "full.wacz", "other.wacz")
    named = [part for name in files for part in ("-o", name)]
    ended = pincite("research", QUESTION, *LOCAL, "--json", *named)
    assert ended.json["claims"], "the report is printed"
    assert (work / "other.md").read_text().startswith("# ")
    assert (work / "other.wacz").stat().st_size > 0
    assert ended.err.count("can't be written: No space left") == 2
    assert ended.code == 2
    (work / "audit.html").symlink_to("/dev/full")
    audited = pincite("audit", "other.md", "--sources", str(EXAMPLES), "--json", "-o", "audit.html")
    assert audited.json["sentences"]
    assert "can't be written: No space left" in audited.err
    assert audited.code == 2

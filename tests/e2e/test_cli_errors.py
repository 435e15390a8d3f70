"""Bad input: each a clear sentence, a stable code, the right exit code, and nothing lost."""

import json
import sys
from pathlib import Path

import pytest
from tests.e2e.commands import EXAMPLES, Pincite

from pincite.surfaces.cli.app import run

ERRORS = [
    (("research", "  "), 2, "INVALID_TOPIC"),
    (("research", "?!"), 2, "INVALID_TOPIC"),
    (("research", "x", "--source", "local:/nowhere/at/all"), 2, "LIBRARY_NOT_FOUND"),
    (("research", "x", "--source", "local"), 2, "LIBRARY_NOT_FOUND"),
    (("research", "x", "--since", "yesterday"), 2, "INVALID_INPUT"),
    (("research", "x", "--since", "2026-02-01", "--until", "2026-01-01"), 2, "INVALID_INPUT"),
    (("research", "x", "--url", "file:///etc/passwd"), 2, "INVALID_URL"),
    (("research", "x", "--url", "http://127.0.0.1/"), 3, "BLOCKED_ADDRESS"),
    (("research", "x", "--profile", "huge"), 2, "INVALID_INPUT"),
    (("search", "", "--source", f"local:{EXAMPLES}"), 2, "INVALID_TOPIC"),
    (("search", "x", "--source", "altavista"), 2, "INVALID_INPUT"),
    (("search", "x", "--source", "bing"), 2, "INVALID_SETTING"),
    (("fetch", "gopher://example.org/"), 2, "INVALID_URL"),
    (("fetch", "http://169.254.169.254/latest/meta-data/"), 3, "BLOCKED_ADDRESS"),
    (("fetch", "http://user:secret@example.org/"), 2, "INVALID_URL"),
    (("runs", "show", "run_none"), 2, "RUN_NOT_FOUND"),
    (("runs", "show", "last"), 2, "RUN_NOT_FOUND"),
    (("runs", "resume", "run_none"), 2, "RUN_NOT_FOUND"),
    (("check", "nowhere.json"), 2, "INVALID_INPUT"),
    (("index", "/nowhere/at/all"), 2, "LIBRARY_NOT_FOUND"),
    (("research",), 2, "INVALID_INPUT"),
    (("research", "x", "--no-such-option"), 2, "INVALID_INPUT"),
]


@pytest.mark.parametrize(("arguments", "code", "name"), ERRORS, ids=[" ".join(a)[:40] for a, _, _ in ERRORS])
def test_bad_input_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    name: str,
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    ended = run([*arguments, "--json"])
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert (ended, error["code"]) == (code, name), err
    assert error["message"]
    assert "secret" not in out + err


@pytest.mark.parametrize(
    "arguments",
    ["serve", "ui --no-browser", "keys create me", "keys list", "keys revoke me", "share serve"],
)
def test_each_command_of_the_server_names_the_packages_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str
) -> None:
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "pincite.surfaces.http.serving", raising=False)
    ended = run(arguments.split())
    _, err = capsys.readouterr()
    assert ended == 2, err
    said, _, hint = err.partition("\n")
    assert said == "Error: the server needs FastAPI, Jinja2 and uvicorn [EXTRA_NOT_INSTALLED]"
    assert hint.startswith("Hint: Run: pip install")
    assert "[server]" in hint


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (
            ("fetch", "notes/gone.html"),
            "notes/gone.html is neither a file nor a URL",
            "a file of yours or a full http://",
        ),
        (("fetch", "."), ". is a folder", "pincite index ."),
        (("fetch", "a" * 5_000), "a" * 100, "a file of yours or a full http://"),
        (("summarize", "gone.html"), "gone.html is neither a file nor a URL", "a file of yours or a full http://"),
        (("summarize", "."), ". is a folder", "pincite index ."),
        (("fetch", "http://1.1.1.1:9321/"), "port 9321 is not one", "PINCITE_ALLOW_PORTS=9321"),
        (("fetch", "http://127.0.0.1/"), "the host does not lead", "PINCITE_ALLOW_NETWORKS=CIDR"),
        (
            ("search", "x", "--source", "bundeld"),
            "there is no search provider 'bundeld'",
            "that come with Pincite: bundled",
        ),
        (("batch", "gone.jsonl"), "gone.jsonl can't be read: No such file or directory", "a file of JSON lines"),
        (("fetch", "example.org/a"), "example.org/a is neither a file nor a URL", "as in https://example.org/a"),
        (("fetch", ""), "neither a file nor a URL was named", "a file of yours or a full http://"),
        (("audit", ""), "no report was named", "Give a file, - or a URL."),
        (("index", "gone"), "there is no library at", "Check the path"),
        (("eval", "gone.jsonl"), "gone.jsonl can't be read: No such file or directory", "a file of JSON lines"),
        (
            ("research", "How", "fast?"),
            'Got unexpected extra argument(s) (fast?). What is asked goes in quotation marks: pincite research "..."',
            "--help",
        ),
        (("search", "x", "--source", "pages"), "there is no search provider 'pages'", "called so here is local:pages."),
        (("research", "x", "--source", ""), "--source names nothing", "leave the option out"),
        (("fetch", "pages/a", "--source", ","), "--source names nothing", "leave the option out"),
        (("search", "x", "--include-domain", ""), "--include-domain names nothing", "leave the option out"),
        (("research", "x", "--output-schema", "gone.json"), "gone.json can't be read: No such file", ""),
        (("runs", "show", "last"), "there are no runs yet", "pincite research makes one"),
        (("research", "x", "--length", "huge"), "Invalid value for '--length': 'huge' is not one of", "--help"),
    ],
)
def test_what_was_typed_is_told_in_its_own_words(
    pincite: Pincite, tmp_path: Path, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    (tmp_path / "work" / "pages").mkdir()
    error = pincite(*arguments, "--json").json["error"]
    assert error["message"].startswith(said)
    assert hint in error["hint"]


@pytest.mark.parametrize("limit", [("--language", "klingon"), ("--include-domain", "not a domain")])
def test_a_limit_that_is_none_is_refused_before_a_run_is_made(pincite: Pincite, limit: tuple[str, str]) -> None:
    asked = pincite("research", "How fast?", "--source", f"local:{EXAMPLES}", *limit)
    assert (asked.code, asked.err.count("\n")) == (2, asked.err.count("Error:") + asked.err.count("Hint:"))
    assert "there are no runs yet" in pincite("runs", "show", "last").err


def test_doctor_tries_whether_a_home_can_be_written(pincite: Pincite) -> None:
    """Permissions of /proc let root write there; the file system does not."""
    if not Path("/proc/self").exists():
        pytest.skip("no /proc on this system")
    assert pincite("doctor", "--json", "--home", "/proc/home").json["Home"]["writable"].startswith("NO: /proc can't")


def test_no_command_is_listed_with_half_a_sentence(pincite: Pincite) -> None:
    for group in ((), ("runs",), ("keys",), ("share",), ("cache",), ("scope",), ("models",)):
        listed = pincite(*group, "--help").out
        assert "..." not in listed.partition("Examples:")[0].replace("(runs_keep_days, ...)", "").replace(
            "[ARGS]...", ""
        )
        assert max(map(len, listed.splitlines())) <= 80


def test_an_error_for_a_person_goes_to_stderr(pincite: Pincite) -> None:
    ended = pincite("research", "  ")
    assert ended.code == 2
    assert ended.out == ""
    assert "INVALID_TOPIC" in ended.err
    assert "Hint:" in ended.err
    assert "Traceback" not in ended.err


def test_a_home_that_is_a_file_is_named(pincite: Pincite, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    ended = pincite("runs", "list", "--json", environ={"PINCITE_HOME": str(file)})
    assert (ended.code, ended.json["error"]["code"]) == (4, "STORAGE_UNAVAILABLE")


def test_doctor_names_what_is_missing_and_no_secret(pincite: Pincite) -> None:
    ended = pincite("doctor", environ={"TAVILY_API_KEY": "canary-51f0", "PINCITE_MAX_PAGEZ": "3"})
    assert ended.code == 0, ended.err
    assert "canary-51f0" not in ended.out + ended.err
    assert "PINCITE_MAX_PAGEZ" in ended.out

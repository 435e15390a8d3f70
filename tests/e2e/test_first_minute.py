"""What somebody meets who has just installed it: the greeting, the demo, help, completion, narrow and old terminals."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, clean_environment, command, with_library

from pincite.surfaces.cli.app import GROUPS, app

COMPLETIONS = {
    "bash": {"_PINCITE_COMPLETE": "complete_bash", "COMP_WORDS": "pincite de", "COMP_CWORD": "1"},
    "zsh": {"_PINCITE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "pincite de"},
    "fish": {
        "_PINCITE_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": "pincite de",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    },
}


def test_alone_it_greets_and_says_what_to_type(pincite: Pincite) -> None:
    ended = pincite()
    assert ended.code == 0
    for first in ("pincite demo", "pincite ui", "pincite setup", "pincite --help"):
        assert first in ended.out
    assert len(ended.out.splitlines()) <= 8


def test_the_demo_prints_a_report_writes_it_and_says_what_is_next(tmp_path: Path, demo_home: Path) -> None:
    home = with_library(tmp_path / "home", demo_home)
    ended = command(home, tmp_path)("demo")
    assert ended.code == 0, ended.err
    assert ended.out.startswith(f"# {QUESTION}")
    assert "a.sentence" in (tmp_path / "report.html").read_text(encoding="utf-8")
    lines = ended.err.splitlines()
    assert len(lines) <= 12, ended.err
    assert [line.split()[1] for line in lines if line.startswith("  pincite ")] == ["ui", "research", "setup"]


def test_the_demo_works_where_no_home_can_be_kept(tmp_path: Path) -> None:
    taken = tmp_path / "a-file"
    taken.write_text("", encoding="utf-8")
    ended = command(taken, tmp_path)("demo", "What is the default isolation level in PostgreSQL?", "-o", "r.md")
    assert ended.code == 0, ended.err
    assert "Set PINCITE_HOME" in ended.err
    assert (tmp_path / "r.md").is_file()


@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_help_has_every_command_in_a_group_and_examples(pincite: Pincite, asked: str) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    known = {info.name for info in app.registered_commands} | {info.name for info in app.registered_groups}
    assert len(grouped) == len(set(grouped))
    text = pincite(asked).out
    for name in known:
        assert f"\n  {name} " in text
    assert "Examples:" in text
    for title in GROUPS:
        assert f"{title}:" in text
    assert "--source" in pincite("research", asked).out


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_shells_complete_commands(pincite: Pincite, shell: str) -> None:
    assert "_PINCITE_COMPLETE" in pincite("completion", shell).out
    assert "demo" in pincite(environ=COMPLETIONS[shell]).out


def on_a_terminal(home: Path, columns: int, *arguments: str, **environ: str) -> str:
    """What a terminal of so many columns shows of a command."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**clean_environment(home), "TERM": "xterm-256color", **environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=home
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side has gone
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(60) == 0, shown
    return shown.decode()


def test_a_narrow_terminal_shows_each_sentence_once_and_no_colour(tmp_path: Path, demo_home: Path) -> None:
    home = with_library(tmp_path, demo_home)
    shown = on_a_terminal(home, 40, "research", QUESTION, "--source", f"local:{EXAMPLES}", NO_COLOR="1")
    sentences = [line for line in shown.replace("\r", "").splitlines() if line.endswith("]") and len(line) > 80]
    assert sentences
    for line in sentences:
        assert shown.count(line) == 1
    assert not re.search(r"\x1b\[(3|9|4|10)[0-7]m", shown), "NO_COLOR"


def test_questions_with_windows_line_ends_on_an_old_terminal(tmp_path: Path, demo_home: Path) -> None:
    home = with_library(tmp_path, demo_home)
    question = "\ufeffWhat is the default isolation level in PostgreSQL?\r\n"
    done = subprocess.run(
        [sys.executable, "-m", "pincite", "research", "-", "--source", "bundled"],
        capture_output=True,
        input=question.encode(),
        env={**clean_environment(home), "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"},
        cwd=home,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode("ascii").splitlines()[0].endswith("default isolation level in PostgreSQL?")

"""Ctrl-C at any instant: one line, exit 130, nothing that was stored is lost, and the way on is named."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests import warm
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, clean_environment, command, with_library

SOON_S = 30
"""Far above what leaving takes (a second), far below what the work that is stopped would take."""
AT_IMPORT = """
import os, signal, sys

STAGE = sys.argv.pop(1)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == STAGE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from pincite.__main__ import main
main()
"""


def started(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a group of its own, which a terminal would send the signal to."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(home),
        cwd=home,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test runner may ignore it
    )


def interrupted(process: subprocess.Popen[str]) -> list[str]:
    """The lines on stderr of a process that is interrupted now, as it must end."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=SOON_S)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    return err.splitlines()


@pytest.mark.parametrize(
    "module",
    [
        "pincite.surfaces",
        "typer",
        "pincite.engine",
        "pydantic",
        "sqlalchemy",
        "pincite.library.local",
    ],
)
def test_ctrl_c_while_it_starts(tmp_path: Path, module: str) -> None:
    """The signal comes in the middle of an import: of the command itself, of its engine, of a library."""
    research = ("research", QUESTION, "--source", f"local:{EXAMPLES}", "-v")
    process = started(tmp_path, "-c", AT_IMPORT, module, *research)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, ""), err
    assert re.fullmatch(r"Stopped[^\n]*\n", err), err


def pages_indexed(home: Path) -> int:
    """How many pages are in the index of the home so far."""
    for index in (home / "libraries").glob("*.sqlite"):
        with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as reader, reader:
            try:
                return int(reader.execute("SELECT count(*) FROM pages").fetchone()[0])
            except sqlite3.OperationalError:  # it is just being made
                return 0
    return 0


@pytest.mark.parametrize("first", ["index", "research"])
def test_what_was_indexed_stays(tmp_path: Path, first: str) -> None:
    library = tmp_path / "pages"
    library.mkdir()
    for number in range(600):
        text = f"# Lighthouse {number}\n\n" + f"The lighthouse {number} is {number} metres tall. " * 50
        (library / f"{number:04}.md").write_text(text)
    arguments = {"index": ("index", "pages"), "research": ("research", "How tall is it?", "--source", "local:pages")}
    process = started(tmp_path, "-m", "pincite", *arguments[first])
    while not (before := pages_indexed(tmp_path)):
        assert process.poll() is None, "it ended before it was stopped"
    *told, last = interrupted(process)
    if first == "index":
        assert (told, last) == ([], "Stopped; pages that were indexed are kept. The same command goes on.")
    else:  # its run is there, whether or not it was told of a library that it reads first
        assert re.fullmatch(r"Stopped; what was read is kept. Go on with: pincite runs resume run_\S+", last)
    assert before <= pages_indexed(tmp_path) < 600
    done = command(tmp_path, tmp_path)("index", "pages", "--json").json[0]
    assert done["pages"] == 600
    assert done["unchanged"] >= before
    assert done["skipped"] == []


@pytest.mark.parametrize("event", ["run.started", "search.completed"])
def test_ctrl_c_names_the_run(demo_home: Path, tmp_path: Path, event: str) -> None:
    with_library(tmp_path, demo_home)
    process = started(tmp_path, "-m", "pincite", "research", QUESTION, "--source", f"local:{EXAMPLES}", "-v")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(event):
            break
    last = interrupted(process)[-1]
    assert re.fullmatch(r"Stopped; what was read is kept. Go on with: pincite runs resume run_\S+", last)


HANGS = {
    "a thread": "run_async(lambda: anyio.to_thread.run_sync(hang))",
    "the event loop": "run_async(blocked)",
    "no event loop": "hang()",
}


@pytest.mark.parametrize("name", HANGS)
def test_what_does_not_end_is_left(tmp_path: Path, name: str) -> None:
    code = f"""
import sys, time
import anyio, anyio.to_thread, typer
from pincite.surfaces.cli.run import INTERRUPTS, report_errors, run_async

def hang():
    print("here", file=sys.stderr, flush=True)
    while True:
        try:
            time.sleep(3600)
        except KeyboardInterrupt:
            pass

async def blocked():
    hang()

try:
    with INTERRUPTS.installed(), report_errors(as_json=False):
        {HANGS[name]}
except typer.Exit as leave:
    sys.exit(leave.exit_code)
"""
    process = started(tmp_path, "-c", code)
    assert process.stderr is not None
    assert process.stderr.readline() == "here\n"
    assert interrupted(process) == ["Stopped."]


def test_ctrl_c_at_a_question(tmp_path: Path) -> None:
    process = started(tmp_path, "-m", "pincite", "scope", "delete", "somebody")
    assert process.stderr is not None
    assert process.stderr.read(6) == "Remove"
    assert interrupted(process)[-1].endswith("Stopped.")


def test_ctrl_c_ends_the_tools_of_an_assistant(tmp_path: Path) -> None:
    process = started(tmp_path, "-m", "pincite", "mcp")
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    assert interrupted(process)[-1] == "Stopped."


def test_ctrl_c_leaves_a_run_that_can_be_resumed(demo_home: Path, tmp_path: Path) -> None:
    with_library(tmp_path, demo_home)
    command_line = ("research", QUESTION, "--source", f"local:{EXAMPLES}", "-v")
    process = warm.start(*command_line, env=clean_environment(tmp_path), cwd=tmp_path)
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith("page.fetched"):
            process.send_signal(signal.SIGINT)
            break
    assert seen[-1].startswith("page.fetched"), seen
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    named = re.search(r"pincite runs resume (run_\S+)", rest)
    assert named, rest

    pincite = command(tmp_path, tmp_path)
    assert pincite("runs", "list", "--json").json[0]["status"] == "cancelled"
    resumed = pincite("runs", "resume", named.group(1), "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["status"] in {"complete", "partial"}
    (tmp_path / "report.json").write_text(resumed.out, encoding="utf-8")
    assert pincite("check", "report.json").code == 0


def test_a_run_that_has_ended_stays_as_it_is_when_cancelled(demo: Pincite) -> None:
    status = demo("runs", "list", "--json").json[0]["status"]
    ended = demo("runs", "cancel", "last", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["status"] == status


def test_a_run_is_stopped_from_another_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers
        port = silent.getsockname()[1]
        opened = {"PINCITE_ALLOW_NETWORKS": "127.0.0.0/8", "PINCITE_ALLOW_PORTS": str(port)}
        env = clean_environment(tmp_path, {**opened, "PINCITE_FETCH_DEADLINE_S": "40"})
        process = warm.start("research", QUESTION, "--url", f"http://127.0.0.1:{port}/", env=env, cwd=tmp_path)
        assert process.stderr is not None
        pincite = command(tmp_path, tmp_path)
        for line in process.stderr:
            if line.startswith("Planned: "):
                ended = pincite("runs", "cancel", "last")
                break
        _, rest = process.communicate(timeout=60)
    assert "was asked to stop" in ended.out, ended.err
    assert process.returncode == 130, rest
    assert pincite("runs", "list", "--json").json[0]["status"] == "cancelled"

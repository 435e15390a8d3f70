"""The inspector's command line, a client of the older revision, as npm gives it out."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"
"""The newest that runs on Node 20."""


def inspect(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        ["npx", "--yes", INSPECTOR, "--cli", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode and ("ENOTFOUND" in done.stderr or "ECONNREFUSED" in done.stderr or "E404" in done.stderr):
        pytest.skip(f"npm can't fetch the inspector here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def ours(tmp_path: Path) -> list[str]:
    """The command of a server over a small library."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.md").write_text("# Halden\n\nThe lighthouse of Halden is 41 metres tall.\n", encoding="utf-8")
    return [sys.executable, "-m", "pincite", "mcp", "--home", str(tmp_path / "home"), "--source", f"local:{library}"]


@pytest.fixture
def over_http(ours: list[str]) -> Iterator[list[str]]:
    """Where the same server is reached over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([*ours, "--transport", "http", "--port", str(port)]) as server:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield [f"http://127.0.0.1:{port}/mcp", "--transport", "http"]
        server.terminate()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npx") is None, reason="no npx here: the inspector was not run")
@pytest.mark.parametrize("way", ["ours", "over_http"])
def test_the_inspector_lists_and_calls_tools(tmp_path: Path, way: str, request: pytest.FixtureRequest) -> None:
    server: list[str] = request.getfixturevalue(way)
    tools = inspect(tmp_path, *server, "--method", "tools/list")
    assert [tool["name"] for tool in tools["tools"]][-1] == "audit_report"
    called = ("--method", "tools/call", "--tool-name", "web_search", "--tool-arg", "query=Halden lighthouse")
    found = inspect(tmp_path, *server, *called)
    assert found["structuredContent"]["results"]
    called = ("--method", "tools/call", "--tool-name", "research", "--tool-arg", "question=How tall is the lighthouse?")
    assert "41 metres" in inspect(tmp_path, *server, *called)["structuredContent"]["content"]
    templates = inspect(tmp_path, *server, "--method", "resources/templates/list")
    assert len(templates["resourceTemplates"]) == 2

"""The quick starts of the README, each run as it stands there; its pictures are there and small."""

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pytest
from tests import warm
from tests.e2e.commands import ROOT, clean_environment, with_library
from tests.fakes.models.server import ModelServer

from pincite.testing.models import FaithfulModel

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = README.split("## Quick starts")[1].split("\n## ")[0]
_START = re.compile(r"^\*\*([^*]+)\.\*\*.*?^```(?:sh|json)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STARTS: dict[str, str] = dict(_START.findall(SECTION))


def commands(title: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in STARTS[title].splitlines() if line.startswith("pincite ")]


def ran(home: Path, arguments: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = warm.run(*arguments, env={**clean_environment(home), **environ}, cwd=home)
    assert done.returncode == 0, done.stderr
    return done


def test_each_kind_of_user_has_a_start() -> None:
    assert list(STARTS) == ["No key", "A model key", "Your own files", "A tool of your agent", "A server"]


def test_no_key(tmp_path: Path, demo_home: Path) -> None:
    demo, ui = commands("No key")
    ran(with_library(tmp_path, demo_home), demo)
    assert (tmp_path / "report.html").is_file()
    assert ui == ["ui"]  # run in test_ui_command.py


def test_a_model_key(tmp_path: Path, demo_home: Path) -> None:
    setup, research = commands("A model key")
    with ModelServer(FaithfulModel()) as server:
        online = {"OPENAI_API_KEY": "sk-0123456789abcdef0123", "OPENAI_BASE_URL": server.base_url}
        tried = ran(with_library(tmp_path, demo_home), setup, **online)
        assert "answers in" in tried.stderr
        ran(tmp_path, research, **online)
        assert len(server.requests) > 2
    assert "a.sentence" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_your_own_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("img", "adr"))
    (research,) = commands("Your own files")
    assert "[1]" in ran(tmp_path, research).stdout


def test_a_tool_of_your_agent(tmp_path: Path) -> None:
    server = json.loads(STARTS["A tool of your agent"])["mcpServers"]["pincite"]
    assert server["command"] == "pincite"
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    process = warm.start(*server["args"], env={**server["env"], **clean_environment(tmp_path)}, cwd=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "pincite"
    process.communicate(timeout=60)


def test_a_server(tmp_path: Path) -> None:
    create, serve = commands("A server")
    key = ran(tmp_path, create).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    process = warm.start(*[port if word == "8787" else word for word in serve], env=clean_environment(tmp_path))
    assert process.stderr is not None
    told = iter(process.stderr.readline, "")
    assert any(f":{port}" in line for line in told), "it says where it serves"
    request = Request(f"http://127.0.0.1:{port}/v1/research", headers={"Authorization": f"Bearer {key}"})
    for _ in range(100):
        try:
            with urlopen(request, timeout=60) as answer:
                assert answer.status == 200
            break
        except OSError:
            assert process.poll() is None
            subprocess.run([sys.executable, "-c", ""], check=True)  # the server is starting: a breath
    else:
        pytest.fail("the server did not answer")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_its_pictures_are_there_and_small() -> None:
    named = re.findall(r"!\[[^\]]{20,}\]\((docs/img/[^)]+)\)", README)
    assert sorted(named) == ["docs/img/proof.png", "docs/img/terminal.svg"]
    for name in named:
        assert 1_000 < (ROOT / name).stat().st_size < 150_000
    drawn = ElementTree.parse(ROOT / "docs" / "img" / "terminal.svg").getroot()
    text = "\n".join(drawn.itertext())
    assert "$ pincite demo" in text
    assert "Written: report.html" in text

"""A canary in every key setting of a server, and services that repeat the keys they are given: nothing of it comes out.

Looked through are all answers with their headers, problem documents in every shape, webhooks, and the server's log.
"""

import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.commands import clean_environment
from tests.e2e.test_canaries import CANARY, canaries
from tests.fakes.loopback import QuietHandler, serving

from pincite.testing.web import html, write_warc

QUESTION = "When was the bridge of Ostrow opened?"
LONG_S = 90.0
FAILS = """
import json, os, sys
import anyio, httpx2
from fastapi import FastAPI
from pincite.domain.errors import Internal, InvalidInput, StorageUnavailable
from pincite.surfaces.http import responses
from pincite.surfaces.mcp.results import _words

everything = " ".join(os.environ[name] for name in sorted(os.environ) if "canary" in os.environ[name])
app = FastAPI()
responses.install(app)

async def fail():
    raise StorageUnavailable(f"an error that repeats {everything}", hint=everything, context={"param": everything})

async def defect():
    raise Internal(f"a defect that repeats {everything}")

for path in ("/v1/x", "/tavily/x", "/v2/x", "/v1/chat/completions", "/v1/models", "/v1/responses"):
    app.get(path)(fail)
    app.get(path + "/defect")(defect)

async def go():
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for route in app.routes:
            if getattr(route, "endpoint", None) in (fail, defect):
                answer = await client.get(route.path)
                assert answer.status_code >= 400, answer.status_code
                print(answer.headers, answer.text)
    print(_words(StorageUnavailable(f"for an assistant: {everything}")))

anyio.run(go)
"""


class Repeating(ThreadingHTTPServer):
    """Answers everything with 401 and the headers it was sent, as some services do; keeps what webhooks bring."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.told: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(QuietHandler):
    server: Repeating

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/hook":
            self.server.told.append(f"{self.headers}\n{body.decode()}")
            self.send_response(204)
            self.end_headers()
            return
        self._answer()

    def _answer(self) -> None:
        said = "; ".join(f"{name}: {value}" for name, value in self.headers.items())
        self.server.asked.append(said)
        self.answer({"error": {"message": f"Incorrect API key provided: {said}"}, "detail": said}, 401)


@pytest.fixture
def repeating() -> Iterator[Repeating]:
    with serving(Repeating()) as server:
        yield server


def test_problem_documents_of_every_shape_hold_no_secret(tmp_path: Path) -> None:
    environ = {**canaries(), "PINCITE_DATABASE_URL": f"postgresql://user:{CANARY}-database_url@127.0.0.1:1/db"}
    done = subprocess.run(
        [sys.executable, "-c", FAILS],
        env=clean_environment(tmp_path, environ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    assert done.stdout.count("repeats ***") >= 12, done.stdout
    assert "for an assistant: ***" in done.stdout


class Caller:
    """Asks the server and keeps all it says."""

    def __init__(self, url: str) -> None:
        self.seen: list[str] = []
        self._client = httpx2.Client(base_url=url, timeout=LONG_S)

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        answer = self._client.request(method, path, **more)
        self.seen.append(f"{method} {path} {answer.status_code} {answer.headers} {answer.text}")
        return answer

    def waits_for_the_server(self, process: "subprocess.Popen[str]") -> None:
        until_s = time.monotonic() + LONG_S
        while time.monotonic() < until_s and process.poll() is None:
            try:
                self._client.get("/healthz")
                return
            except httpx2.HTTPError:
                time.sleep(0.1)
        process.kill()
        pytest.fail(f"no server: {process.communicate()}")

    def close(self) -> None:
        self._client.close()


def test_a_server_lets_no_secret_out(tmp_path: Path, repeating: Repeating) -> None:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    engines = {f"PINCITE_{name}_BASE_URL": repeating.url for name in ("TAVILY", "EXA", "BRAVE", "SERPER")}
    environ = {
        **{name: value for name, value in canaries().items() if "SITE_SESSIONS" not in name},  # one person's
        **engines,
        "PINCITE_SOURCE": "local:pages.warc.gz,tavily,exa,brave,serper",
        "PINCITE_LLM": "openai-compatible:some-model",
        "PINCITE_LLM_BASE_URL": f"{repeating.url}/v1",
        "PINCITE_LLM_EXTRACTIVE_FALLBACK": "true",
        "PINCITE_ALLOW_NETWORKS": "127.0.0.0/8",
        "PINCITE_ALLOW_PORTS": str(repeating.server_port),
        "PINCITE_LOG_LEVEL": "debug",
        "PINCITE_LOG_FORMAT": "json",
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)],
        env=clean_environment(tmp_path / "home", environ),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    caller = Caller(f"http://127.0.0.1:{port}")
    try:
        caller.waits_for_the_server(process)
        statuses = ask_everything(caller, repeating)
    finally:
        caller.close()
        process.terminate()
        out, err = process.communicate(timeout=LONG_S)
    assert any(CANARY in said for said in repeating.asked), "the keys were really sent, and repeated"
    assert repeating.told, "a webhook came"
    said = "\n".join([*caller.seen, *repeating.told, out, err])
    assert [line[:400] for line in said.splitlines() if CANARY in line] == []
    assert sum(status >= 400 for status in statuses) >= 6, f"there were problem documents: {statuses}"
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
    with closing(sqlite3.connect(tmp_path / "home" / "pincite.sqlite")) as raw, raw:
        assert CANARY not in "\n".join(raw.iterdump())


def ask_everything(caller: Caller, repeating: Repeating) -> list[int]:
    """The statuses of many questions, most of which fail."""
    started = caller.ask("POST", "/v1/research", json={"question": QUESTION, "webhook_url": f"{repeating.url}/hook"})
    assert started.status_code == 202, started.text
    run = f"/v1/research/{started.json()['id']}"
    ended = caller.ask("GET", run, params={"wait": 50})
    until_s = time.monotonic() + LONG_S
    while not repeating.told and time.monotonic() < until_s:
        time.sleep(0.1)
    asked = [
        caller.ask("POST", "/v1/search", json={"query": "bridge"}),
        caller.ask("POST", "/v1/fetch", json={"url": f"{repeating.url}/page"}),
        caller.ask("POST", "/v1/fetch", json={"url": "http://127.0.0.2:1/"}),
        caller.ask("POST", "/v1/research", json={"question": ""}),
        caller.ask("POST", "/v1/research", content=b"{", headers={"Content-Type": "application/json"}),
        caller.ask("POST", "/tavily/search", json={"query": "bridge"}),
        caller.ask("POST", "/v2/scrape", json={"url": f"{repeating.url}/page"}),
        caller.ask("POST", "/v1/chat/completions", json={"model": "nobody's", "messages": []}),
        caller.ask("GET", "/v1/research/run_nobodys"),
        caller.ask("GET", "/nowhere"),
        caller.ask("GET", f"{run}/report"),
        caller.ask("GET", f"{run}/events"),
        caller.ask("GET", "/v1/log"),
        caller.ask("GET", "/v1/webhooks/secret"),
        caller.ask("GET", "/metrics"),
        caller.ask("GET", "/openapi.json"),
        caller.ask("GET", "/"),
        caller.ask("GET", "/nowhere", headers={"Accept": "text/html"}),
    ]
    return [answer.status_code for answer in (started, ended, *asked)]

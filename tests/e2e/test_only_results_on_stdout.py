"""stdout carries results only, in every command that asks somebody, when those it asks fail at first."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.e2e.commands import Pincite, command
from tests.fakes.loopback import QuietHandler, serving

FACT = "The Halden lighthouse is 31 metres tall and was first lit in 1888."
PAGE = f"<html lang=en><title>Halden</title><main><h1>Halden</h1><p>{FACT} {'Nobody lives there. ' * 40}</p></main>"
FAULTS = 1
"""Answers of 503 for each path before the first good one, as upstream does when it restarts."""


class Flaky:
    """A site and a SearXNG that fail each thing at first."""

    def __init__(self, port: int) -> None:
        self.asked: Counter[str] = Counter()
        self.page = f"http://127.0.0.1:{port}/halden"

    def answer(self, path: str) -> tuple[int, str, str]:
        self.asked[path] += 1
        if path == "/robots.txt":
            return 404, "text/plain", ""
        if self.asked[path] <= FAULTS:
            return 503, "text/plain", "come back"
        if path == "/search":
            results = [{"url": self.page, "title": "Halden", "content": FACT}]
            return 200, "application/json", json.dumps({"query": "x", "results": results})
        return 200, "text/html; charset=utf-8", PAGE


@contextmanager
def _flaky() -> Iterator[Flaky]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            status, kind, text = flaky.answer(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        flaky = Flaky(server.server_port)
        yield flaky


@pytest.fixture
def upstream() -> Iterator[Flaky]:
    with _flaky() as flaky:
        yield flaky


@pytest.fixture
def pincite(tmp_path: Path, upstream: Flaky) -> Pincite:
    port = upstream.page.split(":")[2].partition("/")[0]
    environ = {
        "PINCITE_ALLOW_NETWORKS": "127.0.0.0/8",
        "PINCITE_ALLOW_PORTS": port,
        "SEARXNG_URL": f"http://127.0.0.1:{port}",
        "PINCITE_SOURCE": "searxng",
    }
    return partial(command(tmp_path / "home", tmp_path), environ=environ)


@pytest.mark.parametrize("name", ["fetch", "search", "research", "audit", "batch"])
def test_a_retry_says_nothing_where_results_go(pincite: Pincite, upstream: Flaky, tmp_path: Path, name: str) -> None:
    (tmp_path / "report.md").write_text(f"{FACT} [1]\n\n[1] {upstream.page}\n", encoding="utf-8")
    question = "How tall is the Halden lighthouse?"
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": question, "urls": [upstream.page]}))
    arguments = {
        "fetch": ("fetch", upstream.page),
        "search": ("search", "halden lighthouse"),
        "research": ("research", question, "--url", upstream.page),
        "audit": ("audit", "report.md"),
        "batch": ("batch", "questions.jsonl"),
    }[name]
    ended = pincite(*arguments, "--json")
    assert isinstance(ended.json, dict)
    assert "error" not in ended.json, ended.json
    asked = upstream.asked["/search" if name == "search" else "/halden"]
    assert asked > FAULTS, "nothing was tried again: the test shows nothing"
    assert not re.search(r"stamina|structlog|retry_scheduled|\[warning", ended.err)


def test_what_a_library_prints_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    from pincite.surfaces.cli.run import print_json, run_async

    async def job() -> dict[str, int]:
        print("a plug-in says hello")  # noqa: T201  # what a plug-in should not do
        return {"value": 1}

    print_json(run_async(job))
    out, err = capsys.readouterr()
    assert json.loads(out) == {"value": 1}
    assert "a plug-in says hello" in err

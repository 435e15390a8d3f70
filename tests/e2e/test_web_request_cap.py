"""`--max-web-requests` counts everything that goes out: searches, robots.txt, redirects, retries, pages."""

import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from tests import warm
from tests.e2e.commands import clean_environment
from tests.fakes.engines import EngineServer, FakeEngines, FakePage
from tests.fakes.loopback import QuietHandler, serving

PAGE = (
    "<html><head><title>{n}</title></head><body><article><h1>Connection pool {n}</h1><p>The connection pool number {n} "
    "keeps 20 connections open by default and waits 30 seconds for a free one before it gives up with an error.</p>"
    "<p>{filler}</p></article></body></html>"
)


class Pages(ThreadingHTTPServer):
    """Pages behind redirects, with a robots.txt, some of which fail at first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[str] = []


class Handler(QuietHandler):
    server: Pages

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        if self.path == "/robots.txt":
            self.answer(b"User-agent: *\nAllow: /\n", 200, "text/plain")
        elif self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/moved/", "/page/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/page/1" and self.server.seen.count(self.path) == 1:
            self.answer(b"later", 503, "text/plain")
        else:
            filler = f"What else there is to say about pool {self.path}, in words of its own. " * 8
            self.answer(PAGE.format(n=self.path[-1], filler=filler).encode(), 200, "text/html")


@pytest.fixture
def pages() -> Iterator[Pages]:
    with serving(Pages()) as server:
        yield server


@pytest.mark.parametrize("cap", [5, 7])
def test_the_cap_holds_for_all_that_goes_out(cap: int, pages: Pages, tmp_path: Path) -> None:
    port = pages.server_address[1]
    found = [
        FakePage(f"http://pool{n}.test:{port}/moved/{n}", f"Connection pool {n}", f"How the connection pool {n} works.")
        for n in range(5)
    ]
    engines = FakeEngines(find=lambda text, count: found[:count])
    with EngineServer(engines) as server:
        environment = {
            **clean_environment(tmp_path),
            "EXA_API_KEY": "k",
            "PINCITE_EXA_BASE_URL": engines.base_url("exa", server.origin),
            "PINCITE_ALLOW_NETWORKS": "127.0.0.0/8",
            "PINCITE_ALLOW_PORTS": str(port),
            "PINCITE_RESOLVE": ",".join(f"pool{n}.test:{port}:127.0.0.1" for n in range(5)),
            "PINCITE_REQUESTS_PER_S_PER_HOST": "50",
        }
        command = ["research", "How does a connection pool work?", "--max-web-requests", str(cap), "--json"]
        done = warm.run(*command, env=environment, cwd=tmp_path)
    sent = len(pages.seen) + len(engines.calls)
    assert sent <= cap, (pages.seen, len(engines.calls))
    assert sent == cap
    assert len(engines.calls) <= cap // 2, "at least half is for pages"
    assert [path for path in pages.seen if path.startswith("/page/")], "and not for robots.txt alone"
    report = json.loads(done.stdout)
    assert report["status"] in {"partial", "insufficient_evidence"}, done.stderr

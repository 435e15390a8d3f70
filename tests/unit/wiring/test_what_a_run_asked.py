"""What a run asked of the cache and of its providers is on record: hits, misses, each provider with its bill."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.engines import EngineServer, FakeEngines, FakePage
from tests.fakes.loopback import QuietHandler, serving

from pincite.engine import Engine
from pincite.settings import load_settings

TEXT = (
    "The connection pool keeps 20 connections open by default and waits 30 seconds for a free one before it gives up "
    "with an error. What else there is to say about the connection pool is said in words of its own. "
)


class Handler(QuietHandler):
    def do_GET(self) -> None:
        robots = self.path == "/robots.txt"
        body = b"User-agent: *\nAllow: /\n" if robots else f"<h1>Connection pool</h1><p>{TEXT * 3}</p>".encode()
        self.answer(body, kind="text/plain" if robots else "text/html")


@pytest.fixture
def port() -> Iterator[int]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield server.server_port


async def test_hits_misses_and_every_provider_asked(port: int, tmp_path: Path) -> None:
    hosts = [f"pool{n}.test:{port}" for n in (1, 2)]
    found = [FakePage(f"http://{host}/", f"Connection pool at {host}", "The connection pool.") for host in hosts]
    engines = FakeEngines(find=lambda text, count: found, modes={"exa": "html"})
    with EngineServer(engines) as server:
        given: dict[str, Any] = {
            "home": tmp_path,
            "source": "exa,serper",
            "exa_api_key": "k",
            "serper_api_key": "k",
            "exa_base_url": engines.base_url("exa", server.origin),
            "serper_base_url": engines.base_url("serper", server.origin),
            "allow_networks": "127.0.0.0/8",
            "allow_ports": str(port),
            "resolve": ",".join(f"{host}:127.0.0.1" for host in hosts),
            "requests_per_s_per_host": 50,
        }
        settings = load_settings(given, environ={}, files=())
        async with Engine(settings) as engine:
            first = await engine.research("How many connections does the connection pool keep open?")
            calls = await engine.calls(first.run_id)
            again = await engine.research("How many connections does the connection pool keep open?")
            replayed = await engine.replay(again.run_id)
            repeated = await engine.calls(again.run_id)
    searches = [call for call in calls if call.kind == "search"]
    pages = [call for call in calls if call.kind == "fetch" and call.status == "ok"]
    assert searches
    assert pages
    assert (first.metrics.cache_hits, first.metrics.cache_misses) == (0, len(searches) + len(pages))
    assert {tried.provider for call in searches for tried in call.attempts} >= {"serper"}
    assert all("ok" in {tried.outcome for tried in call.attempts} for call in searches)
    assert sum(tried.cost_usd for call in searches for tried in call.attempts) == sum(
        call.used.cost_usd for call in searches
    )
    assert (again.metrics.cache_hits, again.metrics.cache_misses) == (first.metrics.cache_misses, 0)
    assert (replayed.metrics.cache_hits, replayed.metrics.cache_misses) == (again.metrics.cache_hits, 0)
    assert not [tried for call in repeated for tried in call.attempts], "nobody was asked again"

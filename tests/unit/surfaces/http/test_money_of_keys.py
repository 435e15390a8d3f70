"""What hosted scrapers cost is the key's money, through whichever door a page was asked for; rates count together."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.fakes.loopback import QuietHandler, serving_at

from pincite.domain.errors import PageBlocked, RateLimited, StorageUnavailable
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Snapshot
from pincite.engine import Engine
from pincite.fetch.backends.direct import DirectBackend
from pincite.fetch.backends.firecrawl import FirecrawlScraper
from pincite.storage.server import SqlServerMemory
from pincite.surfaces.http.gate import KeyRing

WORDS = "The Halden lighthouse is 41 metres tall. It was first lit on 3 May 1897, after two years of building."
REPORT = "The Halden lighthouse is 41 metres tall [1].\n\n[1] {url}"


class Scraper(QuietHandler):
    """Reads any page, for one credit."""

    def do_POST(self) -> None:
        url = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["url"]
        page = f"<html><head><title>Halden</title></head><body><article><p>{WORDS}</p></article></body></html>"
        told = {"statusCode": 200, "url": url, "sourceURL": url, "contentType": "text/html", "creditsUsed": 1}
        data = {"success": True, "data": {"rawHtml": page, "markdown": WORDS, "metadata": told}}
        self.answer(data)


@pytest.fixture
def scraper() -> Iterator[str]:
    with serving_at(Scraper) as address:
        yield address


@pytest.fixture
def settings(scraper: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Those of a server with a scraper; every page shows people without a browser nothing."""

    async def blocked(self: DirectBackend, request: FetchRequest) -> Snapshot:
        raise PageBlocked("a challenge", reason="challenge")

    monkeypatch.setattr(DirectBackend, "fetch", blocked)  # a public address, which no test connects to
    found = {"hosted_scrapers": ("firecrawl",), "firecrawl_base_url": scraper, "robots": "off"}
    return {**found, "resolve": ("walled-halden.org:80:93.184.215.14",)}


async def spent(home: Path, key: str) -> Decimal:
    async with Engine.from_settings(home=home, scope=key) as engine:
        return await (await engine.server_services()).memory.taken(key, f"{datetime.now(UTC):%Y-%m-%d}")


async def test_pages_read_by_a_scraper_are_charged_to_the_key(
    tmp_path: Path, opened: Callable[..., Any], settings: dict[str, Any]
) -> None:
    secret = KeyRing(tmp_path).create("one", daily_usd=Decimal(1))
    pages = iter(f"http://walled-halden.org/{n}" for n in range(9))
    price = FirecrawlScraper.page_usd
    async with opened(tmp_path, settings=settings) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        page = await client.post("/v1/fetch", json={"url": next(pages)})
        assert "41 metres" in page.json()["content"], page.text
        assert await spent(tmp_path, "one") == price
        audited = await client.post("/v1/audit", json={"report": REPORT.format(url=next(pages))})
        assert audited.json()["counts"]["supported"] == 1, audited.text
        assert await spent(tmp_path, "one") == 2 * price
        read = await client.post("/tavily/extract", json={"urls": [next(pages), next(pages)]})
        assert len(read.json()["results"]) == 2
        assert (await client.post("/v2/scrape", json={"url": next(pages)})).json()["success"]
        assert await spent(tmp_path, "one") == 5 * price
        transport = streamable_http_client("http://localhost/mcp", http_client=client)
        async with Client(transport, mode="2026-07-28") as assistant:
            told = await assistant.call_tool("audit_report", {"report": REPORT.format(url=next(pages))})
            assert not told.is_error
        assert await spent(tmp_path, "one") == 6 * price
        for _ in range(100):  # the log is at most a second behind
            calls = (await client.get("/v1/log", params={"tool": "audit"})).json()["calls"]
            if len(calls) == 2:
                break
            await anyio.sleep(0.1)
        assert [Decimal(str(call["cost_usd"])) for call in calls] == [price, price]


async def test_a_run_that_could_not_be_remembered_is_taken_back(
    tmp_path: Path, opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> Any:
        raise StorageUnavailable("away")

    secret = KeyRing(tmp_path).create("one", daily_usd=Decimal(1))
    monkeypatch.setattr(SqlServerMemory, "remember", away)
    async with opened(tmp_path) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        begun = await client.post("/v1/research", json={"question": "Why?"}, headers={"Idempotency-Key": "k"})
        assert begun.status_code == 503, begun.text
        assert (await client.get("/v1/research")).json()["runs"] == []
        assert await spent(tmp_path, "one") == 0


async def test_a_key_without_money_left_asks_no_scraper(
    tmp_path: Path, opened: Callable[..., Any], settings: dict[str, Any]
) -> None:
    secret = KeyRing(tmp_path).create("one", daily_usd=Decimal(0))
    async with opened(tmp_path, settings=settings) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        assert (await client.post("/v1/fetch", json={"url": "http://walled-halden.org/"})).json()[
            "code"
        ] == "PAGE_BLOCKED"
        audited = (
            await client.post("/v1/audit", json={"report": REPORT.format(url="http://walled-halden.org/")})
        ).json()
        assert audited["counts"].get("supported", 0) == 0
        assert await spent(tmp_path, "one") == 0


async def test_servers_of_one_home_count_a_key_s_requests_together(
    tmp_path: Path, made_app: Callable[..., Any]
) -> None:
    from starlette.requests import Request

    ring = KeyRing(tmp_path)
    secret = ring.create("one", rate_per_min=1)
    free = ring.create("free")
    one, two = made_app(tmp_path), made_app(tmp_path)
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []})
    async with one.router.lifespan_context(one), two.router.lifespan_context(two):
        assert await one.state.service.admit(request, secret) == "one"
        for app in (two, one):  # the other one has seen none
            with pytest.raises(RateLimited) as refused:
                await app.state.service.admit(request, secret)
            assert refused.value.reason == "key_rate"
            assert await app.state.service.admit(request, free) == "free"

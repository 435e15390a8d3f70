"""One suite for every hosted scraper, against loopback fakes that speak their published contracts."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import pytest

from pincite.apis import ApiSettings
from pincite.domain.errors import (
    BlockedAddress,
    DeadLink,
    DnsError,
    DomainDenied,
    EmptyContent,
    InvalidUrl,
    NetworkError,
    PageBlocked,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    ProviderQuota,
    RateLimited,
    RobotsDisallowed,
    Timeout,
    TlsError,
    TooLarge,
    UnsupportedContentType,
)
from pincite.domain.fetch import FetchRequest
from pincite.fetch.backends.firecrawl import FirecrawlScraper
from pincite.fetch.backends.jina import JinaScraper
from pincite.fetch.backends.zenrows import ZenRowsScraper
from pincite.fetch.hosted import HostedScraper, HostedSurroundings
from pincite.fetch.robots_gate import Admission
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubRequest, StubResolver, StubWeb
from pincite.urls import UrlPolicy
from pincite.urls.policy import vet_parsed

KEY = "k3y-c4n4ry-0123456789"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PAGE = "https://page.example/a"
TEXT = "The lock manager keeps one row for each lock."


@dataclass
class Fake:
    """What the scraper's server says next; the answers follow the provider's published contract."""

    name: str
    final_url: str = PAGE
    page_status: int = 200
    error: tuple[int, dict[str, Any], dict[str, str]] | None = None
    seen: list[StubRequest] = field(default_factory=list)

    async def answer(self, request: StubRequest, writer: asyncio.StreamWriter) -> None:
        self.seen.append(request)
        if self.error is not None:
            status, body, headers = self.error
            return self._write(writer, status, json.dumps(body), "application/json", headers)
        getattr(self, f"_{self.name}")(writer)
        return None

    def _firecrawl(self, writer: asyncio.StreamWriter) -> None:
        metadata = {
            "title": "A", "sourceURL": PAGE, "url": self.final_url, "statusCode": self.page_status,
            "contentType": "text/html", "cacheState": "miss", "creditsUsed": 1,
        }  # fmt: skip
        data = {"markdown": f"# A\n\n{TEXT}", "rawHtml": f"<h1>A</h1><p>{TEXT}</p>", "metadata": metadata}
        self._write(writer, 200, json.dumps({"success": True, "data": data}), "application/json")

    def _zenrows(self, writer: asyncio.StreamWriter) -> None:
        if self.page_status != 200:
            problem = {"code": "RESP002", "title": "Page not found", "status": 404}
            self._write(writer, 404, json.dumps(problem), "application/json")
            return
        headers = {"X-Request-Cost": "0.0014", "Zr-Final-Url": self.final_url, "Concurrency-Limit": "20"}
        self._write(writer, 200, f"<h1>A</h1><p>{TEXT}</p>", "text/html", headers)

    def _jina(self, writer: asyncio.StreamWriter) -> None:
        data: dict[str, Any] = {"title": "A", "url": self.final_url, "content": TEXT, "usage": {"tokens": 12}}
        if self.page_status != 200:
            data["warning"] = f"Target URL returned error {self.page_status}: Not Found"
        self._write(writer, 200, json.dumps({"code": 200, "status": 20000, "data": data}), "application/json")

    @staticmethod
    def _write(
        writer: asyncio.StreamWriter, status: int, body: str, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\n{extra}Content-Length: {len(body.encode())}\r\n"
        writer.write(f"{head}\r\n{body}".encode())


class OpenGate:
    """A gate for which the robots.txt of every site says yes."""

    def __init__(self) -> None:
        self.refuse = ""

    async def admit(self, url: str, request: FetchRequest) -> Admission:
        parsed = vet_parsed(url)
        include, exclude = request.include_domains, request.exclude_domains
        UrlPolicy().check_host_lists(parsed.host, include=include, exclude=exclude)
        if self.refuse and self.refuse in url:
            raise RobotsDisallowed("no")
        return Admission(parsed, "allowed")


@dataclass
class Bench:
    scraper: HostedScraper
    fake: Fake
    gate: OpenGate
    resolver: StubResolver

    async def get(self, url: str = PAGE, **fields: Any) -> Any:
        return await self.scraper.fetch(replace(FetchRequest(url), **fields))


SCRAPERS: dict[str, tuple[type[Any], str]] = {
    "firecrawl": (FirecrawlScraper, "/v2/scrape"),
    "zenrows": (ZenRowsScraper, "/v1/"),
    "jina": (JinaScraper, "/"),
}


@pytest.fixture(params=sorted(SCRAPERS))
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    from pincite.fetch.resolver import VettedResolver

    kind, path = SCRAPERS[request.param]
    async with StubWeb() as web:
        fake = Fake(request.param)
        web.raw(path, fake.answer)
        clock, gate = FrozenClock(NOW), OpenGate()
        resolver = StubResolver(default=("93.184.215.14",))
        around = HostedSurroundings(gate, VettedResolver(resolver, UrlPolicy(), clock), clock)
        scraper = kind(ApiSettings(f"http://127.9.0.1:{web.port}", KEY, deadline_s=2.0), around)
        yield Bench(scraper, fake, gate, resolver)
        await scraper.aclose()


async def test_a_page_becomes_a_marked_capture(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    snapshot = await bench.get()
    assert snapshot.via == bench.fake.name
    assert snapshot.status == 200
    assert TEXT in snapshot.body.decode()
    assert snapshot.final_url == PAGE
    assert snapshot.note.startswith(f"fetched by {bench.fake.name}; cost ")
    assert 0 < snapshot.cost_usd <= bench.scraper.page_usd
    assert len(bench.fake.seen) == 1
    assert KEY not in caplog.text
    assert KEY not in repr(snapshot)


async def test_the_request_follows_the_contract(bench: Bench) -> None:
    await bench.get(force_refresh=True)
    request = bench.fake.seen[0]
    if bench.fake.name == "zenrows":
        query = parse_qs(urlsplit(request.target).query)
        assert query == {"url": [PAGE], "apikey": [KEY]}
        return
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = json.loads(request.body)
    assert body["url"] == PAGE
    if bench.fake.name == "firecrawl":
        assert body["maxAge"] == 0
        assert body["skipTlsVerification"] is False
        assert body["storeInCache"] is False
    else:
        assert request.headers["x-no-cache"] == "true"
        assert request.headers["x-robots-txt"] == "Pincite"


async def test_what_may_not_leave_does_not(bench: Bench) -> None:
    bench.resolver.table["inside.example"] = [["10.0.0.1"]]
    for url, error in (
        ("http://10.0.0.1/", BlockedAddress),
        ("http://intranet/", BlockedAddress),
        ("https://inside.example/", BlockedAddress),
        ("https://user:pw@page.example/", InvalidUrl),
        (f"{PAGE}?api_key={KEY}", InvalidUrl),
        (f"{PAGE}?X-Amz-Signature={KEY}", InvalidUrl),
        ("file:///etc/passwd", InvalidUrl),
    ):
        with pytest.raises(error):
            await bench.get(url)
    with pytest.raises(DomainDenied):
        await bench.get(exclude_domains=("page.example",))
    bench.gate.refuse = "page.example"
    with pytest.raises(RobotsDisallowed):
        await bench.get()
    assert not bench.fake.seen


async def test_the_final_url_is_vetted_too(bench: Bench) -> None:
    bench.fake.final_url = "http://169.254.169.254/latest"
    with pytest.raises(BlockedAddress):
        await bench.get()
    bench.fake.final_url = "https://page.example/b"
    snapshot = await bench.get()
    assert snapshot.final_url == "https://page.example/b"
    assert snapshot.redirects == ("https://page.example/b",)


async def test_a_dead_target_is_a_dead_link(bench: Bench) -> None:
    bench.fake.page_status = 404
    with pytest.raises(DeadLink):
        await bench.get()


ERRORS: dict[str, list[tuple[int, dict[str, Any], dict[str, str], type[PinciteError]]]] = {
    "firecrawl": [
        (401, {"success": False, "error": "Unauthorized: Invalid token"}, {}, ProviderAuth),
        (402, {"success": False, "error": "Payment Required: Insufficient credits"}, {}, ProviderQuota),
        (403, {"success": False, "error": "not supported"}, {}, PageBlocked),
        (408, {"success": False, "code": "SCRAPE_TIMEOUT"}, {}, Timeout),
        (429, {"success": False, "error": "Rate limit exceeded. please retry after 42s"}, {}, RateLimited),
        (429, {"success": False, "error": "Concurrency limit reached"}, {"Retry-After": "42"}, RateLimited),
        (500, {"success": False, "code": "SCRAPE_ALL_ENGINES_FAILED"}, {}, NetworkError),
        (500, {"success": False, "code": "SCRAPE_DNS_RESOLUTION_ERROR"}, {}, DnsError),
        (500, {"success": False, "code": "SCRAPE_SSL_ERROR"}, {}, TlsError),
        (500, {"success": False, "code": "SCRAPE_UNSUPPORTED_FILE_ERROR"}, {}, UnsupportedContentType),
        (404, {"success": False, "code": "SCRAPE_NO_CACHED_DATA"}, {}, ProviderBadReply),
        (413, {"success": False}, {}, TooLarge),
        (504, {"success": False}, {}, Timeout),
        (400, {"success": False, "code": "BAD_REQUEST"}, {}, ProviderBadReply),
    ],
    "zenrows": [
        (401, {"code": "AUTH003", "title": "key not found"}, {}, ProviderAuth),
        (402, {"code": "AUTH004", "title": "usage exceeded"}, {}, ProviderQuota),
        (413, {"code": "RESP005"}, {}, TooLarge),
        (422, {"code": "RESP001", "title": "Could not get content"}, {}, PageBlocked),
        (429, {"code": "AUTH006"}, {}, RateLimited),
        (403, {"code": "AUTH009", "title": "e-mail unverified"}, {}, ProviderAuth),
        (403, {"code": "BLK0001", "title": "IP blocked"}, {}, PageBlocked),
        (403, {"code": "REQS007", "reason": "domain_not_enabled"}, {}, PageBlocked),
        (400, {"code": "REQS001", "title": "forbidden domain"}, {}, PageBlocked),
        (404, {"code": "RESP007", "title": "DNS"}, {}, DeadLink),
        (424, {"code": "RESP006", "title": "captcha"}, {}, PageBlocked),
        (502, {"code": "RESP003"}, {}, NetworkError),
        (504, {"code": "CTX0002"}, {}, Timeout),
        (500, {"code": "CTX0001"}, {}, NetworkError),
        (400, {"code": "REQS004"}, {}, ProviderBadReply),
    ],
    "jina": [
        (401, {"code": 401, "status": 40103, "name": "AuthenticationFailedError"}, {}, ProviderAuth),
        (402, {"code": 402, "status": 40203, "name": "InsufficientBalanceError"}, {}, ProviderQuota),
        (413, {"code": 413, "status": 41302}, {}, TooLarge),
        (422, {"code": 422, "status": 42206, "name": "AssertionFailureError"}, {}, EmptyContent),
        (429, {"code": 429, "status": 42903, "retryAfter": 42}, {}, RateLimited),
        (429, {"code": 429, "retryAfterDate": "2026-11-21T12:00:42Z"}, {}, RateLimited),
        (429, {"code": 429}, {"Retry-After": "42"}, RateLimited),
        (401, {"code": 401, "status": 40104, "name": "EmailUnverifiedError"}, {}, ProviderAuth),
        (409, {"code": 409, "status": 40904}, {}, ProviderBadReply),
        (451, {"code": 451, "status": 45102}, {}, PageBlocked),
        (503, {"code": 503, "status": 50303}, {}, NetworkError),
    ],
}


async def test_every_refusal_has_its_error(bench: Bench) -> None:
    for status, body, headers, expected in ERRORS[bench.fake.name]:
        bench.fake.error = (status, body, headers)
        with pytest.raises(expected) as caught:
            await bench.get(deadline_s=30.0)  # shorter than any Retry-After here
        assert KEY not in json.dumps([caught.value.as_dict(), caught.value.context])
        if expected is RateLimited and bench.fake.name != "zenrows":
            assert caught.value.retry_after_s == 42


async def test_a_broken_answer_is_a_bad_reply(bench: Bench) -> None:
    bench.fake.error = (302, {}, {"Location": "http://127.0.0.1/"})
    with pytest.raises(ProviderBadReply):
        await bench.get()
    if bench.fake.name != "zenrows":  # its answer is the page itself
        bench.fake.error = (200, {"success": True}, {})
        with pytest.raises(ProviderBadReply):
            await bench.get()


async def test_zenrows_is_asked_for_its_costly_mode_only_when_it_says_so(bench: Bench) -> None:
    if bench.fake.name != "zenrows":
        return
    bench.fake.error = (400, {"code": "REQS002"}, {})
    with pytest.raises(ProviderBadReply):
        await bench.get()
    assert "mode=auto" not in bench.fake.seen[0].target
    assert "mode=auto" in bench.fake.seen[1].target


async def test_zenrows_tries_once_more_when_it_could_not_get_the_page(bench: Bench) -> None:
    if bench.fake.name != "zenrows":
        return
    bench.fake.error = (422, {"code": "RESP001"}, {})
    with pytest.raises(PageBlocked):
        await bench.get()
    assert ["mode=auto" in request.target for request in bench.fake.seen] == [False, True]


@pytest.mark.parametrize(
    ("warning", "error"),
    [
        ("Target URL returned error 404: Not Found", DeadLink),
        ("Target URL returned error 503: Service Unavailable", PageBlocked),
        ("This page maybe requiring CAPTCHA, please make sure you are authorized", PageBlocked),
        ("This is a cached snapshot of the original page with 500 lines, fetched in 404 ms", None),
    ],
)
async def test_a_warning_of_jina_is_read(bench: Bench, warning: str, error: type[PinciteError] | None) -> None:
    if bench.fake.name != "jina":
        return
    data = {"title": "A", "url": PAGE, "content": TEXT, "warning": warning}
    bench.fake.error = (200, {"code": 200, "data": data, "meta": {"usage": {"tokens": 40}}}, {})
    if error is None:
        assert (await bench.get()).note == "fetched by jina; cost 40 tokens"
        return
    with pytest.raises(error):
        await bench.get()


async def test_the_official_client_reads_the_same_fake() -> None:
    """Proof that the fake has the shape of the real service."""
    async with StubWeb() as web:
        fake = Fake("firecrawl")
        web.raw("/v2/scrape", fake.answer)

        def scrape() -> Any:
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the client's own
                from firecrawl import Firecrawl

                return Firecrawl(api_key="fc-test", api_url=f"http://127.9.0.1:{web.port}").scrape(
                    PAGE, formats=["markdown", "rawHtml"]
                )

        document = await anyio.to_thread.run_sync(scrape)
    assert TEXT in document.markdown
    assert TEXT in document.raw_html
    assert document.metadata.status_code == 200

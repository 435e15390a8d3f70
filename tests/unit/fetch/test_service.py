"""The fetch service: reading, storing, windows, cache, stale rules, fallbacks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest
from tests.fakes.storage import MemoryCache, MemoryDocumentStore, MemorySnapshotStore

from pincite.domain.errors import (
    DeadLink,
    DnsError,
    EmptyContent,
    ExtraNotInstalled,
    InvalidInput,
    InvalidUrl,
    LoginRequired,
    NetworkError,
    NotFound,
    PageBlocked,
    PinciteError,
    RobotsDisallowed,
)
from pincite.domain.fetch import FetchRequest, FetchResult, Render
from pincite.domain.page import Document, Snapshot
from pincite.fetch.captures import capture
from pincite.fetch.extractors import extract
from pincite.fetch.page_cache import PageCache
from pincite.fetch.page_failures import DocumentGate
from pincite.fetch.service import FetchService
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubWeb

PARAGRAPH = "The lock manager keeps one row for each lock that a transaction holds or waits for. "
PAGE = f"<html><head><title>Locks</title></head><body><main><h1>Locks</h1><p>{PARAGRAPH * 8}</p></main></body></html>"


class PlainExtractor:
    def __init__(self) -> None:
        self.calls = 0

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        self.calls += 1
        return extract(body, url, content_type)


@dataclass
class Canned:
    """A backend that answers from a script."""

    name: str
    clock: Any
    answers: list[Any] = field(default_factory=list)
    asked: list[FetchRequest] = field(default_factory=list)

    async def fetch(self, request: FetchRequest) -> Snapshot:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, PinciteError):
            raise answer
        body, status, headers = answer if isinstance(answer, tuple) else (answer, 200, {})
        return capture(
            url=request.url,
            final_url=request.url,
            status=status,
            headers=(("content-type", "text/html"), *headers.items()),
            body=body.encode(),
            fetched_at=self.clock.now(),
            via=self.name,
        )


class Door:
    def __init__(self, clock: Any, *answers: Any, **options: Any) -> None:
        self.clock = clock
        self.direct = Canned("direct", clock, list(answers))
        self.extractor = PlainExtractor()
        self.snapshots, self.documents = MemorySnapshotStore(), MemoryDocumentStore()
        self.cache = MemoryCache(clock)
        self.options = options

    def service(self, profile: str = "html/1", **more: Any) -> FetchService:
        pages = PageCache(self.cache, self.snapshots, self.documents, self.clock, profile=profile)
        options: dict[str, Any] = {"backends": (self.direct,), "pages": pages, **self.options, **more}
        return FetchService(
            extractor=self.extractor,
            snapshots=self.snapshots,
            documents=self.documents,
            clock=self.clock,
            **options,
        )

    async def get(self, url: str = "https://site.example/a", **fields: Any) -> FetchResult:
        return await self.service().fetch(replace(FetchRequest(url), **fields))


@pytest.fixture
def clock() -> Any:
    return FrozenClock()


async def test_a_page_is_read_stored_and_shown_in_windows(clock: Any) -> None:
    door = Door(clock, PAGE)
    first = await door.get(max_chars=300)
    assert first.title == "Locks"
    assert first.truncated
    assert first.content.startswith("# Locks\n\nThe lock manager")
    assert len(first.excerpt) <= 280
    pieces, offset = [first.content], first.next_offset
    while offset is not None:
        more = await door.get(max_chars=300, offset=offset)
        assert len(more.content) <= 300
        pieces.append(more.content)
        offset = more.next_offset
    whole = await door.get(max_chars=12_000)
    assert "".join(pieces) == whole.content
    assert not whole.truncated
    assert await door.snapshots.get(first.snapshot_id) == first.snapshot
    assert await door.documents.get(first.document.document_id) == first.document
    text = await door.get(output_format="text", max_chars=12_000)
    assert text.content == text.document.text
    raw = await door.get(mode="raw", max_chars=12_000)
    assert raw.content == PAGE


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_chars": 0},
        {"max_chars": 12_001},
        {"offset": -1},
        {"offset": 100_000},
        {"max_links": 501},
        {"mode": "fast"},
        {"output_format": "docx"},
        {"deadline_s": 0},
    ],
)
async def test_values_out_of_range_are_refused(wrong: dict[str, Any], clock: Any) -> None:
    with pytest.raises(InvalidInput):
        await Door(clock, PAGE).get(**wrong)


async def test_policy_comes_before_everything(clock: Any) -> None:
    door = Door(clock, PAGE)
    with pytest.raises(InvalidUrl):
        await door.get("ftp://site.example/a")
    assert not door.direct.asked


async def test_the_same_page_is_asked_for_once(clock: Any) -> None:
    door = Door(clock, PAGE)
    assert (await door.get()).info.cache == "miss"
    again = await door.get("https://www.site.example/a/?utm_source=x")
    assert again.info.cache == "hit"
    assert len(door.direct.asked) == 1
    assert door.extractor.calls == 1
    await door.get(force_refresh=True)
    assert len(door.direct.asked) == 2
    await door.get(prefer_language="de")
    assert len(door.direct.asked) == 3
    await door.service("html/2").fetch(FetchRequest("https://site.example/a"))
    assert len(door.direct.asked) == 4


async def test_persist_false_leaves_the_shared_cache_alone(clock: Any) -> None:
    door = Door(clock, PAGE)
    result = await door.get(persist=False)
    assert result.info.cache == "off"
    assert await door.snapshots.get(result.snapshot_id)
    await door.get()
    await door.get(persist=False)
    assert len(door.direct.asked) == 3


async def test_no_store_is_obeyed(clock: Any) -> None:
    door = Door(clock, (PAGE, 200, {"cache-control": "private, no-store"}))
    await door.get()
    await door.get()
    assert len(door.direct.asked) == 2


async def test_a_hundred_callers_share_one_visit(clock: Any) -> None:
    door = Door(clock, PAGE)
    service = door.service()
    seen: list[str] = []

    async def one() -> None:
        seen.append((await service.fetch(FetchRequest("https://site.example/a"))).snapshot_id)

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(one)
    assert len(set(seen)) == 1
    assert len(door.direct.asked) == 1


async def test_a_stale_page_is_confirmed_by_its_validators(clock: Any) -> None:
    door = Door(clock, (PAGE, 200, {"etag": '"v1"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}), ("", 304, {}))
    first = await door.get()
    clock.advance(3 * 86_400)
    second = await door.get()
    assert second.info.cache == "revalidated"
    assert not second.info.stale
    assert second.snapshot_id == first.snapshot_id
    assert second.info.fetched_at == first.info.fetched_at
    assert dict(door.direct.asked[-1].validators) == {
        "If-None-Match": '"v1"',
        "If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT",
    }
    assert (await door.get()).info.cache == "hit"
    assert len(door.direct.asked) == 2


async def test_a_capture_is_confirmed_however_fresh_it_is(clock: Any) -> None:
    changed = PAGE.replace("Locks", "Latches")
    door = Door(clock, (PAGE, 200, {"etag": '"v1"'}), ("", 304, {}), changed, NetworkError("x"), DeadLink("x"))
    first = await door.get()
    same = await door.get(confirms=first.snapshot_id)
    assert (same.snapshot_id, same.info.cache) == (first.snapshot_id, "revalidated")
    assert dict(door.direct.asked[-1].validators) == {"If-None-Match": '"v1"'}
    new = await door.get(confirms=first.snapshot_id)
    assert (new.title, new.snapshot_id == first.snapshot_id) == ("Latches", False)
    assert (await door.get()).title == "Latches", "the new copy is the one in the cache"
    for failure in (NetworkError, DeadLink):  # no older copy stands in
        with pytest.raises(failure):
            await door.get(confirms=first.snapshot_id)


async def test_a_stale_page_is_shown_while_it_is_checked(clock: Any) -> None:
    door = Door(clock, PAGE, PAGE.replace("Locks", "Latches"))
    async with door.service() as service:
        request = FetchRequest("https://site.example/a")
        await service.fetch(request)
        clock.advance(30 * 3_600)
        stale = await service.fetch(request)
        assert (stale.info.cache, stale.info.stale, stale.title) == ("stale", True, "Locks")
        for _ in range(200):
            await anyio.sleep(0.005)
            fresh = await service.fetch(request)
            if fresh.info.cache == "hit":
                break
        assert fresh.title == "Latches"
    assert len(door.direct.asked) == 2


@pytest.mark.parametrize(
    ("failure", "served"),
    [
        (NetworkError("x"), True),
        (PageBlocked("x", reason="challenge"), True),
        (PageBlocked("x", reason="http_429"), True),
        (PageBlocked("x", reason="http_403"), False),
        (LoginRequired("x", reason="http_401"), False),
        (DnsError("x", reason="dns_timeout"), True),
        (DnsError("x", reason="dns_failed", retryable=False), False),
        (DeadLink("x", reason="http_404"), False),
        (DeadLink("x", reason="dns_failed"), False),
        (RobotsDisallowed("x"), False),
    ],
)
async def test_stale_if_error_never_hides_that_a_page_is_gone(failure: PinciteError, served: bool, clock: Any) -> None:
    door = Door(clock, PAGE, failure)
    first = await door.get()
    clock.advance(5 * 86_400)
    if not served:
        with pytest.raises(type(failure)):
            await door.get()
        return
    second = await door.get()
    assert (second.info.cache, second.info.stale) == ("stale_if_error", True)
    assert second.info.fetched_at == first.info.fetched_at


@dataclass
class Slow(Canned):
    """A backend that answers when it is let."""

    go: anyio.Event = field(default_factory=anyio.Event)

    async def fetch(self, request: FetchRequest) -> Snapshot:
        self.asked.append(request)
        await self.go.wait()
        self.asked.pop()
        return await super().fetch(request)


class StandingClock(FrozenClock):
    """Those who sleep look again soon, and no time has passed."""

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(0.001)


@pytest.mark.parametrize("answer", [PAGE, DeadLink("gone", reason="http_410")])
async def test_processes_that_want_the_same_page_fetch_it_once(answer: Any) -> None:
    clock = StandingClock()  # the page is read in a thread: a clock that jumps would end the turn meanwhile
    door = Door(clock, answer)
    backend = Slow("direct", clock, [answer])
    processes = [door.service(backends=(backend,)) for _ in range(4)]  # nothing in common but the stores and the cache
    outcomes: list[str] = []

    async def one(service: FetchService) -> None:
        try:
            outcomes.append((await service.fetch(FetchRequest("https://site.example/a"))).info.cache)
        except DeadLink as error:
            outcomes.append(error.reason)

    async with anyio.create_task_group() as group:
        for service in processes:
            group.start_soon(one, service)
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        backend.go.set()
    assert len(backend.asked) == 1
    assert sorted(outcomes) == (["hit"] * 3 + ["miss"] if answer is PAGE else ["http_410"] * 4)


async def test_a_turn_that_ended_in_a_passing_failure_goes_to_the_next(clock: Any) -> None:
    door = Door(clock, NetworkError("x"), PAGE)
    with pytest.raises(NetworkError):
        await door.get()
    assert (await door.get()).info.cache == "miss"  # at once: the turn was given back


async def test_a_dead_page_is_not_asked_for_again_at_once(clock: Any) -> None:
    door = Door(clock, DeadLink("gone", reason="http_410"))
    for _ in range(3):
        with pytest.raises(DeadLink) as caught:
            await door.get()
        assert caught.value.reason == "http_410"
    assert len(door.direct.asked) == 1
    clock.advance(601)
    with pytest.raises(DeadLink):
        await door.get()
    assert len(door.direct.asked) == 2
    door.direct.answers = [NetworkError("x")]
    for _ in range(2):
        with pytest.raises(NetworkError):
            await door.get("https://site.example/b")
    assert len(door.direct.asked) == 4


async def test_backends_are_asked_in_order(clock: Any) -> None:
    archive = Canned("archive", clock, [NotFound("not mine"), PAGE])
    door = Door(clock, PAGE)
    service = door.service(backends=(archive, door.direct), pages=None)
    assert (await service.fetch(FetchRequest("https://site.example/a"))).info.via == "direct"
    assert (await service.fetch(FetchRequest("https://site.example/a"))).info.via == "archive"
    assert (await service.fetch(FetchRequest("local:docs/a.html"))).info.via == "archive"
    only = door.service(backends=(Canned("archive", clock, [NotFound("not mine")]),), pages=None)
    with pytest.raises(DeadLink) as caught:
        await only.fetch(FetchRequest("https://site.example/a"))
    assert caught.value.reason == "unknown_page"


async def test_hosted_scrapers_come_last_and_never_after_a_refusal(clock: Any) -> None:
    hosted = Canned("firecrawl", clock, [PAGE])
    door = Door(clock, PageBlocked("x", reason="challenge"), hosted=(hosted,))
    assert (await door.get()).info.via == "firecrawl"
    for failure in (RobotsDisallowed("x"), DeadLink("x")):
        other = Door(clock, failure, hosted=(hosted,))
        with pytest.raises(type(failure)):
            await other.get()
    assert len(hosted.asked) == 1
    failing = Canned("firecrawl", clock, [NetworkError("y")])
    last = Door(clock, PageBlocked("first", reason="challenge"), hosted=(failing,))
    with pytest.raises(PageBlocked, match="first"):
        await last.get()


async def test_a_second_hosted_scrape_costs_nothing(clock: Any) -> None:
    hosted = Canned("firecrawl", clock, [PAGE])
    door = Door(clock, PageBlocked("x", reason="challenge"), hosted=(hosted,))
    first = await door.get()
    second = await door.get()
    assert (first.info.cache, second.info.cache, second.info.via) == ("miss", "hit", "firecrawl")
    assert (len(door.direct.asked), len(hosted.asked)) == (1, 1)
    await door.get(force_refresh=True)
    assert len(hosted.asked) == 2


SHELL = '<html><head><script src="/a.js"></script></head><body><div id="root"></div></body></html>'


async def test_an_empty_shell_is_rendered(clock: Any) -> None:
    renderer = Canned("chromium", clock, [PAGE])
    door = Door(clock, SHELL, renderer=renderer)
    assert (await door.get()).info.via == "chromium"
    with pytest.raises(EmptyContent):
        await door.get(render=Render.NEVER)
    plain = Door(clock, PAGE, renderer=renderer)
    assert (await plain.get()).info.via == "direct"
    assert (await plain.get(render=Render.ALWAYS)).info.via == "chromium"
    with pytest.raises(ExtraNotInstalled):
        await Door(clock, PAGE).get(render=Render.ALWAYS)


async def test_answers_that_are_not_the_page_are_failures(clock: Any) -> None:
    for answer, reason in (
        (("<title>404 Not Found</title><p>no</p>", 200, {}), "soft_404"),
        (("<title>Just a moment...</title><noscript>x</noscript>", 200, {}), "challenge"),
        (("x", 403, {"cf-mitigated": "challenge"}), "challenge"),
        (("x", 401, {}), "http_401"),
        (("x", 500, {}), "http_500"),
        (("x", 418, {}), "http_418"),
    ):
        with pytest.raises(PinciteError) as caught:
            await Door(clock, answer).get()
        assert caught.value.reason == reason


async def test_the_gate_discards_with_a_reason(clock: Any) -> None:
    for gate, reason in (
        (DocumentGate(min_words=10_000), "too_few_words"),
        (DocumentGate(deny=("Lock Manager",)), "deny_listed"),
    ):
        with pytest.raises(EmptyContent) as caught:
            await Door(clock, PAGE, gate=gate).get()
        assert caught.value.reason == reason


async def test_a_redirect_is_handed_back_when_asked_for(clock: Any) -> None:
    door = Door(clock, ("", 301, {"location": "https://site.example/b"}))
    result = await door.get(allow_redirects=False)
    assert (result.status, result.content) == (301, "")
    assert dict(result.snapshot.headers)["location"] == "https://site.example/b"
    assert result.location == "https://site.example/b"


async def test_links_name_each_page_once(clock: Any) -> None:
    hrefs = ("/a?utm_source=x", "/a", "/b#part", "/b", "javascript:x()", "http://10.0.0.1/", "/c")
    body = "".join(f"<p>{PARAGRAPH}<a href='{href}'>to {n}</a></p>" for n, href in enumerate(hrefs))
    door = Door(clock, f"<title>T</title><main>{body}</main>")
    links = (await door.get(include_links=True, max_links=2)).links
    assert [(link.url, link.text, link.rank) for link in links] == [
        ("https://site.example/a?utm_source=x", "to 0", 1),
        ("https://site.example/b", "to 2", 2),
    ]
    assert [link.text for link in (await door.get(include_links=True)).links] == ["to 0", "to 2", "to 5", "to 6"]


async def test_the_source_of_a_page_has_its_own_window(clock: Any) -> None:
    long = PAGE.replace(PARAGRAPH, PARAGRAPH * 80)
    door = Door(clock, long)
    raw = await door.get(mode="raw", max_chars=100)
    assert len(raw.content) > 12_000
    assert raw.truncated
    rest = await door.get(mode="raw", offset=raw.next_offset or 0, max_html_chars=120_000)
    assert raw.content + rest.content == long


@pytest.fixture
async def live(make_fetcher: Callable[..., Any], web: StubWeb) -> tuple[FetchService, Any]:
    fetcher = make_fetcher()
    door = Door(fetcher.clock, PAGE)
    return door.service(backends=(fetcher.backend,), policy=web.policy), fetcher


async def test_over_the_wire(live: tuple[FetchService, Any], web: StubWeb) -> None:
    service, _ = live
    web.page("/a", PAGE, headers={"ETag": '"1"'})
    result = await service.fetch(FetchRequest(web.url("site.example", "/a")))
    assert result.title == "Locks"
    assert result.status == 200
    assert not web.internal_hits


@pytest.mark.parametrize(("via", "calls"), [("archive", (1, 0)), ("direct", (0, 1))])
async def test_pages_of_own_libraries_have_their_own_reader(via: str, calls: tuple[int, int], clock: Any) -> None:
    door, own = Door(clock, PAGE), PlainExtractor()
    door.direct.name = via
    await door.service(library_extractor=own).fetch(FetchRequest("https://site.example/a"))
    assert (own.calls, door.extractor.calls) == calls

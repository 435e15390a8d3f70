"""Pages of peers: an honest one spares the site; whatever a dishonest, slow or dead one does, the site is asked."""

import gzip
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import anyio
import pytest
from tests.fakes.storage import MemoryCache, MemoryDocumentStore, MemorySnapshotStore

from pincite.domain.errors import BudgetExhausted, DomainDenied, RobotsDisallowed
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.page import Kept, Snapshot
from pincite.fetch.captures import capture
from pincite.fetch.client import NOTE, GuardedClient
from pincite.fetch.extractors import extract
from pincite.fetch.page_cache import PageCache
from pincite.fetch.robots_gate import RobotsMode
from pincite.fetch.service import FetchService
from pincite.fetch.shared_pages import Intake, PeerBackend, ShareRules, item_key, shared_item, why_not
from pincite.runtime.telemetry import RequestMeter, metered
from pincite.settings import load_settings
from pincite.sharing.items import Item, Kind, Signer, item_of
from pincite.sharing.peers import DOWN_S, LIED_S
from pincite.testing.web import PUBLIC_STAND_IN, StubRequest, StubWeb
from pincite.urls.policy import Retention
from pincite.wiring.sharing import open_peers

PARAGRAPH = "The lock manager keeps one row for each lock that a transaction holds or waits for. "


def page(title: str) -> bytes:
    text = f"<main><h1>{title}</h1><p>{PARAGRAPH * 8}</p></main>"
    return f"<html><head><title>{title}</title></head><body>{text}</body></html>".encode()


OURS, THEIRS = page("From the site"), page("From the peer")
PATH = "/locks"
SIGNER, STRANGER = Signer(bytes(range(32))), Signer(bytes(32))
TIMEOUT_S = 1.0


class Extractor:
    def extract(self, body: bytes, url: str, content_type: str | None) -> Any:
        return extract(body, url, content_type)


@dataclass
class Door:
    """A fetch service with one peer, both on the same small web."""

    web: StubWeb
    clock: Any
    service: FetchService
    snapshots: MemorySnapshotStore
    cache: MemoryCache

    @property
    def url(self) -> str:
        return self.web.url("site.example", PATH)

    @property
    def asked_peer(self) -> int:
        return sum(request.host == "peer.example" for request in self.web.requests)

    def item(self, body: bytes = THEIRS, *, key: str = "", kind: Kind = Kind.CAPTURE, **said: Any) -> Item:
        at = said.pop("at", self.clock.now() - timedelta(hours=1))
        told = {"url": self.url, "final_url": self.url, "content_type": "text/html", **said}
        return item_of(kind, key or item_key(self.url), at, body, **told)

    def peer_gives(self, data: bytes, status: int = 200, **headers: str) -> None:
        path = f"/v1/shared/capture/{item_key(self.url)}"
        self.web.page(path, data, host="peer.example", status=status, content_type="x/y", headers=headers)

    def peer_does(self, handler: Callable[[StubRequest, Any], Any]) -> None:
        self.web.raw(f"/v1/shared/capture/{item_key(self.url)}", handler, host="peer.example")

    async def get(self, **fields: Any) -> FetchResult:
        return await self.service.fetch(replace(FetchRequest(self.url, deadline_s=8.0), **fields))


class Opened:
    """Keeps clients as a resource pool does, but may be closed by another task than it was opened in."""

    def __init__(self) -> None:
        self.clients: list[GuardedClient] = []

    async def open(self, client: GuardedClient) -> GuardedClient:
        self.clients.append(client)
        return client


@pytest.fixture
async def door(web: StubWeb, make_fetcher: Callable[..., Any]) -> AsyncIterator[Door]:
    fetcher = make_fetcher(mode=RobotsMode.OBEY)
    web.page(PATH, OURS, host="site.example")
    given = {
        "share_peers": {"office": f"http://peer.example:{web.port} {SIGNER.public}"},
        "resolve": (f"peer.example:{web.port}:{PUBLIC_STAND_IN}",),
        "share_timeout_s": TIMEOUT_S,
    }
    settings = load_settings(given, environ={}, files=())
    kept = Opened()
    peers = await open_peers(settings, fetcher.clock, kept)  # type: ignore[arg-type]  # all that is asked of a pool
    assert peers is not None
    intake = Intake(fetcher.policy, fetcher.clock, fetcher.gate, fetcher.vetted)
    snapshots, documents, cache = MemorySnapshotStore(), MemoryDocumentStore(), MemoryCache(fetcher.clock)
    service = FetchService(
        backends=(PeerBackend(peers, intake), fetcher.backend),
        extractor=Extractor(),
        snapshots=snapshots,
        documents=documents,
        clock=fetcher.clock,
        pages=PageCache(cache, snapshots, documents, fetcher.clock, profile="html/1"),
        policy=fetcher.policy,
    )
    yield Door(web, fetcher.clock, service, snapshots, cache)
    for client in kept.clients:
        await client.aclose()


async def test_an_honest_peer_spares_the_site(door: Door) -> None:
    door.peer_gives(SIGNER.sealed(door.item()))
    found = await door.get()
    assert (found.title, found.info.shared_by, found.info.cache) == ("From the peer", "office", "shared")
    assert found.snapshot.fetched_at == door.clock.now() - timedelta(hours=1)
    assert found.snapshot.note.startswith("shared by office")
    assert door.web.count(PATH) == 0
    assert door.web.count("/robots.txt") == 1, "whether the page may be read is the site's to say"
    again = await door.get()
    assert (again.info.cache, again.info.shared_by, door.asked_peer) == ("hit", "office", 1)
    door.clock.advance(23 * 3600 + 1)
    assert (await door.get()).info.cache != "hit", "its day began when the peer fetched it"


async def test_a_peer_without_the_page_costs_a_question(door: Door) -> None:
    assert (await door.get()).title == "From the site"
    assert door.asked_peer == 1


def sealed(**said: Any) -> Callable[[Door], bytes]:
    return lambda door: SIGNER.sealed(door.item(**said))


def parts(door: Door) -> list[bytes]:
    return SIGNER.sealed(door.item()).split(b"\n", 2)


def other(door: Door) -> str:
    return door.web.url("site.example", "/other")


LIES: dict[str, Callable[[Door], bytes]] = {
    "signed by somebody else": lambda door: STRANGER.sealed(door.item()),
    "another body": lambda door: SIGNER.sealed(door.item()) + b"x",
    "another body of the same size": lambda door: SIGNER.sealed(door.item()).replace(b"lock manager", b"lack manager"),
    "another statement": lambda door: b"\n".join(
        (parts(door)[0].replace(b"text/html", b"text/xhtm"), *parts(door)[1:])
    ),
    "no signature": lambda door: b"\n".join((parts(door)[0], b"", parts(door)[2])),
    "another page": lambda door: SIGNER.sealed(door.item(url=other(door), final_url=other(door))),
    "another key": lambda door: SIGNER.sealed(door.item(key=item_key(other(door)))),
    "another kind": sealed(kind=Kind.ANSWER),
    "of tomorrow": lambda door: SIGNER.sealed(door.item(at=door.clock.now() + timedelta(days=1))),
    "from inside": lambda door: SIGNER.sealed(door.item(final_url=f"http://127.0.0.1:{door.web.port}/")),
    "from metadata": sealed(final_url="http://169.254.169.254/latest/"),
    "with a user name": sealed(final_url="http://a:b@site.example/"),
    "not an address": sealed(final_url="file:///etc/passwd"),
    "not as it is sent": lambda door: SIGNER.sealed(door.item(url=door.url + "#x")),
    "not to be stored": sealed(headers=(("cache-control", "no-store"),)),
    "somebody's own": sealed(headers=(("Cache-Control", "max-age=1, private"),)),
    "larger than a page may be": lambda door: SIGNER.sealed(door.item(b"<html>" + b"x" * 2_000_001)),
    "nothing": lambda _: b"",
    "noise": lambda _: bytes(range(256)) * 40,
    "a long line": lambda _: b"{" * 200_000,
    "cut": lambda door: SIGNER.sealed(door.item())[:400],
    "in another format": sealed(format="pincite-share/9"),
}


@pytest.mark.parametrize("what", LIES)
async def test_a_peer_that_lies_changes_nothing(door: Door, what: str, caplog: pytest.LogCaptureFixture) -> None:
    door.peer_gives(LIES[what](door))
    found = await door.get()
    assert (found.title, found.info.shared_by, found.snapshot.via) == ("From the site", "", "direct")
    assert await kept(door) == {"direct"}
    assert door.web.internal_hits == []
    assert "is left alone for 3600 s" in caplog.text
    await door.get(url=door.web.url("site.example", PATH + "?2"))
    door.clock.advance(DOWN_S + 1)
    await door.get(url=door.web.url("site.example", PATH + "?3"))
    assert door.asked_peer == 1, "it is left alone for a while"
    door.clock.advance(LIED_S)
    await door.get(url=door.web.url("site.example", PATH + "?4"))
    assert door.asked_peer == 2


async def kept(door: Door) -> set[str]:
    """Where the stored captures are from."""
    return {snapshot.via for snapshot in door.snapshots._snapshots.values()}


async def _silent(request: StubRequest, writer: Any) -> None:
    await anyio.sleep(20)


async def _endless(request: StubRequest, writer: Any) -> None:
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: x/y\r\n\r\n")
    with anyio.move_on_after(20):
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()


async def _dripping(request: StubRequest, writer: Any) -> None:
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: x/y\r\nContent-Length: 100000\r\n\r\n")
    with anyio.move_on_after(20):
        while True:
            writer.write(b"x")
            await writer.drain()
            await anyio.sleep(0.05)


async def _hanging_up(request: StubRequest, writer: Any) -> None:
    writer.close()


BOMB = gzip.compress(bytes(40_000_000))


async def _bomb(request: StubRequest, writer: Any) -> None:
    head = f"HTTP/1.1 200 X\r\nContent-Type: x/y\r\nContent-Encoding: gzip\r\nContent-Length: {len(BOMB)}\r\n\r\n"
    writer.write(head.encode() + BOMB)


async def _inward(request: StubRequest, writer: Any) -> None:
    port = request.headers["host"].rsplit(":", 1)[1]
    writer.write(f"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:{port}/\r\n\r\n".encode())


async def _failing(request: StubRequest, writer: Any) -> None:
    writer.write(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("does", [_silent, _endless, _dripping, _hanging_up, _bomb, _inward, _failing])
async def test_a_peer_that_is_no_use_costs_one_short_wait(
    door: Door, does: Any, caplog: pytest.LogCaptureFixture
) -> None:
    door.peer_does(does)
    started = time.monotonic()
    found = await door.get()
    assert time.monotonic() - started < TIMEOUT_S + 3.0
    assert found.title == "From the site"
    assert await kept(door) == {"direct"}
    assert door.web.internal_hits == []
    assert "is left alone for 60 s" in caplog.text
    asked = door.asked_peer  # a connection that is closed at once is tried anew by aiohttp
    assert asked <= 2
    await door.get(url=door.web.url("site.example", PATH + "?2"))
    assert door.asked_peer == asked
    door.clock.advance(DOWN_S + 1)
    await door.get(url=door.web.url("site.example", PATH + "?3"))
    assert door.asked_peer > asked


async def test_many_pages_wait_for_a_silent_peer_only_once(door: Door) -> None:
    for n in range(20):
        path = f"/v1/shared/capture/{item_key(door.web.url('site.example', f'{PATH}?{n}'))}"
        door.web.raw(path, _silent, host="peer.example")
    started = time.monotonic()
    async with anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(partial(door.get, url=door.web.url("site.example", f"{PATH}?{n}")))
    assert time.monotonic() - started < 2 * TIMEOUT_S + 4.0
    assert door.asked_peer <= 8


async def test_an_old_or_unreadable_page_of_an_honest_peer_is_not_used(door: Door) -> None:
    door.peer_gives(SIGNER.sealed(door.item(at=door.clock.now() - timedelta(days=2))))
    assert (await door.get()).title == "From the site"
    empty = door.web.url("site.example", PATH + "?empty")
    data = SIGNER.sealed(door.item(b"<html></html>", key=item_key(empty), url=empty, final_url=empty))
    door.web.page(f"/v1/shared/capture/{item_key(empty)}", data, host="peer.example")
    assert (await door.get(url=empty)).title == "From the site"
    assert door.asked_peer == 2
    assert await kept(door) == {"direct"}


async def test_a_time_just_ahead_counts_as_now(door: Door) -> None:
    door.peer_gives(SIGNER.sealed(door.item(at=door.clock.now() + timedelta(seconds=30))))
    assert (await door.get()).snapshot.fetched_at == door.clock.now()


async def test_what_the_site_or_the_caller_forbids_no_peer_allows(door: Door) -> None:
    door.peer_gives(SIGNER.sealed(door.item()))
    door.web.page("/robots.txt", "user-agent: *\ndisallow: /locks\n", content_type="text/plain")
    with pytest.raises(RobotsDisallowed):
        await door.get()
    with pytest.raises(DomainDenied):
        await door.get(exclude_domains=("site.example",))
    assert await kept(door) == set()


@pytest.mark.parametrize(
    "fields",
    [{"force_refresh": True}, {"persist": False}, {"prefer_language": "de"}, {"allow_redirects": False}],
    ids=str,
)
async def test_what_only_the_site_can_answer_is_asked_there(door: Door, fields: dict[str, Any]) -> None:
    door.peer_gives(SIGNER.sealed(door.item()))
    assert (await door.get(**fields)).title == "From the site"
    assert door.asked_peer == 0


async def test_a_question_to_a_peer_is_a_web_request(door: Door) -> None:
    door.peer_gives(SIGNER.sealed(door.item()))
    with metered(RequestMeter(0)), pytest.raises(BudgetExhausted):
        await door.get()
    assert door.asked_peer == 0


# ---- what leaves ----

RULES = ShareRules(domains=("site.example",))


def ours(clock: Any, **changes: Any) -> Snapshot:
    url = changes.pop("url", "https://site.example/a")
    headers = changes.pop("headers", ())
    made = capture(
        url=url,
        final_url=changes.pop("final_url", url),
        status=changes.pop("status", 200),
        headers=headers,
        body=changes.pop("body", OURS),
        fetched_at=clock.now(),
        via=changes.pop("via", "direct"),
        content_type="text/html",
        signals=changes.pop("usage_signals", ()),
        note=changes.pop("note", ""),
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("", {}),
        ("", {"url": "https://docs.site.example/a"}),
        ("not_made_here", {"via": "archive"}),
        ("not_made_here", {"via": "firecrawl"}),
        ("not_made_here", {"via": "peer:office"}),
        ("not_made_here", {"via": "given"}),
        ("with_a_session", {"note": NOTE}),
        ("no_store", {"headers": (("cache-control", "no-store"),)}),
        ("no_store", {"headers": (("Cache-Control", "Private, max-age=3"),)}),
        ("no_store", {"status": 404}),
        ("varies", {"headers": (("Vary", "Accept-Language"),)}),
        ("not_kept_whole", {"kept": Kept.EXCERPTS, "body": b""}),
        ("not_kept_whole", {"usage_signals": ("noarchive",)}),
        ("too_large", {"body": b"x" * 16_777_217}),
        ("secret_in_url", {"url": "https://site.example/a?api_key=sk-1234567890abcdef1234567890"}),
        ("site_not_named", {"url": "https://other.example/a"}),
        ("site_not_named", {"final_url": "https://other.example/a"}),
    ],
)
def test_what_may_leave(reason: str, changes: dict[str, Any]) -> None:
    from pincite.testing.clock import FrozenClock

    assert why_not(ours(FrozenClock(), **changes), RULES) == reason


def test_every_public_site_is_none_of_an_opened_network() -> None:
    from pincite.testing.clock import FrozenClock

    every = ShareRules(domains=("*",))
    assert why_not(ours(FrozenClock()), every) == ""
    for inside in ("http://wiki.internal/a", "http://10.0.0.1/", "http://printer/"):
        assert why_not(ours(FrozenClock(), url=inside), every) == "site_not_named"
    assert why_not(ours(FrozenClock()), replace(every, opened=True)) == "site_not_named"
    assert why_not(ours(FrozenClock()), ShareRules()) == "site_not_named"
    strict = replace(every, retention=Retention(domains={"site.example": Kept.RUN}))
    assert why_not(ours(FrozenClock()), strict) == "not_kept_whole"


def test_no_header_leaves_that_says_nothing_of_the_page() -> None:
    from pincite.testing.clock import FrozenClock

    headers = (("ETag", '"1"'), ("Server", "x"), ("X-Request-Id", "7"), ("Set-Cookie", "a=b"), ("X-Robots-Tag", "noai"))
    item = shared_item(ours(FrozenClock(), headers=headers), "k")
    assert item.statement.headers == (("etag", '"1"'), ("x-robots-tag", "noai"))

"""The adapter of the Wayback Machine, against a fake on loopback that follows its contract."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from tests.contract.wayback import WaybackServer

from pincite.domain.errors import NetworkError, PageBlocked, PinciteError, ProviderBadReply, RateLimited
from pincite.fetch.backends.archive import Wayback
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubWeb

URL = "https://site.example/old?a=1"


@pytest.fixture
async def server() -> AsyncIterator[WaybackServer]:
    async with StubWeb() as web:
        yield WaybackServer(web)


@pytest.fixture
async def wayback(server: WaybackServer, clock: FrozenClock) -> AsyncIterator[Wayback]:
    made = Wayback(clock, base_url=server.origin, user_agent="Pincite/0 (+https://pincite.example)")
    yield made
    await made.aclose()


async def test_a_copy_is_told_with_its_time_and_where_it_stands_as_captured(
    server: WaybackServer, wayback: Wayback
) -> None:
    server.captures[URL] = "20130919044612"
    copy = await wayback.newest(URL)
    assert copy is not None
    assert copy.captured_at == datetime(2013, 9, 19, 4, 46, 12, tzinfo=UTC)
    assert copy.url == f"{server.origin}/web/20130919044612id_/{URL}"
    assert server.asked == [("available", URL)]
    assert server.web.requests[0].headers["user-agent"].startswith("Pincite/0")


async def test_an_empty_answer_is_no_proof_and_the_index_decides(server: WaybackServer, wayback: Wayback) -> None:
    assert await wayback.newest(URL) is None
    assert server.asked == [("available", URL), ("index", URL)]
    server.captures[URL] = "20200102030405"
    server.only_indexed.add(URL)
    found = await wayback.newest(URL)
    assert found is not None
    assert found.captured_at.year == 2020


async def test_an_empty_body_of_the_index_means_never(server: WaybackServer, wayback: Wayback) -> None:
    server.refusals["index"] = (200, "")
    assert await wayback.newest(URL) is None


async def test_calls_keep_the_pace_that_the_archive_wants(
    server: WaybackServer, wayback: Wayback, clock: FrozenClock
) -> None:
    for number in range(4):
        server.captures[f"{URL}{number}"] = "20200102030405"
        await wayback.newest(f"{URL}{number}")
    assert clock.monotonic_s() >= 15


async def test_after_a_429_nobody_asks_for_a_minute(
    server: WaybackServer, wayback: Wayback, clock: FrozenClock
) -> None:
    server.refusals["available"] = (429, "slow down")
    with pytest.raises(RateLimited):
        await wayback.newest(URL)
    asked = len(server.asked)
    with pytest.raises(RateLimited):
        await wayback.newest(URL)
    assert len(server.asked) == asked
    clock.advance(61)
    server.refusals.clear()
    assert await wayback.newest(URL) is None


NO_TIME = '{"archived_snapshots": {"closest": {"status": "200", "available": true}}}'


@pytest.mark.parametrize(
    ("path", "reply", "error"),
    [
        ("available", (500, "oops"), ProviderBadReply),
        ("available", (200, "<html>"), ProviderBadReply),
        ("available", (200, "{}"), ProviderBadReply),
        ("available", (200, NO_TIME), ProviderBadReply),
        ("index", (503, ""), ProviderBadReply),
        ("index", (200, "timestamp original"), ProviderBadReply),
        ("index", (200, '{"a": 1}'), ProviderBadReply),
        ("index", (200, "[[]]"), ProviderBadReply),
        ("index", (403, "no"), PageBlocked),
        ("index", (200, "org.archive.util.io.RuntimeIOException: AdministrativeAccessControlException"), PageBlocked),
    ],
)  # fmt: skip
async def test_what_is_no_answer_is_never_taken_for_never_seen(
    server: WaybackServer, wayback: Wayback, path: str, reply: tuple[int, str], error: type[PinciteError]
) -> None:
    server.refusals[path] = reply
    with pytest.raises(error):
        await wayback.newest(URL)


async def test_an_archive_that_is_away_is_an_error(clock: FrozenClock) -> None:
    away = Wayback(clock, base_url="http://127.9.0.2:9", user_agent="x")
    with pytest.raises(NetworkError):
        await away.newest(URL)
    await away.aclose()

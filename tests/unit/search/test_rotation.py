"""Whose turn it is among equals, what is left of a quota, and what the next process knows of it."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from tests.fakes.storage import MemoryCache

from pincite.domain.errors import ProviderQuota
from pincite.domain.search import Query, SearchResponse, SearchResult
from pincite.runtime.limiter import Ask
from pincite.search.catalogue import Price, ProviderCard, card_of
from pincite.search.health import NAMESPACE, ProviderHealthBook, Quota, SharedHealth, heed
from pincite.search.intent import Intent
from pincite.search.router import Engine, Router
from pincite.search.service import SearchOptions, SearchService
from pincite.search.spending import Pace
from pincite.storage.limits import opened_buckets
from pincite.testing.clock import FrozenClock

CARD = ProviderCard("twin", "Twin", "", "", (), 10, (), Price(Decimal("0.001"), Decimal("0.001")))


class Counted:
    def __init__(self, name: str = "twin") -> None:
        self.name = name
        self.asked = 0
        self.error: ProviderQuota | None = None

    async def search(self, query: Query) -> SearchResponse:
        self.asked += 1
        if self.error:
            raise self.error
        hit = SearchResult("Connection pool", "https://a.example/", "About a connection pool.", self.name, 1)
        return SearchResponse(query.text, (hit,))


def twin(account: str, weight: float = 1.0, left: float | None = None, clock: FrozenClock | None = None) -> Engine:
    engine = Engine(Counted(), CARD, account, weight)
    if left is not None and clock is not None:
        engine.quota.tell(left, 100, clock.now() + timedelta(days=9))
    return engine


async def spread(clock: FrozenClock, *engines: Engine, searches: int = 120) -> list[int]:
    service = SearchService(engines, clock=clock, options=SearchOptions(hedge_after_s=None))
    for n in range(searches):
        await service.search(Query(f"connection pool {n}"))
    return [engine.provider.asked for engine in engines]  # type: ignore[attr-defined]  # those of this file count


async def test_keys_take_turns() -> None:
    assert await spread(FrozenClock(), twin("1"), twin("2"), twin("3")) == [40, 40, 40]


async def test_keys_take_turns_by_weight() -> None:
    assert await spread(FrozenClock(), twin("1", 3.0), twin("2", 2.0), twin("3", 1.0)) == [60, 40, 20]


async def test_keys_take_turns_by_what_is_left_of_their_quota() -> None:
    clock = FrozenClock()
    assert await spread(clock, twin("1", left=90, clock=clock), twin("2", left=30, clock=clock)) == [90, 30]


async def test_engines_of_equal_fit_and_price_take_turns() -> None:
    engines = []
    for name in ("one", "two"):
        card = ProviderCard(name, name, "", "", (), 10, (), Price(Decimal("0.001"), Decimal("0.001")))
        engines.append(Engine(Counted(name), card))
    assert await spread(FrozenClock(), *engines) == [60, 60]


async def test_an_engine_that_is_nearly_used_up_goes_behind_its_equals() -> None:
    clock = FrozenClock()
    cheap, dear = Engine(Counted("brave"), card_of("brave")), Engine(Counted("firecrawl"), card_of("firecrawl"))
    router = Router(clock, ProviderHealthBook(clock))

    def first() -> str:
        return router.order(Query("anything"), Intent.GENERAL, (cheap, dear), peek=True)[0].engine.provider.name

    assert first() == "firecrawl"
    dear.quota.tell(2, 1000, clock.now() + timedelta(days=3))
    assert first() == "brave"
    [*_, last] = router.order(Query("anything"), Intent.GENERAL, (cheap, dear), peek=True)
    assert "0% of its quota left" in last.why
    clock.advance(4 * 86_400)
    assert first() == "firecrawl"


@pytest.mark.parametrize(
    ("headers", "share"),
    [
        ({"limit": "50, 20000", "remaining": "49, 5000", "reset": "1, 1419704"}, 0.25),
        ({"limit": "1000", "remaining": "10", "reset": "86400"}, 0.01),
        ({"limit": "100", "remaining": "10", "reset": "60"}, None),
        ({"limit": "50, 0", "remaining": "49, 0", "reset": "1, 1419704"}, None),
        ({"limit": "a lot", "remaining": "some", "reset": "never"}, None),
        ({"limit": "50", "remaining": "49, 3", "reset": "1"}, None),
        ({}, None),
    ],
)
def test_rate_headers_tell_what_is_left(headers: dict[str, str], share: float | None) -> None:
    clock, quota = FrozenClock(), Quota()
    heed(quota, {f"x-ratelimit-{name}": value for name, value in headers.items()}, clock.now())
    assert quota.share(clock.now()) == share


# ---- what the next process knows --------------------------------------------------------------------------


async def test_turns_go_on_in_the_next_process() -> None:
    clock = FrozenClock()
    notes = SharedHealth(MemoryCache(clock))
    asked: Counter[str] = Counter()
    for n in range(10):
        engines = (twin("1"), twin("2"))
        service = SearchService(engines, clock=clock, notes=notes, options=SearchOptions(hedge_after_s=None))
        await service.search(Query(f"connection pool {n}"))
        asked.update({engine.account: engine.provider.asked for engine in engines})  # type: ignore[attr-defined]  # those of this file count
        clock.advance(1)
    assert asked == {"1": 5, "2": 5}


async def test_a_refusal_is_known_to_the_next_process_for_a_while() -> None:
    clock = FrozenClock()
    notes = SharedHealth(MemoryCache(clock))

    async def times_asked() -> int:
        poor = Counted("tavily")
        poor.error = ProviderQuota("tavily is out of credit", reason="out_of_credit")
        service = SearchService((poor, Counted("exa")), clock=clock, notes=notes)
        assert (await service.search(Query("connection pool"))).results
        order = await service.explain(Query("connection pool"))
        assert order[-1].endswith("resting: out_of_credit")
        return poor.asked

    assert await times_asked() == 1
    clock.advance(60)
    assert await times_asked() == 0
    clock.advance(10 * 60)
    assert await times_asked() == 1


async def test_a_new_key_does_not_inherit_what_was_said_to_the_old_one() -> None:
    clock = FrozenClock()
    notes = SharedHealth(MemoryCache(clock))
    for mark, expected in (("old", 1), ("new", 1)):
        poor = Counted("tavily")
        poor.error = ProviderQuota("tavily is out of credit")
        engine = Engine(poor, card_of("tavily"), mark=mark)
        service = SearchService((engine, Counted("exa")), clock=clock, notes=notes)
        await service.search(Query("connection pool"))
        assert poor.asked == expected


async def test_damaged_notes_are_begun_anew() -> None:
    clock = FrozenClock()
    cache = MemoryCache(clock)
    engine = twin("1")
    first = SearchService((engine,), clock=clock, notes=SharedHealth(cache))
    await first.search(Query("connection pool"))
    entry = await cache.get(NAMESPACE, engine.remembered.key)
    assert entry is not None
    for value in (b"not json", b"[]", b'{"health": "x"}'):
        await cache.put(NAMESPACE, engine.remembered.key, replace(entry, value=value))
        again = SearchService((twin("1"),), clock=clock, notes=SharedHealth(cache))
        assert (await again.search(Query("connection pool"))).results


async def test_the_months_money_is_one_for_all_processes(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with (
        opened_buckets(tmp_path / "limits.sqlite", clock) as one,
        opened_buckets(tmp_path / "limits.sqlite", clock) as two,
    ):
        first, second = (Pace(clock, Decimal(30), buckets=buckets) for buckets in (one, two))
        await first.share()
        assert first.allows(Decimal("0.99"))
        first.spend(Decimal("0.75"))
        await first.share()
        await second.share()
        assert second.allows(Decimal("0.24"))
        assert not second.allows(Decimal("0.26"))
        clock.advance(86_400 / 2)
        await second.share()
        assert second.allows(Decimal("0.74"))


async def test_buckets_of_a_home_outlive_the_process(tmp_path: Path) -> None:
    clock = FrozenClock()
    ask = (Ask(cost_s=2.5, room_s=2.5),)
    async with opened_buckets(tmp_path / "limits.sqlite", clock) as buckets:
        assert await buckets.take("search:duckduckgo", ask) == 0
        await buckets.push_back("search:exa", 60)
        await buckets.push_back("search:exa", 5)
    async with opened_buckets(tmp_path / "limits.sqlite", clock) as buckets:
        assert await buckets.take("search:duckduckgo", ask) == pytest.approx(2.5)
        assert await buckets.take("search:exa", ()) == pytest.approx(60)
        await buckets.give_back("search:duckduckgo", ask)
        assert await buckets.take("search:duckduckgo", ask) == 0


async def test_a_damaged_file_of_limits_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "limits.sqlite"
    file.write_bytes(b"this is no database, " * 400)
    async with opened_buckets(file, FrozenClock()) as buckets:
        assert await buckets.take("key", (Ask(1, 1),)) == 0
    assert (tmp_path / "limits.sqlite.damaged").exists()


async def test_no_file_is_made_before_it_is_needed(tmp_path: Path) -> None:
    async with opened_buckets(tmp_path / "limits.sqlite", FrozenClock()):
        pass
    assert not (tmp_path / "limits.sqlite").exists()

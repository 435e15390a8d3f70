"""The gate, the order of engines, turns, lanes and hedges."""

from dataclasses import replace
from decimal import Decimal

import anyio
import pytest
from tests.unit.search.scripted import NOW, POOL, Scripted, service

from pincite.domain.budget import Budget
from pincite.domain.errors import (
    ProviderQuota,
    RateLimited,
)
from pincite.domain.search import Depth, Query, SearchResponse, Topic
from pincite.runtime.limiter import BATCH, CRITICAL, INTERACTIVE, Rate
from pincite.search.catalogue import Price, ProviderCard, card_of
from pincite.search.intent import RetrievalContext
from pincite.search.router import Engine
from pincite.search.service import SearchOptions, SearchService
from pincite.search.spending import BudgetedSearch, BudgetSpending
from pincite.testing.clock import FrozenClock

UNHEDGED = SearchOptions(hedge_after_s=None)


async def test_the_gate_spares_the_web() -> None:
    provider = Scripted("exa")
    search = service(provider, cache=True)
    response = await search.search(Query("who was Ada Lovelace"), context=RetrievalContext(0.9))
    assert response.results == ()
    assert "no web needed" in response.info.reason
    assert not provider.queries
    assert (await search.search(Query("who was Ada Lovelace connection pool"), context=RetrievalContext(0.3))).results


@pytest.mark.parametrize(
    ("query", "first"),
    [
        (Query("how to configure a connection pool in postgres"), "tavily"),
        (Query("TypeError: cannot read property of undefined"), "tavily"),
        (Query("history of the bicycle"), "tavily"),
        (Query("survey of graph neural network papers"), "exa"),
        (Query("anything", topic=Topic.RESEARCH), "exa"),
    ],
)
async def test_the_default_routes(query: Query, first: str) -> None:
    search = service(*(Scripted(name) for name in ("duckduckgo", "brave", "serper", "exa", "tavily")))
    order = [line.split()[1] for line in (await search.explain(query))[1:]]
    assert order[0] == first
    assert set(order[:2]) == {"tavily", "exa"}
    assert order[2:] == ["serper", "brave", "duckduckgo"]


async def test_the_depth_is_lowered_only_where_the_caller_left_it_open() -> None:
    tavily = Scripted("tavily", cost="0.016")
    search = service(tavily, pace_usd_per_month=Decimal(3))
    for n in range(12):
        await search.search(Query(f"connection pool {n}"))
    depths = [query.depth for query in tavily.queries]
    assert depths[0] is Depth.ADVANCED
    assert depths[-1] is Depth.BASIC
    assert any("lowered" in line for line in await search.explain(POOL))
    await search.search(Query("connection pool", depth=Depth.ADVANCED))
    assert tavily.queries[-1].depth is Depth.ADVANCED


async def test_equal_engines_take_turns_by_weight() -> None:
    card = ProviderCard("twin", "Twin", "", "", (), 10, (), Price(Decimal("0.001"), Decimal("0.001")))
    first, second = Scripted("twin"), Scripted("twin")
    search = service(Engine(first, card, "one", weight=2.0), Engine(second, card, "two", weight=1.0))
    for n in range(30):
        await search.search(Query(f"connection pool {n}"))
    assert (len(first.queries), len(second.queries)) == (20, 10)


async def test_lanes_share_a_short_limit() -> None:
    card = ProviderCard("one", "One", "", "", (), 10, (Rate(1, 3600, burst=8, kept_back=4),), None)
    clock = FrozenClock(NOW)
    engine = Engine(Scripted("one"), card)
    search = SearchService([engine], clock=clock, options=SearchOptions(hedge_after_s=None, deadline_s=5))

    async def answered(lane: int) -> int:
        count = 0
        for n in range(10):
            try:
                await search.search(Query(f"connection pool {lane} {n}"), priority=lane)
            except RateLimited:
                return count
            count += 1
        return count

    assert [await answered(lane) for lane in (BATCH, INTERACTIVE, CRITICAL)] == [4, 2, 2]


async def test_the_searches_of_a_run_go_in_its_lane() -> None:
    seen: list[int] = []

    class Door:
        async def search(
            self, query: Query, *, priority: int = 1, spending: object = None, queue_wait_s: float = 0.0
        ) -> SearchResponse:
            seen.append(priority)
            return SearchResponse(query.text)

    await BudgetedSearch(Door(), BudgetSpending(Budget()), priority=BATCH).search(POOL)
    assert seen == [BATCH]


async def test_several_keys_of_one_engine_fail_over() -> None:
    card = card_of("exa")
    poor, rich = Scripted("exa", ProviderQuota("no credit")), Scripted("exa")
    response = await service(Engine(poor, card, "one"), Engine(rich, card, "two")).search(POOL)
    assert response.results


async def test_a_slow_engine_is_hedged() -> None:
    class Slow(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            self.queries.append(query)
            await anyio.sleep_forever()
            raise AssertionError

    slow, fast = Slow("tavily"), Scripted("exa", cost="0.007")
    search = SearchService([slow, fast], options=SearchOptions(hedge_after_s=0.02))
    account = BudgetSpending(Budget())
    response = await search.search(POOL, spending=account)
    assert [hit.provider for hit in response.results] == ["exa"]
    assert ("tavily", "cancelled") in [(a.provider, a.outcome) for a in response.info.providers_tried]
    # the call that was cut off may have been charged
    assert account.used.cost_usd == Decimal("0.016") + Decimal("0.007")


async def test_searches_of_a_run_wait_for_their_turn_at_a_slow_engine() -> None:
    """Ninety at one call a second: the last waits longer than a search may take, and none is lost."""
    card = replace(card_of("exa"), rates=(Rate(1, 1),))
    search = SearchService([Engine(Scripted("exa"), card)], clock=FrozenClock(NOW), options=UNHEDGED)
    door = BudgetedSearch(search, BudgetSpending(Budget()), queue_wait_s=300)
    answered = []

    async def one(n: int) -> None:
        answered.append((await door.search(Query(f"connection pool {n}"))).results)

    async with anyio.create_task_group() as tasks:
        for n in range(90):
            tasks.start_soon(one, n)
    assert len(answered) == 90
    assert all(answered)


async def test_a_call_that_would_wait_too_long_is_told_how_long_at_least() -> None:
    card = replace(card_of("exa"), rates=(Rate(1, 90),))
    search = SearchService([Engine(Scripted("exa"), card)], clock=FrozenClock(NOW), options=UNHEDGED)
    await search.search(POOL)
    with pytest.raises(RateLimited) as caught:
        await search.search(Query("another connection pool"))
    assert caught.value.reason == "own_limit"
    assert caught.value.retry_after_s is not None
    assert 60 <= caught.value.retry_after_s <= 90

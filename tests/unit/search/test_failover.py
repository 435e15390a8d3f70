"""How a query finds another engine when one fails, rests, is slow or has nothing."""

from dataclasses import replace
from decimal import Decimal

import anyio
import pytest
from tests.unit.search.scripted import NOW, POOL, Scripted, service

from pincite.domain.budget import Budget
from pincite.domain.errors import (
    DnsError,
    InvalidInput,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderQuota,
    RateLimited,
    SearchProviderUnavailable,
)
from pincite.domain.search import Query, SearchResponse
from pincite.runtime.limiter import Rate
from pincite.search.catalogue import card_of
from pincite.search.results import Row, build_response
from pincite.search.router import Engine
from pincite.search.service import SearchOptions, SearchService
from pincite.search.spending import BudgetSpending
from pincite.testing.clock import FrozenClock


async def test_one_provider_answers() -> None:
    response = await service(Scripted("local")).search(POOL)
    assert [hit.title for hit in response.results] == ["connection pool guide"]
    assert [attempt.outcome for attempt in response.info.providers_tried] == ["ok"]
    assert response.info.cache == "off"


async def test_the_next_provider_answers_when_the_first_fails() -> None:
    broken, works = Scripted("tavily", NetworkError("down")), Scripted("exa")
    response = await service(broken, works).search(POOL)
    assert [(a.provider, a.outcome) for a in response.info.providers_tried] == [
        ("tavily", "network_error"),
        ("exa", "ok"),
    ]


@pytest.mark.parametrize(
    "error",
    [
        ProviderAuth("no"),
        ProviderQuota("empty"),
        RateLimited("slow", retry_after_s=500),
        InvalidInput("what?", reason="provider_bad_request"),
        SearchProviderUnavailable("down", reason="provider_outage"),
    ],
)
async def test_any_failure_of_one_is_no_failure_of_all(error: PinciteError) -> None:
    response = await service(Scripted("tavily", error), Scripted("exa")).search(POOL)
    assert response.results


async def test_when_all_fail_each_one_is_quoted() -> None:
    pair = (
        Scripted("tavily", ProviderQuota("no credit", reason="out_of_credit")),
        Scripted("exa", ProviderAuth("bad key")),
    )
    with pytest.raises(SearchProviderUnavailable) as caught:
        await service(*pair).search(POOL)
    assert set(caught.value.causes) == {"tavily", "exa"}
    assert "no credit" in caught.value.message
    assert "bad key" in caught.value.message


async def test_the_only_provider_is_tried_again_with_growing_pauses() -> None:
    flaky = Scripted("exa", NetworkError("a"), NetworkError("b"), NetworkError("c"), ("connection pool",))
    clock = FrozenClock(NOW)
    search = SearchService([flaky], clock=clock)
    assert (await search.search(POOL)).results
    assert len(flaky.queries) == 4
    assert clock.monotonic_s() == pytest.approx(3.5, abs=0.2)


@pytest.mark.parametrize(
    "offline", [DnsError("no such name", reason="dns_failed"), NetworkError("no way there", reason="no_network")]
)
async def test_without_a_network_nobody_waits_for_a_turn_or_tries_again(offline: PinciteError) -> None:
    """Six queries, one call in four seconds: the first finds no network, the others are told instead of waiting."""
    engine = Scripted("exa", offline)
    card = replace(card_of("exa"), rates=(Rate(1, 4, burst=1),))
    clock = FrozenClock(NOW)
    search = SearchService([Engine(engine, card)], clock=clock)
    found: list[PinciteError] = []

    async def ask(n: int) -> None:
        with pytest.raises(SearchProviderUnavailable) as caught:
            await search.search(Query(f"connection pool {n}"))
        found.append(caught.value)

    async with anyio.create_task_group() as tasks:
        for n in range(6):
            tasks.start_soon(ask, n)
    assert [error.reason for error in found] == [offline.reason] * 6
    assert len(engine.queries) == 1
    assert clock.monotonic_s() == FrozenClock(NOW).monotonic_s(), "nobody waited"
    clock.advance(60)  # the network is back; nothing rests that was never at fault
    engine.says(("connection pool",))
    assert (await search.search(POOL)).results


async def test_an_engine_that_rests_is_told_with_what_it_failed_with() -> None:
    broken = Scripted("exa", NetworkError("exa can't be reached", reason="connect"))
    search = SearchService([broken], clock=FrozenClock(NOW))
    for expected in ("connect", "connect", "breaker_open"):
        with pytest.raises(SearchProviderUnavailable) as caught:
            await search.search(POOL)
        assert caught.value.reason == expected
        assert "can't be reached" in caught.value.message


async def test_retry_after_is_kept() -> None:
    limited = Scripted("exa", RateLimited("slow", retry_after_s=9.0), ("connection pool",))
    clock = FrozenClock(NOW)
    assert (await SearchService([limited], clock=clock).search(POOL)).results
    assert clock.monotonic_s() >= 9


async def test_an_outage_that_says_when_it_ends_is_left_alone_until_then() -> None:
    down = SearchProviderUnavailable("down", reason="provider_outage", retry_after_s=30)
    broken, works = Scripted("tavily", down), Scripted("exa")
    search = service(broken, works)
    for _ in range(3):
        assert (await search.search(POOL)).results
    assert len(broken.queries) == 1


async def test_out_of_credit_is_not_asked_again_for_a_while() -> None:
    poor, rich = Scripted("tavily", ProviderQuota("no credit")), Scripted("exa")
    search = service(poor, rich)
    await search.search(POOL)
    await search.search(Query("another connection pool"))
    assert len(poor.queries) == 1


async def test_a_rest_ends_however_often_it_was_asked_about() -> None:
    clock = FrozenClock(NOW)
    poor = Scripted("tavily", ProviderQuota("no credit"), ("connection pool",))
    search = SearchService([poor], clock=clock, options=SearchOptions(hedge_after_s=None))
    for _ in range(4):
        with pytest.raises(SearchProviderUnavailable):
            await search.search(POOL)
        clock.advance(15 * 60)
    response = await search.search(POOL)
    assert response.results
    assert len(poor.queries) == 2


async def test_what_was_not_sent_is_told_apart() -> None:
    capped = service(Scripted("tavily"), Scripted("serper"))
    response = await capped.search(POOL, spending=BudgetSpending(Budget(cost_usd=Decimal("0.002"))))
    assert [attempt.sent for attempt in response.info.providers_tried] == [False, True]


async def test_an_open_breaker_spares_the_call() -> None:
    down, up = Scripted("tavily", NetworkError("down")), Scripted("exa")
    search = service(down, up)
    for n in range(12):
        await search.search(Query(f"connection pool {n}"))
    assert len(down.queries) <= 6


async def test_no_results_leads_to_one_more_engine() -> None:
    nothing, something = Scripted("tavily", ()), Scripted("exa")
    response = await service(nothing, something, Scripted("brave")).search(POOL)
    assert [a.outcome for a in response.info.providers_tried] == ["empty", "ok"]
    assert response.results


async def test_nothing_anywhere_is_an_empty_answer() -> None:
    response = await service(Scripted("tavily", ()), Scripted("exa", ())).search(POOL)
    assert response.results == ()


async def test_results_off_the_subject_lead_to_one_more_engine() -> None:
    response = await service(Scripted("tavily", ("garden chairs",)), Scripted("exa")).search(POOL)
    assert [hit.provider for hit in response.results] == ["exa"]
    assert response.info.dropped["irrelevant"] == 1


async def test_a_miss_of_the_only_engine_is_asked_for_more_once() -> None:
    chairs = tuple(f"garden chairs {n}" for n in range(5))
    only = Scripted("exa", chairs, (*chairs, "connection pool guide"))
    response = await service(only).search(POOL)
    assert [query.max_results for query in only.queries] == [5, 10]
    assert [hit.title for hit in response.results] == ["connection pool guide"]
    assert [attempt.outcome for attempt in response.info.providers_tried] == ["ok", "ok"]


@pytest.mark.parametrize("first", [(), ("garden chairs",), ("connection pool",)])
async def test_an_engine_without_more_results_is_not_asked_again(first: tuple[str, ...]) -> None:
    only = Scripted("exa", first)
    await service(only).search(POOL)
    assert len(only.queries) == 1


async def test_an_engine_whose_results_may_not_be_asked_for_is_not_called_empty() -> None:
    class Odd(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            row = Row("Connection pool", "http://example.org:9999/pool", "About connection pools.")
            return build_response("exa", query, [row], NOW)

    info = (await service(Odd("exa")).search(POOL)).info
    assert [attempt.outcome for attempt in info.providers_tried] == ["left_out"]
    assert [(item.url, item.reason) for item in info.left_out] == [("http://example.org:9999/pool", "port_denied")]

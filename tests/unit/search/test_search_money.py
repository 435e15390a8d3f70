"""Caps on searches, requests and dollars."""

from decimal import Decimal

import pytest
from tests.unit.search.scripted import POOL, Scripted, service

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import (
    BudgetExhausted,
    NetworkError,
)
from pincite.domain.search import Depth, Query
from pincite.search.spending import BudgetedSearch, BudgetSpending, RunSpending, capped


async def test_the_cap_on_searches_is_kept() -> None:
    provider = Scripted("exa")
    account = BudgetSpending(Budget(searches=2))
    search = service(provider)
    for n in range(2):
        await search.search(Query(f"connection pool {n}"), spending=account)
    with pytest.raises(BudgetExhausted) as caught:
        await search.search(Query("connection pool 3"), spending=account)
    assert caught.value.reason == "searches"
    assert len(provider.queries) == 2


async def test_an_unknown_price_fails_closed_under_a_cap_on_dollars() -> None:
    provider = Scripted("jina")
    with pytest.raises(BudgetExhausted) as caught:
        await service(provider).search(POOL, spending=BudgetSpending(Budget(cost_usd=Decimal(1))))
    assert caught.value.reason == "price_unknown"
    assert not provider.queries
    assert (await service(provider).search(POOL)).results


async def test_the_cheaper_engine_is_asked_when_dollars_run_short() -> None:
    tavily, serper = Scripted("tavily", cost="0.016"), Scripted("serper", cost="0.001")
    account = BudgetSpending(Budget(cost_usd=Decimal("0.005")))
    response = await service(tavily, serper).search(POOL, spending=account)
    assert [hit.provider for hit in response.results] == ["serper"]
    assert account.used.cost_usd == Decimal("0.001")


async def test_the_depth_is_lowered_to_stay_within_a_cap() -> None:
    tavily = Scripted("tavily", cost="0.008")
    account = BudgetSpending(Budget(cost_usd=Decimal("0.01")))
    response = await service(tavily, Scripted("serper")).search(POOL, spending=account)
    assert tavily.queries[0].depth is Depth.BASIC
    assert "lowered" in response.info.providers_tried[0].detail
    assert len(response.info.providers_tried) == 1
    with pytest.raises(BudgetExhausted):
        await service(tavily).search(Query("connection pool", depth=Depth.ADVANCED), spending=account)


async def test_what_another_cap_refuses_uses_nothing_of_a_searchs_own() -> None:
    account = BudgetSpending(Budget(cost_usd=Decimal("0.005")))
    own = capped(account, Decimal("0.02"))
    with pytest.raises(BudgetExhausted):
        await own.reserve(Usage(cost_usd=Decimal("0.016")))
    await own.reserve(Usage(cost_usd=Decimal("0.005")))
    assert account.used.cost_usd == Decimal("0.005")


class SpentLedger:
    """A ledger that has settled something."""

    def __init__(self, spent: Usage) -> None:
        self.settled = spent

    async def call(self, *_: object) -> None:
        raise AssertionError

    async def spent(self) -> Usage:
        return self.settled

    def cache_reads(self) -> tuple[int, int]:
        return 0, 0


async def test_a_run_holds_dollars_and_requests_back_before_each_call() -> None:
    ledger = SpentLedger(Usage(cost_usd=Decimal("0.995"), web_requests=10))
    exa, serper = Scripted("exa", cost="0.007"), Scripted("serper", cost="0.001")
    spending = RunSpending(ledger, Budget(cost_usd=Decimal(1), web_requests=20))
    search = BudgetedSearch(service(exa, serper), spending)
    assert [hit.provider for hit in (await search.search(POOL)).results] == ["serper"]
    assert not exa.queries
    ledger.settled = Usage(web_requests=20)
    with pytest.raises(BudgetExhausted) as caught:
        await search.search(Query("another connection pool"))
    assert caught.value.reason == "web_requests"


async def test_a_failed_call_costs_a_request_but_no_money() -> None:
    account = BudgetSpending(Budget())
    await service(Scripted("tavily", NetworkError("down")), Scripted("exa", cost="0.007")).search(
        POOL, spending=account
    )
    assert account.used.web_requests == 2
    assert account.used.cost_usd == Decimal("0.007")

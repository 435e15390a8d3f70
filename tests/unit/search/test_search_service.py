from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import anyio
import pytest

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import (
    BudgetExhausted,
    InvalidInput,
    InvalidSetting,
    InvalidTopic,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderQuota,
    RateLimited,
    SearchProviderUnavailable,
)
from pincite.domain.search import Constraints, Depth, Query, SearchInfo, SearchResponse, SearchResult, Topic
from pincite.ports import SearchProvider
from pincite.runtime.limiter import BATCH, CRITICAL, INTERACTIVE, Rate
from pincite.runtime.memory_cache import MemoryCache
from pincite.search.catalogue import Price, ProviderCard, Terms, card_of
from pincite.search.gate import RetrievalContext
from pincite.search.router import Engine
from pincite.search.service import SearchOptions, SearchService
from pincite.search.spending import BudgetedSearch, Purse, RunSpending
from pincite.search.store import Scopes
from pincite.testing.clock import FrozenClock

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Step = PinciteError | tuple[str, ...]


class Scripted:
    """A provider that says what it is told, call by call; the last step repeats."""

    def __init__(self, name: str, *steps: Step, cost: str = "0", before: Callable[[], object] | None = None) -> None:
        self._name = name
        self._steps = list(steps) or [("connection pool guide",)]
        self._cost = Decimal(cost)
        self.queries: list[Query] = []

    @property
    def name(self) -> str:
        return self._name

    async def search(self, query: Query) -> SearchResponse:
        self.queries.append(query)
        await anyio.lowlevel.checkpoint()
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, PinciteError):
            raise step
        results = tuple(
            SearchResult(title, f"https://{self._name}.example/{n}", f"About {title}, in short.", self._name, n + 1)
            for n, title in enumerate(step)
        )
        return SearchResponse(query.text, results, info=SearchInfo(cost_usd=self._cost))


def service(*providers: SearchProvider | Engine, cache: bool = False, **options: object) -> SearchService:
    clock = FrozenClock(NOW)
    settings = SearchOptions(**{"hedge_after_s": None, **options})  # type: ignore[arg-type]
    return SearchService(providers, clock=clock, cache=MemoryCache(clock) if cache else None, options=settings)


POOL = Query("connection pool")


def limited(**constraints: object) -> Query:
    return Query("connection pool", constraints=Constraints(**constraints))  # type: ignore[arg-type]


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


async def test_retry_after_is_kept() -> None:
    limited = Scripted("exa", RateLimited("slow", retry_after_s=9.0), ("connection pool",))
    clock = FrozenClock(NOW)
    assert (await SearchService([limited], clock=clock).search(POOL)).results
    assert clock.monotonic_s() >= 9


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
    response = await capped.search(POOL, spending=Purse(Budget(cost_usd=Decimal("0.002"))))
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


async def test_named_sources_are_fused_and_agreement_counts() -> None:
    class Same(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            await super().search(query)
            rows = [
                ("https://only.example/" + self.name, f"connection pool of {self.name}"),
                ("https://both.example/", "connection pool"),
            ]
            hits = tuple(
                SearchResult(title, url, f"{title}: a text.", self.name, n + 1) for n, (url, title) in enumerate(rows)
            )
            return SearchResponse(query.text, hits)

    response = await service(Same("tavily"), Same("exa"), Scripted("brave")).search(POOL, sources=("tavily", "exa"))
    assert response.results[0].url == "https://both.example/"
    assert len(response.results) == 3
    assert response.info.dropped["duplicate"] == 1
    assert {a.provider for a in response.info.providers_tried} == {"tavily", "exa"}


async def test_fusion_survives_the_failure_of_one() -> None:
    response = await service(Scripted("tavily", NetworkError("down")), Scripted("exa")).search(
        POOL, sources=("tavily", "exa")
    )
    assert [hit.provider for hit in response.results] == ["exa"]


@pytest.mark.parametrize(
    ("query", "kind", "reason"),
    [
        (Query(""), InvalidTopic, "query_empty"),
        (Query(" \x00 ?! "), InvalidTopic, "query_empty"),
        (Query("word " * 2000), InvalidTopic, "query_too_long"),
        (Query("pool", max_results=0), InvalidInput, "max_results"),
        (Query("pool", max_results=11), InvalidInput, "max_results"),
        (limited(since=date(2026, 2, 1), until=date(2026, 1, 1)), InvalidInput, "dates_contradict"),
        (limited(include_domains=("a.org",), exclude_domains=("a.org",)), InvalidInput, "domains_contradict"),
        (limited(include_domains=("not a domain",)), InvalidInput, "domain_syntax"),
        (limited(language="german!"), InvalidInput, "language"),
        (Query("pool", region="the moon"), InvalidInput, "region"),
    ],
)
async def test_bad_requests_are_refused_before_any_call(query: Query, kind: type[PinciteError], reason: str) -> None:
    provider = Scripted("exa")
    with pytest.raises(kind) as caught:
        await service(provider).search(query)
    assert caught.value.reason == reason
    assert not provider.queries


async def test_control_characters_are_taken_out_of_the_query() -> None:
    provider = Scripted("exa")
    await service(provider).search(Query("connection\x00\u202e pool\n\nsize"))
    assert provider.queries[0].text == "connection pool size"


async def test_unknown_and_retired_providers_say_what_to_do() -> None:
    search = service(Scripted("exa"))
    with pytest.raises(InvalidInput, match="nosuch") as unknown:
        await search.search(POOL, sources=("nosuch",))
    assert unknown.value.reason == "unknown_provider"
    with pytest.raises(InvalidInput) as unset:
        await search.search(POOL, sources=("tavily",))
    assert "TAVILY_API_KEY" in unset.value.hint
    with pytest.raises(InvalidSetting) as retired:
        await search.search(POOL, sources=("bing",))
    assert retired.value.reason == "provider_retired"
    assert "brave" in retired.value.hint


async def test_filters_are_applied_again_here() -> None:
    class Loose(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            dates = {"old": datetime(2020, 1, 1, tzinfo=UTC), "new": datetime(2026, 11, 1, tzinfo=UTC)}
            hits = tuple(
                SearchResult(
                    "connection pool",
                    f"https://{host}/{name}",
                    "connection pool, explained.",
                    "exa",
                    1,
                    published_at=when,
                )
                for host in ("a.example", "www.a.example", "b.example")
                for name, when in dates.items()
            )
            return SearchResponse(query.text, hits)

    constraints = Constraints(include_domains=("a.example",), since=date(2026, 1, 1), per_domain_cap=1)
    response = await service(Loose("exa")).search(Query("connection pool", constraints=constraints))
    assert [hit.url for hit in response.results] == ["https://a.example/new"]
    assert (
        response.info.dropped == {"date": 2, "domain_not_included": 2, "duplicate": 1}
        or response.info.dropped["date"] >= 1
    )


async def test_preferred_domains_come_first() -> None:
    class Two(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            urls = ("https://a.example/1", "https://b.example/2")
            hits = tuple(
                SearchResult("connection pool", url, "connection pool, explained.", "exa", n + 1)
                for n, url in enumerate(urls)
            )
            return SearchResponse(query.text, hits)

    constraints = Constraints(prefer_domains=("b.example",))
    response = await service(Two("exa")).search(Query("connection pool", constraints=constraints))
    assert [(hit.url, hit.rank) for hit in response.results] == [("https://b.example/2", 1), ("https://a.example/1", 2)]


# ---- cache ------------------------------------------------------------------------------------------------


async def test_the_same_question_costs_once() -> None:
    provider = Scripted("exa", cost="0.007")
    search = service(provider, cache=True)
    first = await search.search(Query("How to configure a connection pool?"))
    for text in (
        "how to configure a connection pool",
        "  HOW TO  configure a connection POOL ",
        "configure connection pool documentation",
    ):
        again = await search.search(Query(text))
        assert again.results == first.results
        assert again.info.cost_usd == 0
        assert again.query == " ".join(text.split())
    assert len(provider.queries) == 1
    assert (search.counts.hit, search.counts.near, search.counts.miss) == (3, 1, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sqlite error E421 on timeout", "sqlite error E422 on timeout"),
        ("python 3.11 asyncio timeout", "python 3.12 asyncio timeout"),
        ("migrate data from mysql to postgres", "migrate data from postgres to mysql"),
        ("convert json file into yaml", "convert yaml file into json"),
        ("run git hooks with sudo", "run git hooks without sudo"),
        ("restart nginx after config reload", "reload nginx config before restart"),
        ('"connection pool" timeout size', "connection pool timeout size"),
        ("configure redis connection timeout", "debug redis connection timeout"),
    ],
)
async def test_wordings_that_mean_something_else_do_not_share_an_answer(one: str, other: str) -> None:
    provider = Scripted("exa", ("git nginx connection redis sqlite python json data",))
    search = service(provider, cache=True)
    await search.search(Query(one))
    await search.search(Query(other))
    assert len(provider.queries) == 2


async def test_other_filters_are_another_question() -> None:
    provider = Scripted("exa")
    search = service(provider, cache=True)
    others = (
        Query("connection pool", max_results=3),
        Query("connection pool", topic=Topic.NEWS),
        Query("connection pool", depth=Depth.BASIC),
    )
    for query in (POOL, limited(language="en"), *others):
        await search.search(query)
    assert len(provider.queries) == 5


async def test_scopes_do_not_see_each_other() -> None:
    provider = Scripted("exa")
    search = service(provider, cache=True)
    await search.search(POOL, scopes=Scopes("ann"))
    await search.search(POOL, scopes=Scopes("bob"))
    assert len(provider.queries) == 2


async def test_a_shared_scope_needs_terms_that_allow_it() -> None:
    for terms, calls in ((Terms(), 2), (Terms(shareable=True, longest_cache_s=3600), 1)):
        provider = Scripted("exa")
        search = service(provider, cache=True, terms={"exa": terms})
        await search.search(POOL, scopes=Scopes("ann", shared="team"))
        await search.search(POOL, scopes=Scopes("bob", shared="team"))
        assert len(provider.queries) == calls


async def test_terms_limit_the_time_in_the_cache() -> None:
    clock = FrozenClock(NOW, moves_by_itself=True)
    provider = Scripted("exa")
    options = SearchOptions(terms={"exa": Terms(longest_cache_s=60)})
    search = SearchService([provider], clock=clock, cache=MemoryCache(clock), options=options)
    await search.search(POOL)
    clock.advance(61)
    await search.search(POOL)
    assert len(provider.queries) == 2


async def test_a_stale_answer_is_better_than_none() -> None:
    clock = FrozenClock(NOW)
    provider = Scripted("exa", ("latest news of the pool",), NetworkError("down"))
    options = SearchOptions(terms={"exa": Terms(longest_cache_s=7 * 86_400)}, pace_usd_per_month=None)
    search = SearchService([provider], clock=clock, cache=MemoryCache(clock), options=options)
    await search.search(Query("latest news of the pool"))
    clock.advance(2 * 3600)
    response = await search.search(Query("latest news of the pool"))
    assert response.info.stale
    assert response.info.cache == "stale"
    assert "connect" in response.info.reason or "network" in response.info.reason
    assert response.results


async def test_an_answer_just_past_its_time_is_refreshed_behind() -> None:
    clock = FrozenClock(NOW)
    provider = Scripted("exa", ("latest news one",), ("latest news two",))
    options = SearchOptions(terms={"exa": Terms(longest_cache_s=7 * 86_400)}, pace_usd_per_month=None)
    search = SearchService([provider], clock=clock, cache=MemoryCache(clock), options=options)
    async with search:
        await search.search(Query("latest news"))
        clock.advance(3600 + 200)
        assert (await search.search(Query("latest news"))).results[0].title == "latest news one"
        await anyio.wait_all_tasks_blocked()
        fresh = await search.search(Query("latest news"))
        assert fresh.results[0].title == "latest news two"
        assert not fresh.info.stale


async def test_twenty_callers_make_one_call() -> None:
    provider = Scripted("exa")
    search = service(provider, cache=True)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(search.search, POOL)
    assert len(provider.queries) == 1
    assert search.counts.coalesced + search.counts.hit == 19


# ---- budget, gate, router ---------------------------------------------------------------------------------


async def test_the_cap_on_searches_is_kept() -> None:
    provider = Scripted("exa")
    purse = Purse(Budget(searches=2))
    search = service(provider)
    for n in range(2):
        await search.search(Query(f"connection pool {n}"), spending=purse)
    with pytest.raises(BudgetExhausted) as caught:
        await search.search(Query("connection pool 3"), spending=purse)
    assert caught.value.reason == "searches"
    assert len(provider.queries) == 2


async def test_an_unknown_price_fails_closed_under_a_cap_on_dollars() -> None:
    provider = Scripted("jina")
    with pytest.raises(BudgetExhausted) as caught:
        await service(provider).search(POOL, spending=Purse(Budget(cost_usd=Decimal(1))))
    assert caught.value.reason == "price_unknown"
    assert not provider.queries
    assert (await service(provider).search(POOL)).results


async def test_the_cheaper_engine_is_asked_when_dollars_run_short() -> None:
    tavily, serper = Scripted("tavily", cost="0.016"), Scripted("serper", cost="0.001")
    purse = Purse(Budget(cost_usd=Decimal("0.005")))
    response = await service(tavily, serper).search(POOL, spending=purse)
    assert [hit.provider for hit in response.results] == ["serper"]
    assert purse.used.cost_usd == Decimal("0.001")


async def test_the_depth_is_lowered_to_stay_within_a_cap() -> None:
    tavily = Scripted("tavily", cost="0.008")
    purse = Purse(Budget(cost_usd=Decimal("0.01")))
    response = await service(tavily, Scripted("serper")).search(POOL, spending=purse)
    assert tavily.queries[0].depth is Depth.BASIC
    assert "lowered" in response.info.providers_tried[0].detail
    assert len(response.info.providers_tried) == 1
    with pytest.raises(BudgetExhausted):
        await service(tavily).search(Query("connection pool", depth=Depth.ADVANCED), spending=purse)


class SpentLedger:
    """A ledger that has settled something."""

    def __init__(self, spent: Usage) -> None:
        self.settled = spent

    async def call(self, *_: object) -> None:
        raise AssertionError

    async def spent(self) -> Usage:
        return self.settled


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
    purse = Purse(Budget())
    await service(Scripted("tavily", NetworkError("down")), Scripted("exa", cost="0.007")).search(POOL, spending=purse)
    assert purse.used.web_requests == 2
    assert purse.used.cost_usd == Decimal("0.007")


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
            except SearchProviderUnavailable:
                return count
            count += 1
        return count

    assert [await answered(lane) for lane in (BATCH, INTERACTIVE, CRITICAL)] == [4, 2, 2]


async def test_the_searches_of_a_run_go_in_its_lane() -> None:
    seen: list[int] = []

    class Door:
        async def search(self, query: Query, *, priority: int = 1, spending: object = None) -> SearchResponse:
            seen.append(priority)
            return SearchResponse(query.text)

    await BudgetedSearch(Door(), Purse(Budget()), priority=BATCH).search(POOL)
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
    purse = Purse(Budget())
    response = await search.search(POOL, spending=purse)
    assert [hit.provider for hit in response.results] == ["exa"]
    assert ("tavily", "cancelled") in [(a.provider, a.outcome) for a in response.info.providers_tried]
    # the call that was cut off may have been charged
    assert purse.used.cost_usd == Decimal("0.016") + Decimal("0.007")

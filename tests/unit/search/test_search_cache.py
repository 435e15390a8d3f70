"""Which question gets which kept answer, for whom, and for how long."""

import anyio
import pytest
from tests.fakes.storage import MemoryCache
from tests.unit.search.scripted import NOW, POOL, Scripted, limited, service

from pincite.domain.errors import (
    NetworkError,
)
from pincite.domain.search import Depth, Query, Topic
from pincite.search.catalogue import Terms
from pincite.search.service import SearchOptions, SearchService
from pincite.search.store import Scopes
from pincite.testing.clock import FrozenClock


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

"""Queries about now: newer pages come forward, with one engine and without dates of the caller's own."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.unit.search.scripted import NOW, Scripted, service

from pincite.domain.search import Constraints, Query, SearchResponse, SearchResult
from pincite.search.intent import Intent, freshness_of, recency


class Archive(Scripted):
    """Lists the same pages, oldest first, as far as they lie in the time that is asked for."""

    def __init__(self, pages: Sequence[tuple[str, datetime | None]]) -> None:
        super().__init__("serper")
        self._pages = pages

    async def search(self, query: Query) -> SearchResponse:
        self.queries.append(query)
        since = query.constraints.since
        kept = [(t, d) for t, d in self._pages if since is None or d is None or d.date() >= since]
        hits = tuple(
            SearchResult(title, f"https://site{n}.example/", f"{title}, in short.", self.name, n, published_at=day)
            for n, (title, day) in enumerate(kept[: query.max_results], start=1)
        )
        return SearchResponse(query.text, hits)


YEARS = [(f"Harbour bridge toll {year}", datetime(year, 5, 2, tzinfo=UTC)) for year in range(2016, 2025)]
FRESH = ("Harbour bridge toll", NOW - timedelta(days=4))


@pytest.mark.parametrize(
    "text",
    [
        "latest harbour bridge toll",
        "harbour bridge toll today",
        "what is the current harbour bridge toll",
        "harbour bridge toll 2026",
        "neueste harbour bridge toll",
        "harbour bridge toll aujourd'hui",
    ],
)
async def test_the_fresh_page_is_among_the_first_though_the_engine_lists_it_last(text: str) -> None:
    engine = Archive([*YEARS, FRESH])
    response = await service(engine).search(Query(text, max_results=3))
    assert response.results[0].title == "Harbour bridge toll"
    assert len(response.results) <= 3
    assert engine.queries[0].max_results >= 10


async def test_other_queries_keep_the_order_and_size_of_the_engine() -> None:
    engine = Archive([*YEARS, FRESH])
    response = await service(engine).search(Query("harbour bridge toll", max_results=3))
    assert [hit.title for hit in response.results] == [title for title, _ in YEARS[:3]]
    assert engine.queries[0].max_results == 3


async def test_years_in_titles_stand_in_for_dates_that_the_engine_does_not_give() -> None:
    engine = Archive([*((title, None) for title, _ in YEARS), ("Harbour bridge toll", None)])
    response = await service(engine).search(Query("current harbour bridge toll", max_results=5))
    assert response.results[0].title == "Harbour bridge toll"


async def test_nothing_in_the_window_is_asked_for_again_without_it() -> None:
    engine = Archive(YEARS)
    response = await service(engine).search(Query("harbour bridge toll today", max_results=3))
    assert [query.constraints.since for query in engine.queries] == [date(2026, 11, 14), None]
    assert response.results[0].title == "Harbour bridge toll 2024"


async def test_dates_of_the_caller_stay_as_they_are() -> None:
    engine = Archive([*YEARS, FRESH])
    wanted = Constraints(since=date(2020, 1, 1))
    await service(engine).search(Query("latest harbour bridge toll", constraints=wanted))
    assert {query.constraints.since for query in engine.queries} == {date(2020, 1, 1)}


@pytest.mark.parametrize("text", ["current working directory", "the Knowing", "Highway 2026.5", "released 2019"])
def test_words_with_other_meanings_set_no_window(text: str) -> None:
    fresh = freshness_of(Query(text), NOW.date())
    assert fresh is None or fresh.window_days is None


async def test_what_is_so_now_is_kept_as_long_as_news() -> None:
    kept: list[Intent] = []
    search = service(Archive([*YEARS, FRESH]), cache=True)
    store = search._store
    assert store is not None
    keep = store.keep

    async def noted(query: Any, sources: Any, scopes: Any, response: Any, intent: Intent, terms: Any) -> None:
        kept.append(intent)
        await keep(query, sources, scopes, response, intent, terms)

    store.keep = noted  # type: ignore[method-assign]  # the store as it is, watched
    await search.search(Query("harbour bridge manual"))
    await search.search(Query("latest harbour bridge manual"))
    assert kept == [Intent.DOCUMENTATION, Intent.CURRENT_EVENT]


def test_recency_falls_with_age() -> None:
    ages = [0, 1, 30, 365, 3_000, 5_000]
    values = [
        recency(SearchResult("", "https://a.example/", "", "x", 1, published_at=NOW - timedelta(days=age)), NOW)
        for age in ages
    ]
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (1.0, 0.0)

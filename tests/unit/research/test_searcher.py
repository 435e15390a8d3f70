"""Merging, lists, dates and caps of the searcher."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.small_web import ListEvents, ListLedger

from pincite.domain.plan import Plan, Progress, SubQuestion, Task
from pincite.domain.search import Constraints, Query, SearchResponse, SearchResult
from pincite.research.searcher import QuerySearcher
from pincite.research.state import Limits, with_results


class Scripted:
    """Answers each query with a fixed list of URLs."""

    def __init__(
        self,
        answers: Mapping[str, Sequence[str]],
        *,
        provider: str = "engine",
        published: Mapping[str, datetime] | None = None,
    ) -> None:
        self._answers = answers
        self._provider = provider
        self._published = published or {}

    async def search(self, query: Query) -> SearchResponse:
        results = tuple(
            SearchResult(url, url, "", self._provider, rank, published_at=self._published.get(url))
            for rank, url in enumerate(self._answers.get(query.text, ()), start=1)
        )
        return SearchResponse(query.text, results)


async def search(
    answers: Mapping[str, Sequence[str]],
    *,
    limits: Limits | None = None,
    constraints: Constraints | None = None,
    urls: tuple[str, ...] = (),
    progress: Progress | None = None,
    **scripted: Any,
) -> list[str]:
    limits = limits or Limits(per_domain_cap=3)
    searcher = QuerySearcher(Scripted(answers, **scripted), ListLedger(), ListEvents(), limits=limits)
    parts = tuple(SubQuestion(str(n), f"q{n}", (Query(text),)) for n, text in enumerate(answers, start=1))
    progress = progress or Progress(round_number=1, plan=Plan(parts))
    task = Task("q", constraints=constraints or Constraints(), urls=urls)
    return [result.url for result in (await searcher.search(task, progress)).results]


async def test_a_page_is_taken_once_whatever_its_spelling() -> None:
    found = await search({"a": ["https://x.test/p?utm_source=1", "https://x.test/p#part"], "b": ["https://X.test/p"]})
    assert found == ["https://x.test/p?utm_source=1"]


async def test_sub_questions_take_turns() -> None:
    found = await search({"a": ["https://a.test/1", "https://a.test/2"], "b": ["https://b.test/1"]})
    assert found == ["https://a.test/1", "https://b.test/1", "https://a.test/2"]


async def test_what_one_query_was_worded_for_is_not_crowded_out() -> None:
    """Three queries of one part: two pages are somewhere in all of them, one is first where it was asked for."""
    both = ["https://a.test/all", "https://a.test/too"]
    answers = {"merge": both, "rebase": both, "cherry-pick": ["https://a.test/cherry-pick", *both]}
    queries = tuple(Query(text) for text in answers)
    progress = Progress(round_number=1, plan=Plan((SubQuestion("1", "q", queries),)))
    assert await search(answers, progress=progress) == [both[0], "https://a.test/cherry-pick", both[1]]


async def test_the_cap_counts_a_registrable_domain_over_the_whole_run() -> None:
    urls = [f"https://d{n}.x.test/{n}" for n in range(5)]
    assert len(await search({"a": urls})) == 3
    plan = Plan((SubQuestion("1", "q", (Query("a"),)),))
    before = with_results(
        Progress(plan=plan, round_number=2), [SearchResult("", "https://x.test/old", "", "engine", 1)], []
    )
    assert len(await search({"a": urls}, progress=before)) == 2


async def test_local_sources_have_no_cap_unless_asked() -> None:
    urls = [f"https://x.test/{n}" for n in range(5)]
    assert len(await search({"a": urls}, provider="local")) == 5
    assert len(await search({"a": urls}, provider="local", constraints=Constraints(per_domain_cap=2))) == 2


async def test_domain_lists() -> None:
    urls = ["https://a.test/1", "https://docs.b.test/1", "https://nota.test/1"]
    assert await search({"q": urls}, constraints=Constraints(include_domains=("a.test",))) == ["https://a.test/1"]
    assert "https://a.test/1" not in await search({"q": urls}, constraints=Constraints(exclude_domains=("a.test",)))
    preferred = await search({"q": urls}, constraints=Constraints(prefer_domains=("b.test",)))
    assert preferred[0] == "https://docs.b.test/1"


@pytest.mark.parametrize(("keep", "expected"), [(True, ["new", "undated"]), (False, ["new"])])
async def test_dates_filter_and_undated_pages_follow_the_setting(keep: bool, expected: list[str]) -> None:
    published = {
        "https://a.test/new": datetime(2026, 5, 1, tzinfo=UTC),
        "https://b.test/old": datetime(2020, 5, 1, tzinfo=UTC),
    }
    urls = [*published, "https://c.test/undated"]
    found = await search(
        {"q": urls},
        limits=Limits(keep_undated=keep),
        constraints=Constraints(since=date(2026, 5, 1)),
        published=published,
    )
    assert [url.rsplit("/", 1)[1] for url in found] == expected


async def test_results_that_are_no_pages_are_left_out() -> None:
    assert await search({"q": ["javascript:alert(1)", "http://", "https://a.test/1"]}) == ["https://a.test/1"]


@given(st.lists(st.integers(0, 8), max_size=30), st.integers(1, 4))
def test_never_more_than_the_cap_of_a_domain(numbers: list[int], cap: int) -> None:
    import anyio

    urls = [f"https://site{n % 3}.test/{n}" for n in numbers]
    found = anyio.run(lambda: search({"q": urls}, limits=Limits(per_domain_cap=cap)))
    for site in range(3):
        assert sum(f"site{site}." in url for url in found) <= cap
    assert len(found) == len(set(found))

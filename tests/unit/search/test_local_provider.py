"""The local library as a search provider."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from pincite.domain.errors import Timeout
from pincite.domain.search import PageHit, Query, Survey
from pincite.search.providers.local import LocalProvider


class Pages:
    """A page index that answers with what it was given, after an optional wait for a gate."""

    name = "zoo"

    def __init__(self, *hits: PageHit) -> None:
        self.hits = hits
        self.asked: list[Query] = []

    def search(self, query: Query) -> Sequence[PageHit]:
        self.asked.append(query)
        return self.hits[: query.max_results] if "bees" in query.text else ()

    def survey(self, text: str) -> Survey:
        known = tuple((word, int(word == "bees")) for word in text.split())
        return Survey(9, known, (("beees", "bees"),) if "beees" in text else ())


async def test_hits_become_ranked_results() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    pages = Pages(PageHit("local:zoo/a", "A", "text a", 2.0, day), PageHit("local:zoo/b", "B", "text b", 1.0))
    response = await LocalProvider(pages).search(Query("bees", max_results=2))
    assert [(r.rank, r.url, r.provider, r.published_at) for r in response.results] == [
        (1, "local:zoo/a", "local", day),
        (2, "local:zoo/b", "local", None),
    ]
    (attempt,) = response.info.providers_tried
    assert (attempt.provider, attempt.outcome, attempt.detail) == ("local", "ok", "zoo")
    assert pages.asked == [Query("bees", max_results=2)]


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        ("zebra", 2, "no page of the library zoo has a word of the query"),
        ("bees", 0, "no page of the library zoo that fits the limits has a word of the query"),
    ],
)
async def test_no_hit_is_an_empty_answer_that_says_so(text: str, most: int, said: str) -> None:
    pages = Pages(PageHit("local:zoo/a", "A", "text a", 2.0))
    response = await LocalProvider(pages).search(Query(text, max_results=most))
    assert response.results == ()
    assert response.info.providers_tried[0].outcome == "empty"
    assert response.info.reason == said


async def test_a_word_that_no_page_has_is_read_as_the_one_it_is_taken_for_and_that_is_said() -> None:
    pages = Pages(PageHit("local:zoo/a", "A", "text a", 2.0))
    response = await LocalProvider(pages).search(Query("beees of the zoo"))
    assert [result.url for result in response.results] == ["local:zoo/a"]
    assert [query.text for query in pages.asked] == ["beees of the zoo", "bees of the zoo"]
    assert response.info.reason == "searched for “bees”: no page of the library zoo has “beees”"


async def test_an_index_that_hangs_is_left_at_the_deadline() -> None:
    import threading

    gate = threading.Event()

    class Stuck(Pages):
        def search(self, query: Query) -> Sequence[PageHit]:
            gate.wait(5)
            return ()

    with pytest.raises(Timeout):
        await LocalProvider(Stuck(), deadline_s=0.01).search(Query("x"))
    gate.set()

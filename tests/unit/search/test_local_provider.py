"""The local library as a search provider."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from pincite.domain.errors import Timeout
from pincite.domain.library import PageHit
from pincite.domain.search import Query
from pincite.search.providers.local import LocalProvider


class Pages:
    """A page index that answers with what it was given, after an optional wait for a gate."""

    name = "zoo"

    def __init__(self, *hits: PageHit) -> None:
        self.hits = hits
        self.asked: list[Query] = []

    def search(self, query: Query) -> Sequence[PageHit]:
        self.asked.append(query)
        return self.hits[: query.max_results]


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


async def test_no_hit_is_an_empty_answer() -> None:
    response = await LocalProvider(Pages()).search(Query("zebra"))
    assert response.results == ()
    assert response.info.providers_tried[0].outcome == "empty"


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

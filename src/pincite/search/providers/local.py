"""A local library as a search engine: no network, no key, no cost."""

import time

import anyio
import anyio.to_thread

from pincite.domain.errors import Timeout
from pincite.domain.search import ProviderAttempt, Query, SearchInfo, SearchResponse, SearchResult
from pincite.ports import PageIndex

NAME = "local"
# SQLite answers in milliseconds; the rest is for a disk that has to wake up.
_DEADLINE_S = 10.0


class LocalProvider:
    """Implements `ports.SearchProvider` over a `ports.PageIndex`."""

    name = NAME

    def __init__(self, index: PageIndex, *, deadline_s: float = _DEADLINE_S) -> None:
        self._index = index
        self._deadline_s = deadline_s

    async def search(self, query: Query) -> SearchResponse:
        """The library's best pages in order; an empty tuple when no word of the query occurs in it.

        Errors:
            Timeout: the index did not answer in time.
            StorageUnavailable: the index is damaged.
        """
        started = time.perf_counter()
        try:
            with anyio.fail_after(self._deadline_s):
                hits = await anyio.to_thread.run_sync(self._index.search, query, abandon_on_cancel=True)
        except TimeoutError:
            raise Timeout(f"the library {self._index.name} did not answer in time", reason="local_search") from None
        latency_ms = (time.perf_counter() - started) * 1000
        outcome = "ok" if hits else "empty"
        return SearchResponse(
            query=query.text,
            results=tuple(
                SearchResult(
                    title=hit.title,
                    url=hit.url,
                    snippet=hit.snippet,
                    provider=NAME,
                    rank=rank,
                    score=hit.score,
                    published_at=hit.published_at,
                )
                for rank, hit in enumerate(hits, 1)
            ),
            info=SearchInfo(
                providers_tried=(ProviderAttempt(NAME, outcome, latency_ms, detail=self._index.name),),
                latency_ms=latency_ms,
            ),
        )

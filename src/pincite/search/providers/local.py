"""A local library as a search engine: no network, no key, no cost."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import anyio
import anyio.to_thread

from pincite.domain.errors import Timeout
from pincite.domain.search import PageHit, ProviderAttempt, Query, SearchInfo, SearchResponse, SearchResult
from pincite.ports import PageIndex, Vocabulary

NAME = "local"
# SQLite answers in milliseconds; the rest is for a disk that has to wake up.
_DEADLINE_S = 10.0


class _Library(PageIndex, Vocabulary, Protocol):
    """Pages, and the words that they have."""


class LocalProvider:
    """Implements `ports.SearchProvider` over a `ports.PageIndex`."""

    name = NAME

    def __init__(self, index: _Library, *, deadline_s: float = _DEADLINE_S) -> None:
        self._index = index
        self._deadline_s = deadline_s

    async def search(self, query: Query) -> SearchResponse:
        """The library's best pages in order; none when no word of the query occurs in it, and `reason` says so.

        Errors: Timeout (the index did not answer in time), StorageUnavailable (the index is damaged).
        """
        started = time.perf_counter()
        try:
            with anyio.fail_after(self._deadline_s):
                hits, reason = await anyio.to_thread.run_sync(self._search_pages, query, abandon_on_cancel=True)
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
                reason=reason,
            ),
        )

    def _search_pages(self, query: Query) -> tuple[Sequence[PageHit], str]:
        """The pages, and what is to be said: that there are none, or that a word was read as another."""
        hits = self._index.search(query)
        if hits:
            return hits, ""
        survey = self._index.survey(query.text)
        for written, read_as in survey.spellings[:1]:
            hits = self._index.search(replace(query, text=survey.corrected(query.text)))
            if hits:
                return hits, f"searched for “{read_as}”: no page of the library {self._index.name} has “{written}”"
        if any(passages for _, passages in survey.frequencies):
            return (), f"no page of the library {self._index.name} that fits the limits has a word of the query"
        return (), f"no page of the library {self._index.name} has a word of the query"

"""One ranking out of several engines': reciprocal ranks, agreement, local relevance, recency.

Source: Cormack, Clarke and Büttcher 2009 for reciprocal rank fusion (k = 60).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pincite.domain.search import Query, SearchResponse, SearchResult
from pincite.search.filters import local_scores
from pincite.search.freshness import RECENCY_SHARE, recency
from pincite.urls import url_key

RRF_K = 60
LOCAL_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Fused:
    """A page with the names of the engines that found it."""

    result: SearchResult
    engines: tuple[str, ...]
    score: float


def fuse(query: Query, responses: Sequence[SearchResponse], now: datetime, *, by_date: bool) -> tuple[Fused, ...]:
    """The pages of all responses, each once, best first.

    A page's score is the sum of 1/(60 + rank) over the engines, relative to the best possible one, so agreement
    counts; then the local relevance of title and snippet is mixed in, and with `by_date` the date.
    """
    merged: dict[str, tuple[SearchResult, list[str], float]] = {}
    for response in responses:
        for hit in response.results:
            key = url_key(hit.url)
            gain = 1 / (RRF_K + hit.rank)
            if key not in merged:
                merged[key] = (hit, [hit.provider], gain)
                continue
            known, engines, total = merged[key]
            if hit.provider in engines:
                continue
            merged[key] = (_fuller(known, hit), [*engines, hit.provider], total + gain)
    entries = list(merged.values())
    ceiling = max(len(responses), 1) / (RRF_K + 1)
    relevance = local_scores(query, [hit for hit, _, _ in entries])
    fused = [
        Fused(hit, tuple(engines), _mixed(total / ceiling, local, hit, now if by_date else None))
        for (hit, engines, total), local in zip(entries, relevance, strict=True)
    ]
    return tuple(sorted(fused, key=lambda page: -page.score))


def _fuller(one: SearchResult, other: SearchResult) -> SearchResult:
    """The better-ranked entry with the longer snippet and whichever date is known."""
    first, second = (one, other) if one.rank <= other.rank else (other, one)
    snippet = second.snippet if len(second.snippet) > 2 * len(first.snippet) else first.snippet
    return replace(first, snippet=snippet, published_at=first.published_at or second.published_at)


def _mixed(rank_score: float, local: float, hit: SearchResult, now: datetime | None) -> float:
    score = (1 - LOCAL_SHARE) * rank_score + LOCAL_SHARE * local
    return score if now is None else (1 - RECENCY_SHARE) * score + RECENCY_SHARE * recency(hit, now)

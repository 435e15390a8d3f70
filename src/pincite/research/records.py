"""Plain JSON of what the ledger keeps for research: queries, results, pages read. Read back to equal values."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from pincite.domain.errors import SchemaMismatch
from pincite.domain.events import Json
from pincite.domain.page import FetchResult
from pincite.domain.search import LeftOut, Query, SearchResponse, SearchResult


def query_record(query: Query) -> dict[str, Json]:
    """The identity of a search: what is asked, no provider, no time."""
    constraints: dict[str, Json] = {}
    for name, value in asdict(query.constraints).items():
        if isinstance(value, tuple):
            constraints[name] = list(value)
        else:
            constraints[name] = value.isoformat() if hasattr(value, "isoformat") else value
    return {
        "text": query.text,
        "max_results": query.max_results,
        "constraints": constraints,
        "region": query.region,
        "topic": str(query.topic),
        "depth": None if query.depth is None else str(query.depth),
    }


def results_record(response: SearchResponse) -> Json:
    """The results of a search as JSON, then those that policy left out. A provider's own answer is never evidence."""
    results: list[Json] = [
        {
            "title": result.title,
            "url": result.url,
            "snippet": result.snippet,
            "provider": result.provider,
            "rank": result.rank,
            "score": result.score,
            "published_at": None if result.published_at is None else result.published_at.isoformat(),
            "relevance": result.relevance,
            "quality": result.quality,
        }
        for result in response.results
    ]
    left_out = response.info.left_out
    others: list[Json] = [{"title": item.title, "url": item.url, "left_out": item.reason} for item in left_out]
    return results + others


def results_from_record(record: Json) -> tuple[SearchResult, ...]:
    """The results that `results_record` wrote.

    Errors:
        SchemaMismatch: the record is not of this shape.
    """
    if not isinstance(record, list):
        raise SchemaMismatch("a recorded search is not a list of results")
    return tuple(_result(entry) for entry in record if not (isinstance(entry, dict) and "left_out" in entry))


def left_out_from_record(record: Json) -> tuple[LeftOut, ...]:
    """The results that policy left out, as `results_record` wrote them."""
    entries = record if isinstance(record, list) else []
    return tuple(
        LeftOut(str(entry.get("title") or ""), str(entry.get("url") or ""), str(entry["left_out"]))
        for entry in entries
        if isinstance(entry, dict) and "left_out" in entry
    )


def _result(entry: Json) -> SearchResult:
    if not isinstance(entry, dict):
        raise SchemaMismatch("a recorded search result is not an object")
    rank, published = entry.get("rank"), entry.get("published_at")
    return SearchResult(
        title=str(entry.get("title") or ""),
        url=str(entry["url"]),
        snippet=str(entry.get("snippet") or ""),
        provider=str(entry.get("provider") or ""),
        rank=rank if isinstance(rank, int) else 1,
        score=_number(entry.get("score")),
        published_at=datetime.fromisoformat(published) if isinstance(published, str) else None,
        relevance=_number(entry.get("relevance")),
        quality=_number(entry.get("quality")),
    )


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def from_cache(state: str) -> bool | None:
    """Whether the cache answered, by the `cache` of a service's `info`; None where it was not asked."""
    return None if state == "off" else state != "miss"


def page_record(page: FetchResult) -> dict[str, Json]:
    """Where the stored page is: ids only, the bytes are in the stores."""
    record: dict[str, Json] = {"snapshot_id": page.snapshot.snapshot_id, "document_id": page.document.document_id}
    return {**record, "stale": True} if page.info.stale else record


def was_stale(record: Json) -> bool:
    """Whether the page of `page_record` was an older copy, shown because its host failed."""
    return isinstance(record, Mapping) and record.get("stale") is True


def ids_from_record(record: Json) -> tuple[str, str]:
    """Snapshot id and document id that `page_record` wrote.

    Errors:
        SchemaMismatch: the record is not of this shape.
    """
    if not isinstance(record, Mapping):
        raise SchemaMismatch("a recorded page is not an object")
    return str(record["snapshot_id"]), str(record["document_id"])

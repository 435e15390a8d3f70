"""From the engines' answers to the one response: filters, one ranking, relevance, caps, and how it came about."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from pincite.domain.errors import PinciteError, SearchProviderUnavailable
from pincite.domain.frozen import dataclass
from pincite.domain.search import NOTHING_FOUND, Query, SearchInfo, SearchResponse, SearchResult
from pincite.search.calls import Trail
from pincite.search.catalogue import FILE_TYPE, IN_TITLE, card_of
from pincite.search.filters import (
    QualityRules,
    apply_filters,
    cap_and_rank,
    coverage,
    drop_irrelevant,
    is_about,
    local_scores,
    names_in,
    subject_terms,
)
from pincite.search.intent import RECENCY_SHARE, Intent, has_dates, recency
from pincite.search.store import Found
from pincite.urls import url_key

# One ranking out of several engines': reciprocal ranks, agreement, local relevance, recency.
#
# Source: Cormack, Clarke and Büttcher 2009 for reciprocal rank fusion (k = 60).

# The value of the paper; ranks below the first ten then differ by little.
RRF_K = 60
# What words say beside the engines' own ranks, which know far more than title and snippet show. Chosen, not measured.
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
            # Two addresses of one page from one engine are one vote.
            if hit.provider in engines:
                continue
            # The better-ranked entry with the longer snippet and whichever date is known.
            first, second = (known, hit) if known.rank <= hit.rank else (hit, known)
            # Engines choose a snippet for the query: the better rank keeps its own unless it says next to nothing
            # beside the other.
            snippet = second.snippet if len(second.snippet) > 2 * len(first.snippet) else first.snippet
            merged[key] = (
                replace(first, snippet=snippet, published_at=first.published_at or second.published_at),
                [*engines, hit.provider],
                total + gain,
            )
    entries = list(merged.values())
    # The score of a page that every engine puts first: scores of two and of five engines mean the same then.
    ceiling = max(len(responses), 1) / (RRF_K + 1)
    relevance = local_scores(query, [hit for hit, _, _ in entries])
    fused = [
        Fused(hit, tuple(engines), _mixed(total / ceiling, local, hit, now if by_date else None))
        for (hit, engines, total), local in zip(entries, relevance, strict=True)
    ]
    return tuple(sorted(fused, key=lambda page: -page.score))


def _mixed(rank_score: float, local: float, hit: SearchResult, now: datetime | None) -> float:
    score = (1 - LOCAL_SHARE) * rank_score + LOCAL_SHARE * local
    return score if now is None else (1 - RECENCY_SHARE) * score + RECENCY_SHARE * recency(hit, now)


# An answer none of whose hits holds this share of the query's subject words is a miss: one more engine is asked.
MISS_COVERAGE = 0.34


@dataclass(frozen=True, slots=True)
class Made:
    """The material of a response: the query, the engines' answers in order, what was tried.

    `timely`: it asks how things are now, so that dates rank.
    """

    query: Query
    intent: Intent
    answers: tuple[SearchResponse, ...]
    trail: Trail
    timely: bool = False


def is_good(query: Query, quality: QualityRules, response: SearchResponse) -> bool:
    """Whether the answer has a hit that holds enough of what the query is about, and its name in a title or host."""
    wanted, names = subject_terms(query.text), frozenset(names_in(query.text))
    kept = apply_filters(query, response.results, quality, Counter())
    return any(coverage(wanted, hit) >= MISS_COVERAGE and is_about(names, hit) for hit in kept)


def assembled(made: Made, quality: QualityRules, now: datetime, cache: str) -> SearchResponse:
    """The response; several answers are fused, one keeps its order unless the query is about now."""
    query, answers = made.query, made.answers
    dropped: Counter[str] = Counter()
    for answer in answers:
        dropped.update(answer.info.dropped)
    filtered = [replace(answer, results=apply_filters(query, answer.results, quality, dropped)) for answer in answers]
    # One engine's order is made from far more than title and snippet; only dates are a reason to touch it.
    if len(filtered) == 1 and not (made.timely and has_dates(filtered[0].results, now)):
        ranked = filtered[0].results
    else:
        pages = fuse(query, filtered, now, by_date=made.timely or made.intent is Intent.CURRENT_EVENT)
        dropped["duplicate"] += sum(len(answer.results) for answer in filtered) - len(pages)
        ranked = tuple(page.result for page in pages)
    # A local library ranks whole passages; its short snippets say less than it knows.
    known = all(result.provider == "local" for result in ranked)
    relevant = tuple(ranked) if known else _relevant(made, ranked, dropped)
    # Relevance before caps: a cap on domains must not keep a page that says nothing over one that does.
    results = cap_and_rank(query, relevant, quality, dropped)
    said = next((answer.answer for answer in answers if answer.answer), None)
    told = dict.fromkeys(answer.info.reason for answer in answers if answer.info.reason)
    why = "; ".join((*told, *_held_here(query, answers)))
    if not results:
        why = f"{why}. {NOTHING_FOUND}" if why else NOTHING_FOUND
    info = SearchInfo(
        providers_tried=tuple(made.trail.attempts),
        cache=cache,
        fetched_at=now,
        cost_usd=made.trail.cost_usd,
        dropped={name: count for name, count in dropped.items() if count},
        reason=why,
        left_out=tuple({item.url: item for answer in answers for item in answer.info.left_out}.values()),
    )
    return SearchResponse(
        query=query.text,
        results=results,
        answer=said if query.include_answer else None,
        follow_up_questions=tuple(dict.fromkeys(text for answer in answers for text in answer.follow_up_questions)),
        info=info,
    )


def _held_here(query: Query, answers: Sequence[SearchResponse]) -> Iterator[str]:
    """What engines could not be limited to, so that only their results were looked at."""
    names = dict.fromkeys(hit.provider for answer in answers for hit in answer.results)
    limits = {FILE_TYPE: query.constraints.file_type, IN_TITLE: query.constraints.in_title}
    for limit, wanted in limits.items():
        lacking = [name for name in names if wanted and limit not in card_of(name).native]
        if lacking:
            yield f"{', '.join(lacking)}: no filter by {limit}, what it found was held to it here"


def _relevant(made: Made, ranked: Sequence[SearchResult], dropped: Counter[str]) -> tuple[SearchResult, ...]:
    """The results that are about the query. For an error the others come last, until the page is full.

    What helps with an error often shares no word with its message.
    """
    kept = drop_irrelevant(made.query, ranked, dropped)
    missing = made.query.max_results - len(kept)
    if made.intent is not Intent.ERROR or missing <= 0:
        return kept
    others = [hit for hit in ranked if hit not in kept][:missing]
    dropped["irrelevant"] -= len(others)
    return (*kept, *others)


def from_cache(found: Found) -> SearchResponse:
    """A cached answer, free of charge and marked as what it is."""
    label = found.level if found.fresh else "stale"
    info = replace(found.response.info, cache=label, stale=not found.fresh, cost_usd=Decimal(0))
    return replace(found.response, info=info)


def after_failure(found: Found, error: PinciteError) -> SearchResponse:
    """A stale answer given because every engine failed, with what they said."""
    causes = error.causes if isinstance(error, SearchProviderUnavailable) else {}
    said = "; ".join(f"{name}: {cause.reason}" for name, cause in causes.items()) or error.reason
    response = from_cache(found)
    reason = f"kept from before, since every provider failed ({said})"
    return replace(response, info=replace(response.info, reason=reason))

"""Limits of a run and how its progress grows. Values only: no calls to the outside, no decisions of a role."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from pincite.domain.budget import DEADLINES_S, Budget
from pincite.domain.evidence import Claim
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Analysis, Conflict, Gap, Lead, Progress, Reading, ReadPage, Verification
from pincite.domain.search import Constraints, Query, SearchResult
from pincite.urls import url_key

# Of the limits that make a query another one.
_MARKS: Final = ("site:", "filetype:", "intitle:", "-site:")


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps of one run, per step and in all. `budget` holds the caps that the ledger enforces as well.

    `per_domain_cap` counts results over the whole run; sources on this machine and URLs given by the user are
    exempt unless the task itself sets a cap. `keep_undated` decides about pages without a date when a period is set.
    `require_coverage` of the parts must be answered: below it one round more is made than `rounds`.
    `independent_share` of the printed claims should rest on two independent sources; None sets no target.
    `search_requests` is how many of a cap on web requests searches may take: the rest is for pages.
    `max_domain_share` of the claims of a sub-question may be of one domain where others have as much to say.
    """

    budget: Budget = Budget(searches=30, pages=20, rounds=3, deadline_s=300.0)
    results_per_query: int = 5
    pages_per_round: int = 12
    queries_per_round: int = 24
    per_domain_cap: int = 3
    keep_undated: bool = True
    require_coverage: float | None = None
    independent_share: float | None = None
    max_domain_share: float = 0.7
    concurrency: int = 4
    follow_ups_per_sub_question: int = 3
    scrape_usd: Decimal | None = None
    search_deadline_s: float = DEADLINES_S["search"] + 5.0  # the search service ends first and says why
    search_requests: int | None = None
    fetch_deadline_s: float = 12.0

    @property
    def rounds(self) -> int:
        """Rounds of search and reading at most, at least one."""
        return max(self.budget.rounds or 1, 1) + (self.require_coverage is not None)


# How long a search of a run without a deadline waits for its turn: nobody sits in front of it.
QUEUE_WAIT_S = 600.0
# Below this a claim is worded and marked as less certain, and its sub-question stays open (docs/research.md).
LOW_CONFIDENCE = 0.5
# What a page shows only to who asks for it may be meant for few. Chosen, not measured.
_FOLDED = 0.5
# Provider name of results that are URLs of the user.
GIVEN = "given"


def source_key(url: str) -> str:
    """The identity of a page: the URL key, or the name of a local page as it is."""
    return url if url.startswith("local:") else url_key(url)


def query_key(query: Query) -> str:
    """What makes a query new: its words, the sites and files it is limited to, and the sites it leaves out."""
    limits = query.constraints
    values = (",".join(limits.include_domains), limits.file_type, limits.in_title, ",".join(limits.exclude_domains))
    marked = (f"{mark}{value}" for mark, value in zip(_MARKS, values, strict=True) if value)
    return " ".join([query.text, *marked])


def was_asked(text: str, progress: Progress) -> bool:
    """Whether these words were searched for, limited or not: a plan may have more than its caps let through."""
    limited = tuple(f"{text} {mark}" for mark in _MARKS)
    return any(key == text or key.startswith(limited) for key in progress.asked)


def sendable(progress: Progress, limits: Limits) -> tuple[Query, ...]:
    """The queries of the plan to send now: new ones, spread over the sub-questions, within the caps of round and run.

    Counted from the plan and not from the ledger, so that a resumed run asks the same again.
    """
    asked = set(progress.asked)
    fresh: dict[str, Query] = {}
    parts = progress.plan.sub_questions
    for turn in range(max((len(part.queries) for part in parts), default=0)):
        for part in parts:
            if turn < len(part.queries) and query_key(part.queries[turn]) not in asked:
                fresh.setdefault(query_key(part.queries[turn]), part.queries[turn])
    room = limits.queries_per_round
    if limits.budget.searches is not None:
        room = min(room, max(limits.budget.searches - len(progress.asked), 0))
    if limits.search_requests is not None:
        room = min(room, max(limits.search_requests - len(progress.asked), 0))
    return tuple(fresh.values())[:room]


def open_sub_questions(progress: Progress) -> frozenset[str]:
    """The texts of sub-questions that have a gap, or whose best claim is of low confidence."""
    best: dict[str, float] = {}
    for item in progress.claims:
        if item.printable:
            part = item.claim.sub_question
            best[part] = max(best.get(part, 0.0), item.claim.confidence)
    weak = {part for part, confidence in best.items() if confidence < LOW_CONFIDENCE}
    return frozenset(weak | {gap.sub_question for gap in progress.gaps})


def closed_parts(progress: Progress) -> Progress:
    """Progress narrowed to the sub-questions that nothing is missing of any more, and their claims."""
    left = open_sub_questions(progress)
    answered = {item.claim.sub_question for item in progress.claims if item.printable} - left
    parts = tuple(part for part in progress.plan.sub_questions if part.text in answered)
    claims = tuple(item for item in progress.claims if item.claim.sub_question in answered)
    return replace(progress, plan=replace(progress.plan, sub_questions=parts), claims=claims)


def with_results(
    progress: Progress, results: Sequence[SearchResult], asked: Iterable[str], leads: Iterable[Lead] = ()
) -> Progress:
    """Progress after a search: what was asked is remembered, new results wait to be read."""
    return replace(
        progress,
        leads=tuple({lead.url: lead for lead in (*progress.leads, *leads)}.values()),
        results=progress.results + tuple(results),
        requested=progress.requested + tuple(source_key(result.url) for result in results),
        asked=tuple(dict.fromkeys([*progress.asked, *asked])),
    )


def with_reading(progress: Progress, reading: Reading) -> Progress:
    """Progress after reading: the pages of the run as they stand now."""
    leads = {lead.url: lead for lead in (*progress.leads, *reading.leads)}
    return replace(progress, pages=reading.pages, leads=tuple(leads.values()))


def with_verification(progress: Progress, analyses: Sequence[Analysis], checked: Verification) -> Progress:
    """Progress after a round: claims and gaps are those of all pages read so far, not added to older ones."""
    gaps: dict[tuple[str, str], Gap] = {}
    for gap in (*(gap for analysis in analyses for gap in analysis.gaps), *checked.gaps):
        gaps.setdefault((gap.sub_question, gap.reason), gap)
    conflicts: dict[tuple[str, ...], Conflict] = {}
    for conflict in checked.conflicts:
        conflicts.setdefault(tuple(side.claim_id or side.statement for side in conflict.sides), conflict)
    return replace(
        progress,
        claims=checked.claims,
        conflicts=tuple(conflicts.values()),
        gaps=tuple(gaps.values()),
        follow_ups=checked.follow_ups,
    )


def in_period(published_at: datetime | None, constraints: Constraints, *, keep_undated: bool) -> bool:
    """Whether a page of this date may be used under `since` and `until` (inclusive days)."""
    if constraints.since is None and constraints.until is None:
        return True
    if published_at is None:
        return keep_undated
    day = published_at.date()
    return (constraints.since is None or day >= constraints.since) and (
        constraints.until is None or day <= constraints.until
    )


def weighed(claims: Iterable[Claim], pages: Sequence[ReadPage]) -> tuple[Claim, ...]:
    """The claims with half the confidence where every quote is from text that shows only to who unfolds it."""
    documents = {page.document.document_id: page.document for page in pages}
    made: list[Claim] = []
    for claim in claims:
        quotes = [item.quote for item in claim.evidence]
        folded = [
            (page := documents.get(quote.document_id)) is not None and page.is_secondary(quote.start, quote.end)
            for quote in quotes
        ]
        made.append(replace(claim, confidence=claim.confidence * _FOLDED) if folded and all(folded) else claim)
    return tuple(made)


def within_quotable(claims: Iterable[Claim], pages: Sequence[ReadPage]) -> tuple[Claim, ...]:
    """The claims without quotes longer than their page allows; a claim that has none left goes.

    Source: `nosnippet` and `max-snippet` of X-Robots-Tag.
    """
    read = {page.snapshot.snapshot_id: page.snapshot for page in pages}
    kept = []
    for claim in claims:
        allowed = tuple(
            item
            for item in claim.evidence
            if item.snapshot_id not in read or read[item.snapshot_id].may_quote(item.quote.text)
        )
        if allowed or not claim.evidence:
            kept.append(claim if len(allowed) == len(claim.evidence) else replace(claim, evidence=allowed))
    return tuple(kept)

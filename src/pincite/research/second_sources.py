"""A second, independent publisher for each printed claim: among the pages read, then by searches of its own.

Nearness only proposes passages; whether one states the claim is for the judge of meaning alone, whose judgement goes
on the record of the report. Without a judge nothing in other words counts, and nothing is searched for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import anyio
import anyio.to_thread

from pincite.domain.evidence import (
    ContextPiece,
    ContextRole,
    Evidence,
    EvidencePassage,
    NoteForm,
    Relation,
    VerdictStatus,
    VerifiedClaim,
    named,
)
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import Progress, ReadPage, SubQuestion, Task
from pincite.domain.search import Query
from pincite.ports import EventSink, Judge
from pincite.ranking.ranker import PassageRanker, RankedPassage, Source
from pincite.research.extractive.versions import independent_sources
from pincite.research.records import emit_plan
from pincite.research.roles import Reader, Searcher
from pincite.research.state import Limits, query_key, sendable, with_reading, with_results
from pincite.text.context import passage_in_context, units_of
from pincite.text.fragments import fragment_url
from pincite.text.instructions import is_flagged
from pincite.text.sentences import Span
from pincite.text.tokens import is_stop, terms, words
from pincite.urls import registrable_domain
from pincite.verification.proof import Proven, Statement, prove

# Two publishers that don't know of each other, as newsrooms ask for.
WANTED: Final = 2
# So many claims are searched for at a time: after each turn those that a page of another claim settled are done.
QUERIES_A_TURN: Final = 8
# Each reads some pages; the caps of the run end it sooner.
TURNS: Final = 6
# One page of an engine: what is further down seldom says the very same.
RESULTS: Final = 8
# Passages put before the judge for a claim in a turn: with twenty claims sixty cases, what a judge does in a batch.
CANDIDATES: Final = 3
# Shorter texts ("The default is 10.") are said of many things: no judge can tell without what they are about.
LEAST_CHARS: Final = 40
# The shortest limit of any engine (Brave).
_QUERY_CHARS: Final = 400
# Engines find less with every further word.
_QUERY_WORDS: Final = 14
# A claim of fewer words needs what stands above it to be found.
_LEAST_QUERY_WORDS: Final = 6
_ABOVE: Final = (ContextRole.TITLE, ContextRole.HEADING, ContextRole.TERM)
_PART: Final = "second"
_HEADING: Final = "second, independent sources"
WITHOUT_JUDGE: Final = "Second sources in other words were not looked for: that takes a judge of meaning; none is set."


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage of another publisher that may state a claim, and the judge's case for it."""

    item: VerifiedClaim
    evidence: Evidence
    statement: Statement


class SecondSources:
    """Looks for second sources until the share that is wanted has them, nothing is left to ask, or a cap is met.

    Args:
        searcher: asks the queries, within the caps of the run.
        reader: reads what they find.
        judge: of meaning; None: nothing is looked for.
        ranker: proposes passages.
        at: the time that is noted with judgements.
    """

    def __init__(
        self,
        searcher: Searcher,
        reader: Reader,
        judge: Judge | None,
        events: EventSink,
        *,
        limits: Limits,
        ranker: PassageRanker | None,
        at: datetime,
    ) -> None:
        self._searcher = searcher
        self._reader = reader
        self._judge = judge
        self._events = events
        self._limits = limits
        self._ranker = ranker or PassageRanker()
        self._at = at

    async def find(self, task: Task, progress: Progress, seconds_left: Callable[[], float | None]) -> Progress:
        """Progress with what was read besides, and with second sources beside the claims that have one now."""
        if self._limits.independent_share is None or self._met(progress):
            return progress
        if self._judge is None:
            plan = replace(progress.plan, notes=(*progress.plan.notes, WITHOUT_JUDGE))
            return replace(progress, plan=plan)
        seconds_left = _half(seconds_left)
        # What is read already costs nothing to look at.
        progress = await self._seconded(progress, progress.pages, seconds_left())
        most = self._limits.budget.pages
        for _ in range(TURNS):
            late = seconds_left()
            if self._met(progress) or (most is not None and len(progress.requested) >= most):
                break
            if late is not None and late <= 0:
                break
            known = {page.url for page in progress.pages}
            further = await self._turn(task, progress, seconds_left)
            if further is None:
                break
            fresh = [page for page in further.pages if page.url not in known]
            progress = await self._seconded(further, fresh, seconds_left())
        return progress

    def _met(self, progress: Progress) -> bool:
        printed = [item for item in progress.claims if item.printable]
        several = sum(item.independent_sources >= WANTED for item in printed)
        return several >= (self._limits.independent_share or 0.0) * len(printed)

    async def _turn(self, task: Task, progress: Progress, seconds_left: Callable[[], float | None]) -> Progress | None:
        """Progress after one turn of searches for claims that have one source; None: nothing is left to ask."""
        plan = replace(progress.plan, sub_questions=(SubQuestion(_PART, _HEADING, self._queries(task, progress)),))
        asking = replace(progress, plan=plan, round_number=progress.round_number + 1, seconds_left=seconds_left())
        sent = sendable(asking, self._limits)
        if not sent:
            return None
        await emit_plan(self._events, asking)
        found = await self._searcher.search(task, asking)
        progress = with_results(progress, found.results, map(query_key, sent), found.leads)
        reading = await self._reader.read(task, found.results, replace(progress, seconds_left=seconds_left()))
        return with_reading(progress, reading)

    def _queries(self, task: Task, progress: Progress) -> tuple[Query, ...]:
        """What else is said of each part and of what the cited pages are about; then the words of single claims.

        Each without the claims' own publishers. The words of a claim find who says it alike; who says it in others is
        found by the subject.
        """
        pages = {page.url: page for page in progress.pages}
        left = [item for item in progress.claims if _is_open(item, pages)]
        wanted: dict[str, list[VerifiedClaim]] = {}
        for item in left:
            wanted.setdefault(item.claim.sub_question[:_QUERY_CHARS], []).append(item)
        for item in left:
            title = next((piece.text for piece in _about(item, pages) if piece.role is ContextRole.TITLE), "")
            wanted.setdefault(" ".join(_content(title)[:_QUERY_WORDS]), []).append(item)
        for item in left:
            # The words of the claim that carry content, with those above it where they are few.
            found = _content(item.claim.text)
            if len(found) < _LEAST_QUERY_WORDS:
                above = " ".join(piece.text for piece in _about(item, pages) if piece.role in _ABOVE)
                found += [*_content(above), *_content(item.claim.sub_question)]
            wanted.setdefault(" ".join(list(dict.fromkeys(found))[:_QUERY_WORDS]), []).append(item)
        made: dict[str, Query] = {}
        for text, items in wanted.items():
            if not text:
                continue
            # Left out of the search, or its best result would be the page that is cited already.
            own = sorted(filter(None, {_publisher(evidence.url) for item in items for evidence in _backing(item)}))
            without = tuple(dict.fromkeys((*task.constraints.exclude_domains, *own)))
            limits = replace(task.constraints, exclude_domains=without)
            query = Query(text, RESULTS, limits, include_answer=False)
            if query_key(query) not in progress.asked:
                made.setdefault(query_key(query), query)
        return tuple(made.values())[:QUERIES_A_TURN]

    async def _seconded(self, progress: Progress, pages: Sequence[ReadPage], seconds_left: float | None) -> Progress:
        """Progress in which claims that one of the pages states, by the judge, have it as their second source."""
        by_url = {page.url: page for page in progress.pages}
        candidates = await anyio.to_thread.run_sync(self._candidates, progress.claims, pages, by_url)
        if not candidates:
            return progress
        proven: Sequence[Proven] = ()
        with anyio.move_on_after(seconds_left):
            proven = await prove([candidate.statement for candidate in candidates], self._judge, at=self._at)
        found: dict[str, VerifiedClaim] = {}
        for candidate, result in zip(candidates, proven, strict=False):
            name = candidate.item.claim.claim_id
            # A judgement and never words alone: two publishers that use the same words may mean different things.
            if name not in found and result.verdict is VerdictStatus.SUPPORTED and result.judgement is not None:
                claim = replace(candidate.item.claim, evidence=(*candidate.item.claim.evidence, candidate.evidence))
                found[name] = replace(
                    candidate.item,
                    claim=claim,
                    independent_sources=independent_sources([claim], by_url),
                    seconded=(*candidate.item.seconded, result.judgement),
                )
        return replace(progress, claims=tuple(found.get(item.claim.claim_id, item) for item in progress.claims))

    def _candidates(
        self, claims: Sequence[VerifiedClaim], pages: Sequence[ReadPage], by_url: Mapping[str, ReadPage]
    ) -> list[_Candidate]:
        """For each claim with one source the nearest passages of pages that are independent of it; CPU work."""
        found: list[_Candidate] = []
        for item in claims:
            if not _is_open(item, by_url):
                continue
            about = _about(item, by_url)
            said = named(item.claim.text, about)
            above = " › ".join(piece.text for piece in about if piece.role in _ABOVE)
            own = {_publisher(evidence.url) or evidence.url for evidence in _backing(item)}
            # A near-copy is the same source under another name.
            others = [p for p in pages if p.duplicate_of is None and (_publisher(p.url) or p.url) not in own]
            ranking = self._ranker.rank(said, [Source(page.url, page.document) for page in others])
            for ranked in ranking.passages[:CANDIDATES]:
                page = by_url[ranked.source.url]
                passage = _sentence(ranked, said)
                if passage is None or is_flagged(passage.text) or not page.snapshot.may_quote(passage.text):
                    continue
                evidence = _evidence(page, passage)
                claim = replace(item.claim, evidence=(*item.claim.evidence, evidence))
                if independent_sources([claim], by_url) >= WANTED:
                    statement = Statement(said, (passage,), (page.document.text,), after=above, by_meaning=True)
                    found.append(_Candidate(item, evidence, statement))
        return found


def _half(seconds_left: Callable[[], float | None]) -> Callable[[], float | None]:
    """Half of the time that is left now: the rest is for writing."""
    kept = (seconds_left() or 0.0) / 2

    def left() -> float | None:
        now = seconds_left()
        return None if now is None else max(now - kept, 0.0)

    return left


def _is_open(item: VerifiedClaim, pages: Mapping[str, ReadPage]) -> bool:
    """Whether a printed claim has one source, and does not lean on the sentence before it."""
    text = item.claim.text
    if not item.printable or item.independent_sources >= WANTED or not _backing(item):
        return False
    if len(text) < LEAST_CHARS or "\n" in text or item.claim.form is NoteForm.ROW:
        return False
    return all(piece.role is not ContextRole.ANTECEDENT for piece in _about(item, pages))


def _backing(item: VerifiedClaim) -> list[Evidence]:
    return [evidence for evidence in item.claim.evidence if evidence.relation is not Relation.CONTRADICTS]


def _publisher(url: str) -> str:
    return "" if url.startswith("local:") else registrable_domain(url)


def _about(item: VerifiedClaim, pages: Mapping[str, ReadPage]) -> tuple[ContextPiece, ...]:
    """What stands above the claim's first quote on its page."""
    first = _backing(item)[0]
    if first.context or first.url not in pages:
        return first.context
    return passage_in_context(pages[first.url].document, first.quote.start, first.quote.end).context


def _content(text: str) -> list[str]:
    return list(dict.fromkeys(word for word in words(text) if len(word) > 1 and not is_stop(word)))


def _sentence(ranked: RankedPassage, said: str) -> EvidencePassage | None:
    """The sentence of the passage that is nearest in meaning, else in words; the judge sees what stands around it."""
    document, wanted = ranked.source.document, set(terms(said))
    near = {span.start: value for span, value in ranked.sentences}
    best: tuple[float, int, int, int] | None = None
    for span in _units(document, ranked):
        shared = len(wanted & set(terms(document.text[span.start : span.end])))
        found = (near.get(span.start, 0.0), shared, span.start, span.end)
        best = found if best is None or found[:2] > best[:2] else best
    return None if best is None else passage_in_context(document, best[2], best[3])


def _units(document: Document, ranked: RankedPassage) -> Iterator[Span]:
    first, last = document.block_at(ranked.draft.start), document.block_at(max(ranked.draft.end - 1, 0))
    for index in range(first, last + 1):
        if document.blocks[index].kind is not BlockKind.HEADING:
            yield from units_of(document, index)


def _evidence(page: ReadPage, passage: EvidencePassage) -> Evidence:
    return Evidence(
        page.document.quote(passage.start, passage.end),
        page.snapshot.snapshot_id,
        page.snapshot.body_sha256,
        page.url,
        Relation.CORROBORATES,
        fragment_url(page.url, page.document.text, passage.start, passage.end) if page.url.startswith("http") else "",
        passage.context,
    )

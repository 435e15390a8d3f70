"""The references of a stored report, fetched again: gone, moved, changed or as they were, and does each quote stand?"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

import anyio
from anyio import to_thread

from pincite.audit.pages import AT_ONCE, DEADLINE_S
from pincite.domain.citation import cut_on_word
from pincite.domain.codec import from_json
from pincite.domain.errors import (
    BudgetExhausted,
    DeadLink,
    InvalidInput,
    InvalidUrl,
    NotFound,
    ParseError,
    PolicyRefusal,
    ProviderError,
    RemoteError,
)
from pincite.domain.events import Json
from pincite.domain.evidence import ContextRole, EvidencePassage, Relation, VerdictStatus
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.domain.quotes import CONTEXT_CHARS
from pincite.domain.report import Reference, Report, ReportClaim, ReportEvidence
from pincite.ports import Fetch, Judge
from pincite.text.context import context_of, is_whole, passage_in_context, units_of
from pincite.text.normalise import Folded, fold
from pincite.urls.keys import address_key
from pincite.verification.claims import LIMIT, PageSearch
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import locate_folded, locate_near

# How many blocks before and after a quote may change what it means: a note under it, a line that introduces it.
_NEAR_BLOCKS = 2
# So many blocks at the top of a page may speak of all of it: "RETRACTED", "This page is a hoax".
_FIRST_BLOCKS = 3
# New passages that a judge is shown beside the quote.
_MOST_NEW = 6


def changes(evidence: ReportEvidence, old: Document | None, page: Document, start: int, end: int) -> str:
    """What changed around a quote that stands at `[start, end)` of the page today, in words; empty when nothing did."""
    found = list(_changed_context(evidence, old, page, start, end))
    if old is None:
        prefix, suffix = page.text[max(0, start - CONTEXT_CHARS) : start], page.text[end : end + CONTEXT_CHARS]
        if (fold(prefix).flat, fold(suffix).flat) != (fold(evidence.prefix).flat, fold(evidence.suffix).flat):
            found.append("the words before or after it")
    else:
        if is_whole(old, evidence.start, evidence.end) and not is_whole(page, start, end):
            found.append("the sentence it is in")
        found += [
            f"new there: “{cut_on_word(page.blocks[index].text, 80)}”" for index in _new_blocks(old, page, start, end)
        ]
    return f"changed around it: {'; '.join(dict.fromkeys(found))}" if found else ""


def around(page: Document, start: int, end: int, old: Document | None) -> tuple[EvidencePassage, ...]:
    """The passage at that place in its context, and what is new near it or at the top of the page."""
    start, end = _whole_sentences(page, start, end)
    passages = [passage_in_context(page, start, end)]
    fresh = _new_blocks(old, page, start, end) if old is not None else _near(page, start, end)
    spans = [span for index in fresh for span in units_of(page, index)][:_MOST_NEW]
    passages += [passage_in_context(page, span.start, span.end) for span in spans if not start <= span.start < end]
    return tuple(passages)


def _whole_sentences(page: Document, start: int, end: int) -> tuple[int, int]:
    """The span widened to the sentences it touches: "A hoax said" may stand before it in the same one."""
    touched = [
        span
        for index in range(page.block_at(start), page.block_at(max(end - 1, start)) + 1)
        for span in units_of(page, index)
        if span.start < end and start < span.end
    ]
    return min([start, *(span.start for span in touched)]), max([end, *(span.end for span in touched)])


def _changed_context(
    evidence: ReportEvidence, old: Document | None, page: Document, start: int, end: int
) -> Iterator[str]:
    """The roles of which the page says something else today."""
    before = context_of(old, evidence.start, evidence.end) if old is not None else evidence.context
    if old is None and not before:
        return
    now = context_of(page, start, end)
    for role in ContextRole:
        then, today = ([fold(piece.text).flat for piece in pieces if piece.role is role] for pieces in (before, now))
        if then != today:
            yield "the rest of its paragraph" if role is ContextRole.AROUND else f"its {role.value.replace('_', ' ')}"


def _new_blocks(old: Document, page: Document, start: int, end: int) -> list[int]:
    """The blocks near the quote, and those at the top of the page, that were not on the page before."""
    known = {fold(block.text).flat for block in old.blocks}
    return [index for index in _near(page, start, end) if fold(page.blocks[index].text).flat not in known]


def _near(page: Document, start: int, end: int) -> list[int]:
    first, last = page.block_at(start), page.block_at(max(end - 1, start))
    near = {*range(first - _NEAR_BLOCKS, first), *range(last + 1, last + 1 + _NEAR_BLOCKS), *range(_FIRST_BLOCKS)}
    return sorted(index for index in near if 0 <= index < len(page.blocks) and not first <= index <= last)


# A quote that is still there may stand under another heading today, or behind "A hoax said". Where what stands around
# it changed, a judge says whether the page still states it; without one it is `unchecked`. What was stored stays; the
# new captures are stored beside it by the fetch service. A page that can't be had today is `could_not_check`:
# neither changed nor gone.

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_CARRIED = (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL)
# The stored document of an item of evidence, where it is at hand whole.
Stored = Callable[[ReportEvidence], Awaitable[Document | None]]


class PageState(StrEnum):
    """What became of a page. `moved`: it answers at another address."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MOVED = "moved"
    GONE = "gone"
    COULD_NOT_CHECK = "could_not_check"


class QuoteState(StrEnum):
    """What became of a quote.

    `reworded`: in other words now, and a judge says that the page still states the claim. `altered`: something very
    like it stands there now. `contradicted`: the page says otherwise now. `unchecked`: it is there, what stands around
    it changed, and nobody judged what that means.
    """

    STANDS = "stands"
    REWORDED = "reworded"
    ALTERED = "altered"
    MISSING = "missing"
    CONTRADICTED = "contradicted"
    UNCHECKED = "unchecked"
    COULD_NOT_CHECK = "could_not_check"


_HOLDS = (QuoteState.STANDS, QuoteState.REWORDED)
_OPEN = (QuoteState.UNCHECKED, QuoteState.COULD_NOT_CHECK)


@dataclass(frozen=True, slots=True)
class RecheckedPage:
    """A reference of the report as it is today; `snapshot_id` is the new capture, `before` the one of the report."""

    n: int
    url: str
    state: PageState
    reason: str = ""
    final_url: str = ""
    before: str = ""
    snapshot_id: str = ""


@dataclass(frozen=True, slots=True)
class RecheckedQuote:
    """A quote of a claim as it is today. `now` is the text in its place, `detail` what changed, `judge` who judged."""

    claim_id: str
    claim: str
    url: str
    quote: str
    state: QuoteState
    now: str = ""
    detail: str = ""
    verdict: VerdictStatus = VerdictStatus.UNCHECKED
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Recheck:
    """All pages and quotes of one report, today."""

    run_id: str
    pages: tuple[RecheckedPage, ...]
    quotes: tuple[RecheckedQuote, ...]

    @property
    def stands(self) -> bool:
        """Whether every page was there and every quote stands, or a judge says that the page still states it."""
        return all(q.state in _HOLDS for q in self.quotes) and all(
            p.state in (PageState.UNCHANGED, PageState.CHANGED, PageState.MOVED) for p in self.pages
        )

    @property
    def fell(self) -> bool:
        """Whether some page is gone, or some quote is not on it any more as it was."""
        lost = any(quote.state not in (*_HOLDS, *_OPEN) for quote in self.quotes)
        return lost or any(page.state is PageState.GONE for page in self.pages)


def read_stored_report(raw: Json) -> Report:
    """The report in the JSON. Errors: InvalidInput (`not_report`)."""
    if not isinstance(raw, dict) or "references" not in raw:
        raise InvalidInput("not a report of Pincite", reason="not_report", hint="Give a report.json.")
    try:
        return from_json(Report, dict(raw))
    except ParseError as error:
        raise InvalidInput(error.message, reason="not_report") from None


async def recheck(
    report: Report, fetch: Fetch, judge: Judge | None = None, *, at: datetime, stored: Stored | None = None
) -> Recheck:
    """The report's pages and quotes as they are today; each page is fetched anew, six at a time.

    Args:
        report: as it was made.
        fetch: the fetch service.
        judge: says whether a changed page still states a claim; None: nobody does.
        at: the time of the judgements.
        stored: what the report's pages said, so that what is new on a page can be told.
    """
    pages: dict[int, RecheckedPage] = {}
    found: dict[str, FetchResult] = {}
    hashes = {e.snapshot_id: e.body_sha256 for claim in report.claims for e in claim.evidence}
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def read(reference: Reference) -> None:
        async with limiter:
            pages[reference.n], result = await _page(reference, fetch, hashes)
        if result is not None:
            found[reference.snapshot_id] = result

    async with anyio.create_task_group() as tasks:
        for reference in report.references:
            tasks.start_soon(read, reference)
    before: dict[str, Document] = {}
    for item in (e for claim in report.claims for e in claim.evidence):
        if stored is not None and item.document_id not in before and (document := await stored(item)) is not None:
            before[item.document_id] = document
    looked = await to_thread.run_sync(_quotes, report, found, before)
    proven = iter(await prove([item.statement for item in looked if isinstance(item, _Open)], judge, at=at))
    quotes = tuple(item if isinstance(item, RecheckedQuote) else item.decided(next(proven)) for item in looked)
    return Recheck(report.run_id, tuple(pages[reference.n] for reference in report.references), quotes)


async def _page(
    reference: Reference, fetch: Fetch, hashes: Mapping[str, str]
) -> tuple[RecheckedPage, FetchResult | None]:
    url = reference.fetched_url or reference.url
    page = RecheckedPage(reference.n, url, PageState.COULD_NOT_CHECK, before=reference.snapshot_id)
    try:
        with anyio.fail_after(DEADLINE_S):
            # Past the cache: what was read an hour ago says nothing of today.
            result = await fetch.fetch(FetchRequest(url=url, force_refresh=True))
    except TimeoutError:
        return replace(page, reason=f"no answer within {DEADLINE_S:.0f} s"), None
    except DeadLink as error:
        return replace(page, state=PageState.GONE, reason=error.message), None
    except (InvalidUrl, NotFound, PolicyRefusal, RemoteError, ProviderError, BudgetExhausted) as error:
        # anything else is this machine's trouble, not the page's
        return replace(page, reason=error.message), None
    # By the page's identity: a new tracking parameter or a slash is no move.
    moved = address_key(result.final_url) != address_key(url)
    same = hashes.get(reference.snapshot_id) == result.snapshot.body_sha256
    state = PageState.MOVED if moved else PageState.UNCHANGED if same else PageState.CHANGED
    return replace(page, state=state, final_url=result.final_url, snapshot_id=result.snapshot_id), result


@dataclass(frozen=True, slots=True)
class _Open:
    """A quote of which only a judge can say whether it still stands. `there`: word for word, in other surroundings."""

    claim: ReportClaim
    evidence: ReportEvidence
    statement: Statement
    there: bool
    now: str
    changed: str

    def decided(self, proven: Proven) -> RecheckedQuote:
        """What is to be said of it."""
        state = QuoteState.UNCHECKED if self.there else QuoteState.ALTERED if self.now else QuoteState.MISSING
        if proven.verdict in _CARRIED:
            state = QuoteState.STANDS if self.there else QuoteState.REWORDED
        elif proven.verdict is VerdictStatus.CONTRADICTED or (
            self.there and proven.verdict is VerdictStatus.UNSUPPORTED
        ):
            state = QuoteState.CONTRADICTED
        reason = proven.reason if proven.verdict is not VerdictStatus.SUPPORTED else ""
        detail = "; ".join(filter(None, (self.changed, reason)))
        now = self.now or (proven.evidence[0].text if state is QuoteState.REWORDED and proven.evidence else "")
        return _quote(
            self.claim, self.evidence, state, now=now, detail=detail, verdict=proven.verdict, judge=proven.judge
        )


def _quotes(
    report: Report, found: Mapping[str, FetchResult], before: Mapping[str, Document]
) -> list[RecheckedQuote | _Open]:
    folded = {key: fold(result.document.text) for key, result in found.items()}
    searches = {key: PageSearch(result.document) for key, result in found.items()}
    quotes: list[RecheckedQuote | _Open] = []
    for claim in report.claims:
        for evidence in claim.evidence:
            key = evidence.snapshot_id
            if key not in found:
                quotes.append(_quote(claim, evidence, QuoteState.COULD_NOT_CHECK))
            # The same bytes: nothing has to be read again.
            elif found[key].snapshot.body_sha256 == evidence.body_sha256:
                quotes.append(_stands(claim, evidence))
            else:
                old = before.get(evidence.document_id)
                quotes.append(_on_changed_page(claim, evidence, searches[key], folded[key], old))
    return quotes


def _on_changed_page(
    claim: ReportClaim, evidence: ReportEvidence, search: PageSearch, folded: Folded, old: Document | None
) -> RecheckedQuote | _Open:
    """A quote on a page that is not what it was."""
    page = search.document
    # What speaks against a claim is no claim itself: then the question is whether the quote is still said.
    text = evidence.quote if evidence.relation is Relation.CONTRADICTS else claim.text
    span = locate_folded(evidence.quote, folded)
    if span is None:
        near = locate_near(evidence.quote, page.text)
        # Where no word of the claim is left, the top of the page says what it is about now.
        passages = search.best(text, LIMIT) or search.opening(LIMIT)
        if near is not None:
            passages = (*around(page, near.span.start, near.span.end, old), *passages)
        now = near.text if near is not None else ""
        changed = changed_figures(evidence.quote, now) if now else ""
        return _Open(claim, evidence, Statement(text, passages, (page.text,)), False, now, changed)
    changed = changes(evidence, old, page, span.start, span.end)
    if not changed:
        return _stands(claim, evidence)
    passages = around(page, span.start, span.end, old)
    statement = Statement(text, passages, (page.text,), by_meaning=True)
    return _Open(claim, evidence, statement, True, evidence.quote, changed)


def _stands(claim: ReportClaim, evidence: ReportEvidence) -> RecheckedQuote:
    return _quote(claim, evidence, QuoteState.STANDS, now=evidence.quote, verdict=claim.verdict)


def changed_figures(before: str, now: str) -> str:
    """The numbers that differ, as "398 → 412", or nothing."""
    old, new = _FIGURE.findall(before), _FIGURE.findall(now)
    gone = [figure for figure in old if figure not in new]
    come = [figure for figure in new if figure not in old]
    if len(gone) == len(come):
        return ", ".join(f"{first} → {second}" for first, second in zip(gone, come, strict=True))
    return ", ".join([*(f"{figure} is gone" for figure in gone), *(f"{figure} is new" for figure in come)])


def _quote(
    claim: ReportClaim,
    evidence: ReportEvidence,
    state: QuoteState,
    *,
    now: str = "",
    detail: str = "",
    verdict: VerdictStatus = VerdictStatus.UNCHECKED,
    judge: str = "",
) -> RecheckedQuote:
    return RecheckedQuote(claim.id, claim.text, evidence.url, evidence.quote, state, now, detail, verdict, judge)


_WORDS = {
    **{state: state.value.replace("_", " ") for state in QuoteState},
    QuoteState.REWORDED: "reworded, still stated",
}


def recheck_text(result: Recheck) -> str:
    """The result for a person: pages first, then every quote that does not stand."""
    lines = [f"{len(result.pages)} pages, {len(result.quotes)} quotes"]
    for page in result.pages:
        where = f" to {page.final_url}" if page.state is PageState.MOVED else ""
        reason = f": {page.reason}" if page.reason else ""
        lines.append(f"  [{page.n}] {page.state.value.replace('_', ' ')}{where}{reason}  {page.url}")
    standing = sum(quote.state is QuoteState.STANDS for quote in result.quotes)
    lines.append(f"{standing} of {len(result.quotes)} quotes stand")
    for quote in result.quotes:
        if quote.state is QuoteState.STANDS:
            continue
        lines.append(f"  {_WORDS[quote.state]}: {quote.claim}")
        if quote.detail:
            lines.append(f"     {quote.detail}")
        if quote.state in (QuoteState.ALTERED, QuoteState.REWORDED):
            lines += [f'     was "{" ".join(quote.quote.split())}"', f'     now "{" ".join(quote.now.split())}"']
        if quote.state is not QuoteState.COULD_NOT_CHECK:
            by = f" (judged by {quote.judge})" if quote.judge else ""
            lines.append(f"     the claim against the page of today: {quote.verdict.value}{by}")
    return "\n".join(lines)

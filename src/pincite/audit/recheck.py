"""The references of a stored report, fetched again: gone, moved, changed or as they were, and does each quote stand?

What was stored stays; the new captures are stored beside it by the fetch front door. A page that can't be had today is
`could_not_check`: neither changed nor gone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import anyio

from pincite.domain.codec import from_json
from pincite.domain.deadlines import DEADLINES_S
from pincite.domain.errors import (
    BudgetExhausted,
    DeadLink,
    InputError,
    InvalidInput,
    InvalidUrl,
    NotFound,
    ParseError,
    PolicyRefusal,
    ProviderError,
    RemoteError,
)
from pincite.domain.events import Json
from pincite.domain.evidence import VerdictStatus
from pincite.domain.page import FetchRequest, FetchResult
from pincite.domain.report import Reference, Report, ReportClaim, ReportEvidence
from pincite.ports import ClaimChecker, Fetch
from pincite.text.normalise import fold
from pincite.urls.keys import page_key
from pincite.verification.quotes import locate_folded, locate_near

_AT_ONCE = 6
_DEADLINE_S = DEADLINES_S["audit_page"]
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class PageState(StrEnum):
    """What became of a page. `moved`: it answers at another address."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MOVED = "moved"
    GONE = "gone"
    COULD_NOT_CHECK = "could_not_check"


class QuoteState(StrEnum):
    """What became of a quote. `altered`: something very like it stands there now."""

    STANDS = "stands"
    ALTERED = "altered"
    MISSING = "missing"
    COULD_NOT_CHECK = "could_not_check"


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
    """A quote of a claim as it is today. `now` is the text in its place, `detail` what changed in its numbers."""

    claim_id: str
    claim: str
    url: str
    quote: str
    state: QuoteState
    now: str = ""
    detail: str = ""
    verdict: VerdictStatus = VerdictStatus.UNCHECKED


@dataclass(frozen=True, slots=True)
class Recheck:
    """All pages and quotes of one report, today."""

    run_id: str
    pages: tuple[RecheckedPage, ...]
    quotes: tuple[RecheckedQuote, ...]

    @property
    def stands(self) -> bool:
        """Whether every page was there and every quote stands."""
        return all(q.state is QuoteState.STANDS for q in self.quotes) and all(
            p.state in (PageState.UNCHANGED, PageState.CHANGED, PageState.MOVED) for p in self.pages
        )


def read_stored_report(raw: Json) -> Report:
    """The report in the JSON.

    Errors: InvalidInput (`not_report`).
    """
    if not isinstance(raw, dict) or "references" not in raw:
        raise InvalidInput("not a report of Pincite", reason="not_report", hint="Give a report.json.")
    try:
        return from_json(Report, dict(raw))
    except ParseError as error:
        raise InvalidInput(error.message, reason="not_report") from None


async def recheck(report: Report, fetch: Fetch, checker: ClaimChecker) -> Recheck:
    """The report's pages and quotes as they are today; each page is fetched anew, six at a time."""
    pages: dict[int, RecheckedPage] = {}
    found: dict[str, FetchResult] = {}
    hashes = {e.snapshot_id: e.body_sha256 for claim in report.claims for e in claim.evidence}
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def read(reference: Reference) -> None:
        async with limiter:
            pages[reference.n], result = await _page(reference, fetch, hashes)
        if result is not None:
            found[reference.snapshot_id] = result

    async with anyio.create_task_group() as tasks:
        for reference in report.references:
            tasks.start_soon(read, reference)
    quotes = await anyio.to_thread.run_sync(_quotes, report, found, checker)
    return Recheck(report.run_id, tuple(pages[reference.n] for reference in report.references), quotes)


async def _page(
    reference: Reference, fetch: Fetch, hashes: Mapping[str, str]
) -> tuple[RecheckedPage, FetchResult | None]:
    url = reference.fetched_url or reference.url
    before = reference.snapshot_id
    try:
        with anyio.fail_after(_DEADLINE_S):
            result = await fetch.fetch(FetchRequest(url=url, force_refresh=True))
    except TimeoutError:
        reason = f"no answer within {_DEADLINE_S:.0f} s"
        return RecheckedPage(reference.n, url, PageState.COULD_NOT_CHECK, reason, before=before), None
    except DeadLink as error:
        return RecheckedPage(reference.n, url, PageState.GONE, error.message, before=before), None
    except (InvalidUrl, NotFound, PolicyRefusal, RemoteError, ProviderError, BudgetExhausted) as error:
        # anything else is this machine's trouble, not the page's
        return RecheckedPage(reference.n, url, PageState.COULD_NOT_CHECK, error.message, before=before), None
    moved = _key(result.final_url) != _key(url)
    same = hashes.get(before) == result.snapshot.body_sha256
    state = PageState.MOVED if moved else PageState.UNCHANGED if same else PageState.CHANGED
    page = RecheckedPage(
        reference.n, url, state, final_url=result.final_url, before=before, snapshot_id=result.snapshot_id
    )
    return page, result


def _quotes(report: Report, found: Mapping[str, FetchResult], checker: ClaimChecker) -> tuple[RecheckedQuote, ...]:
    folded = {key: fold(result.document.text) for key, result in found.items()}
    quotes: list[RecheckedQuote] = []
    for claim in report.claims:
        for evidence in claim.evidence:
            result = found.get(evidence.snapshot_id)
            if result is None:
                quotes.append(_quote(claim, evidence, QuoteState.COULD_NOT_CHECK))
            elif locate_folded(evidence.quote, folded[evidence.snapshot_id]) is not None:
                quotes.append(_quote(claim, evidence, QuoteState.STANDS, now=evidence.quote, verdict=claim.verdict))
            else:
                quotes.append(_lost(claim, evidence, result.document.text, checker))
    return tuple(quotes)


def _lost(claim: ReportClaim, evidence: ReportEvidence, text: str, checker: ClaimChecker) -> RecheckedQuote:
    """A quote that no longer stands: what stands in its place, and what the page says of the claim today."""
    near = locate_near(evidence.quote, text)
    verdict = checker.check(claim.text, [text])
    if near is None:
        return _quote(claim, evidence, QuoteState.MISSING, verdict=verdict.status, detail="; ".join(verdict.reasons))
    return _quote(
        claim,
        evidence,
        QuoteState.ALTERED,
        now=near.text,
        verdict=verdict.status,
        detail=changed_figures(evidence.quote, near.text),
    )


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
) -> RecheckedQuote:
    return RecheckedQuote(claim.id, claim.text, evidence.url, evidence.quote, state, now, detail, verdict)


def _key(url: str) -> str:
    try:
        return page_key(url)
    except (InputError, PolicyRefusal):
        return url


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
        lines.append(f"  {quote.state.value.replace('_', ' ')}: {quote.claim}")
        if quote.detail:
            lines.append(f"     {quote.detail}")
        if quote.state is QuoteState.ALTERED:
            lines += [f'     was "{" ".join(quote.quote.split())}"', f'     now "{" ".join(quote.now.split())}"']
        if quote.state is not QuoteState.COULD_NOT_CHECK:
            lines.append(f"     the claim against the page of today: {quote.verdict.value}")
    return "\n".join(lines)

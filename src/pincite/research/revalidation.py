"""Before writing: cited pages older than a set age are asked for again, and what is gone no longer carries a claim.

The question goes out as a conditional request for the very capture that is cited. Every attempt is a call of the
ledger, so that a replay meets the same answers. Pages of libraries on this machine don't age.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

import anyio
import anyio.to_thread

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, DeadLink, DnsError, PinciteError, PolicyRefusal, RemoteError, Timeout
from pincite.domain.events import EventType, Json
from pincite.domain.evidence import (
    UNRESOLVED,
    Check,
    CheckOutcome,
    Evidence,
    Relation,
    VerdictStatus,
    VerifiedClaim,
    page_texts,
)
from pincite.domain.page import FetchRequest, FetchResult, Hosted
from pincite.domain.plan import Conflict, Lead, Progress, ReadPage, Task
from pincite.domain.records import Outcome
from pincite.ports import ClaimChecker, Clock, DocumentStore, EventSink, Fetch, Ledger, SnapshotStore
from pincite.research.records import ids_from_record, page_record
from pincite.runtime.metering import RequestMeter, current_meter, metered
from pincite.text.normalise import Folded, fold
from pincite.urls import registrable_domain
from pincite.verification.quotes import locate_folded

WAITS_S: Final = (0.5, 1.0)
"""Pauses before a page whose site failed in passing is asked for again: twice, then it stays unresolved."""
_OWN_VIA: Final = ("direct", "chromium")
"""Captures that a plain request can confirm; libraries don't age, and what only a paid scraper can read is not bought
twice for one report."""


class Revalidator(Protocol):
    """Looks again at the pages that a report is about to cite."""

    async def revalidate(self, task: Task, progress: Progress, since: datetime) -> Progress:
        """The progress as the sites stand now; `since` is when the run began."""
        ...


@dataclass(frozen=True, slots=True)
class _Look:
    """What came of asking for a page again: `page` as it is now, or `gone`, or neither: unresolved, with the reason."""

    page: ReadPage | None = None
    gone: bool = False
    reason: str = ""


class Revalidation:
    """Implements `Revalidator` through the fetch front door.

    Args:
        fetch: the front door.
        snapshots: captures, for a run that is made again from its record.
        documents: their readings.
        ledger: record and budget of the run.
        events: `page.revalidated` for each page.
        clock: waits between attempts.
        checker: decides whether a claim that lost a page stands on the others.
        after: the age from which on a cited page is asked for again.
        deadline_s: seconds for one request.
        concurrency: pages asked for at the same time.
    """

    def __init__(  # noqa: PLR0913  # one argument per port
        self,
        fetch: Fetch,
        snapshots: SnapshotStore,
        documents: DocumentStore,
        ledger: Ledger,
        events: EventSink,
        clock: Clock,
        checker: ClaimChecker,
        *,
        after: timedelta,
        deadline_s: float = 12.0,
        concurrency: int = 4,
    ) -> None:
        self._fetch = fetch
        self._snapshots = snapshots
        self._documents = documents
        self._ledger = ledger
        self._events = events
        self._clock = clock
        self._checker = checker
        self._after = after
        self._deadline_s = deadline_s
        self._concurrency = concurrency
        self._looks: dict[str, _Look] = {}

    async def revalidate(self, task: Task, progress: Progress, since: datetime) -> Progress:
        """Progress with changed pages in their new capture, quotes moved there, and without support that is gone."""
        cited = {e.url for item in progress.claims if item.printable for e in item.claim.evidence}
        old = [page for page in progress.pages if page.url in cited and self._is_old(page, since)]
        if not old:
            return progress
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def look(page: ReadPage) -> None:
            async with limiter:
                self._looks[page.snapshot.snapshot_id] = await self._look(task, page)

        unseen = [page for page in old if page.snapshot.snapshot_id not in self._looks]
        with anyio.move_on_after(progress.seconds_left):
            async with anyio.create_task_group() as group:
                for page in unseen:
                    group.start_soon(look, page)
        for page in unseen:
            await self._tell(page, self._looks.setdefault(page.snapshot.snapshot_id, _Look(reason="deadline")))
        looks = {page.url: self._looks[page.snapshot.snapshot_id] for page in old}
        return await anyio.to_thread.run_sync(_as_they_stand, progress, looks, self._checker)

    def _is_old(self, page: ReadPage, since: datetime) -> bool:
        return page.snapshot.via in _OWN_VIA and since - page.snapshot.fetched_at > self._after

    async def _look(self, task: Task, page: ReadPage) -> _Look:
        reason = ""
        for attempt in range(1 + len(WAITS_S)):
            try:
                return _Look(await self._asked(task, page, attempt))
            except (RemoteError, PolicyRefusal, BudgetExhausted) as error:
                if isinstance(error, DeadLink) or (isinstance(error, DnsError) and not error.retryable):
                    return _Look(gone=True, reason=error.reason)
                reason = error.reason
                passing = error.retryable or isinstance(error, Timeout)
                if not passing or attempt == len(WAITS_S):
                    break
                await self._clock.sleep(WAITS_S[attempt])
        return _Look(reason=reason)

    async def _asked(self, task: Task, page: ReadPage, attempt: int) -> ReadPage:
        """The page as its site gives it now: the same capture where the site confirms it, else a new one."""
        url = page.snapshot.final_url or page.url
        fresh: list[ReadPage] = []

        async def do() -> Outcome:
            request = FetchRequest(
                url=url,
                include_domains=task.constraints.include_domains,
                exclude_domains=task.constraints.exclude_domains,
                deadline_s=self._deadline_s,
                hosted=Hosted.NEVER,
                confirms=page.snapshot.snapshot_id,
            )
            with metered(RequestMeter(outer=current_meter())) as sent:
                try:
                    got = await self._fetch.fetch(request)
                except PinciteError as error:
                    error.spent = Usage(web_requests=sent.used)
                    raise
            fresh.append(_read(page, got))
            return Outcome(page_record(got), Usage(web_requests=sent.used, size_bytes=got.info.size_bytes))

        asked: dict[str, Json] = {"url": url, "snapshot_id": page.snapshot.snapshot_id, "attempt": attempt}
        record = await self._ledger.call("revalidate", asked, Usage(web_requests=1), do)
        if fresh:
            return fresh[0]
        snapshot_id, document_id = ids_from_record(record)
        snapshot, document = await self._snapshots.get(snapshot_id), await self._documents.get(document_id)
        if snapshot is None or document is None:
            raise DeadLink("the stored copy is gone", reason="snapshot_missing")
        return replace(page, snapshot=snapshot, document=document, chunks=(), stale=False)

    async def _tell(self, page: ReadPage, look: _Look) -> None:
        data: dict[str, Json] = {"url": page.url, "outcome": _outcome(page, look), "reason": look.reason}
        if look.page is not None:
            data["snapshot_id"] = look.page.snapshot.snapshot_id
        await self._events.emit(EventType.PAGE_REVALIDATED, data)


def _outcome(page: ReadPage, look: _Look) -> str:
    if look.page is None:
        return "gone" if look.gone else "unresolved"
    return "unchanged" if look.page.document.document_id == page.document.document_id else "changed"


def _read(page: ReadPage, got: FetchResult) -> ReadPage:
    return replace(page, snapshot=got.snapshot, document=got.document, chunks=(), stale=False)


def _as_they_stand(progress: Progress, looks: Mapping[str, _Look], checker: ClaimChecker) -> Progress:
    """Progress with what the looks found: pages, claims, conflicts, leads."""
    before = {page.url: page for page in progress.pages}
    folded = {
        url: fold(look.page.document.text)
        for url, look in looks.items()
        if look.page is not None and look.page.document.document_id != before[url].document.document_id
    }
    claims = tuple(_stood(item, looks, folded, checker) if item.printable else item for item in progress.claims)
    # A page that still carries a quote from its old capture stays as it was captured.
    kept = {e.snapshot_id for item in claims for e in item.claim.evidence}
    pages = tuple(_now(page, looks, kept) for page in progress.pages)
    holding = {item.claim.claim_id for item in claims if item.printable}
    fell = {item.claim.claim_id for item in progress.claims if item.printable} - holding
    gone = [(before[url], look) for url, look in looks.items() if look.gone]
    leads = tuple(
        Lead(page.document.title or url, url, "", look.reason, "DEAD_LINK") for page, look in gone for url in [page.url]
    )
    return replace(
        progress,
        pages=pages,
        claims=claims,
        conflicts=tuple(conflict for conflict in progress.conflicts if not _lost_side(conflict, fell)),
        leads=(*progress.leads, *leads),
    )


def _now(page: ReadPage, looks: Mapping[str, _Look], kept: set[str]) -> ReadPage:
    look = looks.get(page.url)
    if look is None or look.page is None or page.snapshot.snapshot_id in kept:
        return page
    return look.page


def _lost_side(conflict: Conflict, fell: set[str]) -> bool:
    return any(side.claim_id in fell for side in conflict.sides)


def _stood(
    item: VerifiedClaim, looks: Mapping[str, _Look], folded: Mapping[str, Folded], checker: ClaimChecker
) -> VerifiedClaim:
    """The claim on what still stands of its quotes; refused when nothing is left, marked when nobody could tell."""
    evidence: list[Evidence] = []
    lost: dict[str, str] = {}
    for url in dict.fromkeys(e.url for e in item.claim.evidence):
        mine = [e for e in item.claim.evidence if e.url == url]
        look = looks.get(url)
        if look is not None and look.gone:
            lost[url] = f"the page is gone ({look.reason}): {url}"
        elif url in folded and look is not None and look.page is not None:
            moved = _moved(mine, look.page, folded[url])
            evidence += moved
            if not moved:
                lost[url] = f"the page was changed and no longer says it: {url}"
        else:
            evidence += mine
    supporting = [e for e in evidence if e.relation is Relation.SUPPORTS]
    if lost:
        return _without(item, evidence, supporting, list(lost.values()), checker)
    claim = (
        item
        if tuple(evidence) == item.claim.evidence
        else replace(item, claim=replace(item.claim, evidence=tuple(evidence)))
    )
    return _marked(claim, supporting, looks)


def _without(
    item: VerifiedClaim,
    evidence: Sequence[Evidence],
    supporting: Sequence[Evidence],
    reasons: Sequence[str],
    checker: ClaimChecker,
) -> VerifiedClaim:
    """The claim after it lost pages: as sure as the pages that are left make it, and never surer than before."""
    verdict = (
        checker.check(item.claim.text, page_texts((e.url, e.quote.text) for e in supporting)) if supporting else None
    )
    if verdict is None or verdict.status not in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL):
        refused = replace(item.verdict, status=VerdictStatus.UNSUPPORTED, reasons=tuple(reasons))
        return replace(item, verdict=refused, independent_sources=0)
    status = VerdictStatus.PARTIAL if VerdictStatus.PARTIAL in (verdict.status, item.verdict.status) else verdict.status
    left = {registrable_domain(e.url) for e in supporting}
    return replace(
        item,
        claim=replace(item.claim, evidence=tuple(evidence)),
        verdict=replace(item.verdict, status=status, reasons=(*item.verdict.reasons, *reasons)),
        independent_sources=min(item.independent_sources, len(left)),
    )


def _marked(item: VerifiedClaim, supporting: Sequence[Evidence], looks: Mapping[str, _Look]) -> VerifiedClaim:
    """The claim with a check that says that none of its pages could be confirmed, where that is so."""
    open_ = {e.url: looks[e.url].reason for e in supporting if e.url in looks and looks[e.url].page is None}
    if not open_ or any(e.url not in open_ for e in supporting):
        return item
    told = "; ".join(f"{url}: {reason}" for url, reason in sorted(open_.items()))
    return replace(
        item, checks=(*item.checks, Check(UNRESOLVED, CheckOutcome.SKIPPED, f"asked again, no answer: {told}"))
    )


def _moved(mine: Sequence[Evidence], page: ReadPage, folded: Folded) -> list[Evidence]:
    """The quotes of one page at their places in its new capture; nothing when one of them is no longer there."""
    moved: list[Evidence] = []
    for item in mine:
        span = locate_folded(item.quote.text, folded)
        if span is None:
            return []
        moved.append(
            replace(
                item,
                quote=page.document.quote(span.start, span.end),
                snapshot_id=page.snapshot.snapshot_id,
                body_sha256=page.snapshot.body_sha256,
                fragment_url="",
            )
        )
    return moved

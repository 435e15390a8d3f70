"""Before writing: cited pages older than a set age are asked for again, and what is gone no longer carries a claim.

The question goes out as a conditional request for the very capture that is cited. Every attempt is a call of the
ledger, so that a replay meets the same answers. Pages of libraries on this machine don't age.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

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
    EvidencePassage,
    Proof,
    Relation,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.domain.fetch import FetchRequest, Hosted
from pincite.domain.frozen import dataclass
from pincite.domain.ids import claim_id
from pincite.domain.page import Document
from pincite.domain.plan import Lead, Progress, ReadPage, Task
from pincite.domain.records import Outcome
from pincite.ports import Clock, DocumentStore, EventSink, Fetch, Judge, Ledger, SnapshotStore
from pincite.research.records import ids_from_record, page_record
from pincite.runtime.telemetry import RequestMeter, current_meter, metered
from pincite.text.context import context_of, passage_in_context
from pincite.text.normalise import Folded, fold
from pincite.urls import registrable_domain
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import locate_folded

# Pauses before a page whose site failed in passing is asked for again: twice, then it stays unresolved.
WAITS_S: Final = (0.5, 1.0)
# Captures that a plain request can confirm; libraries don't age, and what only a paid scraper can read is not bought
# twice for one report.
_OWN_VIA: Final = ("direct", "chromium")


@dataclass(frozen=True, slots=True)
class _Look:
    """What came of asking for a page again: `page` as it is now, or `gone`, or neither: unresolved, with the reason."""

    page: ReadPage | None = None
    gone: bool = False
    reason: str = ""


class Revalidation:
    """Looks again at the pages that a report is about to cite, through the fetch service.

    Args:
        snapshots: captures, for a run that is made again from its record.
        events: `page.revalidated` for each page.
        clock: waits between attempts.
        judge: with exact facts decides whether a claim that lost a page stands on the others.
        at: the time that is noted with judgements; the same when a run is made again.
        after: the age from which on a cited page is asked for again.
    """

    def __init__(  # noqa: PLR0913  # one argument per port
        self,
        fetch: Fetch,
        snapshots: SnapshotStore,
        documents: DocumentStore,
        ledger: Ledger,
        events: EventSink,
        clock: Clock,
        judge: Judge | None,
        *,
        at: datetime,
        after: timedelta,
        deadline_s: float,
        concurrency: int,
    ) -> None:
        self._fetch = fetch
        self._snapshots = snapshots
        self._documents = documents
        self._ledger = ledger
        self._events = events
        self._clock = clock
        self._judge = judge
        self._at = at
        self._after = after
        self._deadline_s = deadline_s
        self._concurrency = concurrency
        self._looks: dict[str, _Look] = {}

    async def revalidate(self, task: Task, progress: Progress, since: datetime) -> Progress:
        """Progress with changed pages in their new capture, quotes moved there, and without support that is gone.

        `since` is when the run began.
        """
        cited = {e.url for item in progress.claims if item.printable for e in item.claim.evidence}
        old = [
            page
            for page in progress.pages
            if page.url in cited
            # A page from a peer was never asked for at its site by this run: it is asked for like our own.
            and (page.snapshot.via in _OWN_VIA or page.snapshot.shared_by)
            and since - page.snapshot.fetched_at > self._after
        ]
        if not old:
            return progress
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def look(page: ReadPage) -> None:
            async with limiter:
                self._looks[page.snapshot.snapshot_id] = await self._look(task, page)

        unseen = [page for page in old if page.snapshot.snapshot_id not in self._looks]
        # What was not answered in time is unresolved, and the report says so: no page is taken for gone for want of
        # time.
        with anyio.move_on_after(progress.seconds_left):
            async with anyio.create_task_group() as group:
                for page in unseen:
                    group.start_soon(look, page)
        for page in unseen:
            await self._emit(page, self._looks.setdefault(page.snapshot.snapshot_id, _Look(reason="deadline")))
        looks = {page.url: self._looks[page.snapshot.snapshot_id] for page in old}
        found = await anyio.to_thread.run_sync(_support_left, progress, looks)
        # It lost pages and has others, or was judged by passages that stand elsewhere now.
        asked = [
            left
            for left in found
            if bool(left.passages) and (bool(left.lost) or (left.moved and left.item.proof is Proof.ENTAILED))
        ]
        statements = [Statement(left.item.claim.text, left.passages, left.texts) for left in asked]
        proven = await prove(statements, self._judge, at=self._at)
        again = {left.item.claim.claim_id: result for left, result in zip(asked, proven, strict=True)}
        claims = _each_once(found, [_settled(left, again.get(left.item.claim.claim_id), looks) for left in found])
        return _progress_with(progress, claims, looks)

    async def _look(self, task: Task, page: ReadPage) -> _Look:
        reason = ""
        for attempt in range(1 + len(WAITS_S)):
            try:
                return _Look(await self._fetched_again(task, page, attempt))
            except (RemoteError, PolicyRefusal, BudgetExhausted) as error:
                # Only what the site itself says: a timeout, a challenge, a refusal say nothing about the page.
                if isinstance(error, DeadLink) or (isinstance(error, DnsError) and not error.retryable):
                    return _Look(gone=True, reason=error.reason)
                reason = error.reason
                passing = error.retryable or isinstance(error, Timeout)
                if not passing or attempt == len(WAITS_S):
                    break
                await self._clock.sleep(WAITS_S[attempt])
        return _Look(reason=reason)

    async def _fetched_again(self, task: Task, page: ReadPage, attempt: int) -> ReadPage:
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
            fresh.append(replace(page, snapshot=got.snapshot, document=got.document, stale=False))
            return Outcome(page_record(got), Usage(web_requests=sent.used, size_bytes=got.info.size_bytes))

        asked: dict[str, Json] = {"url": url, "snapshot_id": page.snapshot.snapshot_id, "attempt": attempt}
        record = await self._ledger.call("revalidate", asked, Usage(web_requests=1), do)
        if fresh:
            return fresh[0]
        snapshot_id, document_id = ids_from_record(record)
        snapshot, document = await self._snapshots.get(snapshot_id), await self._documents.get(document_id)
        if snapshot is None or document is None:
            raise DeadLink("the stored copy is gone", reason="snapshot_missing")
        return replace(page, snapshot=snapshot, document=document, stale=False)

    async def _emit(self, page: ReadPage, look: _Look) -> None:
        outcome = "gone" if look.gone else "unresolved"
        if look.page is not None:
            same = look.page.document.document_id == page.document.document_id
            outcome = "unchanged" if same else "changed"
        data: dict[str, Json] = {"url": page.url, "outcome": outcome, "reason": look.reason}
        if look.page is not None:
            data["snapshot_id"] = look.page.snapshot.snapshot_id
        await self._events.emit(EventType.PAGE_REVALIDATED, data)


@dataclass(frozen=True, slots=True)
class _Left:
    """A claim, what is left of its evidence, the passages of that as the pages are now, and what it lost and why."""

    item: VerifiedClaim
    evidence: tuple[Evidence, ...] = ()
    passages: tuple[EvidencePassage, ...] = ()
    texts: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def moved(self) -> bool:
        """Whether its evidence is no longer the one that it was proven by."""
        return self.evidence != self.item.claim.evidence


def _support_left(progress: Progress, looks: Mapping[str, _Look]) -> tuple[_Left, ...]:
    """What the looks leave of each claim."""
    before = {page.url: page for page in progress.pages}
    now = {url: look.page for url, look in looks.items() if look.page is not None}
    folded = {
        url: fold(page.document.text)
        for url, page in now.items()
        if page.document.document_id != before[url].document.document_id
    }
    documents = {page.document.document_id: page.document for page in (*before.values(), *now.values())}
    return tuple(
        _stood(item, looks, folded, documents) if item.printable else _Left(item, item.claim.evidence)
        for item in progress.claims
    )


def _progress_with(progress: Progress, claims: tuple[VerifiedClaim, ...], looks: Mapping[str, _Look]) -> Progress:
    """Progress with what the looks found: pages, claims, conflicts, leads."""
    before = {page.url: page for page in progress.pages}
    # A page that still carries a quote from its old capture stays as it was captured.
    kept = {e.snapshot_id for item in claims for e in item.claim.evidence}
    now = {url: look.page for url, look in looks.items() if look.page is not None}
    pages = tuple(page if page.snapshot.snapshot_id in kept else now.get(page.url, page) for page in progress.pages)
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
        conflicts=tuple(
            conflict for conflict in progress.conflicts if not any(side.claim_id in fell for side in conflict.sides)
        ),
        leads=(*progress.leads, *leads),
    )


def _stood(
    item: VerifiedClaim, looks: Mapping[str, _Look], folded: Mapping[str, Folded], documents: Mapping[str, Document]
) -> _Left:
    """What still stands of a claim's quotes."""
    evidence: list[Evidence] = []
    lost: dict[str, str] = {}
    for url in dict.fromkeys(e.url for e in item.claim.evidence):
        mine = [e for e in item.claim.evidence if e.url == url]
        if all(e.relation is Relation.CORROBORATES for e in mine):
            # Its judgement holds for the page as it was: a second source that changed or went is none any more.
            evidence += [] if url in folded or (url in looks and looks[url].gone) else mine
            continue
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
    supporting = [e.quote for e in evidence if e.relation is Relation.SUPPORTS]
    read = {quote.document_id: documents[quote.document_id] for quote in supporting if quote.document_id in documents}
    passages = tuple(
        passage_in_context(read[quote.document_id], quote.start, quote.end)
        for quote in supporting
        if quote.document_id in read
    )
    return _Left(item, tuple(evidence), passages, tuple(page.text for page in read.values()), tuple(lost.values()))


def _settled(left: _Left, proven: Proven | None, looks: Mapping[str, _Look]) -> VerifiedClaim:
    """The claim on what is left of it: refused when that does not carry it, marked when nobody could tell."""
    item, supporting = left.item, [e for e in left.evidence if e.relation is Relation.SUPPORTS]
    if not item.printable:
        return item
    if not left.lost and proven is None:
        if left.moved:
            claim, sources = replace(item.claim, evidence=left.evidence), _sources_left(item, left.evidence)
            item = replace(item, claim=claim, independent_sources=sources)
        return _marked(item, supporting, looks)
    if proven is None or proven.verdict not in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL):
        restated = _restated(left)
        if restated is not None:
            return _marked(restated, supporting, looks)
        why = left.lost or ((proven.reason,) if proven is not None else ())
        # Refused and not dropped: the report says which statement fell and why.
        refused = replace(item.verdict, status=VerdictStatus.UNSUPPORTED, reasons=why)
        return replace(item, verdict=refused, independent_sources=0)
    status = VerdictStatus.PARTIAL if VerdictStatus.PARTIAL in (proven.verdict, item.verdict.status) else proven.verdict
    return _marked(
        replace(
            item,
            claim=replace(item.claim, evidence=left.evidence),
            verdict=replace(item.verdict, status=status, reasons=(*item.verdict.reasons, *left.lost)),
            independent_sources=_sources_left(item, left.evidence),
            proof=proven.proof,
            judgement=proven.judgement,
            beyond=proven.beyond or item.beyond,
        ),
        supporting,
        looks,
    )


def _sources_left(item: VerifiedClaim, evidence: Sequence[Evidence]) -> int:
    """No more sources than there were, and than domains are left."""
    urls = {e.url for e in evidence if e.relation is not Relation.CONTRADICTS}
    domains = {url if url.startswith("local:") else registrable_domain(url) for url in urls}
    return min(item.independent_sources, max(len(domains), 1))


def _each_once(found: Sequence[_Left], claims: Sequence[VerifiedClaim]) -> tuple[VerifiedClaim, ...]:
    """The claims; one that was put in a page's own words is left to another that says just that."""
    before, texts = [left.item.claim.text for left in found], [item.claim.text for item in claims]
    told = {now for then, now, item in zip(before, texts, claims, strict=True) if item.printable and then == now}
    kept: list[VerifiedClaim] = []
    for then, now, item in zip(before, texts, claims, strict=True):
        if then != now and item.printable and now in told:
            reasons = (*item.verdict.reasons, "what is left of it is told by another claim")
            kept.append(replace(item, verdict=replace(item.verdict, status=VerdictStatus.UNSUPPORTED, reasons=reasons)))
            continue
        told.add(now)
        kept.append(item)
    return tuple(kept)


def _restated(left: _Left) -> VerifiedClaim | None:
    """The claim in the own words of a passage that is left, which need no judge; None when none is a whole sentence."""
    whole = next((passage for passage in left.passages if passage.whole), None)
    if whole is None:
        return None
    item = left.item
    evidence = tuple(
        e
        for e in left.evidence
        if (e.quote.document_id, e.quote.start, e.quote.end) == (whole.document_id, whole.start, whole.end)
    )
    verdict = replace(item.verdict, status=VerdictStatus.SUPPORTED, reasons=(*item.verdict.reasons, *left.lost))
    text = " ".join(whole.text.split())
    claim = replace(item.claim, claim_id=claim_id(text, item.claim.sub_question), text=text, evidence=evidence)
    return replace(
        item, claim=claim, verdict=verdict, independent_sources=1, proof=Proof.QUOTED, judgement=None, beyond=""
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
                context=context_of(page.document, span.start, span.end) if item.context else (),
            )
        )
    return moved

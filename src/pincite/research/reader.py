"""Results to stored documents: fetches through the fetch service, marks near-copies, keeps what could not be read."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime

import anyio
import anyio.to_thread

from pincite.domain.budget import Usage
from pincite.domain.errors import (
    BudgetExhausted,
    Conflict,
    EmptyContent,
    PinciteError,
    PolicyRefusal,
    ProviderError,
    RemoteError,
)
from pincite.domain.events import EventType, Json
from pincite.domain.fetch import FetchRequest, Hosted
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document, Kept, Snapshot
from pincite.domain.plan import Lead, Progress, Reading, ReadPage, Task
from pincite.domain.records import Outcome
from pincite.domain.search import SearchResult
from pincite.ports import DocumentStore, EventSink, Fetch, Ledger, SnapshotStore
from pincite.research.records import emit_calls, emit_settled, from_cache, ids_from_record, page_record, was_stale
from pincite.research.state import GIVEN, Limits, in_period, source_key
from pincite.runtime.recovery import another_may_help
from pincite.runtime.telemetry import RequestMeter, current_meter, metered
from pincite.text.similarity import cluster
from pincite.urls import mask_secrets, registrable_domain

# A page that allows less to be quoted (`nosnippet`, `max-snippet`) can't carry a claim; it stays a lead.
_QUOTE_CHARS = 60
# The first of a site: its robots.txt, the page, and one redirect or retry.
_REQUESTS_OF_A_PAGE = 3
# Two to three lines, to say what a page that was not read would be about.
_LEAD_SNIPPET_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Fetched:
    snapshot: Snapshot
    document: Document
    stale: bool = False


@dataclass(slots=True, eq=False)
class _Slot:
    """A result and what came of it; `done` is set when that is known."""

    result: SearchResult
    outcome: _Fetched | PinciteError | None = None
    done: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class _Collected:
    """The pages of the run, by their keys, and what could not be read now."""

    pages: list[ReadPage]
    known: set[str]
    leads: list[Lead] = field(default_factory=list)


class PageReader:
    """Reads pages side by side; results are taken and told in the order asked, whatever order they arrive in."""

    def __init__(
        self,
        fetch: Fetch,
        snapshots: SnapshotStore,
        documents: DocumentStore,
        ledger: Ledger,
        events: EventSink,
        *,
        limits: Limits,
        domain_quality: Mapping[str, float] | None = None,
    ) -> None:
        self._fetch = fetch
        self._snapshots = snapshots
        self._documents = documents
        self._ledger = ledger
        self._events = events
        self._limits = limits
        self._domain_quality = dict(domain_quality or {})
        self._begun: dict[str, _Slot] = {}
        self._marked: tuple[ReadPage, ...] = ()

    async def begin(self, task: Task, result: SearchResult) -> None:
        """Fetch a page that `read` will be asked for; what comes of it is told then."""
        slot = self._begun.setdefault(source_key(result.url), _Slot(result))
        await self._fetch_one(task, slot, anyio.CapacityLimiter(1))

    async def read(self, task: Task, results: Sequence[SearchResult], progress: Progress) -> Reading:
        """All pages of the run so far with near-copies marked, and a lead for each page that could not be read."""
        begun, self._begun = self._begun, {}
        slots = [begun.get(source_key(result.url)) or _Slot(result) for result in results]
        collected = _Collected(list(progress.pages), {source_key(page.url) for page in progress.pages})
        taken = 0
        at_once, cap = self._limits.concurrency, self._limits.budget.web_requests
        if cap is not None:
            # Few requests left must not all go to robots.txt of as many sites.
            left = cap - (await self._ledger.spent()).web_requests
            at_once = max(1, min(at_once, left // _REQUESTS_OF_A_PAGE))
        await emit_calls(self._events, EventType.PAGE_REQUESTED, [{"url": slot.result.url} for slot in slots])
        with anyio.move_on_after(progress.seconds_left):
            async with anyio.create_task_group() as group:
                limiter = anyio.CapacityLimiter(at_once)
                for slot in slots:
                    if slot not in begun.values():
                        group.start_soon(self._fetch_one, task, slot, limiter)
                for slot in slots:  # told as they come, always in the order of the results
                    await slot.done.wait()
                    taken += 1
                    with anyio.CancelScope(shield=True):
                        await self._collect(task, slot, collected)
        for slot in slots[taken:]:
            await self._collect(task, slot, collected)
        answered = sum(isinstance(slot.outcome, _Fetched) for slot in slots)
        await emit_settled(self._events, EventType.PAGE_REQUESTED, len(slots), answered)
        if len(collected.pages) == len(self._marked) and all(map(operator.is_, collected.pages, self._marked)):
            return Reading(self._marked, tuple(collected.leads))  # a later round that met no other page
        marked = await anyio.to_thread.run_sync(mark_duplicates, tuple(collected.pages), self._domain_quality)
        self._marked = marked
        await self._emit_duplicates(marked, progress)
        return Reading(marked, tuple(collected.leads))

    async def _fetch_one(self, task: Task, slot: _Slot, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                slot.outcome = await self._recorded(task, slot.result)
            except PinciteError as error:
                if not isinstance(error, PolicyRefusal | RemoteError | BudgetExhausted):
                    raise
                slot.outcome = error
        slot.done.set()

    async def _recorded(self, task: Task, result: SearchResult) -> _Fetched:
        """The page from the fetch service, or from the record of an earlier execution of this run.

        A paid scraper is a call of its own, so that its price is held back before it and charged to nothing else.
        """
        scrape_usd = self._limits.scrape_usd
        try:
            hosted = Hosted.AUTO if scrape_usd is None else Hosted.NEVER
            return await self._called(task, result, "fetch", Usage(pages=1, web_requests=1), hosted)
        except PinciteError as error:
            if scrape_usd is None or not isinstance(error, RemoteError) or not another_may_help(error):
                raise
            failed = error
        try:
            return await self._called(task, result, "scrape", Usage(web_requests=1, cost_usd=scrape_usd), Hosted.ONLY)
        except (BudgetExhausted, RemoteError, ProviderError):
            raise failed from None

    async def _called(self, task: Task, result: SearchResult, kind: str, estimate: Usage, hosted: Hosted) -> _Fetched:
        url = result.url
        fresh: list[_Fetched] = []

        async def do() -> Outcome:
            request = FetchRequest(
                url=url,
                output_format="text",  # the document is what is read here; no window of it is shown to anybody
                include_domains=task.constraints.include_domains,
                exclude_domains=task.constraints.exclude_domains,
                deadline_s=self._limits.fetch_deadline_s,
                user_triggered=result.provider == GIVEN,
                hosted=hosted,
            )
            with metered(RequestMeter(outer=current_meter())) as sent:
                try:
                    page = await self._fetch.fetch(request)
                except PinciteError as error:
                    asked = int(sent.used > 0)
                    error.spent = Usage(
                        pages=estimate.pages * asked, web_requests=sent.used, cost_usd=estimate.cost_usd * asked
                    )
                    raise
            fresh.append(_Fetched(page.snapshot, page.document, page.info.stale))
            used = Usage(
                pages=estimate.pages,
                web_requests=sent.used,
                size_bytes=page.info.size_bytes,
                cost_usd=page.info.cost_usd,
            )
            return Outcome(page_record(page), used, from_cache=from_cache(page.info.cache))

        record = await self._ledger.call(kind, {"url": url}, estimate, do)
        if fresh:
            return fresh[0]
        snapshot_id, document_id = ids_from_record(record)
        snapshot = await self._snapshots.get(snapshot_id)
        document = await self._documents.get(document_id)
        if snapshot is not None and document is None and snapshot.kept is Kept.EXCERPTS:
            raise Conflict(
                f"of {mask_secrets(url)} only excerpts were kept, so this run can't be made again",
                reason="excerpts_only",
                hint="pincite check compares its quotes with what was kept.",
            )
        if snapshot is None or document is None:
            raise EmptyContent(f"the stored copy of {url} is gone", reason="snapshot_missing")
        return _Fetched(snapshot, document, was_stale(record))

    async def _collect(self, task: Task, slot: _Slot, collected: _Collected) -> None:
        """One result's page put with the others, or its lead; what became of it told."""
        result, outcome = slot.result, slot.outcome
        if not isinstance(outcome, _Fetched):
            collected.leads.append(await self._unread(result, outcome))
            return
        # Credentials in the URL are masked where the page is cited; the stored capture keeps what was fetched.
        url = mask_secrets(outcome.snapshot.canonical_url or outcome.snapshot.final_url or outcome.snapshot.url)
        if source_key(url) in collected.known:
            await self._events.emit(EventType.PAGE_DUPLICATE, {"url": result.url, "of": url, "reason": "same_page"})
            return
        collected.known.add(source_key(url))
        refused = self._unfit(task, result, outcome)
        if refused:
            collected.leads.append(_lead(result, refused))
            await self._events.emit(EventType.PAGE_REFUSED, {"url": url, "reason": refused})
            return
        dated = task.constraints.since is not None or task.constraints.until is not None
        undated = dated and (outcome.document.published_at or result.published_at) is None
        page = ReadPage(url, outcome.snapshot, outcome.document, undated=undated, stale=outcome.stale)
        collected.pages.append(page)
        await self._emit_read(page)

    def _unfit(self, task: Task, result: SearchResult, found: _Fetched) -> str:
        """Why a page that came may not be evidence; empty when it may."""
        quotable = found.snapshot.quotable_chars
        if quotable is not None and quotable < _QUOTE_CHARS:
            return "may_not_be_quoted"
        published = found.document.published_at or result.published_at
        keep = self._limits.keep_undated or result.provider == GIVEN
        return "" if in_period(published, task.constraints, keep_undated=keep) else "outside_period"

    async def _unread(self, result: SearchResult, slot: _Fetched | PinciteError | None) -> Lead:
        """The lead for a page that was not read, its event told. A cap or the deadline is not the page's fault."""
        if isinstance(slot, PolicyRefusal):
            await self._events.emit(
                EventType.PAGE_REFUSED, {"url": result.url, "code": slot.code, "reason": slot.reason}
            )
            return _lead(result, slot.reason, slot.code)
        if isinstance(slot, PinciteError):
            kind = EventType.BUDGET_EXHAUSTED if isinstance(slot, BudgetExhausted) else EventType.PAGE_FAILED
            await self._events.emit(kind, {"url": result.url, "code": slot.code, "reason": slot.reason})
            return _lead(result, slot.reason, slot.code)
        await self._events.emit(EventType.PAGE_FAILED, {"url": result.url, "code": "TIMEOUT", "reason": "deadline"})
        return _lead(result, "deadline", "TIMEOUT")

    async def _emit_read(self, page: ReadPage) -> None:
        data: dict[str, Json] = {
            "url": page.url,
            "title": page.document.title,
            "snapshot_id": page.snapshot.snapshot_id,
            "document_id": page.document.document_id,
            "via": page.snapshot.via,
            "size_bytes": len(page.snapshot.body),
            "chars": len(page.document.text),
        }
        if page.snapshot.shared_by:
            data["shared_by"] = page.snapshot.shared_by
        await self._events.emit(EventType.PAGE_FETCHED, data)
        await self._events.emit(EventType.CHUNK_MADE, {"url": page.url, "chunks": len(page.document.blocks)})

    async def _emit_duplicates(self, pages: Sequence[ReadPage], progress: Progress) -> None:
        before = {page.url: page.duplicate_of for page in progress.pages}
        for page in pages:
            if page.duplicate_of is not None and before.get(page.url) != page.duplicate_of:
                await self._events.emit(
                    EventType.PAGE_DUPLICATE,
                    {"url": page.url, "of": page.duplicate_of, "reason": "near_copy", "rule": REPRESENTATIVE_RULE},
                )


# How one page of a cluster of near-copies is chosen; printed in the trace and in docs/research.md.
REPRESENTATIVE_RULE = "domain quality, then earliest published, then longest text, then canonical URL, then first met"


def mark_duplicates(pages: Sequence[ReadPage], domain_quality: Mapping[str, float]) -> tuple[ReadPage, ...]:
    """The pages with each near-copy pointing to its cluster's representative, chosen by `REPRESENTATIVE_RULE`."""
    if len(pages) < 2:
        return tuple(replace(page, duplicate_of=None) for page in pages)
    # Of all pages of the run together: a copy that came in a later round may be the better original.
    clusters = cluster([page.document.text for page in pages])
    best: dict[int, int] = {}
    for index, first in enumerate(clusters):
        if first not in best or _rank(pages[index], domain_quality) < _rank(pages[best[first]], domain_quality):
            best[first] = index
    return tuple(
        replace(page, duplicate_of=None if best[first] == index else pages[best[first]].url)
        for index, (page, first) in enumerate(zip(pages, clusters, strict=True))
    )


def _rank(page: ReadPage, domain_quality: Mapping[str, float]) -> tuple[float, datetime, int, bool]:
    """Lower is better; equal pages keep the order in which they were met."""
    quality = 0.0 if page.url.startswith("local:") else domain_quality.get(registrable_domain(page.url), 0.0)
    published = page.document.published_at or datetime.max.replace(tzinfo=UTC)
    # Last: it says how the page was reached, not which one is the original.
    canonical = page.snapshot.final_url in ("", page.url)
    return (-quality, published, -len(page.document.text), not canonical)


def _lead(result: SearchResult, reason: str, code: str = "") -> Lead:
    snippet = " ".join(result.snippet.split())[:_LEAD_SNIPPET_CHARS]
    return Lead(result.title or mask_secrets(result.url), mask_secrets(result.url), snippet, reason, code)

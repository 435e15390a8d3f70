"""The fetch service: a request to a stored, read page: who answers, and what is kept."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Self

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from pincite.domain.errors import (
    BudgetExhausted,
    DeadLink,
    EmptyContent,
    ExtraNotInstalled,
    InvalidUrl,
    NetworkError,
    NotFound,
    PinciteError,
)
from pincite.domain.fetch import FetchRequest, FetchResult, Hosted, Render
from pincite.domain.given import check_request
from pincite.domain.page import Document, Kept, Snapshot
from pincite.fetch.captures import GIVEN, LARGE_BYTES, ReadPage, merged_canonical, result_of
from pincite.fetch.page_cache import TURN_S, UNKNOWN_PAGE, CachedPage, PageCache, conditional, time_to_live
from pincite.fetch.page_failures import DocumentGate, failure_of, needs_rendering
from pincite.ports import Clock, DocumentStore, Extractor, FetchBackend, SnapshotStore
from pincite.runtime.concurrency import SingleFlight
from pincite.runtime.recovery import another_may_help, may_serve_stale
from pincite.runtime.system import install_extra
from pincite.urls.parse import parse_url
from pincite.urls.policy import DEFAULT, UrlPolicy, vet_url

LOCAL_SCHEME = "local:"
_LOCAL_HINT = "Addresses that begin with local: come from results, sources and sent files; give one in full."
_LIBRARY = "archive"
_PEER = "peer"
# Another process fetches the page: a tenth of what the quickest page takes would gain nothing.
_LOOK_S = 0.1
# As many as there are reading processes (`runtime.readers`).
_READS_AT_ONCE = 2

_log = logging.getLogger(__name__)


class FetchService:
    """Implements `ports.Fetch`.

    Args:
        backends: first-line sources in order; one that does not know a URL raises `NotFound` and the next is asked.
        extractor: reads bodies; runs in a worker thread here, so a process-backed one never blocks the loop.
        library_extractor: reads pages of the operator's own libraries; the same one if not given.
        clock: the time.
        renderer: a browser, for pages that are empty without one.
        hosted: paid scrapers, asked last and only when the operator configured them.
        policy: for vetting before anything else happens.
    """

    def __init__(  # noqa: PLR0913  # one argument per part that the operator chooses
        self,
        *,
        backends: Sequence[FetchBackend],
        extractor: Extractor,
        library_extractor: Extractor | None = None,
        snapshots: SnapshotStore,
        documents: DocumentStore,
        clock: Clock,
        renderer: FetchBackend | None = None,
        hosted: Sequence[FetchBackend] = (),
        pages: PageCache | None = None,
        gate: DocumentGate | None = None,
        policy: UrlPolicy = DEFAULT,
    ) -> None:
        self._backends = tuple(backends)
        self._extractor = extractor
        self._library_extractor = library_extractor or extractor
        self._snapshots = snapshots
        self._documents = documents
        self._clock = clock
        self._renderer = renderer
        self._hosted = tuple(hosted)
        self._pages = pages
        self._gate = gate or DocumentGate()
        self._policy = policy
        self._threads: anyio.CapacityLimiter | None = None
        self._flights: SingleFlight[ReadPage] = SingleFlight()
        self._background: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._background = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        group, self._background = self._background, None
        if group is not None:
            group.cancel_scope.cancel()
            await group.__aexit__(None, None, None)

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """The page, stored as snapshot and document, with the window of its content that was asked for.

        Errors:
            InvalidInput: a value out of range.
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed: policy.
            DeadLink, PageBlocked, LoginRequired, Timeout, NetworkError, DnsError, TlsError, TooLarge,
            TooManyRedirects: the network or the page.
            UnsupportedContentType, ParseError, EmptyContent: the body.
        """
        check_request(request)
        if not request.url.startswith(LOCAL_SCHEME):
            request = replace(request, url=vet_url(request.url, policy=self._policy))
            self._vet_lists(request, request.url)  # before the cache, which knows nothing of this request's lists
        page = await self._page(request)
        # A redirect, or the cache, may lead out of what this request allows.
        if page.snapshot.final_url != request.url and not page.snapshot.final_url.startswith(LOCAL_SCHEME):
            self._vet_lists(request, page.snapshot.final_url)
        return await result_of(request, page)

    def _vet_lists(self, request: FetchRequest, url: str) -> None:
        include, exclude = request.include_domains, request.exclude_domains
        self._policy.check_host_lists(parse_url(url).host, include=include, exclude=exclude)

    async def _page(self, request: FetchRequest) -> ReadPage:
        if request.confirms:
            return await self._confirmed(request)
        pages = self._pages if request.persist else None
        if pages is None:
            return await self._fetch_anew(request)
        key = pages.key(request)
        # A flight of its own: who wants a paid scraper must not get the answer of one who wanted none.
        flight = f"{key}$" if request.hosted is Hosted.ONLY else key
        if request.force_refresh:
            # Nor may one who wants the page anew get an answer that was on its way before.
            page, shared = await self._flights.run(f"{flight}!", lambda: self._refresh(pages, key, request, None))
        else:
            page, shared = await self._flights.run(flight, lambda: self._cached(pages, key, request))
        if shared and page.snapshot.cost_usd:  # another caller's flight brought it: who fetched it pays
            return replace(page, snapshot=replace(page.snapshot, cost_usd=Decimal(0)))
        return page

    async def _cached(self, pages: PageCache, key: str, request: FetchRequest) -> ReadPage:
        found = await pages.find(key)
        if found is not None and found.is_fresh:
            return ReadPage(found.snapshot, found.document, "hit")
        if found is not None and found.is_usable_while_checking and self._background is not None:
            self._background.start_soon(self._recheck, pages, key, request, found)
            return ReadPage(found.snapshot, found.document, "stale", is_stale=True)
        if found is None and request.hosted is not Hosted.ONLY and (failure := await pages.failure(key)) is not None:
            raise failure
        async with self._turn(pages, key, request) as news:
            return news or await self._refresh(pages, key, request, found)

    async def _confirmed(self, request: FetchRequest) -> ReadPage:
        """The stored capture where its site confirms it, else a new one. An older copy never stands in."""
        snapshot = await self._snapshots.get(request.confirms)
        document = await self._documents.newest_for_snapshot(request.confirms)
        if snapshot is None or document is None or snapshot.kept is not Kept.FULL:
            page = await self._fetch_anew(request)
        else:
            known = CachedPage(snapshot, document, False, False, conditional(dict(snapshot.headers)))
            page = await self._fetch_anew(replace(request, validators=known.validators), known)
        if self._pages is not None and request.persist:
            await self._pages.keep(self._pages.key(request), page.snapshot, page.document)
        return page

    @asynccontextmanager
    async def _turn(self, pages: PageCache, key: str, request: FetchRequest) -> AsyncIterator[ReadPage | None]:
        """One process at a time captures a page. Gives the page that another one got meanwhile, or None: fetch it."""
        # No longer than a turn lasts: the process that holds it may be dead.
        until_s = self._clock.monotonic_s() + min(TURN_S, request.deadline_s or TURN_S)
        while not await pages.take_turn(key) and self._clock.monotonic_s() <= until_s:
            await self._clock.sleep(_LOOK_S)
            news = await pages.find(key)
            if news is not None and news.is_fresh:
                yield ReadPage(news.snapshot, news.document, "hit")
                return
            if request.hosted is not Hosted.ONLY and (failure := await pages.failure(key)) is not None:
                raise failure
        try:
            yield None
        finally:
            with anyio.CancelScope(shield=True):
                await pages.end_turn(key)

    async def _recheck(self, pages: PageCache, key: str, request: FetchRequest, found: CachedPage) -> None:
        if not await pages.take_turn(key):
            return
        try:
            await self._flights.run(f"{key}?", lambda: self._refresh(pages, key, request, found))
        except PinciteError as error:  # the stale page was served; the next caller meets the failure itself
            _log.info("recheck failed: %s %s", error.code, error.reason)
        finally:
            with anyio.CancelScope(shield=True):
                await pages.end_turn(key)

    async def _refresh(self, pages: PageCache, key: str, request: FetchRequest, found: CachedPage | None) -> ReadPage:
        """A new capture, the old one confirmed by the host, or the old one because the host fails."""
        if found is not None and found.validators:
            request = replace(request, validators=found.validators)
        try:
            page = await self._fetch_anew(request, found)
        except PinciteError as error:
            # Before the failure is kept: a host that fails for a moment must not make a good copy unreachable.
            if found is not None and may_serve_stale(error):
                return ReadPage(found.snapshot, found.document, "stale_if_error", is_stale=True)
            await pages.keep_failure(key, error)
            raise
        await pages.keep(key, page.snapshot, page.document)
        return page

    async def _fetch_anew(self, request: FetchRequest, found: CachedPage | None = None) -> ReadPage:
        started = self._clock.monotonic_s()
        first_error: PinciteError | None = None
        # In the order of what they cost: what is here, what a peer has, the site, a paid scraper.
        for source in self._sources(request):
            try:
                snapshot = await source.fetch(request)
                if snapshot.status == 304 and found is not None:
                    return ReadPage(found.snapshot, found.document, "revalidated")
                got = self._clock.monotonic_s()
                return await self._read_and_store(
                    request, snapshot, ((got - started) * 1000, got), fresh=source.name == _PEER
                )
            except NotFound:
                continue
            except PinciteError as error:
                if source.name == _PEER and not isinstance(error, BudgetExhausted):
                    # What a peer gave says nothing about the page.
                    _log.info("a shared page is not used: %s %s", error.code, error.reason)
                    continue
                if request.url.startswith(LOCAL_SCHEME) and isinstance(error, InvalidUrl):
                    # The web refuses the scheme; that no library has the page is what is wrong.
                    what = "no library and no file that was sent has this page"
                    error = InvalidUrl(what, reason=error.reason, hint=_LOCAL_HINT)
                first_error = first_error or error
                if not another_may_help(error):
                    raise first_error from None
        # The first failure: it is the site's own, while the last is that of a stand-in.
        raise first_error or DeadLink("no source has this page", reason=UNKNOWN_PAGE)

    def _sources(self, request: FetchRequest) -> Sequence[FetchBackend]:
        if request.render is Render.ALWAYS:
            if self._renderer is None:
                raise ExtraNotInstalled(
                    "there is no browser to render with",
                    reason="no_browser",
                    hint=f"Run: {install_extra('browser')}; it needs a Chromium on this system (apt install chromium).",
                )
            return (self._renderer,)
        # The renderer is not in this row: it comes in where the page turns out to be empty.
        own = () if request.hosted is Hosted.ONLY else self._backends
        return (*own, *(() if request.hosted is Hosted.NEVER else self._hosted))

    async def take_in(self, request: FetchRequest, snapshot: Snapshot, *, cached: bool = False) -> FetchResult:
        """A capture that came another way (a given file, a bundle), read and stored as any other.

        `cached`: it may answer later requests for its address, unless what is cached is newer.

        Errors: those of `fetch` about the body.
        """
        check_request(request)
        page = await self._read_and_store(request, snapshot, (0.0, self._clock.monotonic_s()))
        if cached and self._pages is not None:
            key = self._pages.key(request)
            known = await self._pages.find(key)
            if known is None or known.snapshot.fetched_at < snapshot.fetched_at:
                await self._pages.keep(key, page.snapshot, page.document)
        return await result_of(request, page)

    async def _read_and_store(
        self, request: FetchRequest, snapshot: Snapshot, fetched: tuple[float, float], *, fresh: bool = False
    ) -> ReadPage:
        """The capture, read and stored. Errors: those of the body; NotFound when it must be `fresh` and is not."""
        fetch_ms, started = fetched
        failure = failure_of(snapshot) or _leads_nowhere(request, snapshot)
        if failure is not None and snapshot.via != GIVEN:  # a file that was handed over is what was meant
            raise failure
        snapshot, document = await self._read_or_rendered(request, snapshot)
        # An error page is no evidence anyway, and is what the caller has to see.
        if 200 <= snapshot.status < 300:
            if len(snapshot.body) < LARGE_BYTES:
                self._gate.check(document)
            else:
                await to_thread.run_sync(self._gate.check, document)
        if fresh and self._clock.now() - snapshot.fetched_at >= time_to_live(snapshot, document):
            raise NotFound("the shared page is older than its kind is kept", reason="too_old")
        snapshot = replace(
            snapshot,
            canonical_url=merged_canonical(snapshot.final_url, document.canonical_url, self._policy),
            usage_signals=tuple(dict.fromkeys((*snapshot.usage_signals, *document.signals))),
        )
        read_ms = (self._clock.monotonic_s() - started) * 1000
        await self._snapshots.put(snapshot)
        await self._documents.put(document, snapshot.snapshot_id)
        cache = "off" if self._pages is None or not request.persist else "shared" if snapshot.shared_by else "miss"
        timings = (("fetch", round(fetch_ms, 1)), ("read", round(read_ms, 1)))
        return ReadPage(snapshot, document, cache, timings_ms=timings)

    async def _read_or_rendered(self, request: FetchRequest, snapshot: Snapshot) -> tuple[Snapshot, Document]:
        if 300 <= snapshot.status < 400:  # redirects are off: the answer itself is what was asked for
            return snapshot, Document("none", "1", ())
        empty = EmptyContent("the page has no text")
        document: Document | None = None
        try:
            document = await self._read(snapshot)
        except EmptyContent as error:
            empty = error
        if self._renderer is not None and request.render is Render.AUTO and needs_rendering(snapshot, document):
            try:
                rendered = await self._renderer.fetch(request)
                return rendered, await self._read(rendered)
            except PinciteError:
                if document is None or not document.warnings:
                    raise
        if document is None:
            if self._renderer is None and needs_rendering(snapshot, None):
                empty.hint = f"Scripts may make its text: {install_extra('browser')}, and a Chromium on this system."
            raise empty
        return snapshot, document

    async def _read(self, snapshot: Snapshot) -> Document:
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_READS_AT_ONCE)
        content_type = snapshot.content_type or None
        extractor = self._library_extractor if snapshot.via == _LIBRARY else self._extractor
        return await to_thread.run_sync(
            extractor.extract, snapshot.body, snapshot.final_url, content_type, limiter=self._threads
        )


def _leads_nowhere(request: FetchRequest, snapshot: Snapshot) -> PinciteError | None:
    """The error of a 3xx that is no redirect and no answer to our question (300, 304 unasked, 305, ...), or None."""
    if not request.allow_redirects or not 300 <= snapshot.status < 400:
        return None
    return NetworkError(
        f"the site answered {snapshot.status} and no page",
        reason=f"http_{snapshot.status}",
        retryable=False,
        context={"status": snapshot.status},
    )

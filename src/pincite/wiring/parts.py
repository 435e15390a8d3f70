"""What an engine works with: stores, services, roles. Each is built on first use and closed with the engine."""

# Read by type checkers alone, or where a run or a judge needs it: who fetches a page loads nothing of research.
from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from pincite.domain.budget import Budget
from pincite.domain.errors import InvalidInput
from pincite.domain.events import EventType
from pincite.domain.fetch import FetchRequest, FetchResult, Hosted, Render
from pincite.runtime.concurrency import ResourcePool, once, resource_pool
from pincite.settings import Settings
from pincite.urls import vet_url
from pincite.wiring.fetching import OFFLINE, build_fetch, page_reading, stored_documents, url_policy, web_archive
from pincite.wiring.libraries import IndexedReadings, OpenLibraries, ranker_of
from pincite.wiring.models import OfflineBackend, recorded_models
from pincite.wiring.observing import CallLog
from pincite.wiring.open_models import OpenModels
from pincite.wiring.registry import EXPORTERS, load
from pincite.wiring.searching import build_search, lane_of, team_cache, within_budget
from pincite.wiring.sources import Sources, resolve_libraries, resolve_sources
from pincite.wiring.stores import Shared, open_shared

if TYPE_CHECKING:
    from pincite.audit.recheck import Recheck
    from pincite.audit.service import AuditService
    from pincite.domain.plan import Task
    from pincite.domain.records import RunRecord
    from pincite.domain.report import Report
    from pincite.domain.search import IndexReport, ListedPage
    from pincite.fetch.service import FetchService
    from pincite.library.local import LocalLibrary
    from pincite.ports import EventSink, Exporter, Fetch, Judge, LanguageModel, Search, WebArchive
    from pincite.ranking.ranker import PassageRanker
    from pincite.research.service import ResearchService
    from pincite.runtime.lease import Lease
    from pincite.search.service import SearchService
    from pincite.search.shared_answers import AnswerIntake
    from pincite.search.spending import BudgetSpending, Spending
    from pincite.sharing.peers import Peers
    from pincite.wiring.server import ServerServices
    from pincite.wiring.sharing import Imported, Sharing


class Parts(OpenModels):
    """What an engine works with. Stores and services are opened on first use and closed with the engine.

    Args:
        shared: the database and what else all engines of the process use.
        stores: keeps what the services write to; closes after them.
        model: language models to use instead of those of the settings.
        judge: a judge to use instead of that of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        shared: Shared,
        stores: ResourcePool,
        kept: ResourcePool,
        model: LanguageModel | None = None,
        judge: Judge | None = None,
    ) -> None:
        super().__init__(settings, shared, stores, kept, model, judge)
        self.log = CallLog(settings, self.clock, lambda: shared.opened_database)
        stores.on_close(self.log.close)
        self._libraries = OpenLibraries(settings, kept)
        self._searches: dict[tuple[Sources, str], SearchService | None] = {}
        self._fetches: dict[tuple[Path, ...], FetchService] = {}
        self._building = anyio.Lock()

    @once
    async def server_services(self) -> ServerServices:
        """What a server needs beside the services. Errors: as `runs`, and StorageUnavailable (`webhook_key`)."""
        from pincite.wiring.server import ServerServices, build_webhooks

        storage, notes = await self._storage(), (await self._common()).notes
        database = (await self.shared.storage()).database
        hooks = await build_webhooks(self.settings, self.clock, self._kept, database)
        return ServerServices(storage.server_memory, hooks, database, self.clock, notes.buckets)

    # ---- services ----

    async def search(self) -> SearchService:
        """The search service over the sources of the settings."""
        found = await self._search(resolve_sources(self.settings))
        if found is None:
            raise InvalidInput("no source to search in", hint="--source local:PATH, or --source auto")
        return found

    async def vocabularies(self) -> tuple[LocalLibrary, ...]:
        """The libraries whose words a question is read by: those of the settings, when nothing else is searched."""
        sources = resolve_sources(self.settings)
        await self._search(sources)
        return self._libraries.vocabularies(sources)

    @property
    def ranker(self) -> PassageRanker:
        """What ranks the passages of pages, with what the libraries know of theirs."""
        return ranker_of(self.settings, self._libraries)

    @cached_property
    def account(self) -> BudgetSpending:
        """What the searches of this engine outside of runs have spent, against the cap of the settings."""
        from pincite.search.spending import BudgetSpending

        return BudgetSpending(Budget(cost_usd=self.settings.max_cost_usd))

    async def fetch(self) -> Fetch:
        """The fetch service; pages of local libraries are served from there."""
        return await self._fetch(resolve_libraries(self.settings))

    async def auditor(self, fetch: Fetch, judge: Judge | None) -> AuditService:
        """The audit of anyone's report, over a fetch service."""
        from pincite.audit.service import AuditService

        listed: tuple[ListedPage, ...] = ()
        # Offline a cited address can only be a page of a library: its states and titles say which.
        if self.settings.profile == OFFLINE:
            listed = await self._libraries.listing(resolve_libraries(self.settings))
        reading = page_reading(self.settings, fetch, await self._archive(), listed)
        return AuditService(judge, reading, to_markdown=_report_markdown, now=self.clock.now)

    async def recheck(self, report: Report, fetch: Fetch) -> Recheck:
        """The report's pages fetched anew, through a fetch service, and its quotes looked for."""
        from pincite.audit.recheck import recheck

        stored = stored_documents((await self._storage()).documents)
        return await recheck(report, fetch, await self.judge(), at=self.clock.now(), stored=stored)

    async def research(
        self,
        record: RunRecord,
        task: Task,
        settings: Settings,
        events: EventSink,
        *,
        from_record: bool = False,
        lease: Lease | None = None,
    ) -> ResearchService:
        """The loop with its roles, for one run that was taken; or made again `from_record` alone, without a call."""
        from pincite.domain.model import ModelRole
        from pincite.research.records import LibrarySurvey
        from pincite.research.service import ResearchService
        from pincite.wiring.judging import judge_of, parts_on_record
        from pincite.wiring.roles import Run, build_roles, limits_of

        search: Search | None
        fetch: Fetch
        storage = await self._storage()
        known: tuple[LocalLibrary, ...] | None = None
        sources = resolve_sources(settings, only_urls=bool(task.urls))
        if from_record:
            search = OfflineBackend() if sources.libraries or sources.providers else None
            fetch = OfflineBackend()
            ledger = await storage.replay(record.run_id)
        else:

            async def on_pages(library: str, pages: int) -> None:
                await events.emit(EventType.LIBRARY_READ, {"library": library, "pages": pages})

            # Before the time of the run begins: a folder that was never read may take minutes.
            for path in sources.libraries:
                await self._libraries.ready(path, settings, on_pages)
            found, fetch = await self._search(sources, settings), await self._fetch(sources.libraries)
            # With addresses of its own a question is about those pages: what a library calls things would lead away
            # from them.
            known = () if task.urls else self._libraries.vocabularies(sources)
            ledger = await storage.ledger(record, lease)
            search = within_budget(found, ledger, record.budget, priority=lane_of(settings, run=True))
        limits = limits_of(record, settings, over_web=bool(sources.providers))
        run = Run(
            search,
            fetch,
            storage.snapshots,
            storage.documents,
            ledger,
            events,
            self.clock,
            limits,
            survey=LibrarySurvey(known, ledger),
            ranker=ranker_of(settings, self._libraries),
            keyless=record.inputs.get("keyless") is True,
            at=record.created_at,
        )
        model = recorded_models(record.inputs.get("models")) if from_record else await self.models(settings)
        calls = None if model is None else run.calls(settings, model)
        asked = parts_on_record(record.inputs.get("judge")) if from_record else await self._judges.parts(settings)
        judge = judge_of(asked, calls, lambda other: run.calls(settings, other), ledger)
        roles = build_roles(settings, replace(run, judge=judge), model, calls)
        earlier = None
        if task.continues:
            from pincite.research.continuing import ContinuingAnalyst, earlier_run

            earlier = await earlier_run(task.continues, storage.runs, storage.snapshots, storage.documents, ledger)
            if model is None or not model.info(ModelRole.WRITER):  # a model reads the earlier pages again
                roles = replace(roles, analyst=ContinuingAnalyst(roles.analyst, earlier))
        return ResearchService(
            roles,
            ledger=ledger,
            events=events,
            clock=self.clock,
            limits=limits,
            run_id=record.run_id,
            created_at=record.created_at,
            start=None if earlier is None else earlier.progress,
        )

    async def events(self, record: RunRecord, topic: str) -> EventSink:
        """Where the run says what happened."""
        sink = await (await self._storage()).events(record)
        sink.topic_hash = topic
        sink.request_id = record.request_id or None
        return sink

    async def given(self, data: bytes, request: FetchRequest, *, name: str, content_type: str) -> FetchResult:
        """A file that was handed over, read in the sandbox and stored. Errors: as `fetch` about the body."""
        from pincite.fetch.captures import given_file
        from pincite.fetch.limits import FetchLimits

        snapshot = given_file(data, name, content_type, self.clock.now(), FetchLimits())
        asked = replace(request, url=snapshot.url, render=Render.NEVER, hosted=Hosted.NEVER)
        return await (await self._fetch(())).take_in(asked, snapshot)

    async def written_by_model(
        self, request: FetchRequest, page: FetchResult, spending: Spending | None = None
    ) -> FetchResult:
        """The page with Markdown that a model wrote, paid from the caller's account or the engine's; by rules else."""
        from pincite.domain.model import ModelRole
        from pincite.fetch.extractors.html import cleaned_lines
        from pincite.fetch.model_markdown import ModelMarkdown
        from pincite.runtime.ledger import PassingLedger

        model = await self.models(self.settings)
        names = [info.name for info in model.info(ModelRole.READER)] if model is not None else []
        ledger = PassingLedger(self.settings.budget, spending or self.account)
        calls = await self.calls(ledger) if names else None
        writer = ModelMarkdown(
            calls,
            ledger,
            await self._cache(),
            self.clock,
            model="+".join(names),
            clean=cleaned_lines,
            deadline_s=self.settings.markdown_deadline_s,
        )
        return await writer.of(request, page)

    def exporter(self, format_: str) -> Exporter:
        """The exporter of that format. Errors: InvalidInput, ExtraNotInstalled."""
        made: Exporter = load(EXPORTERS, format_, "format")()
        return made

    async def vet_task(self, task: Task) -> None:
        """Refuse a task that can't be worked on, before a run of it is stored.

        Errors:
            InvalidUrl, BlockedAddress, DomainDenied: one of its URLs. LibraryNotFound, InvalidInput: its sources.
            InvalidInput: its limits.
        """
        from pincite.fetch.captures import is_given_file
        from pincite.search.request import checked_limits

        checked_limits(task.constraints)
        for url in task.urls:
            if not is_given_file(url):
                vet_url(url, policy=url_policy(self.settings))
        sources = resolve_sources(self.settings, only_urls=bool(task.urls))
        for path in sources.libraries:  # which are read when the run is worked on
            await self._libraries.vet(path)
        await self._search(replace(sources, libraries=()))

    async def index(
        self, path: Path, *, vectors: bool = False, progress: Callable[[str], None] = lambda said: None
    ) -> IndexReport:
        """Index a library and remember it as one that is searched when no source is named."""
        return await anyio.to_thread.run_sync(self._libraries.index, path, vectors, progress)

    # ---- building ----

    async def _search(self, sources: Sources, settings: Settings | None = None) -> SearchService | None:
        own = settings or self.settings
        key = (sources, own.embeddings)
        # Outside of the lock: reading a folder takes long, and nothing else would be built meanwhile.
        libraries = [await self._libraries.ready(path, own) for path in sources.libraries]
        async with self._building:
            if key not in self._searches:
                self._searches[key] = await build_search(
                    self.settings,
                    self.clock,
                    self._kept,
                    libraries=libraries,
                    providers=sources.providers,
                    common=await self._common() if sources.providers else None,
                    cache=await self._cache(),
                    answers=await self._shared_answers(sources),
                )
            return self._searches[key]

    @once
    async def _archive(self) -> WebArchive | None:
        return await web_archive(self.settings, self.clock, self._kept)

    @once
    async def _asked_peers(self) -> Peers | None:
        """The peers of the settings, for pages and searches alike."""
        if not self.settings.share_peers:
            return None
        from pincite.wiring.sharing import open_peers

        return await open_peers(self.settings, self.clock, self._kept)

    async def _shared_answers(self, sources: Sources) -> AnswerIntake | None:
        """What asks peers for their answers of these engines; None without peers."""
        peers = await self._asked_peers()
        if peers is None:
            return None
        from pincite.wiring.sharing import answer_intake

        return answer_intake(self.settings, self.clock, peers, sources.providers)

    @once
    async def sharing(self) -> Sharing:
        """What this scope hands to others, and takes from bundles. Errors: ExtraNotInstalled, StorageUnavailable."""
        from pincite.wiring.sharing import Sharing, signer_of

        settings, clock = self.settings, self.clock
        snapshots, stores, cache = (await self._storage()).snapshots, await self._page_stores(), await self._cache()
        signer = await signer_of(settings, clock, (await self.shared.storage()).database)
        team = await self._kept.open(team_cache(settings, clock)) if settings.team_scope else None
        return Sharing(settings, clock, snapshots, stores, cache, signer, team)

    async def take_in(self, path: Path, key: str | None) -> Imported:
        """Take in a bundle of another installation. Errors: as `Sharing.take_in`."""
        from pincite.wiring.sharing import answer_intake

        sharing, fetch = await self.sharing(), await self._fetch(())
        answers = answer_intake(self.settings, self.clock, None, resolve_sources(self.settings).providers)
        return await sharing.take_in(path, fetch, answers, self._kept, key=key)

    async def _fetch(self, libraries: tuple[Path, ...]) -> FetchService:
        from pincite.fetch.extractors import BytesExtractor

        opened = [await self._libraries.ready(path) for path in libraries]
        async with self._building:
            if libraries not in self._fetches:
                self._fetches[libraries] = await build_fetch(
                    self.settings,
                    self.clock,
                    self._kept,
                    libraries=opened,
                    extractor=self.shared.readers,
                    library_extractor=IndexedReadings(opened, BytesExtractor()),
                    stores=await self._page_stores(),
                    peers=await self._asked_peers(),
                )
            return self._fetches[libraries]


@asynccontextmanager
async def open_parts(
    settings: Settings,
    shared: Shared | None = None,
    model: LanguageModel | None = None,
    judge: Judge | None = None,
) -> AsyncIterator[Parts]:
    """The parts of an engine; all that was opened is closed at the end, stores last. A `shared` given stays open.

    Errors: those of the stores and services come when they are first used.
    """
    async with AsyncExitStack() as stack:
        # Entered first, left last: services write to stores, and stores to the database, until they are closed.
        base = await stack.enter_async_context(open_shared(settings)) if shared is None else shared
        stores = await stack.enter_async_context(resource_pool())
        kept = await stack.enter_async_context(resource_pool())
        yield Parts(settings, base, stores, kept, model, judge)


def _report_markdown(report: bytes | str) -> str:
    from pincite.fetch.extractors.office import report_markdown

    return report_markdown(report)

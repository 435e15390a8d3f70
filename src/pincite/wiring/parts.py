"""What an engine works with: stores, front doors, roles. Services are built on first use and closed with the engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from pincite.domain.budget import Budget
from pincite.domain.errors import InvalidInput
from pincite.domain.library import IndexReport
from pincite.domain.plan import Task
from pincite.ports import DocumentStore, EventSink, Exporter, Fetch, RunRecord, RunStore, Search, SnapshotStore
from pincite.runtime.clock import SystemClock
from pincite.runtime.kept_open import KeptOpen, keep_open
from pincite.settings import Settings
from pincite.urls import vet_url
from pincite.wiring.fetch_door import build_fetch, url_policy
from pincite.wiring.registry import EXPORTERS, load
from pincite.wiring.replaying import Unreachable
from pincite.wiring.search_door import CACHE_NAME, build_search, within_budget
from pincite.wiring.sources import Sources, remember_library, resolve_sources

if TYPE_CHECKING:
    from pincite.audit.recheck import Recheck
    from pincite.audit.service import AuditService
    from pincite.domain.report import Report
    from pincite.fetch.worker import ExtractorPool
    from pincite.library import LocalLibrary
    from pincite.research.service import ResearchService
    from pincite.search.service import SearchService
    from pincite.search.spending import Purse
    from pincite.storage.cache import SqliteCache
    from pincite.storage.service import ScopedStorage
    from pincite.storage.shared_cache import SqlCache


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Cached answers and pages, and the captures behind runs and reports, compressed."""

    entries: int
    size_bytes: int
    captured_bytes: int


@dataclass(frozen=True, slots=True)
class CacheCleared:
    """Cache entries and unused captures that were removed."""

    entries: int
    captures: int


class Parts:
    """What an engine works with. Services are built on first use and closed with the engine."""

    def __init__(
        self,
        settings: Settings,
        storage: "ScopedStorage",
        clock: SystemClock,
        kept: KeptOpen,
        cache: "SqliteCache | SqlCache",
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.runs: RunStore = storage.runs
        self.documents: DocumentStore = storage.documents
        self.snapshots: SnapshotStore = storage.snapshots
        self._storage = storage
        self._kept = kept
        self._cache = cache
        self._libraries: dict[Path, LocalLibrary] = {}
        self._services: dict[Sources, tuple[SearchService | None, Fetch]] = {}
        self._purse: Purse | None = None
        self._readers: ExtractorPool | None = None
        self._building = anyio.Lock()

    # ---- front doors ----

    async def search(self) -> "SearchService":
        """The search front door over the sources of the settings."""
        found, _ = await self._front_doors(resolve_sources(self.settings))
        if found is None:
            raise InvalidInput("no source to search in", hint="--source local:PATH, or --source auto")
        return found

    @property
    def purse(self) -> "Purse":
        """What the searches of this engine outside of runs have spent, against the cap of the settings."""
        if self._purse is None:
            from pincite.search.spending import Purse

            self._purse = Purse(Budget(cost_usd=self.settings.max_cost_usd))
        return self._purse

    async def fetch(self) -> Fetch:
        """The fetch front door; pages of local libraries are served from there."""
        _, found = await self._front_doors(resolve_sources(self.settings))
        return found

    async def auditor(self) -> "AuditService":
        """The audit of anyone's report, over the fetch front door."""
        from pincite.audit.service import AuditService
        from pincite.verification.checker import MechanicalChecker

        return AuditService(MechanicalChecker(), await self.fetch())

    async def recheck(self, report: "Report") -> "Recheck":
        """The report's pages fetched anew and its quotes looked for."""
        from pincite.audit.recheck import recheck
        from pincite.verification.checker import MechanicalChecker

        return await recheck(report, await self.fetch(), MechanicalChecker())

    async def research(
        self, record: RunRecord, task: Task, settings: Settings, events: EventSink, *, from_record: bool = False
    ) -> "ResearchService":
        """The loop with its roles, for one run that was taken; or made again `from_record` alone, without a call."""
        from pincite.research.extractive.analyst import ExtractiveAnalyst
        from pincite.research.extractive.planner import ExtractivePlanner
        from pincite.research.extractive.shelf import Shelf
        from pincite.research.extractive.verifier import ExtractiveVerifier
        from pincite.research.extractive.writer import ExtractiveWriter
        from pincite.research.reader import PageReader
        from pincite.research.searcher import QuerySearcher
        from pincite.research.service import ResearchService, Roles
        from pincite.research.state import Limits
        from pincite.verification.checker import MechanicalChecker

        search: Search | None
        fetch: Fetch
        if from_record:
            search, fetch = Unreachable(), Unreachable()
            ledger = await self._storage.replay(record.run_id)
        else:
            found, fetch = await self._front_doors(resolve_sources(settings, only_urls=bool(task.urls)))
            ledger = await self._storage.ledger(record)
            search = within_budget(found, ledger, record.budget)
        limits = Limits(
            budget=record.budget,
            results_per_query=settings.results_per_query,
            pages_per_round=settings.pages_per_round,
            per_domain_cap=settings.per_domain_cap,
            keep_undated=settings.keep_undated,
            fetch_deadline_s=settings.fetch_deadline_s,
        )
        shelf = Shelf()
        return ResearchService(
            Roles(
                planner=ExtractivePlanner(shelf, results_per_query=settings.results_per_query),
                searcher=QuerySearcher(search, ledger, events, limits=limits),
                reader=PageReader(
                    fetch, self._storage.snapshots, self._storage.documents, ledger, events, limits=limits
                ),
                analyst=ExtractiveAnalyst(shelf),
                verifier=ExtractiveVerifier(MechanicalChecker()),
                writer=ExtractiveWriter(),
            ),
            ledger=ledger,
            events=events,
            clock=self.clock,
            limits=limits,
            run_id=record.run_id,
            created_at=record.created_at,
        )

    async def events(self, record: RunRecord, topic: str) -> EventSink:
        """Where the run says what happened."""
        sink = await self._storage.events(record)
        sink.topic_hash = topic
        return sink

    async def cache_stats(self) -> CacheStats:
        """What is kept for a while."""
        held = await self._cache.counts()
        return CacheStats(held.entries, held.size_bytes, await self._storage.captured_bytes())

    async def clear_cache(self) -> CacheCleared:
        """Empty the cache, forget captures that no run refers to, and give the space back."""
        return CacheCleared(await self._cache.clear(), await self._storage.prune(max_bytes=0))

    def exporter(self, format_: str) -> Exporter:
        """The exporter of that format. Errors: InvalidInput, ExtraNotInstalled."""
        made: Exporter = load(EXPORTERS, format_, "format")()
        return made

    async def vet_task(self, task: Task) -> None:
        """Refuse a task that can't be worked on, before a run of it is stored.

        Errors:
            InvalidUrl, BlockedAddress, DomainDenied: one of its URLs. LibraryNotFound, InvalidInput: its sources.
        """
        for url in task.urls:
            vet_url(url, policy=url_policy(self.settings))
        await self._front_doors(resolve_sources(self.settings, only_urls=bool(task.urls)))

    async def index(self, path: Path) -> IndexReport:
        """Index a library and remember it as one that is searched when no source is named."""
        return await anyio.to_thread.run_sync(self._index, path)

    def _index(self, path: Path) -> IndexReport:
        wanted = path.expanduser().resolve()
        report = self._open_library(wanted).refresh()
        remember_library(self.settings, wanted)
        return report

    # ---- building ----

    def _open_library(self, path: Path) -> "LocalLibrary":
        if path not in self._libraries:
            from pincite.fetch.extractors import BytesExtractor
            from pincite.library import LocalLibrary

            library = LocalLibrary.open(
                path,
                index_dir=self.settings.home / "libraries",
                extractor=BytesExtractor(),
                revision=BytesExtractor.revision,
            )
            self._kept.on_close(library.close)
            self._libraries[path] = library
        return self._libraries[path]

    async def _ready_library(self, path: Path) -> "LocalLibrary":
        library = await anyio.to_thread.run_sync(self._open_library, path)
        await anyio.to_thread.run_sync(library.refresh)
        return library

    def _reading_pool(self) -> "ExtractorPool":
        """Pages from outside are read in processes that can be killed; the operator's own folders are not."""
        if self._readers is None:
            from pincite.fetch.extractors import BytesExtractor
            from pincite.fetch.worker import ExtractorPool

            self._readers = ExtractorPool(revision=BytesExtractor.revision)
            self._kept.on_close(self._readers.close)
        return self._readers

    async def _front_doors(self, sources: Sources) -> "tuple[SearchService | None, Fetch]":
        async with self._building:
            if sources not in self._services:
                self._services[sources] = await self._build(sources)
            return self._services[sources]

    async def _build(self, sources: Sources) -> "tuple[SearchService | None, Fetch]":
        from pincite.fetch.extractors import BytesExtractor

        libraries = [await self._ready_library(path) for path in sources.libraries]
        search = await build_search(
            self.settings,
            self.clock,
            self._kept,
            libraries=libraries,
            providers=sources.providers,
            storage=self._storage,
            cache=self._cache,
        )
        fetch = await build_fetch(
            self.settings,
            self.clock,
            self._kept,
            libraries=libraries,
            storage=self._storage,
            extractor=self._reading_pool(),
            library_extractor=BytesExtractor(),
            cache=self._cache,
        )
        return search, fetch


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """The parts of an engine; all that was opened is closed at the end.

    Errors:
        StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting, ExtraNotInstalled.
    """
    from pincite.storage.service import open_storage

    clock = SystemClock()
    place = settings.home if settings.database_url is None else settings.database_url.get_secret_value()
    async with open_storage(place, clock) as storage:
        scoped = storage.scope(settings.scope)
        async with _cache(scoped, settings, clock) as cache, keep_open() as kept:
            yield Parts(settings, scoped, clock, kept, cache)


@asynccontextmanager
async def _cache(
    storage: "ScopedStorage", settings: Settings, clock: SystemClock
) -> "AsyncIterator[SqliteCache | SqlCache]":
    from pincite.storage.cache import opened_cache

    shared = storage.cache()
    if shared is not None:
        yield shared
        return
    async with opened_cache(settings.home / CACHE_NAME, settings.scope, clock) as cache:
        yield cache

"""What is kept, and who opens it: a process the database and what its engines share, an engine its stores.

Each is opened by the first call that needs it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept, Snapshot
from pincite.domain.records import QueueCounts
from pincite.ports import Dispatcher, DocumentStore, RunStore, SnapshotStore
from pincite.runtime.concurrency import ResourcePool, made_once, once, resource_pool
from pincite.runtime.system import SystemClock
from pincite.settings import Settings
from pincite.wiring.fetching import Stores, retention
from pincite.wiring.searching import CACHE_NAME, Common, common_in_database, common_in_home, common_in_redis

if TYPE_CHECKING:
    from pincite.domain.page import Document
    from pincite.runtime.fallback import CountedCache
    from pincite.runtime.readers import ReaderPool
    from pincite.storage.database import Database
    from pincite.storage.service import ScopedStorage, Storage
    from pincite.wiring.common_redis import CommonRedis


# Runs offered to workers in one turn at most.
_OFFERS: Final = 100


class Shared:
    """Made by `open_shared`, once a process. Engines of several scopes use it at a time; all is opened on first use."""

    def __init__(self, settings: Settings, kept: ResourcePool) -> None:
        self.clock = SystemClock()
        self.has_worker = False
        self._settings = settings
        self._kept = kept

    @property
    def is_on_server(self) -> bool:
        """Whether the database may be used by processes on several machines."""
        return self._settings.shared_database is not None

    @property
    def opened_database(self) -> "Database | None":
        """The database, if anything has opened it so far."""
        storage: Storage | None = made_once(self, "storage")
        return None if storage is None else storage.database

    @once
    async def storage(self) -> "Storage":
        """The database. Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting."""
        from pincite.storage.service import open_storage

        url = self._settings.database_url
        place = self._settings.home if url is None else url.get_secret_value()
        return await self._kept.open(open_storage(place, self.clock))

    @cached_property
    def readers(self) -> "ReaderPool[Document]":
        """Pages from outside are read in processes that can be killed."""
        from pincite.domain.page import Document
        from pincite.fetch.extractors import READER, BytesExtractor, installed
        from pincite.runtime.readers import ReaderPool

        made = ReaderPool(Document, READER, lambda: {"known": dict(installed())}, revision=BytesExtractor.revision)
        self._kept.on_close(made.close)
        return made

    @once
    async def redis(self) -> "CommonRedis | None":
        """The Redis of the settings, if there is one. Errors: ExtraNotInstalled, InvalidSetting."""
        if not self._settings.names_redis:
            return None
        from pincite.wiring.common_redis import open_common_redis

        return await open_common_redis(self._settings, self.clock, self._kept)

    @once
    async def dispatcher(self) -> Dispatcher:
        """What wakes workers. Errors: ExtraNotInstalled (PostgreSQL without it), StorageUnavailable."""
        url = self._settings.shared_database
        if url is None:
            from pincite.dispatch import LocalDispatcher

            return LocalDispatcher()
        from pincite.dispatch import open_procrastinate

        # Without the driver that SQLAlchemy's URLs name: this one goes to psycopg itself.
        place = "postgresql://" + url.partition("://")[2]
        return await self._kept.open(open_procrastinate(place, listen=not self._settings.transaction_pooler))

    async def offer_runs(self, scope: str | None = None) -> int:
        """Have workers look at the runs that wait (of one scope); how many were offered now.

        On SQLite a process without a worker leaves that to the one that has it.

        Errors: those of `dispatcher`.
        """
        if not (self.has_worker or self.is_on_server):
            return 0
        dispatcher = await self.dispatcher()
        per_scope = self._settings.runs_per_scope
        queue = (await self.storage()).queue
        offers = await queue.due(_OFFERS, per_scope=per_scope, scope=scope)
        for offer in offers:
            await dispatcher.enqueue(offer)
        return len(offers)

    async def queue_counts(self) -> QueueCounts:
        """How much there is to do."""
        return await (await self.storage()).queue.counts()


@asynccontextmanager
async def open_shared(settings: Settings) -> AsyncIterator[Shared]:
    """What all engines of this process share; closed at the end. Errors come when its parts are first used."""
    async with resource_pool() as kept:
        yield Shared(settings, kept)


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


class OpenStores:
    """What an engine keeps things in; closed with the engine, after the services that write to it."""

    def __init__(self, settings: Settings, shared: Shared, stores: ResourcePool) -> None:
        self.settings = settings
        self.clock = shared.clock
        self.shared = shared
        self._stores = stores

    async def runs(self) -> RunStore:
        """The runs of the scope. Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked."""
        return (await self._storage()).runs

    async def documents(self) -> DocumentStore:
        """The documents of the scope. Errors: as `runs`."""
        return (await self._storage()).documents

    async def snapshots(self) -> SnapshotStore:
        """The captures of the scope. Errors: as `runs`."""
        return (await self._storage()).snapshots

    @once
    async def _storage(self) -> "ScopedStorage":
        """The database, opened when it is first needed: a search of what is cached never loads its library."""
        return (await self.shared.storage()).scope(self.settings.scope)

    async def _common_storage(self) -> "ScopedStorage | None":
        """The database where limits and answers may be shared through it; None for the file of one home."""
        return None if self.settings.database_url is None else await self._storage()

    @once
    async def _cache(self) -> "CountedCache":
        from pincite.storage.cache import opened_cache

        storage, redis, settings = await self._common_storage(), await self.shared.redis(), self.settings
        own: CountedCache | None = storage.cache() if storage is not None else None
        if own is None:
            own = await self._stores.open(opened_cache(settings.home / CACHE_NAME, settings.scope, self.clock))
        return own if redis is None else redis.cache(settings.scope, own)

    @once
    async def _common(self) -> Common:
        """What all processes share about the engines. In one home that is a small file, opened by the first call."""
        storage, redis = await self._common_storage(), await self.shared.redis()
        shared = common_in_database(storage, self.clock) if storage is not None else None
        own = shared or await common_in_home(self.settings.home, self.clock, self._stores)
        return own if redis is None else common_in_redis(redis, own, self.clock)

    async def _page_stores(self) -> Stores:
        """Where pages are kept: in a home without the database layer, as long as nothing else needs it."""
        from pincite.storage.home_files import DATABASE_NAME
        from pincite.storage.pages import HomePages

        cache, redis, common = await self._cache(), await self.shared.redis(), await self._common_storage()
        home = HomePages(self.settings.home / DATABASE_NAME, self.settings.scope, self.clock)
        if common is not None or made_once(self, "_storage") is not None or not await home.is_current():
            return Stores(await self._storage(), cache, redis, common)
        self._stores.on_close(home.close)
        return Stores(home, cache, redis, common)

    async def settle_run(self, run_id: str) -> None:
        """Cut back the pages of an ended run that may not stay whole."""
        await (await self._storage()).settle_run(run_id, retention(self.settings))

    async def settle_page(self, snapshot: Snapshot) -> None:
        """The same for one page that was read outside of a run."""
        rules = retention(self.settings)
        # Most pages may stay: the database is not opened for them.
        if rules.of(snapshot) is not Kept.FULL:
            await (await self._storage()).settle_page(snapshot.snapshot_id, rules)

    @property
    def leaves_runs_to_workers(self) -> bool:
        """Whether this process should queue its runs instead of executing them."""
        return self.shared.is_on_server and find_spec("procrastinate") is not None

    async def cache_stats(self) -> CacheStats:
        """What is kept for a while."""
        held = await (await self._cache()).counts()
        return CacheStats(held.entries, held.size_bytes, await (await self._storage()).captured_bytes())

    async def clear_cache(self) -> CacheCleared:
        """Empty the cache, forget captures that no run refers to, and give the space back."""
        # The cache first: its entries name captures that go next.
        entries = await (await self._cache()).clear()
        return CacheCleared(entries, await (await self._storage()).prune(max_bytes=0))

"""The stores of an engine: runs, evidence, cache, queue. Each is opened by the first call that needs it."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio

from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept, Snapshot
from pincite.domain.records import QueueCounts
from pincite.ports import DocumentStore, RunStore, SnapshotStore
from pincite.runtime.concurrency import ResourcePool
from pincite.settings import Settings
from pincite.wiring.fetching import Stores, retention
from pincite.wiring.searching import CACHE_NAME, Common, common_in_database, common_in_home, common_in_redis
from pincite.wiring.shared import Shared

if TYPE_CHECKING:
    from pincite.runtime.fallback import CountedCache
    from pincite.storage.service import ScopedStorage


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
        self._shared = shared
        self._stores = stores
        self._opened_storage: ScopedStorage | None = None
        self._opened_cache: CountedCache | None = None
        self._opened_common: Common | None = None
        self._opening = anyio.Lock()

    async def runs(self) -> RunStore:
        """The runs of the scope. Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked."""
        return (await self._storage()).runs

    async def documents(self) -> DocumentStore:
        """The documents of the scope. Errors: as `runs`."""
        return (await self._storage()).documents

    async def snapshots(self) -> SnapshotStore:
        """The captures of the scope. Errors: as `runs`."""
        return (await self._storage()).snapshots

    async def _storage(self) -> "ScopedStorage":
        """The database, opened when it is first needed: a search of what is cached never loads its library."""
        async with self._opening:
            if self._opened_storage is None:
                self._opened_storage = (await self._shared.storage()).scope(self.settings.scope)
            return self._opened_storage

    async def _common_storage(self) -> "ScopedStorage | None":
        """The database where limits and answers may be shared through it; None for the file of one home."""
        return None if self.settings.database_url is None else await self._storage()

    async def _cache(self) -> "CountedCache":
        storage, redis = await self._common_storage(), await self._shared.redis()
        async with self._opening:
            if self._opened_cache is None:
                from pincite.storage.cache import opened_cache

                settings = self.settings
                shared = storage.cache() if storage is not None else None
                own: CountedCache
                if shared is not None:
                    own = shared
                else:
                    own = await self._stores.open(opened_cache(settings.home / CACHE_NAME, settings.scope, self.clock))
                self._opened_cache = own if redis is None else redis.cache(settings.scope, own)
            return self._opened_cache

    async def _common(self) -> Common:
        """What all processes share about the engines. In one home that is a small file, opened by the first call."""
        storage, redis = await self._common_storage(), await self._shared.redis()
        async with self._opening:
            if self._opened_common is None:
                shared = common_in_database(storage) if storage is not None else None
                own = shared or await common_in_home(self.settings.home, self.clock, self._stores)
                self._opened_common = own if redis is None else common_in_redis(redis, own, self.clock)
            return self._opened_common

    async def _page_stores(self) -> Stores:
        """Where pages are kept: in a home without the database layer, as long as nothing else needs it."""
        from pincite.storage.home_files import DATABASE_NAME
        from pincite.storage.pages import HomePages

        cache, redis, common = await self._cache(), await self._shared.redis(), await self._common_storage()
        home = HomePages(self.settings.home / DATABASE_NAME, self.settings.scope, self.clock, self._storage)
        if common is not None or self._opened_storage is not None or not await home.is_current():
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
        return self._shared.is_on_server and find_spec("procrastinate") is not None

    async def queue_counts(self) -> QueueCounts:
        """Runs of all scopes that wait or are in work, as numbers."""
        return await self._shared.queue_counts()

    async def offer_runs(self) -> int:
        """Have workers look at the runs of this scope that wait. Errors: ExtraNotInstalled, StorageUnavailable."""
        return await self._shared.offer_runs(self.settings.scope)

    async def cache_stats(self) -> CacheStats:
        """What is kept for a while."""
        held = await (await self._cache()).counts()
        return CacheStats(held.entries, held.size_bytes, await (await self._storage()).captured_bytes())

    async def clear_cache(self) -> CacheCleared:
        """Empty the cache, forget captures that no run refers to, and give the space back."""
        # The cache first: its entries name captures that go next.
        entries = await (await self._cache()).clear()
        return CacheCleared(entries, await (await self._storage()).prune(max_bytes=0))

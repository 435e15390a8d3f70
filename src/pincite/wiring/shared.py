"""What all engines of one process share: the database, the queue, the processes that read pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from pincite.domain.records import QueueCounts
from pincite.ports import Dispatcher, RunQueue
from pincite.runtime.clock import SystemClock
from pincite.runtime.kept_open import KeptOpen, keep_open
from pincite.settings import Settings

if TYPE_CHECKING:
    from pincite.fetch.worker import ExtractorPool
    from pincite.storage.service import Storage
    from pincite.wiring.redis_door import CommonRedis

_OFFERS: Final = 100
"""Runs offered to workers in one turn at most."""


class Shared:
    """Made by `open_shared`, once a process. Engines of several scopes use it at a time; all is opened on first use."""

    def __init__(self, settings: Settings, kept: KeptOpen) -> None:
        self.clock = SystemClock()
        self.has_worker = False
        self._settings = settings
        self._kept = kept
        self._storage: Storage | None = None
        self._dispatcher: Dispatcher | None = None
        self._readers: ExtractorPool | None = None
        self._redis: CommonRedis | None = None
        self._opening = anyio.Lock()

    @property
    def is_on_server(self) -> bool:
        """Whether the database may be used by processes on several machines."""
        return self._settings.shared_database is not None

    @property
    def opened_storage(self) -> "Storage | None":
        """The database, if anything needed it so far."""
        return self._storage

    async def storage(self) -> "Storage":
        """The database. Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting."""
        async with self._opening:
            if self._storage is None:
                from pincite.storage.service import open_storage

                url = self._settings.database_url
                place = self._settings.home if url is None else url.get_secret_value()
                self._storage = await self._kept.open(open_storage(place, self.clock))
            return self._storage

    @property
    def readers(self) -> "ExtractorPool":
        """Pages from outside are read in processes that can be killed."""
        if self._readers is None:
            from pincite.fetch.extractors import BytesExtractor
            from pincite.fetch.worker import ExtractorPool

            self._readers = ExtractorPool(revision=BytesExtractor.revision)
            self._kept.on_close(self._readers.close)
        return self._readers

    async def redis(self) -> "CommonRedis | None":
        """The Redis of the settings, if there is one. Errors: ExtraNotInstalled, InvalidSetting."""
        async with self._opening:
            if self._redis is None and self._settings.names_redis:
                from pincite.wiring.redis_door import open_common_redis

                self._redis = await open_common_redis(self._settings, self.clock, self._kept)
            return self._redis

    async def dispatcher(self) -> Dispatcher:
        """What wakes workers. Errors: ExtraNotInstalled (PostgreSQL without it), StorageUnavailable."""
        async with self._opening:
            if self._dispatcher is None:
                self._dispatcher = await self._open_dispatcher()
            return self._dispatcher

    async def offer_runs(self, scope: str | None = None) -> int:
        """Have workers look at the runs that wait (of one scope); how many were offered now.

        On SQLite a process without a worker leaves that to the one that has it.

        Errors: those of `dispatcher`.
        """
        if not (self.has_worker or self.is_on_server):
            return 0
        dispatcher = await self.dispatcher()
        per_scope = self._settings.runs_per_scope
        queue: RunQueue = (await self.storage()).queue
        offers = await queue.due(_OFFERS, per_scope=per_scope, scope=scope)
        for offer in offers:
            await dispatcher.enqueue(offer)
        return len(offers)

    async def queue_counts(self) -> QueueCounts:
        """How much there is to do."""
        return await (await self.storage()).queue.counts()

    async def _open_dispatcher(self) -> Dispatcher:
        url = self._settings.shared_database
        if url is None:
            from pincite.dispatch.local import LocalDispatcher

            return LocalDispatcher()
        from pincite.dispatch.procrastinate import open_procrastinate

        place = "postgresql://" + url.partition("://")[2]
        return await self._kept.open(open_procrastinate(place, listen=not self._settings.transaction_pooler))


@asynccontextmanager
async def open_shared(settings: Settings) -> AsyncIterator[Shared]:
    """What all engines of this process share; closed at the end. Errors come when its parts are first used."""
    async with keep_open() as kept:
        yield Shared(settings, kept)

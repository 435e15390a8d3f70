"""What all engines of one process share: the database, the queue, a common Redis, the processes that read pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio

from pincite.domain.frozen import dataclass
from pincite.domain.records import QueueCounts
from pincite.ports import Breaker, Clock, Dispatcher, Limiter
from pincite.runtime.breaker import DEFAULT_RULES, BreakerRules
from pincite.runtime.concurrency import ResourcePool, resource_pool
from pincite.runtime.fallback import (
    CountedCache,
    FallbackBreaker,
    FallbackBuckets,
    FallbackCache,
    FallbackLimiter,
    Switch,
)
from pincite.runtime.limiter import Buckets, Rate, SharedLimiter
from pincite.runtime.system import SystemClock
from pincite.settings import Settings
from pincite.storage.redis_store import Link

if TYPE_CHECKING:
    from pincite.domain.page import Document
    from pincite.runtime.readers import ReaderPool
    from pincite.storage.service import Storage


# Limits, breakers and cache in Redis, Valkey or Upstash, where the settings name one; while it is gone, our own.


@dataclass(frozen=True, slots=True)
class CommonRedis:
    """What is kept in one Redis. Each thing is given the process's own, which takes over while Redis is gone."""

    link: Link
    switch: Switch
    clock: Clock

    def buckets(self, own: Buckets) -> Buckets:
        """Token buckets of all workers."""
        from pincite.storage.redis_store import RedisBuckets

        return FallbackBuckets(self.switch, RedisBuckets(self.link, self.clock), own)

    def limiter(self, own: Limiter, *default: Rate) -> Limiter:
        """A limiter with these rates for every key."""
        from pincite.storage.redis_store import RedisBuckets

        shared = SharedLimiter(RedisBuckets(self.link, self.clock), self.clock, default=default)
        return FallbackLimiter(self.switch, shared, own)

    def breaker(self, own: Breaker, rules: BreakerRules = DEFAULT_RULES) -> Breaker:
        """Circuit breakers of all workers."""
        from pincite.storage.redis_store import RedisBreaker

        shared = RedisBreaker(self.link, self.clock, rules)
        return FallbackBreaker(self.switch, shared, own)

    def cache(self, scope: str, own: CountedCache) -> FallbackCache:
        """The cache of all workers, for one scope."""
        from pincite.storage.redis_store import RedisCache

        return FallbackCache(self.switch, RedisCache(self.link, scope, self.clock), own)


async def open_common_redis(settings: Settings, clock: Clock, kept: ResourcePool) -> CommonRedis | None:
    """The Redis of the settings, or None. `redis://` wins over Upstash when both are set.

    Errors: ExtraNotInstalled, InvalidSetting. A server that is gone is no error.
    """
    from pincite.storage.redis_store import open_redis, open_upstash

    if settings.redis_url is not None:
        link = await kept.open(open_redis(settings.redis_url.get_secret_value()))
    elif settings.upstash_redis_rest_url and settings.upstash_redis_rest_token:
        token = settings.upstash_redis_rest_token.get_secret_value()
        link = await kept.open(open_upstash(settings.upstash_redis_rest_url, token))
    else:
        return None
    return CommonRedis(link, Switch(clock, redis_in_use(settings)), clock)


def redis_in_use(settings: Settings) -> str:
    """Which Redis the settings choose, as it may be shown: no user, no password."""
    if settings.redis_url is not None:
        parts = urlsplit(settings.redis_url.get_secret_value())
        return f"{parts.scheme}://{parts.hostname or parts.path}{f':{parts.port}' if parts.port else ''}"
    if settings.upstash_redis_rest_url and settings.upstash_redis_rest_token:
        return f"Upstash at {urlsplit(settings.upstash_redis_rest_url).hostname}"
    return "none"


# Runs offered to workers in one turn at most.
_OFFERS: Final = 100


class Shared:
    """Made by `open_shared`, once a process. Engines of several scopes use it at a time; all is opened on first use."""

    def __init__(self, settings: Settings, kept: ResourcePool) -> None:
        self.clock = SystemClock()
        self.has_worker = False
        self._settings = settings
        self._kept = kept
        self._storage: Storage | None = None
        self._dispatcher: Dispatcher | None = None
        self._readers: ReaderPool[Document] | None = None
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
    def readers(self) -> "ReaderPool[Document]":
        """Pages from outside are read in processes that can be killed."""
        if self._readers is None:
            from pincite.domain.page import Document
            from pincite.fetch.extractors import READER, BytesExtractor, installed
            from pincite.runtime.readers import ReaderPool

            self._readers = ReaderPool(
                Document, READER, lambda: {"known": dict(installed())}, revision=BytesExtractor.revision
            )
            self._kept.on_close(self._readers.close)
        return self._readers

    async def redis(self) -> "CommonRedis | None":
        """The Redis of the settings, if there is one. Errors: ExtraNotInstalled, InvalidSetting."""
        async with self._opening:
            if self._redis is None and self._settings.names_redis:
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
        queue = (await self.storage()).queue
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
            from pincite.dispatch import LocalDispatcher

            return LocalDispatcher()
        from pincite.dispatch import open_procrastinate

        # Without the driver that SQLAlchemy's URLs name: this one goes to psycopg itself.
        place = "postgresql://" + url.partition("://")[2]
        return await self._kept.open(open_procrastinate(place, listen=not self._settings.transaction_pooler))


@asynccontextmanager
async def open_shared(settings: Settings) -> AsyncIterator[Shared]:
    """What all engines of this process share; closed at the end. Errors come when its parts are first used."""
    async with resource_pool() as kept:
        yield Shared(settings, kept)

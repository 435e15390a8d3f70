"""The cache of many machines: entries and leases in the common database, behind the same port as the local one."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import func

from pincite.domain.ids import sha256_hex
from pincite.domain.records import CacheCounts, Entry
from pincite.ports import Clock
from pincite.runtime.telemetry.meter import count_cache_read
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import cache_entries, cache_leases

# Of one user, in a database that many share.
MAX_BYTES: Final = 4 * 1024**3
# Summing up sizes reads all rows of the scope: once in a while is enough, as the bound is soft.
_PRUNE_EVERY: Final = 256
# Rows that go in one transaction: others write in between.
_PRUNE_BATCH: Final = 500
# The time of last use is noted at most this often, so that a hit is a read.
_USED_GRAIN_S: Final = 60.0


class SqlCache:
    """Implements `ports.Cache` for one scope.

    Args:
        database: where.
        scope: whose entries.
        clock: the time.
        max_bytes: what the values of this scope may take up; the least recently used go first.
    """

    def __init__(self, database: Database, scope: str, clock: Clock, *, max_bytes: int = MAX_BYTES) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._max_bytes = max_bytes
        self._puts = 0

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None; one past its stale time, or damaged, is none."""
        row = await self._database.read(self._scope, lambda tx: _row(tx, namespace, key))
        if row is None or sha256_hex(bytes(row.value)) != row.sha256 or row.stale_until <= self._clock.now():
            count_cache_read(namespace, hit=False)
            return None
        count_cache_read(namespace, hit=True)
        now_s = self._clock.now().timestamp()
        if row.used_at_s < now_s - _USED_GRAIN_S:
            await self._database.write(self._scope, lambda tx: _touch(tx, namespace, key, now_s), durable=False)
        return Entry(bytes(row.value), row.fresh_until, row.stale_until, row.stored_at, row.validators)

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it, and end the lease on its key. Errors: StorageFull, StorageUnavailable."""
        self._puts += 1
        await self._database.write(self._scope, lambda tx: self._put(tx, namespace, key, entry), durable=False)
        if self._puts % _PRUNE_EVERY == 1:
            await self.prune()

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        return await self._database.write(self._scope, lambda tx: _delete(tx, namespace, key), durable=False)

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now, among all workers."""
        return await self._database.write(self._scope, lambda tx: _lease(tx, namespace, key, ttl_s), durable=False)

    async def counts(self) -> CacheCounts:
        """What it holds."""
        entries, size_bytes = await self._database.read(self._scope, lambda tx: (_entries(tx), _size(tx)))
        return CacheCounts(entries, size_bytes)

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""

        def read(tx: Transaction) -> list[str]:
            query = tx.select(cache_entries, cache_entries.c.entry_key).where(cache_entries.c.namespace == namespace)
            return [str(row.entry_key) for row in tx.run(query.order_by(cache_entries.c.entry_key).limit(limit))]

        return await self._database.read(self._scope, read)

    async def clear(self) -> int:
        """Remove everything of the scope; the number of entries removed."""
        return await self._database.write(self._scope, lambda tx: tx.change(tx.delete(cache_entries)))

    async def prune(self) -> int:
        """Remove what is past its time, then the least recently used above the bound; how many went."""
        gone = await self._database.write(self._scope, self._expire, durable=False)
        while await self._database.read(self._scope, _size) > self._max_bytes:
            evicted = await self._database.write(self._scope, _evict, durable=False)
            gone += evicted
            if not evicted:
                break
        return gone

    def _put(self, tx: Transaction, namespace: str, key: str, entry: Entry) -> None:
        _delete(tx, namespace, key)
        tx.insert_new(
            cache_entries,
            namespace=namespace,
            entry_key=key,
            value=entry.value,
            sha256=sha256_hex(entry.value),
            fresh_until=entry.fresh_until,
            stale_until=entry.stale_until,
            stored_at=entry.stored_at,
            validators=dict(entry.validators),
            size_bytes=len(entry.value),
            used_at_s=self._clock.now().timestamp(),
        )
        leases = tx.delete(cache_leases).where(cache_leases.c.namespace == namespace, cache_leases.c.entry_key == key)
        tx.change(leases)

    def _expire(self, tx: Transaction) -> int:
        tx.change(tx.delete(cache_leases).where(cache_leases.c.until_s <= tx.now_s()))
        return tx.change(tx.delete(cache_entries).where(cache_entries.c.stale_until <= self._clock.now()))


def _row(tx: Transaction, namespace: str, key: str) -> Any:  # a row of `cache_entries` or None
    this = (cache_entries.c.namespace == namespace, cache_entries.c.entry_key == key)
    return tx.first(tx.select(cache_entries).where(*this))


def _touch(tx: Transaction, namespace: str, key: str, now_s: float) -> None:
    this = (cache_entries.c.namespace == namespace, cache_entries.c.entry_key == key)
    tx.change(tx.update(cache_entries).where(*this).values(used_at_s=now_s))


def _delete(tx: Transaction, namespace: str, key: str | None) -> int:
    statement = tx.delete(cache_entries).where(cache_entries.c.namespace == namespace)
    return tx.change(statement if key is None else statement.where(cache_entries.c.entry_key == key))


def _lease(tx: Transaction, namespace: str, key: str, ttl_s: float) -> bool:
    now_s = tx.now_s()
    if tx.insert_new(cache_leases, namespace=namespace, entry_key=key, until_s=now_s + ttl_s):
        return True
    this = (cache_leases.c.namespace == namespace, cache_leases.c.entry_key == key, cache_leases.c.until_s <= now_s)
    return bool(tx.change(tx.update(cache_leases).where(*this).values(until_s=now_s + ttl_s)))


def _size(tx: Transaction) -> int:
    row = tx.first(tx.select(cache_entries, func.coalesce(func.sum(cache_entries.c.size_bytes), 0).label("total")))
    return 0 if row is None else int(row.total)


def _entries(tx: Transaction) -> int:
    row = tx.first(tx.select(cache_entries, func.count().label("total")))
    return 0 if row is None else int(row.total)


def _evict(tx: Transaction) -> int:
    query = tx.select(cache_entries, cache_entries.c.namespace, cache_entries.c.entry_key)
    oldest = tx.run(query.order_by(cache_entries.c.used_at_s).limit(_PRUNE_BATCH))
    return sum(_delete(tx, row.namespace, row.entry_key) for row in oldest)

"""The cache of a home or of many machines: bounded, disposable. What is damaged is a miss."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.errors import StorageFull
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.records import CacheCounts, Entry
from pincite.ports import Clock
from pincite.runtime.telemetry import count_cache_read
from pincite.storage.tables import FileTables, Tables, TextStatements

# Some way below the bound, or every write after it would prune again.
_PRUNE_TO: Final = 0.9
# Rows that go in one transaction: others write in between.
_PRUNE_BATCH: Final = 500
# The time of last use is noted at most this often, so that a hit is a read.
_USED_GRAIN_S: Final = 60.0
# 1 had other names of columns; a file of another version is begun anew.
_VERSION: Final = 2
# As the migrations leave these tables in a database that is shared.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS cache_entries (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, entry_key TEXT NOT NULL, value BLOB NOT NULL, sha256 TEXT NOT NULL,
  fresh_until TEXT NOT NULL, stale_until TEXT NOT NULL, stored_at TEXT NOT NULL, validators TEXT NOT NULL,
  size_bytes INTEGER NOT NULL, used_at_s REAL NOT NULL, PRIMARY KEY (scope, namespace, entry_key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cache_entries_used ON cache_entries (used_at_s);
CREATE TABLE IF NOT EXISTS cache_leases (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, entry_key TEXT NOT NULL, until_s REAL NOT NULL,
  PRIMARY KEY (scope, namespace, entry_key)) WITHOUT ROWID;
"""
_THIS: Final = "scope = :in_scope AND namespace = :namespace AND entry_key = :key"
_COLUMNS: Final = "value, sha256, fresh_until, stale_until, stored_at, validators"
_GET: Final = f"SELECT {_COLUMNS}, used_at_s FROM cache_entries WHERE {_THIS}"  # noqa: S608  # constants of this module
_DELETE: Final = f"DELETE FROM cache_entries WHERE {_THIS}"  # noqa: S608  # constants of this module
_PUT: Final = f"""
INSERT INTO cache_entries (scope, namespace, entry_key, {_COLUMNS}, size_bytes, used_at_s) VALUES
  (:in_scope, :namespace, :key, :value, :sha256, :fresh_until, :stale_until, :stored_at, :validators, :size, :now_s)
ON CONFLICT (scope, namespace, entry_key) DO UPDATE SET value = excluded.value, sha256 = excluded.sha256,
  fresh_until = excluded.fresh_until, stale_until = excluded.stale_until, stored_at = excluded.stored_at,
  validators = excluded.validators, size_bytes = excluded.size_bytes, used_at_s = excluded.used_at_s
"""  # noqa: S608  # constants of this module
_LEASE: Final = """
INSERT INTO cache_leases (scope, namespace, entry_key, until_s) VALUES (:in_scope, :namespace, :key, :until_s)
ON CONFLICT (scope, namespace, entry_key) DO UPDATE SET until_s = excluded.until_s WHERE cache_leases.until_s <= :now_s
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """How much a cache may hold.

    Args:
        max_bytes: of values; the least recently used go first.
        every_scope: whether that is for all users together.
        prune_every: writes between two looks. Summing up sizes reads all rows; the bound is soft.
    """

    max_bytes: int
    every_scope: bool
    prune_every: int

    @property
    def rows(self) -> str:
        """A condition for the rows that it counts."""
        return "1 = 1" if self.every_scope else "scope = :in_scope"


# Some thousand pages; a home is on somebody's own disk.
OF_HOME: Final = Bound(512 * 1024**2, every_scope=True, prune_every=64)
# Of one user, in a database that many share.
OF_USER: Final = Bound(4 * 1024**3, every_scope=False, prune_every=256)


class TableCache:
    """Implements `ports.Cache` for one scope.

    Args:
        tables: where, and whose entries.
        bound: what it may take up.
    """

    def __init__(self, tables: Tables, clock: Clock, bound: Bound = OF_USER) -> None:
        self.tables = tables
        self._clock = clock
        self._bound = bound
        self._counts: Counter[str] = Counter()
        self._puts = 0

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None; one past its stale time, or damaged, goes."""
        this = {"namespace": namespace, "key": key}
        rows = await self.tables.read(lambda tx: tx.query(_GET, this))
        entry = _entry(rows[0]) if rows else None
        now = self._clock.now()
        if rows and (entry is None or entry.stale_until <= now):
            entry = None
            # Another process may have written a good one since.
            seen = {"sha256": rows[0][1], "stale_until": rows[0][3]}
            gone = f"{_DELETE} AND sha256 = :sha256 AND stale_until = :stale_until"
            await self.tables.write(lambda tx: tx.apply(gone, {**this, **seen}))
        elif rows and rows[0][-1] < now.timestamp() - _USED_GRAIN_S:
            used = f"UPDATE cache_entries SET used_at_s = :now_s WHERE {_THIS}"  # noqa: S608  # constants of this module
            await self.tables.write(lambda tx: tx.apply(used, {"now_s": now.timestamp(), **this}))
        self._counts["misses" if entry is None else "hits"] += 1
        count_cache_read(namespace, hit=entry is not None)
        return entry

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it, and end the lease on its key. A full disk is no error: the value is just not kept."""
        self._puts += 1
        try:
            await self.tables.write(lambda tx: self._put(tx, namespace, key, entry))
        except StorageFull as error:
            if error.reason != "disk_full":
                raise
            await self.prune(0)
            return
        if self._puts % self._bound.prune_every == 1 or len(entry.value) > self._bound.max_bytes // 10:
            await self.prune()

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        if key is not None:
            return await self.tables.write(lambda tx: tx.apply(_DELETE, {"namespace": namespace, "key": key}))
        statement = "DELETE FROM cache_entries WHERE scope = :in_scope AND namespace = :namespace"
        return await self.tables.write(lambda tx: tx.apply(statement, {"namespace": namespace}))

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now; the others wait for the entry or for the lease to end."""

        def take(tx: TextStatements) -> int:
            now_s = tx.now_s()
            times = {"until_s": now_s + ttl_s, "now_s": now_s}
            return tx.apply(_LEASE, {"namespace": namespace, "key": key, **times})

        return await self.tables.write(take) > 0

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""
        statement = (
            "SELECT entry_key FROM cache_entries WHERE scope = :in_scope AND namespace = :namespace"
            " ORDER BY entry_key LIMIT :most"
        )
        values = {"namespace": namespace, "most": limit}
        return [str(key) for (key,) in await self.tables.read(lambda tx: tx.query(statement, values))]

    async def clear(self) -> int:
        """Remove everything of the scope and give the space back; the number of entries removed."""

        def remove(tx: TextStatements) -> int:
            tx.apply("DELETE FROM cache_leases WHERE scope = :in_scope")
            return tx.apply("DELETE FROM cache_entries WHERE scope = :in_scope")

        gone = await self.tables.write(remove)
        await self.tables.shrink()
        return gone

    async def counts(self) -> CacheCounts:
        """What it holds and how it did."""
        statement = "SELECT count(*), coalesce(sum(size_bytes), 0) FROM cache_entries WHERE scope = :in_scope"
        ((entries, size_bytes),) = await self.tables.read(lambda tx: tx.query(statement))
        done = self._counts
        return CacheCounts(entries, int(size_bytes), done["hits"], done["misses"], done["evicted"])

    async def close(self) -> None:
        """Close what was opened for it; a running statement ends first."""
        await self.tables.close()

    async def prune(self, max_bytes: int | None = None) -> int:
        """Make room: what is past its time goes, then what was not used for longest; how many went."""
        bound_bytes = self._bound.max_bytes if max_bytes is None else max_bytes
        before = self._counts["evicted"]
        every_scope, mine = self._bound.every_scope, self._bound.rows

        def expire(tx: TextStatements) -> int:
            ended = f"DELETE FROM cache_leases WHERE {mine} AND until_s <= :now_s"  # noqa: S608  # a constant
            tx.apply(ended, {"now_s": tx.now_s()}, every_scope=every_scope)
            late = f"DELETE FROM cache_entries WHERE {mine} AND stale_until <= :now"  # noqa: S608  # a constant
            return tx.apply(late, {"now": utc_text(self._clock.now())}, every_scope=every_scope)

        # A running sum from the newest use down: all that lies beyond the bound is what was not used for longest.
        held = f"SELECT coalesce(sum(size_bytes), 0) FROM cache_entries WHERE {mine}"  # noqa: S608  # a constant
        evict = (
            f"DELETE FROM cache_entries WHERE {mine} AND (scope, namespace, entry_key) IN ("  # noqa: S608  # a constant
            "SELECT scope, namespace, entry_key FROM (SELECT scope, namespace, entry_key,"
            f" sum(size_bytes) OVER (ORDER BY used_at_s DESC, entry_key) AS held FROM cache_entries WHERE {mine}"
            ") AS by_use WHERE held > :kept ORDER BY held DESC LIMIT :most)"
        )
        self._counts["evicted"] += await self.tables.write(expire)
        ((size_bytes,),) = await self.tables.read(lambda tx: tx.query(held, every_scope=every_scope))
        # In batches, each a transaction of its own: others write between them.
        gone = _PRUNE_BATCH if size_bytes > bound_bytes else 0
        room = {"kept": int(bound_bytes * _PRUNE_TO), "most": _PRUNE_BATCH}
        while gone == _PRUNE_BATCH:
            gone = await self.tables.write(lambda tx: tx.apply(evict, room, every_scope=every_scope))
            self._counts["evicted"] += gone
        return self._counts["evicted"] - before

    def _put(self, tx: TextStatements, namespace: str, key: str, entry: Entry) -> None:
        tx.apply(
            _PUT,
            {
                "namespace": namespace,
                "key": key,
                "value": entry.value,
                "validators": json.dumps(dict(entry.validators)),
                **plain_of(entry),
                "size": len(entry.value),
                "now_s": self._clock.now().timestamp(),
            },
        )
        tx.apply(f"DELETE FROM cache_leases WHERE {_THIS}", {"namespace": namespace, "key": key})  # noqa: S608  # a constant


async def open_cache(path: Path, scope: str, clock: Clock, bound: Bound = OF_HOME) -> TableCache:
    """The cache in the file at `path`; a damaged file is moved to `PATH.damaged` and begun anew.

    Errors: StorageUnavailable, StorageFull, Locked.
    """
    tables = FileTables(path, _SCHEMA, scope, clock, version=_VERSION)
    await anyio.to_thread.run_sync(tables.opened)
    return TableCache(tables, clock, bound)


@asynccontextmanager
async def opened_cache(path: Path, scope: str, clock: Clock) -> AsyncIterator[TableCache]:
    """As `open_cache`, closed at the end of the block."""
    cache = await open_cache(path, scope, clock)
    try:
        yield cache
    finally:
        await cache.close()


def _entry(row: Sequence[Any]) -> Entry | None:  # as stored, of whatever type
    value, sha256, fresh_until, stale_until, stored_at, validators, _ = row
    try:
        return entry_of(value, sha256, fresh_until, stale_until, stored_at, json.loads(validators))
    except (ValueError, TypeError):
        return None


def plain_of(entry: Entry) -> dict[str, str]:
    """The hash of an entry's value, and its times, as they are kept."""
    times = {name: utc_text(getattr(entry, name)) for name in ("fresh_until", "stale_until", "stored_at")}
    return {"sha256": sha256_hex(entry.value), **times}


def entry_of(
    value: Any, sha256: Any, fresh_until: Any, stale_until: Any, stored_at: Any, validators: Any
) -> Entry | None:
    """The entry out of what is kept of it; None where it is damaged. Errors: ValueError, TypeError (likewise)."""
    if not isinstance(value, bytes) or sha256_hex(value) != sha256:
        return None
    return Entry(value, utc_moment(fresh_until), utc_moment(stale_until), utc_moment(stored_at), dict(validators))

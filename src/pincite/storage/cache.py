"""The cache of one machine: one SQLite file beside the database, standard library only, bounded, disposable.

It may be deleted at any time. A damaged file is moved away and begun anew; a damaged row is a miss.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.ids import sha256_hex
from pincite.domain.records import CacheCounts, Entry
from pincite.ports import Clock
from pincite.runtime.telemetry.meter import count_cache_read
from pincite.storage import failures
from pincite.storage.home_files import open_side_file

T = TypeVar("T")

# Some thousand pages; a home is on somebody's own disk.
MAX_BYTES: Final = 512 * 1024 * 1024
# Summing up sizes reads the whole table: once in a while is enough, as the bound is soft.
_PRUNE_EVERY: Final = 64
# Some way below the bound, or every write after it would prune again.
_PRUNE_TO: Final = 0.9
# The time of last use is noted at most this often, so that a hit is a read.
_USED_GRAIN_S: Final = 60.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS entries (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, sha TEXT NOT NULL,
  fresh_until TEXT NOT NULL, stale_until TEXT NOT NULL, stored_at TEXT NOT NULL, validators TEXT NOT NULL,
  size_bytes INTEGER NOT NULL, used_at REAL NOT NULL, PRIMARY KEY (scope, namespace, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_used ON entries (used_at);
CREATE TABLE IF NOT EXISTS leases (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, until REAL NOT NULL,
  PRIMARY KEY (scope, namespace, key)) WITHOUT ROWID;
"""


class SqliteCache:
    """Implements `ports.Cache` for one scope. Made by `open_cache`.

    The least recently used entries go when the file holds more than `max_bytes` of values.
    """

    def __init__(self, connection: sqlite3.Connection, scope: str, clock: Clock, max_bytes: int) -> None:
        self._connection = connection
        self._scope = scope
        self._clock = clock
        self._max_bytes = max_bytes
        self._counts: Counter[str] = Counter()
        self._puts = 0
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None; one past its stale time, or damaged, is gone."""
        return await self._in_thread(lambda: self._get(namespace, key))

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it, and end the lease on its key. A full disk is no error: the value is just not kept."""
        await self._in_thread(lambda: self._put(namespace, key, entry))

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        return await self._in_thread(
            lambda: (
                self._run(
                    "DELETE FROM entries WHERE scope = ? AND namespace = ? AND (? IS NULL OR key = ?)",
                    (self._scope, namespace, key, key),
                ).rowcount
            )
        )

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now; the others wait for the entry or for the lease to end."""
        return await self._in_thread(lambda: self._lease(namespace, key, ttl_s))

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""
        query = "SELECT key FROM entries WHERE scope = ? AND namespace = ? ORDER BY key LIMIT ?"
        rows = await self._in_thread(lambda: self._run(query, (self._scope, namespace, limit)).fetchall())
        return [str(key) for (key,) in rows]

    async def clear(self) -> int:
        """Remove everything of the scope and give the space back; the number of entries removed."""
        return await self._in_thread(self._clear)

    async def counts(self) -> CacheCounts:
        """What it holds and how it did."""
        query = "SELECT count(*), coalesce(sum(size_bytes), 0) FROM entries WHERE scope = ?"
        entries, size_bytes = await self._in_thread(lambda: self._run(query, (self._scope,)).fetchone())
        return CacheCounts(entries, size_bytes, self._counts["hits"], self._counts["misses"], self._counts["evicted"])

    async def close(self) -> None:
        """Close the file; a running statement ends first."""
        with anyio.CancelScope(shield=True):
            await self._in_thread(self._connection.close)

    async def _in_thread(self, do: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(self._translated, do, limiter=self._one_at_a_time)

    def _translated(self, do: Callable[[], T]) -> T:
        with failures.translated():
            return do()

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _get(self, namespace: str, key: str) -> Entry | None:
        place = (self._scope, namespace, key)
        row = self._run(
            "SELECT value, sha, fresh_until, stale_until, stored_at, validators FROM entries"
            " WHERE scope = ? AND namespace = ? AND key = ?",
            place,
        ).fetchone()
        entry = None if row is None else _entry(row)
        now = self._clock.now()
        if row is not None and (entry is None or entry.stale_until <= now):
            self._run("DELETE FROM entries WHERE scope = ? AND namespace = ? AND key = ?", place)
            entry = None
        self._counts["misses" if entry is None else "hits"] += 1
        count_cache_read(namespace, hit=entry is not None)
        if entry is not None:
            self._run(
                "UPDATE entries SET used_at = ? WHERE scope = ? AND namespace = ? AND key = ? AND used_at < ?",
                (now.timestamp(), *place, now.timestamp() - _USED_GRAIN_S),
            )
        return entry

    def _put(self, namespace: str, key: str, entry: Entry) -> None:
        self._puts += 1
        try:
            self._run(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._scope,
                    namespace,
                    key,
                    entry.value,
                    sha256_hex(entry.value),
                    utc_text(entry.fresh_until),
                    utc_text(entry.stale_until),
                    utc_text(entry.stored_at),
                    json.dumps(dict(entry.validators)),
                    len(entry.value),
                    self._clock.now().timestamp(),
                ),
            )
            self._run("DELETE FROM leases WHERE scope = ? AND namespace = ? AND key = ?", (self._scope, namespace, key))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                raise
            self._prune(0)
            return
        if self._puts % _PRUNE_EVERY == 1 or len(entry.value) > self._max_bytes // 10:
            self._prune(self._max_bytes)

    def _prune(self, max_bytes: int) -> None:
        """Make room over all scopes: what is past its time, then what was not used for longest."""
        now = self._clock.now()
        gone = self._run("DELETE FROM entries WHERE stale_until <= ?", (utc_text(now),)).rowcount
        self._run("DELETE FROM leases WHERE until <= ?", (now.timestamp(),))
        total = self._run("SELECT coalesce(sum(size_bytes), 0) FROM entries").fetchone()[0]
        if total > max_bytes:
            gone += self._run(
                "DELETE FROM entries WHERE (scope, namespace, key) IN (SELECT scope, namespace, key FROM ("
                "SELECT scope, namespace, key, sum(size_bytes) OVER (ORDER BY used_at DESC, key) AS kept FROM entries"
                ") WHERE kept > ?)",
                (int(max_bytes * _PRUNE_TO),),
            ).rowcount
        self._counts["evicted"] += gone

    def _lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        now_s = self._clock.now().timestamp()
        taken = self._run(
            "INSERT INTO leases VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until WHERE until <= ?",
            (self._scope, namespace, key, now_s + ttl_s, now_s),
        )
        return taken.rowcount > 0

    def _clear(self) -> int:
        gone = self._run("DELETE FROM entries WHERE scope = ?", (self._scope,)).rowcount
        self._run("DELETE FROM leases WHERE scope = ?", (self._scope,))
        self._run("VACUUM")
        return gone


async def open_cache(path: Path, scope: str, clock: Clock, *, max_bytes: int = MAX_BYTES) -> SqliteCache:
    """The cache in the file at `path`; a damaged file is moved to `PATH.damaged` and begun anew.

    Errors: StorageUnavailable, StorageFull, Locked.
    """
    connection = await anyio.to_thread.run_sync(open_side_file, path, _SCHEMA)
    return SqliteCache(connection, scope, clock, max_bytes)


@asynccontextmanager
async def opened_cache(path: Path, scope: str, clock: Clock) -> AsyncIterator[SqliteCache]:
    """As `open_cache`, closed at the end of the block."""
    cache = await open_cache(path, scope, clock)
    try:
        yield cache
    finally:
        await cache.close()


def _entry(row: tuple[Any, ...]) -> Entry | None:  # as stored, of whatever type
    value, sha, fresh_until, stale_until, stored_at, validators = row
    if not isinstance(value, bytes) or sha256_hex(value) != sha:
        return None
    try:
        return Entry(
            value, utc_moment(fresh_until), utc_moment(stale_until), utc_moment(stored_at), json.loads(validators)
        )
    except (ValueError, TypeError):
        return None

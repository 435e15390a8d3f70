"""Token buckets of one home, shared by all its processes: one SQLite file beside the database, standard library only.

It may be deleted at any time; then every limit is full again. Workers on several machines share `storage.buckets`.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pincite.ports import Clock
from pincite.runtime.limiter import Ask
from pincite.storage import failures
from pincite.storage.home_files import open_side_file

T = TypeVar("T")

# What the arithmetic of floating-point times may be off by.
_SLACK_S: Final = 1e-6
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS buckets (
  key TEXT NOT NULL, number INTEGER NOT NULL, full_s REAL NOT NULL, PRIMARY KEY (key, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocked (key TEXT NOT NULL PRIMARY KEY, until_s REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY CHECK (one = 1), at_s REAL NOT NULL);
"""
# A wall clock that is this much behind what the file has seen was set back; less is a matter of who looked first.
_STEP_S: Final = 1.0


class FileBuckets:
    """Implements `shared_limiter.Buckets`. The file is opened by the first question: most processes never ask.

    Args:
        path: the file.
        clock: the time; its wall clock counts, since processes share it.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """0 when all of it was taken at once; else nothing was, and this many seconds are short."""
        return await self._changed(lambda at: self._take(at, key, asks))

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`; a shorter push-back never shortens a longer one."""
        until_s = self._clock.now().timestamp() + wait_s
        statement = (
            "INSERT INTO blocked VALUES (?, ?) ON CONFLICT DO UPDATE SET until_s = max(until_s, excluded.until_s)"
        )
        await self._changed(lambda at: at.execute(statement, (key, until_s)))

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        statement = "UPDATE buckets SET full_s = full_s - ? WHERE key = ? AND number = ?"
        rows = [(ask.cost_s, key, number) for number, ask in enumerate(asks)]
        await self._changed(lambda at: at.executemany(statement, rows))

    async def close(self) -> None:
        """Close the file; a running statement ends first."""
        if self._connection is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._connection.close, limiter=self._one_at_a_time)
            self._connection = None

    async def _changed(self, do: Callable[[sqlite3.Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._in_transaction, do, limiter=self._one_at_a_time)

    def _in_transaction(self, do: Callable[[sqlite3.Connection], T]) -> T:
        with failures.translated():
            if self._connection is None:
                self._connection = open_side_file(self._path, _SCHEMA)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                _follow_clock(self._connection, self._clock.now().timestamp())
                value = do(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            return value

    def _take(self, at: sqlite3.Connection, key: str, asks: Sequence[Ask]) -> float:
        now_s = self._clock.now().timestamp()
        blocked = at.execute("SELECT until_s FROM blocked WHERE key = ?", (key,)).fetchone()
        known = dict(at.execute("SELECT number, full_s FROM buckets WHERE key = ?", (key,)).fetchall())
        full = [max(known.get(number, now_s), now_s) + ask.cost_s for number, ask in enumerate(asks)]
        waits = [full_s - ask.room_s - now_s for full_s, ask in zip(full, asks, strict=True)]
        wait_s = max([blocked[0] - now_s if blocked else 0.0, *waits], default=0.0)
        if wait_s > _SLACK_S:
            return float(wait_s)
        at.executemany(
            "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", [(key, number, at_s) for number, at_s in enumerate(full)]
        )
        return 0.0


def _follow_clock(at: sqlite3.Connection, now_s: float) -> None:
    """Move all times back with a clock that was set back; else every limit would be used up for that long."""
    seen = at.execute("SELECT at_s FROM seen").fetchone()
    behind_s = seen[0] - now_s if seen else 0.0
    if behind_s > _STEP_S:
        at.execute("UPDATE buckets SET full_s = full_s - ?", (behind_s,))
        at.execute("UPDATE blocked SET until_s = until_s - ?", (behind_s,))
    if seen is None or behind_s > _STEP_S or behind_s < -_STEP_S / 2:
        at.execute("INSERT OR REPLACE INTO seen VALUES (1, ?)", (now_s,))


@asynccontextmanager
async def opened_buckets(path: Path, clock: Clock) -> AsyncIterator[FileBuckets]:
    """The buckets in the file at `path`, closed at the end of the block."""
    buckets = FileBuckets(path, clock)
    try:
        yield buckets
    finally:
        await buckets.close()

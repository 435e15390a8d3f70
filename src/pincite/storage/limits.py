"""Token buckets and breakers that processes share, in a small file of a home or in the common database.

They belong to providers and hosts, not to users: their scope is `public`. A home's file may be deleted at any time;
then every limit is full again.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypeVar

from pincite.domain.errors import Internal
from pincite.ports import Clock
from pincite.runtime.limiter import Ask, BreakerRules, BreakerState, Bucket
from pincite.storage.tables import FileTables, Tables, TextStatements

T = TypeVar("T")
PUBLIC: Final = "public"
# Rates that a shared limit of one key may have (a second, a minute, a day, a month).
MAX_RATES: Final = 4
# A wall clock that is this much behind what the file has seen was set back; less is a matter of who looked first.
_STEP_S: Final = 1.0
# 1 had a row for each rate; a file of another version is begun anew.
_VERSION: Final = 2
_FULL: Final = tuple(f"full_{n}_s" for n in range(1, MAX_RATES + 1))
# As the migrations leave this table in a database that is shared; `seen` is a home's own.
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS buckets (
  scope TEXT NOT NULL, bucket_key TEXT NOT NULL, {", ".join(f"{full} REAL NOT NULL" for full in _FULL)},
  blocked_until_s REAL NOT NULL, PRIMARY KEY (scope, bucket_key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (scope TEXT NOT NULL PRIMARY KEY, at_s REAL NOT NULL) WITHOUT ROWID;
"""


# Made if need be, and this worker's alone until its transaction ends: two never take the same.
_LOCKED: Final = (
    f"INSERT INTO buckets (scope, bucket_key, blocked_until_s, {', '.join(_FULL)})"  # noqa: S608  # constants
    f" VALUES (:in_scope, :key, 0, {', '.join('0' for _ in _FULL)}) ON CONFLICT (scope, bucket_key)"
    f" DO UPDATE SET blocked_until_s = buckets.blocked_until_s RETURNING blocked_until_s, {', '.join(_FULL)}"
)
_CHANGE: Final = (
    f"UPDATE buckets SET blocked_until_s = :blocked_until_s, {', '.join(f'{full} = :{full}' for full in _FULL)}"  # noqa: S608  # constants
    " WHERE scope = :in_scope AND bucket_key = :key"
)
_MOVE_BACK: Final = (
    f"UPDATE buckets SET {', '.join(f'{full} = {full} - :behind_s' for full in _FULL)},"  # noqa: S608  # constants
    " blocked_until_s = blocked_until_s - :behind_s WHERE scope = :in_scope"
)


class TableBuckets:
    """Implements `limiter.Buckets`. Errors of every method: StorageUnavailable, StorageFull, Locked."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """0 when all of it was taken at once; else nothing was, and this many seconds are short."""
        if len(asks) > MAX_RATES:
            raise Internal(f"a shared limit has {MAX_RATES} rates at most, not {len(asks)}", reason="too_many_rates")
        return await self._changed(key, lambda bucket, now_s: bucket.take(asks, now_s))

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`; a shorter push-back never shortens a longer one."""
        await self._changed(key, lambda bucket, now_s: bucket.push_back(now_s + wait_s))

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        await self._changed(key, lambda bucket, _: bucket.give_back(asks))

    async def _changed(self, key: str, do: Callable[[Bucket, float], T]) -> T:
        def change(tx: TextStatements) -> T:
            ((blocked_until_s, *full_s),) = tx.query(_LOCKED, {"key": key})
            bucket = Bucket([*full_s], blocked_until_s)
            value = do(bucket, tx.now_s())
            if [bucket.blocked_until, *bucket.full_at] != [blocked_until_s, *full_s]:
                changed = dict(zip(_FULL, bucket.full_at, strict=True))
                tx.apply(_CHANGE, {"key": key, "blocked_until_s": bucket.blocked_until, **changed})
            return value

        return await self._tables.write(change)


@asynccontextmanager
async def opened_buckets(path: Path, clock: Clock) -> AsyncIterator[TableBuckets]:
    """The buckets in the file at `path`, closed at the end; most processes never ask, so that it is never opened."""
    tables = FileTables(path, _SCHEMA, PUBLIC, clock, version=_VERSION, before_write=_follow_clock)
    try:
        yield TableBuckets(tables)
    finally:
        await tables.close()


def _follow_clock(tx: TextStatements) -> None:
    """Move all times back with a clock that was set back; else every limit would be used up for that long."""
    now_s = tx.now_s()
    seen = tx.query("SELECT at_s FROM seen WHERE scope = :in_scope")
    behind_s = seen[0][0] - now_s if seen else 0.0
    if behind_s > _STEP_S:
        tx.apply(_MOVE_BACK, {"behind_s": behind_s})
    # Twice a second at most: a write for each look would cost more than the limit itself.
    if not seen or behind_s > _STEP_S or behind_s < -_STEP_S / 2:
        tx.apply("INSERT OR REPLACE INTO seen VALUES (:in_scope, :now_s)", {"now_s": now_s})


_BREAKER: Final = "scope = :in_scope AND breaker_key = :key"
_STATE: Final = "failures, opened, open_until_s, probe_until_s"
_READ: Final = f"SELECT {_STATE} FROM breakers WHERE {_BREAKER}"  # noqa: S608  # constants
# As `_LOCKED`.
_LOCKED_STATE: Final = (
    f"INSERT INTO breakers (scope, breaker_key, {_STATE}) VALUES (:in_scope, :key, 0, 0, 0, 0)"  # noqa: S608  # constants
    f" ON CONFLICT (scope, breaker_key) DO UPDATE SET failures = breakers.failures RETURNING {_STATE}"
)
_CHANGE_STATE: Final = (
    "UPDATE breakers SET failures = :failures, opened = :opened, open_until_s = :open_until,"  # noqa: S608  # constants
    f" probe_until_s = :probe_until WHERE {_BREAKER}"
)


class TableBreaker:
    """Implements `ports.Breaker` for all workers: closed, open for a cool-down that doubles, then one probe."""

    def __init__(self, tables: Tables, rules: BreakerRules) -> None:
        self._tables = tables
        self._rules = rules

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe of all workers after each cool-down."""
        found = await self._tables.read(lambda tx: tx.query(_READ, {"key": key}))
        if not found or BreakerState(*found[0]).opened == 0:
            return True
        return await self._changed(key, BreakerState.allows)

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if not ok:
            await self._changed(key, BreakerState.failed)
        elif await self._tables.read(lambda tx: tx.query(_READ, {"key": key})):
            closed = f"DELETE FROM breakers WHERE {_BREAKER}"  # noqa: S608  # constants
            await self._tables.write(lambda tx: tx.apply(closed, {"key": key}))

    async def _changed(self, key: str, do: Callable[[BreakerState, float, BreakerRules], bool]) -> bool:
        def change(tx: TextStatements) -> bool:
            (row,) = tx.query(_LOCKED_STATE, {"key": key})
            state = BreakerState(*row)
            value = do(state, tx.now_s(), self._rules)
            if state != BreakerState(*row):
                tx.apply(_CHANGE_STATE, {"key": key, **asdict(state)})
            return value

        return await self._tables.write(change)

"""Token buckets and breakers that processes share, in a small file of a home or in the common database.

They belong to providers and hosts, not to users: their scope is `public`. A home's file may be deleted at any time;
then every limit is full again.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pincite.domain.errors import Internal
from pincite.ports import Clock
from pincite.runtime.breaker import BreakerRules
from pincite.runtime.limiter import Ask
from pincite.storage.tables import FileTables, Tables, TextStatements

PUBLIC: Final = "public"
# Rates that a shared limit of one key may have (a second, a minute, a day, a month).
MAX_RATES: Final = 4
# What the arithmetic of floating-point times may be off by.
_SLACK_S: Final = 1e-6
# Some thirty thousand years: room without end in arithmetic that knows no infinity in every database.
_NO_BUCKET_S: Final = 1e12
# A wall clock that is this much behind what the file has seen was set back; less is a matter of who looked first.
_STEP_S: Final = 1.0
# 1 had a row for each rate; a file of another version is begun anew.
_VERSION: Final = 2
_NUMBERS: Final = tuple(range(1, MAX_RATES + 1))
_FULL: Final = tuple(f"full_{n}_s" for n in _NUMBERS)
# As the migrations leave this table in a database that is shared; `seen` is a home's own.
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS buckets (
  scope TEXT NOT NULL, bucket_key TEXT NOT NULL, {", ".join(f"{full} REAL NOT NULL" for full in _FULL)},
  blocked_until_s REAL NOT NULL, PRIMARY KEY (scope, bucket_key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (scope TEXT NOT NULL PRIMARY KEY, at_s REAL NOT NULL) WITHOUT ROWID;
"""
_BUCKET: Final = "scope = :in_scope AND bucket_key = :key"


def _after(n: int) -> str:
    # GCRA: a bucket is one number, the time at which it is full again; taking moves it on, and nothing refills it.
    return f"(CASE WHEN full_{n}_s > :now_s THEN full_{n}_s ELSE :now_s END + :cost_{n})"


# Taking is one statement, so that two workers never take the same.
_TAKE: Final = (
    f"UPDATE buckets SET {', '.join(f'full_{n}_s = {_after(n)}' for n in _NUMBERS)}"  # noqa: S608  # constants
    f" WHERE {_BUCKET} AND blocked_until_s <= :limit_s AND "
    + " AND ".join(f"{_after(n)} - :room_{n} <= :limit_s" for n in _NUMBERS)
)
_READ: Final = f"SELECT blocked_until_s, {', '.join(_FULL)} FROM buckets WHERE {_BUCKET}"  # noqa: S608  # constants
_BEGIN: Final = (
    f"INSERT INTO buckets (scope, bucket_key, blocked_until_s, {', '.join(_FULL)})"  # noqa: S608  # constants
    f" VALUES (:in_scope, :key, 0, {', '.join(':now_s' for _ in _FULL)}) ON CONFLICT DO NOTHING"
)
_GIVE_BACK: Final = (
    f"UPDATE buckets SET {', '.join(f'full_{n}_s = full_{n}_s - :cost_{n}' for n in _NUMBERS)} WHERE {_BUCKET}"  # noqa: S608  # constants
)
_PUSH_BACK: Final = f"UPDATE buckets SET blocked_until_s = :until_s WHERE {_BUCKET} AND blocked_until_s < :until_s"  # noqa: S608  # constants
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
        return await self._tables.write(lambda tx: _take(tx, key, asks))

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`; a shorter push-back never shortens a longer one."""

        def push(tx: TextStatements) -> None:
            now_s = tx.now_s()
            tx.apply(_BEGIN, {"key": key, "now_s": now_s})
            tx.apply(_PUSH_BACK, {"key": key, "until_s": now_s + wait_s})

        await self._tables.write(push)

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        await self._tables.write(lambda tx: tx.apply(_GIVE_BACK, {"key": key, **_costs(asks)}))


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


def _take(tx: TextStatements, key: str, asks: Sequence[Ask]) -> float:
    now_s = tx.now_s()
    # A bucket that is not there never holds anything up.
    rooms = {f"room_{n}": asks[n - 1].room_s if n <= len(asks) else _NO_BUCKET_S for n in _NUMBERS}
    asked = {"key": key, "now_s": now_s, "limit_s": now_s + _SLACK_S, **_costs(asks), **rooms}
    if tx.apply(_TAKE, asked):
        return 0.0
    rows = tx.query(_READ, {"key": key})
    if not rows:
        tx.apply(_BEGIN, {"key": key, "now_s": now_s})
        if tx.apply(_TAKE, asked):
            return 0.0
        rows = tx.query(_READ, {"key": key})
    # Never 0: that would say it was taken.
    return max(_wait_s(rows[0], asks, now_s), _SLACK_S)


def _wait_s(row: Sequence[Any], asks: Sequence[Ask], now_s: float) -> float:  # a row of `_READ`
    blocked_until_s, *full_s = row
    waits = [max(at_s, now_s) + ask.cost_s - ask.room_s - now_s for at_s, ask in zip(full_s, asks, strict=False)]
    return float(max(blocked_until_s - now_s, *waits, 0.0))


def _costs(asks: Sequence[Ask]) -> dict[str, float]:
    if len(asks) > MAX_RATES:
        raise Internal(f"a shared limit has {MAX_RATES} rates at most, not {len(asks)}", reason="too_many_rates")
    return {f"cost_{n}": asks[n - 1].cost_s if n <= len(asks) else 0.0 for n in _NUMBERS}


_BREAKER: Final = "scope = :in_scope AND breaker_key = :key"
_STATE: Final = f"SELECT failures, opened FROM breakers WHERE {_BREAKER}"  # noqa: S608  # constants
_PROBE: Final = (
    f"UPDATE breakers SET probe_until_s = :until_s WHERE {_BREAKER}"  # noqa: S608  # constants
    " AND open_until_s <= :now_s AND probe_until_s <= :now_s"
)
# While it is closed, `open_until_s` holds when the counting began.
_COUNT_FROM_NOW: Final = (
    "INSERT INTO breakers (scope, breaker_key, failures, opened, open_until_s, probe_until_s)"
    " VALUES (:in_scope, :key, 0, 0, :now_s, 0) ON CONFLICT (scope, breaker_key) DO UPDATE"
    " SET failures = 0, open_until_s = :now_s WHERE breakers.opened = 0 AND breakers.open_until_s < :since_s"
)
_COUNT: Final = f"UPDATE breakers SET failures = failures + 1 WHERE {_BREAKER}"  # noqa: S608  # constants
_OPEN: Final = f"UPDATE breakers SET opened = opened + 1, open_until_s = :until_s, probe_until_s = 0 WHERE {_BREAKER}"  # noqa: S608  # constants


class TableBreaker:
    """Implements `ports.Breaker` for all workers: closed, open for a cool-down that doubles, then one probe."""

    def __init__(self, tables: Tables, rules: BreakerRules) -> None:
        self._tables = tables
        self._rules = rules

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe of all workers after each cool-down."""
        state = await self._tables.read(lambda tx: tx.query(_STATE, {"key": key}))
        if not state or not state[0][1]:
            return True

        def probe(tx: TextStatements) -> int:
            now_s = tx.now_s()
            return tx.apply(_PROBE, {"key": key, "now_s": now_s, "until_s": now_s + self._rules.cool_down_s})

        return await self._tables.write(probe) > 0

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if not ok:
            await self._tables.write(lambda tx: self._failed(tx, key))
        elif await self._tables.read(lambda tx: tx.query(_STATE, {"key": key})):
            closed = f"DELETE FROM breakers WHERE {_BREAKER}"  # noqa: S608  # constants
            await self._tables.write(lambda tx: tx.apply(closed, {"key": key}))

    def _failed(self, tx: TextStatements, key: str) -> None:
        now_s = tx.now_s()
        tx.apply(_COUNT_FROM_NOW, {"key": key, "now_s": now_s, "since_s": now_s - self._rules.within_s})
        tx.apply(_COUNT, {"key": key})
        ((failures, opened),) = tx.query(_STATE, {"key": key})
        if failures >= self._rules.failures or opened:
            tx.apply(_OPEN, {"key": key, "until_s": now_s + self._rules.pause_s(opened)})

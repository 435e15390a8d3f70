"""Token buckets and breakers in the database, shared by every worker that uses it. The database's clock counts.

They belong to providers and hosts, not to users: their scope is `public`.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Double, bindparam, case

from pincite.runtime.breaker import DEFAULT_RULES, BreakerRules
from pincite.runtime.limiter import Ask
from pincite.storage.database import PREPARED, Database, Transaction
from pincite.storage.schema import MAX_RATES, breakers, buckets

PUBLIC: Final = "public"
# What the arithmetic of floating-point times may be off by.
_SLACK_S: Final = 1e-6
_NOW = bindparam("now_s", type_=Double)
_NUMBERS: Final = tuple(range(1, MAX_RATES + 1))


def _later(column: ColumnElement[float], moment: ColumnElement[float]) -> ColumnElement[float]:
    return case((column > moment, column), else_=moment)


def _full(n: int) -> ColumnElement[float]:
    return buckets.c[f"full_{n}_s"]


def _cost(n: int) -> ColumnElement[float]:
    return bindparam(f"cost_{n}", type_=Double)


_THIS = buckets.c.bucket_key == bindparam("of_key")
_TAKE = (
    PREPARED.update(buckets)
    .where(
        _THIS,
        buckets.c.blocked_until_s <= _NOW + _SLACK_S,
        *(
            _later(_full(n), _NOW) + _cost(n) - bindparam(f"room_{n}", type_=Double) <= _NOW + _SLACK_S
            for n in _NUMBERS
        ),
    )
    .values({f"full_{n}_s": _later(_full(n), _NOW) + _cost(n) for n in _NUMBERS})
    .returning(buckets.c.bucket_key)
)
_GIVE_BACK = PREPARED.update(buckets).where(_THIS).values({f"full_{n}_s": _full(n) - _cost(n) for n in _NUMBERS})
_PUSH_BACK = (
    PREPARED.update(buckets)
    .where(_THIS)
    .values(blocked_until_s=_later(buckets.c.blocked_until_s, bindparam("until_s", type_=Double)))
)
_READ = PREPARED.select(buckets).where(_THIS)


class SqlBuckets:
    """Implements `shared_limiter.Buckets`: taking is one statement, so that two workers never take the same."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """0 when all of it was taken at once; else nothing was, and this many seconds are short."""
        return await self._database.write(PUBLIC, lambda tx: _take(tx, key, asks), durable=False)

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`; a shorter push-back never shortens a longer one."""
        await self._database.write(PUBLIC, lambda tx: _push_back(tx, key, wait_s), durable=False)

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        await self._database.write(PUBLIC, lambda tx: tx.change(_GIVE_BACK, of_key=key, **_costs(asks)), durable=False)


class SqlBreaker:
    """Implements `ports.Breaker` for all workers: closed, open for a cool-down that doubles, then one probe.

    Args:
        database: where the states are.
        rules: when it opens and for how long.
    """

    def __init__(self, database: Database, rules: BreakerRules = DEFAULT_RULES) -> None:
        self._database = database
        self._rules = rules

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe of all workers after each cool-down."""
        state = await self._database.read(PUBLIC, lambda tx: _state(tx, key))
        if state is None or not state.opened:
            return True
        return await self._database.write(PUBLIC, lambda tx: self._probe(tx, key), durable=False)

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if ok and await self._database.read(PUBLIC, lambda tx: _state(tx, key)) is None:
            return
        await self._database.write(PUBLIC, lambda tx: self._record(tx, key, ok), durable=False)

    def _probe(self, tx: Transaction, key: str) -> bool:
        now_s = tx.now_s()
        due = (breakers.c.breaker_key == key, breakers.c.open_until_s <= now_s, breakers.c.probe_until_s <= now_s)
        return bool(tx.change(tx.update(breakers).where(*due).values(probe_until_s=now_s + self._rules.cool_down_s)))

    def _record(self, tx: Transaction, key: str, ok: bool) -> None:
        this = breakers.c.breaker_key == key
        if ok:
            tx.change(tx.delete(breakers).where(this))
            return
        now_s = tx.now_s()
        # While it is closed, `open_until_s` holds when the counting began.
        tx.insert_new(breakers, breaker_key=key, failures=0, opened=0, open_until_s=now_s, probe_until_s=0.0)
        late = (this, breakers.c.opened == 0, breakers.c.open_until_s < now_s - self._rules.within_s)
        tx.change(tx.update(breakers).where(*late).values(failures=0, open_until_s=now_s))
        row = tx.run(tx.update(breakers).where(this).values(failures=breakers.c.failures + 1).returning(breakers))[0]
        if row.failures >= self._rules.failures or row.opened:
            open_until_s = now_s + self._rules.pause_s(row.opened)
            values = {"opened": row.opened + 1, "open_until_s": open_until_s, "probe_until_s": 0.0}
            tx.change(tx.update(breakers).where(this).values(**values))


def _take(tx: Transaction, key: str, asks: Sequence[Ask]) -> float:
    now_s = tx.now_s()
    asked = {
        "of_key": key,
        "now_s": now_s,
        **_costs(asks),
        # A bucket that is not there never holds anything up.
        **{f"room_{n}": asks[n - 1].room_s if n <= len(asks) else _NO_BUCKET_S for n in _NUMBERS},
    }
    if tx.first(_TAKE, **asked) is not None:
        return 0.0
    row = tx.first(_READ, of_key=key)
    if row is None:
        _begin(tx, key, now_s)
        return (
            0.0 if tx.first(_TAKE, **asked) is not None else max(_wait_s(tx.first(_READ, of_key=key), asks, now_s), 0)
        )
    return max(_wait_s(row, asks, now_s), _SLACK_S)


def _wait_s(row: Any, asks: Sequence[Ask], now_s: float) -> float:  # a row of `buckets`
    waits: list[float] = [row.blocked_until_s - now_s]
    for n, ask in enumerate(asks, 1):
        waits.append(max(getattr(row, f"full_{n}_s"), now_s) + ask.cost_s - ask.room_s - now_s)
    return max(waits)


def _push_back(tx: Transaction, key: str, wait_s: float) -> None:
    now_s = tx.now_s()
    _begin(tx, key, now_s)
    tx.change(_PUSH_BACK, of_key=key, until_s=now_s + wait_s)


def _begin(tx: Transaction, key: str, now_s: float) -> None:
    full = {f"full_{n}_s": now_s for n in _NUMBERS}
    tx.insert_new(buckets, bucket_key=key, blocked_until_s=0.0, **full)


def _state(tx: Transaction, key: str) -> Any:  # a row of `breakers` or None
    return tx.first(tx.select(breakers).where(breakers.c.breaker_key == key))


def _costs(asks: Sequence[Ask]) -> dict[str, float]:
    return {f"cost_{n}": asks[n - 1].cost_s if n <= len(asks) else 0.0 for n in _NUMBERS}


# Some thirty thousand years: room without end in arithmetic that knows no infinity in every database.
_NO_BUCKET_S: Final = 1e12

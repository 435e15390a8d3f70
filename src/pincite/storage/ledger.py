"""The calls of a run in the database, and its events: fence, caps and the taking of the estimate are one statement."""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import anyio
from sqlalchemy import BigInteger, ColumnElement, Update, bindparam, or_

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, RunFenced
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.records import PlannedCall, SettledCall
from pincite.ports import Clock
from pincite.runtime.ledger import UNKNOWN_OUTCOME
from pincite.storage.database import Database, Scoped, reads, writes
from pincite.storage.evidence import read_events
from pincite.storage.schema import (
    DIMENSIONS,
    calls,
    events,
    nano_usd,
    provider_attempts,
    run_snapshots,
    runs,
    usage_of,
    usage_values,
)
from pincite.storage.transactions import PREPARED, Transaction

RESERVED, OK, ERROR, RETRY, INTERRUPTED, REFUSED = "reserved", "ok", "error", "retry", "interrupted", "refused"
_CAP_NAMES = {"cost_nanousd": "cost_usd"}

_MINE = (
    runs.c.run_id == bindparam("in_run"),
    runs.c.epoch == bindparam("at_epoch"),
    runs.c.status == RunStatus.RUNNING.value,
)


def _fits(name: str) -> ColumnElement[bool]:
    cap, spent, reserved = (runs.c[f"{prefix}_{name}"] for prefix in ("cap", "spent", "reserved"))
    asked = bindparam(f"asked_{name}", type_=BigInteger)
    # A call that asks for nothing of a cap passes it even where the cap is overrun: a price that turned out higher must
    # not stop calls that are free.
    return or_(asked == 0, cap.is_(None), spent + reserved + asked <= cap)


def _plus(column: ColumnElement[int], name: str) -> ColumnElement[int]:
    return column + bindparam(name, type_=BigInteger)


_RUN = PREPARED.select(runs).where(*_MINE)
_TAKE = (
    PREPARED.update(runs)
    # All caps in the condition of the one UPDATE: between a look and a write another call could take the rest.
    .where(*_MINE, *(_fits(name) for name in DIMENSIONS))
    .values({f"reserved_{name}": _plus(runs.c[f"reserved_{name}"], f"asked_{name}") for name in DIMENSIONS})
    .returning(runs.c.run_id)
)
_EXCHANGE = (
    PREPARED.update(runs)
    .where(*_MINE)
    .values(
        {f"reserved_{name}": _plus(runs.c[f"reserved_{name}"], f"back_{name}") for name in DIMENSIONS}
        | {f"spent_{name}": _plus(runs.c[f"spent_{name}"], f"more_{name}") for name in DIMENSIONS}
    )
    .returning(runs.c.run_id)
)
_THIS = (calls.c.run_id == bindparam("in_run"), calls.c.call_key == bindparam("of_key"))
_FIND = PREPARED.select(calls).where(*_THIS)
_SETTLE = (
    PREPARED.update(calls)
    # Once only, and by its owner: an answer that comes after the run was taken over is not counted twice.
    .where(*_THIS, calls.c.status == RESERVED, calls.c.epoch == bindparam("at_epoch"))
    .values(
        {
            "status": bindparam("to_status"),
            "outcome": bindparam("to_outcome"),
            "settled_at": bindparam("to_moment"),
            "latency_ms": bindparam("to_latency"),
        }
        | {f"used_{name}": _plus(calls.c[f"used_{name}"], f"more_{name}") for name in DIMENSIONS}
    )
    .returning(calls.c.attempts)
)


class SqlCallStore(Scoped):
    """Implements `ports.CallStore`.

    A reservation is a change of the run's own row, which also checks the epoch: on PostgreSQL its row lock puts all
    writers of the run in order, on SQLite the single writer does. Sums over the rows of `calls` would not be safe.

    Args:
        epoch: the epoch at which this worker owns it; None reads the record without owning (strict replay).
    """

    def __init__(self, database: Database, scope: str, run_id: str, epoch: int | None, clock: Clock) -> None:
        super().__init__(database, scope, clock)
        self._run_id = run_id
        self._epoch = epoch

    async def load(self) -> Mapping[str, str]:
        """Final outcomes by key; what an earlier owner left in flight is charged its estimate.

        Without an epoch nothing is charged, and retryable failures and refusals count too: the run went on from them.
        """
        if self._epoch is None:
            return await self._database.read(self._scope, lambda tx: self._outcomes(tx, (OK, ERROR, RETRY, REFUSED)))
        return await self._database.write(self._scope, self._load)

    @writes
    def reserve(self, tx: Transaction, call: PlannedCall) -> None:
        """Take the estimate out of the budget and note the call. Errors: BudgetExhausted, RunFenced."""
        # The budget first: on PostgreSQL it locks the run's row, so that no other call of the run looks at `calls`
        # meanwhile.
        self._update_run(tx, _TAKE, **usage_values("asked", call.estimate))
        old = tx.first(_FIND, in_run=self._run_id, of_key=call.key)
        if old is None:
            self._insert(tx, call, RESERVED, None, usage_values("estimate", call.estimate))
            return
        if old.status == RESERVED:
            self._charge(tx, old)
        values = {"status": RESERVED, "outcome": None, "epoch": self._epoch, "attempts": old.attempts + 1}
        statement = tx.update(calls).where(*self._this(call.key)).values(started_at=self._clock.now(), **values)
        tx.change(statement.values(usage_values("estimate", call.estimate)))

    @writes
    def refuse(self, tx: Transaction, call: PlannedCall, outcome: str) -> None:
        """Note a call that was not made because a cap was reached. Errors: RunFenced."""
        self._update_run(tx, _EXCHANGE, **_exchange(Usage(), Usage()))
        if tx.first(_FIND, in_run=self._run_id, of_key=call.key) is None:
            self._insert(tx, call, REFUSED, outcome, usage_values("estimate", Usage()))

    @writes
    def settle(self, tx: Transaction, call: PlannedCall, settled: SettledCall) -> None:
        """Exchange the estimate for what was used and note the outcome. Errors: RunFenced."""
        self._update_run(tx, _EXCHANGE, **_exchange(call.estimate, settled.usage))
        row = tx.first(
            _SETTLE,
            in_run=self._run_id,
            of_key=call.key,
            at_epoch=self._epoch,
            to_status=OK if not settled.failed else ERROR if settled.final else RETRY,
            to_outcome=settled.outcome,
            to_moment=self._clock.now(),
            to_latency=settled.latency_ms,
            **usage_values("more", settled.usage),
        )
        if row is None:
            raise RunFenced(f"the reservation of a {call.kind} call is gone: another worker has run {self._run_id}")
        # In the same transaction as the money: a bill and what it was for are never apart after a crash.
        tx.insert_many(provider_attempts, self._attempts(call, settled, row.attempts))
        for snapshot_id in settled.snapshot_ids:
            tx.insert_new(run_snapshots, run_id=self._run_id, snapshot_id=snapshot_id)

    @reads
    def confirm(self, tx: Transaction) -> None:
        """Return when the run is still owned at this epoch. Errors: RunFenced."""
        if tx.first(_RUN, in_run=self._run_id, at_epoch=self._epoch) is None:
            raise self._fenced()

    @reads
    def spent(self, tx: Transaction) -> Usage:
        """What the run has settled so far."""
        row = tx.first(tx.select(runs).where(runs.c.run_id == self._run_id))
        return Usage() if row is None else usage_of("spent", row)

    def _fenced(self) -> RunFenced:
        return RunFenced(f"run {self._run_id} is no longer ours: another worker took it, or it has ended")

    def _load(self, tx: Transaction) -> Mapping[str, str]:
        self._update_run(tx, _EXCHANGE, **_exchange(Usage(), Usage()))
        left = tx.run(tx.select(calls).where(calls.c.run_id == self._run_id, calls.c.status == RESERVED))
        for row in left:
            self._charge(tx, row)
        return self._outcomes(tx, (OK, ERROR))

    def _outcomes(self, tx: Transaction, statuses: tuple[str, ...]) -> dict[str, str]:
        query = tx.select(calls, calls.c.call_key, calls.c.outcome)
        rows = tx.run(query.where(calls.c.run_id == self._run_id, calls.c.status.in_(statuses)))
        # What went out and never came back is not on record: the call is made anew.
        return {row.call_key: row.outcome for row in rows if row.outcome != UNKNOWN_OUTCOME}

    def _insert(
        self, tx: Transaction, call: PlannedCall, status: str, outcome: str | None, estimate: Mapping[str, int]
    ) -> None:
        tx.insert(
            calls,
            run_id=self._run_id,
            call_key=call.key,
            kind=call.kind,
            request=call.request,
            status=status,
            outcome=outcome,
            epoch=self._epoch,
            attempts=1 if status == RESERVED else 0,
            started_at=self._clock.now(),
            **estimate,
        )

    def _attempts(self, call: PlannedCall, settled: SettledCall, attempt: int) -> list[dict[str, Any]]:
        return [
            {
                "run_id": self._run_id,
                "call_key": call.key,
                "attempt": attempt,
                "n": n,
                "cost_nanousd": nano_usd(tried.cost_usd),
                **{name: value for name, value in asdict(tried).items() if name != "cost_usd"},
            }
            for n, tried in enumerate(settled.attempts, 1)
        ]

    def _charge(self, tx: Transaction, row: Any) -> None:  # a row of `calls` that is still reserved
        """An interrupted call may have been paid: its estimate counts as spent (`Usage.perhaps_billed`)."""
        estimate = usage_of("estimate", row)
        self._update_run(tx, _EXCHANGE, **_exchange(estimate, estimate.perhaps_billed))
        charged = usage_of("used", row) + estimate.perhaps_billed
        values = {"status": INTERRUPTED, **usage_values("used", charged)}
        tx.change(tx.update(calls).where(*self._this(row.call_key)).values(**values))

    def _update_run(self, tx: Transaction, statement: Update, **amounts: int) -> None:
        """Change the run's row, if it is ours and what is asked fits. Errors: RunFenced, BudgetExhausted."""
        mine = {"in_run": self._run_id, "at_epoch": self._epoch}
        if tx.first(statement, **mine, **amounts) is not None:
            return
        row = tx.first(_RUN, **mine)
        if row is None:
            raise self._fenced()
        # Still ours, so a cap refused it.
        raise _exhausted(row, amounts)

    def _this(self, key: str) -> tuple[ColumnElement[bool], ...]:
        return calls.c.run_id == self._run_id, calls.c.call_key == key


def _exchange(estimate: Usage, used: Usage) -> dict[str, int]:
    """The changes of the run's row that give a reservation back and count what was used."""
    back = {name: -amount for name, amount in usage_values("back", estimate).items()}
    return back | usage_values("more", used)


def _exhausted(row: Any, amounts: Mapping[str, int]) -> BudgetExhausted:  # a row of `runs`
    for name in DIMENSIONS:
        cap, asked = getattr(row, f"cap_{name}"), amounts[f"asked_{name}"]
        taken = getattr(row, f"spent_{name}") + getattr(row, f"reserved_{name}")
        if asked and cap is not None and taken + asked > cap:
            dimension = _CAP_NAMES.get(name, name)
            return BudgetExhausted(
                f"the cap on {dimension} is reached", reason=dimension, context={"cap": cap, "taken": taken}
            )
    return BudgetExhausted("a cap of the run is reached")


# Events of a run in the database: numbered without gaps, each written once, also by a run that is resumed.
#
# A resumed run executes the same code and says the same things again. An event is known by its type and data (without
# times and counters of time) and by how often that was said before, not by its number: concurrent tasks may come in
# another order after a crash, and nothing is lost or doubled by that.

# Endings of the names of data that differ between two executions of the same thing.
_PASSING: Final = ("_ms", "_s", "_at")
# What every owner of a run says for itself.
_EACH_OWNER: Final = frozenset({EventType.RUN_RESUMED, EventType.RUN_FAILED, EventType.RUN_CANCELLED})
_OWNED: Final = (
    PREPARED.select(runs, runs.c.run_id)
    .where(runs.c.run_id == bindparam("in_run"), runs.c.epoch == bindparam("at_epoch"))
    .with_for_update(read=True)
)


class SqlEvents:
    """Implements `ports.EventSink` for one run owned at one epoch. Made by `open_events`."""

    def __init__(
        self, database: Database, scope: str, run_id: str, epoch: int, clock: Clock, stored: Sequence[tuple[str, Event]]
    ) -> None:
        self._database = database
        self._scope = scope
        self._run_id = run_id
        self._epoch = epoch
        self._clock = clock
        self._stored = dict(stored)
        self._said: Counter[str] = Counter()
        self._last = max((event.seq for _, event in stored), default=0)
        self._order = anyio.Lock()
        self._news = anyio.Event()
        self._closed = False
        self.request_id: str | None = None
        self.topic_hash: str | None = None

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The stored, numbered event; one that an earlier owner wrote already is returned as it was.

        Errors: RunFenced, StorageFull, StorageUnavailable.
        """
        said = _said(type_, data, self._epoch)
        self._said[said] += 1
        identity = f"{said}.{self._said[said]}"
        # Taken out: each stored event answers for one saying of it.
        known = self._stored.pop(identity, None)
        if known is not None:
            return known
        async with self._order:
            event = Event(
                # Under the lock until it is stored: a number is used up only by what is there, so that none is missing.
                self._last + 1,
                type_,
                self._run_id,
                self._clock.now(),
                dict(data),
                self.request_id,
                self.topic_hash,
            )
            await self._database.write(self._scope, lambda tx: self._write(tx, event, identity), durable=False)
            self._last = event.seq
        self._news.set()
        self._news = anyio.Event()
        return event

    async def follow(self, after: int = 0) -> AsyncIterator[Event]:
        """The events numbered above `after` as they come, until `close`; a slow reader misses none."""
        while True:
            news, closed = self._news, self._closed  # before the read: what is said during it is read next time
            batch = await self._database.read(self._scope, lambda tx, n=after: read_events(tx, self._run_id, n))  # type: ignore[misc]  # mypy infers no defaults
            for _, event in batch:
                yield event
                after = event.seq
            if not batch and closed:
                return
            if not batch:
                await news.wait()

    def close(self) -> None:
        """Tell those who follow that nothing more comes."""
        self._closed = True
        self._news.set()

    def _write(self, tx: Transaction, event: Event, identity: str) -> None:
        # The row is locked for reading, so that nobody takes the run over between this look and the insert.
        if tx.first(_OWNED, in_run=self._run_id, at_epoch=self._epoch) is None:
            raise RunFenced(f"run {self._run_id} is no longer ours: another worker took it")
        tx.insert(events, identity=identity, **asdict(event))


async def open_events(database: Database, scope: str, run_id: str, epoch: int, clock: Clock) -> SqlEvents:
    """The sink of a run that is owned at `epoch`, knowing what was said before."""
    stored = await database.read(scope, lambda tx: read_events(tx, run_id))
    return SqlEvents(database, scope, run_id, epoch, clock, stored)


def _said(type_: EventType, data: Mapping[str, Json], epoch: int) -> str:
    lasting = {name: value for name, value in data.items() if not name.endswith(_PASSING)}
    if type_ in _EACH_OWNER:
        # By the owner alone: that the second owner resumed is news, however alike its words are.
        lasting = {"epoch": epoch}
    text = json.dumps([type_, lasting], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]

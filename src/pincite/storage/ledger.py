"""The calls of a run in the database: fence, caps and the taking of the estimate are one statement."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, or_

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, RunFenced
from pincite.domain.events import RunStatus
from pincite.ports import Clock, PlannedCall, SettledCall
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import (
    DIMENSIONS,
    calls,
    nano_usd,
    provider_attempts,
    run_snapshots,
    runs,
    usage_of,
    usage_values,
)

RESERVED, OK, ERROR, RETRY, INTERRUPTED = "reserved", "ok", "error", "retry", "interrupted"
_CAP_NAMES = {"cost_nanousd": "cost_usd"}


class SqlCallStore:
    """Implements `ports.CallStore`.

    A reservation is a change of the run's own row, which also checks the epoch: on PostgreSQL its row lock puts all
    writers of the run in order, on SQLite the single writer does. Sums over the rows of `calls` would not be safe.

    Args:
        database: where the run is.
        scope: whose run it is.
        run_id: the run.
        epoch: the epoch at which this worker owns it; None reads the record without owning (strict replay).
        clock: the time.
    """

    def __init__(self, database: Database, scope: str, run_id: str, epoch: int | None, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._run_id = run_id
        self._epoch = epoch
        self._clock = clock

    async def load(self) -> Mapping[str, str]:
        """Final outcomes by key; what an earlier owner left in flight is charged its estimate.

        Without an epoch nothing is charged, and outcomes of retryable failures count too: the run went on from them.
        """
        if self._epoch is None:
            return await self._database.read(self._scope, lambda tx: self._outcomes(tx, (OK, ERROR, RETRY)))
        return await self._database.write(self._scope, self._load)

    async def reserve(self, call: PlannedCall) -> None:
        """Take the estimate out of the budget and note the call. Errors: BudgetExhausted, RunFenced."""
        await self._database.write(self._scope, lambda tx: self._reserve(tx, call))

    async def settle(self, call: PlannedCall, settled: SettledCall) -> None:
        """Exchange the estimate for what was used and note the outcome. Errors: RunFenced."""
        await self._database.write(self._scope, lambda tx: self._settle(tx, call, settled))

    async def spent(self) -> Usage:
        """What the run has settled so far."""
        return await self._database.read(self._scope, self._spent)

    async def forget_errors(self) -> int:
        """Have a resumed run make again the calls that ended in a final error; how many there are."""
        return await self._database.write(self._scope, self._forget_errors)

    def _load(self, tx: Transaction) -> Mapping[str, str]:
        self._own(tx, {})
        left = tx.run(tx.select(calls).where(calls.c.run_id == self._run_id, calls.c.status == RESERVED))
        for row in left:
            self._charge(tx, row)
        return self._outcomes(tx, (OK, ERROR))

    def _outcomes(self, tx: Transaction, statuses: tuple[str, ...]) -> dict[str, str]:
        query = tx.select(calls, calls.c.call_key, calls.c.outcome)
        rows = tx.run(query.where(calls.c.run_id == self._run_id, calls.c.status.in_(statuses)))
        return {row.call_key: row.outcome for row in rows if row.outcome != '{"error":null}'}

    def _reserve(self, tx: Transaction, call: PlannedCall) -> None:
        estimate = usage_values("estimate", call.estimate)
        asked = {name: estimate[f"estimate_{name}"] for name in DIMENSIONS if estimate[f"estimate_{name}"]}
        self._own(
            tx, {f"reserved_{name}": runs.c[f"reserved_{name}"] + amount for name, amount in asked.items()}, asked
        )
        old = tx.first(tx.select(calls).where(*self._this(call.key)))
        now = self._clock.now()
        if old is None:
            tx.insert(
                calls,
                run_id=self._run_id,
                call_key=call.key,
                kind=call.kind,
                request=call.request,
                status=RESERVED,
                epoch=self._epoch,
                attempts=1,
                started_at=now,
                **estimate,
            )
            return
        if old.status == RESERVED:
            self._charge(tx, old)
        again = tx.update(calls).where(*self._this(call.key))
        tx.change(
            again.values(
                status=RESERVED, outcome=None, epoch=self._epoch, attempts=old.attempts + 1, started_at=now, **estimate
            )
        )

    def _settle(self, tx: Transaction, call: PlannedCall, settled: SettledCall) -> None:
        used = usage_values("used", settled.usage)
        estimate = usage_values("estimate", call.estimate)
        self._own(tx, _exchange(estimate, used))
        row = tx.first(
            tx.update(calls)
            .where(*self._this(call.key), calls.c.status == RESERVED, calls.c.epoch == self._epoch)
            .values(
                status=OK if not settled.failed else ERROR if settled.final else RETRY,
                outcome=settled.outcome,
                settled_at=self._clock.now(),
                latency_ms=settled.latency_ms,
                **{name: calls.c[name] + amount for name, amount in used.items()},
            )
            .returning(calls.c.attempts)
        )
        if row is None:
            raise RunFenced(f"the reservation of a {call.kind} call is gone: another worker has run {self._run_id}")
        tx.insert_many(provider_attempts, self._attempts(call, settled, row.attempts))
        for snapshot_id in settled.snapshot_ids:
            tx.insert_new(run_snapshots, run_id=self._run_id, snapshot_id=snapshot_id)

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
        """An interrupted call may have been paid: its estimate counts as spent."""
        estimate = {f"estimate_{name}": getattr(row, f"estimate_{name}") for name in DIMENSIONS}
        charged = {f"used_{name}": getattr(row, f"estimate_{name}") for name in DIMENSIONS}
        self._own(tx, _exchange(estimate, charged))
        tx.change(
            tx.update(calls)
            .where(*self._this(row.call_key))
            .values(status=INTERRUPTED, **{name: calls.c[name] + amount for name, amount in charged.items()})
        )

    def _own(self, tx: Transaction, values: Mapping[str, Any], asked: Mapping[str, int] | None = None) -> None:
        """Change the run's row if it is ours and `asked` fits under every cap. Errors: RunFenced, BudgetExhausted."""
        mine = (runs.c.run_id == self._run_id, runs.c.epoch == self._epoch, runs.c.status == RunStatus.RUNNING)
        fits = [_fits(name, amount) for name, amount in (asked or {}).items()]
        changed = values or {"epoch": runs.c.epoch}
        if tx.first(tx.update(runs).where(*mine, *fits).values(**changed).returning(runs.c.run_id)) is not None:
            return
        row = tx.first(tx.select(runs).where(*mine))
        if row is None:
            raise RunFenced(f"run {self._run_id} is no longer ours: another worker took it, or it has ended")
        raise _over(row, asked or {})

    def _spent(self, tx: Transaction) -> Usage:
        row = tx.first(tx.select(runs).where(runs.c.run_id == self._run_id))
        return Usage() if row is None else usage_of("spent", row)

    def _forget_errors(self, tx: Transaction) -> int:
        self._own(tx, {})
        statement = tx.update(calls).where(calls.c.run_id == self._run_id, calls.c.status == ERROR)
        return tx.change(statement.values(status=RETRY))

    def _this(self, key: str) -> tuple[ColumnElement[bool], ...]:
        return calls.c.run_id == self._run_id, calls.c.call_key == key


def _exchange(estimate: Mapping[str, int], used: Mapping[str, int]) -> dict[str, Any]:
    """The changes of the run's row that give a reservation back and count what was used."""
    values: dict[str, Any] = {}
    for name in DIMENSIONS:
        if estimate[f"estimate_{name}"]:
            values[f"reserved_{name}"] = runs.c[f"reserved_{name}"] - estimate[f"estimate_{name}"]
        if used[f"used_{name}"]:
            values[f"spent_{name}"] = runs.c[f"spent_{name}"] + used[f"used_{name}"]
    return values


def _fits(name: str, amount: int) -> ColumnElement[bool]:
    cap, spent, reserved = (runs.c[f"{prefix}_{name}"] for prefix in ("cap", "spent", "reserved"))
    return or_(cap.is_(None), spent + reserved + amount <= cap)


def _over(row: Any, asked: Mapping[str, int]) -> BudgetExhausted:  # a row of `runs`
    for name, amount in asked.items():
        cap = getattr(row, f"cap_{name}")
        taken = getattr(row, f"spent_{name}") + getattr(row, f"reserved_{name}")
        if cap is not None and taken + amount > cap:
            dimension = _CAP_NAMES.get(name, name)
            return BudgetExhausted(
                f"the cap on {dimension} is reached", reason=dimension, context={"cap": cap, "taken": taken}
            )
    return BudgetExhausted("a cap of the run is reached")

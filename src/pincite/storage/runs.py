"""Runs and their reports in the database: who owns a run, until when, and what came of it."""

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, and_, or_

from pincite.domain.budget import Budget
from pincite.domain.codec import to_json
from pincite.domain.errors import Conflict, Locked, RunFenced, RunNotFound
from pincite.domain.events import Event, RunStatus
from pincite.domain.records import CallRecord, RunRecord
from pincite.domain.report import Report
from pincite.domain.search import ProviderAttempt
from pincite.runtime.lease import is_gone
from pincite.storage import retention
from pincite.storage.database import Scoped, reads, writes
from pincite.storage.evidence import find_report, read_events, record_of
from pincite.storage.schema import (
    DIMENSIONS,
    calls,
    citations,
    claims,
    evidence,
    nano_usd,
    provider_attempts,
    reports,
    runs,
    usage_of,
    usd,
)
from pincite.storage.server import redelivery_of
from pincite.storage.transactions import Transaction

ACTIVE: Final = (RunStatus.QUEUED, RunStatus.RUNNING)
# A run that nobody owns and any worker may be offered.
_WAITING: Final[Mapping[str, object]] = {
    "status": RunStatus.QUEUED,
    "for_workers": True,
    "offered_at_s": 0.0,
    "lease_until_s": 0.0,
    "worker": "",
}


class SqlRunStore(Scoped):
    """Implements `ports.RunStore` for one scope."""

    @writes
    def create(self, tx: Transaction, record: RunRecord) -> None:
        """Store a new run. Errors: Conflict (the id is taken), StorageFull, StorageUnavailable."""
        is_new = tx.insert_new(
            runs,
            inputs=dict(record.inputs),
            budget=to_json(record.budget),
            cancel_requested=False,
            **_columns(record, "run_id question status reason created_at updated_at epoch project priority"),
            **_columns(record, "for_workers request_id"),
            **_caps(record.budget),
        )
        if not is_new:
            raise Conflict(f"there is a run {record.run_id} already", reason="run_exists")

    @reads
    def get(self, tx: Transaction, run_id: str) -> RunRecord:
        """The run. Errors: RunNotFound."""
        return _record(_row(tx, run_id))

    @reads
    def list(
        self,
        tx: Transaction,
        limit: int = 50,
        *,
        before: tuple[datetime, str] | None = None,
        project: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[RunRecord]:
        """The newest runs first (of a project, of a status); with `before` (time and id of a run) those after it."""
        # By time and id: pages of a list neither repeat nor lose runs that began in the same moment.
        query = tx.select(runs).order_by(runs.c.created_at.desc(), runs.c.run_id.desc()).limit(limit)
        if project is not None:
            query = query.where(runs.c.project == project)
        if status is not None:
            query = query.where(runs.c.status == status)
        if before is not None:
            query = query.where(_earlier(runs.c.created_at, runs.c.run_id, before))
        return tuple(_record(row) for row in tx.run(query))

    @writes
    def take(self, tx: Transaction, run_id: str, worker: str, lease_s: float) -> RunRecord:
        """Own the run: status running, epoch one higher, until `lease_s` from now. A finished run is opened again.

        A run whose owner is a process of this machine that is gone is free at once, any other when its lease ends.

        Errors: RunNotFound, Locked (a live worker has it).
        """
        row = _row(tx, run_id)
        now_s = tx.now_s()
        _free_or_locked(row, now_s)
        # Asked for by a person: what is held against the run from earlier tries is forgiven.
        taken = self._take_over(tx, row, worker, now_s + lease_s, deaths=0, losses=0, not_before_s=0.0)
        if taken is None:
            raise Locked(f"another worker took run {run_id} at the same moment", reason="run_owned")
        return taken

    @writes
    def claim(self, tx: Transaction, run_id: str, worker: str, lease_s: float, at_most: int) -> RunRecord | None:
        """As `take`, for a worker that was offered the run; None when there is nothing to do.

        It has ended or is gone, a live worker has it, it waits after a death, or the scope has `at_most` runs in work
        already. Owners that died one after the other without finishing a call are counted in `deaths`, as far as the
        run itself may have killed them; what somebody asked to cancel before its owner died is cancelled.
        """
        tx.one_at_a_time("claim")  # two workers must not both take the last place of the scope
        row = tx.first(tx.select(runs).where(runs.c.run_id == run_id))
        now_s = tx.now_s()
        if row is None or row.status not in ACTIVE or _is_live(row, now_s):
            return None
        # Running and not live: its owner is gone. What waits in the queue is not running.
        died = row.status == RunStatus.RUNNING
        if died and row.cancel_requested:
            self._cancel(tx, run_id)
            return None
        owned = tx.run(tx.select(runs).where(runs.c.status == RunStatus.RUNNING, runs.c.lease_until_s > now_s))
        if sum(_is_live(other, now_s) for other in owned) >= at_most:
            # Offered again at the next sweep, when the scope may have room.
            tx.change(tx.update(runs).where(runs.c.run_id == run_id).values(offered_at_s=0.0))
            return None
        if not died:
            waits = row.not_before_s > now_s
            return None if waits else self._take_over(tx, row, worker, now_s + lease_s, deaths=row.deaths)
        redelivery = redelivery_of(tx, row)
        held = {"losses": redelivery.losses, "deaths": redelivery.deaths}
        if not redelivery.wait_s:
            return self._take_over(tx, row, worker, now_s + lease_s, not_before_s=0.0, **held)
        # A higher epoch, though nobody owns it: the owner that counts as dead may only be frozen, and wakes fenced.
        values = {**_WAITING, **held, "epoch": row.epoch + 1, "in_company": False}
        waiting = tx.update(runs).where(*_as_found(row)).values(updated_at=self._clock.now(), **values)
        tx.change(waiting.values(not_before_s=now_s + redelivery.wait_s))
        return None

    async def renew(self, run_id: str, epoch: int, lease_s: float) -> bool:
        """Keep owning the run; whether somebody asked to cancel it. Errors: RunFenced."""
        return await self._database.write(
            self._scope,
            lambda tx: self._update_owned(tx, run_id, epoch, lease_until_s=tx.now_s() + lease_s),
            durable=False,
        )

    @writes
    def cancel(self, tx: Transaction, run_id: str) -> RunStatus:
        """Ask the owner to stop, or cancel at once where nobody owns it; the status now. Errors: RunNotFound."""
        return self._cancel(tx, run_id)

    @writes
    def finish(self, tx: Transaction, run_id: str, epoch: int, status: RunStatus, reason: str = "") -> None:
        """Give the run its final status and release it. Errors: RunFenced."""
        ended = {"lease_until_s": 0.0, "worker": "", "cancel_requested": False}
        self._update_owned(tx, run_id, epoch, status=status, reason=reason, **ended)

    @writes
    def queue(self, tx: Transaction, run_id: str, priority: int) -> bool:
        """Have the run wait for a worker, also an ended one; False where one has it. Errors: RunNotFound."""
        row = _row(tx, run_id)
        if _is_live(row, tx.now_s()):
            return False
        values = {**_WAITING, "priority": priority, "reason": "", "cancel_requested": False}
        values |= {"deaths": 0, "losses": 0, "not_before_s": 0.0}
        values["epoch"] = row.epoch + 1 if row.epoch else 0  # one that nobody had has no owner to be fenced
        waiting = tx.update(runs).where(*_as_found(row)).values(updated_at=self._clock.now(), **values)
        return tx.change(waiting) == 1

    @writes
    def hand_back(self, tx: Transaction, run_id: str, epoch: int) -> None:
        """Let another worker go on with the run, at once. Errors: RunFenced."""
        # The epoch stays: whoever takes the run next raises it, and until then nobody writes.
        self._update_owned(tx, run_id, epoch, **_WAITING)

    @writes
    def put_report(self, tx: Transaction, report: Report) -> None:
        """Store a version of the run's report with its claims and citations; the same version replaces itself."""
        tx.change(tx.delete(reports).where(reports.c.run_id == report.run_id, reports.c.version == report.version))
        for table in (claims, evidence, citations):
            same = (table.c.run_id == report.run_id, table.c.report_version == report.version)
            tx.change(tx.delete(table).where(*same))
        tx.insert(
            reports,
            content=zlib.compress(json.dumps(to_json(report), ensure_ascii=False).encode()),
            **_columns(report, "run_id version report_id status title created_at"),
        )
        place = {"run_id": report.run_id, "report_version": report.version}
        told = [
            place | {"claim_id": claim.id} | _columns(claim, "text type confidence verdict independent_sources")
            for claim in report.claims
        ]
        quoted = [
            place
            | {"claim_id": claim.id, "n": n, "start_offset": item.start, "end_offset": item.end}
            | _columns(item, "document_id snapshot_id url quote relation reference_n")
            for claim in report.claims
            for n, item in enumerate(claim.evidence, 1)
        ]
        cited = "n url title snapshot_id accessed_at published_at excerpt"
        tx.insert_many(claims, told)
        tx.insert_many(evidence, quoted)
        tx.insert_many(citations, [place | _columns(entry, cited) for entry in report.references])

    @reads
    def get_report(self, tx: Transaction, run_id: str, version: int | None = None) -> Report | None:
        """The newest version (or this one), or None. Errors: StorageUnavailable (the stored report is damaged)."""
        return find_report(tx, run_id, version)

    @reads
    def events(self, tx: Transaction, run_id: str, after: int = 0, limit: int | None = None) -> Sequence[Event]:
        """The events of the run numbered above `after`, in order; the first `limit` of them."""
        return tuple(event for _, event in read_events(tx, run_id, after, limit))

    @reads
    def calls(self, tx: Transaction, run_id: str) -> Sequence[CallRecord]:
        """Every outside call of the run in the order they were first made."""
        tried: dict[str, list[ProviderAttempt]] = {}
        attempts = tx.select(provider_attempts).where(provider_attempts.c.run_id == run_id)
        for row in tx.run(attempts.order_by(provider_attempts.c.attempt, provider_attempts.c.n)):
            attempt = ProviderAttempt(row.provider, row.outcome, row.latency_ms, usd(row.cost_nanousd), row.detail)
            tried.setdefault(row.call_key, []).append(attempt)
        made = tx.select(calls).where(calls.c.run_id == run_id).order_by(calls.c.started_at, calls.c.call_key)
        return tuple(_call(row, tuple(tried.get(row.call_key, ()))) for row in tx.run(made))

    @reads
    def latest_calls(
        self, tx: Transaction, limit: int, *, before: tuple[datetime, str] | None = None, kind: str | None = None
    ) -> Sequence[tuple[str, CallRecord]]:
        """Outside calls of all runs, each with its run's id, newest first; `before` is time and key of a call."""
        query = tx.select(calls).order_by(calls.c.started_at.desc(), calls.c.call_key.desc()).limit(limit)
        if before is not None:
            query = query.where(_earlier(calls.c.started_at, calls.c.call_key, before))
        if kind is not None:
            query = query.where(calls.c.kind == kind)
        return tuple((row.run_id, _call(row, ())) for row in tx.run(query))

    @writes
    def delete(self, tx: Transaction, run_id: str) -> None:
        """Forget the run, its reports, and the captures that nothing else refers to.

        Errors: RunNotFound, Locked (it is running).
        """
        _free_or_locked(_row(tx, run_id), tx.now_s())
        retention.delete_runs(tx, (run_id,))

    def _take_over(self, tx: Transaction, row: Any, worker: str, until_s: float, **held: object) -> RunRecord | None:
        taken = tx.first(
            tx.update(runs)
            .where(*_as_found(row))
            .values(
                status=RunStatus.RUNNING,
                reason="",
                epoch=row.epoch + 1,
                in_company=False,
                **held,
                worker=worker,
                lease_until_s=until_s,
                cancel_requested=False,
                updated_at=self._clock.now(),
            )
            .returning(runs)
        )
        return None if taken is None else _record(taken)

    def _update_owned(self, tx: Transaction, run_id: str, epoch: int, **values: object) -> bool:
        row = tx.first(
            tx.update(runs)
            .where(runs.c.run_id == run_id, runs.c.epoch == epoch, runs.c.status == RunStatus.RUNNING)
            .values(updated_at=self._clock.now(), **values)
            .returning(runs.c.cancel_requested)
        )
        if row is None:
            raise RunFenced(f"run {run_id} is no longer ours: another worker took it, or it has ended")
        return bool(row.cancel_requested)

    def _cancel(self, tx: Transaction, run_id: str) -> RunStatus:
        row = _row(tx, run_id)
        if row.status not in ACTIVE:
            return RunStatus(row.status)
        owned = _is_live(row, tx.now_s())
        values: dict[str, object] = {"cancel_requested": True}
        if not owned:
            values = {"status": RunStatus.CANCELLED, "lease_until_s": 0.0, "worker": "", "epoch": row.epoch + 1}
        tx.change(tx.update(runs).where(runs.c.run_id == run_id).values(updated_at=self._clock.now(), **values))
        return RunStatus(row.status) if owned else RunStatus.CANCELLED


def _as_found(row: Any) -> tuple[ColumnElement[bool], ...]:  # a row of `runs`
    """The row, if nobody changed its owner since: of two workers that saw it free one changes it, the other none."""
    return runs.c.run_id == row.run_id, runs.c.epoch == row.epoch, runs.c.lease_until_s == row.lease_until_s


def _free_or_locked(row: Any, now_s: float) -> None:  # a row of `runs`
    if _is_live(row, now_s):
        raise Locked(
            f"run {row.run_id} is being worked on by {row.worker}",
            reason="run_owned",
            hint="Wait for it, or stop it with: pincite runs cancel RUN",
            retry_after_s=max(row.lease_until_s - now_s, 0.0),
        )


def _is_live(row: Any, now_s: float) -> bool:  # a row of `runs`
    """Whether a worker that may still be alive works on the run."""
    # A process of this machine can be asked for; of one on another machine only the lease tells.
    return bool(row.status == RunStatus.RUNNING and row.lease_until_s > now_s and not is_gone(row.worker))


def _caps(budget: Budget) -> dict[str, int | None]:
    caps: dict[str, int | None] = {
        f"cap_{name}": getattr(budget, name) for name in DIMENSIONS if name != "cost_nanousd"
    }
    caps["cap_cost_nanousd"] = None if budget.cost_usd is None else nano_usd(budget.cost_usd)
    return caps


def _row(tx: Transaction, run_id: str) -> Any:  # a row of `runs`
    row = tx.first(tx.select(runs).where(runs.c.run_id == run_id))
    if row is None:
        raise RunNotFound(f"there is no run {run_id}")
    return row


def _earlier(time: Column[Any], key: Column[Any], before: tuple[datetime, str]) -> ColumnElement[bool]:
    """Whether a row comes before that time and key: in the same moment, by its key."""
    at, than = before
    return or_(time < at, and_(time == at, key < than))


def _columns(value: object, names: str) -> dict[str, Any]:
    """The members of a value that columns are called after."""
    return {name: getattr(value, name) for name in names.split()}


def _call(row: Any, attempts: tuple[ProviderAttempt, ...]) -> CallRecord:  # a row of `calls`
    return CallRecord(
        key=row.call_key,
        kind=row.kind,
        request=json.loads(row.request),
        status=row.status,
        tries=row.attempts,
        started_at=row.started_at,
        settled_at=row.settled_at,
        latency_ms=row.latency_ms,
        estimate=usage_of("estimate", row),
        used=usage_of("used", row),
        attempts=attempts,
    )


def _record(row: Any) -> RunRecord:  # a row of `runs`
    return record_of(row._mapping, usage_of("spent", row))  # noqa: SLF001  # the public way to a row's columns by name

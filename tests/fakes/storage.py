"""Stores in memory, for tests that need no database. They keep the rules of the real ones (one contract suite)."""

import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import anyio

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted, Conflict, Locked, RunFenced, RunNotFound
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.excerpts import Excerpts
from pincite.domain.page import Document, Snapshot
from pincite.domain.records import CallRecord, Entry, PlannedCall, RunRecord, SettledCall
from pincite.domain.report import Report
from pincite.ports import Clock


@dataclass(slots=True)
class _Run:
    record: RunRecord
    lease_until: float = 0.0
    worker: str = ""
    cancel_requested: bool = False
    losses: int = 0
    in_company: bool = False
    not_before: float = 0.0
    reserved: Usage = Usage()
    calls: dict[str, tuple[PlannedCall, SettledCall | None]] = field(default_factory=dict)
    made: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    events: list[tuple[str, Event]] = field(default_factory=list)
    reports: dict[int, Report] = field(default_factory=dict)


class MemoryStorage:
    """What one scope has stored, in this process only: runs, snapshots, documents, and ledgers of runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[str, _Run] = {}
        self.runs = MemoryRunStore(self._runs, clock)
        self.snapshots = MemorySnapshotStore()
        self.documents = MemoryDocumentStore()

    def calls(self, record: RunRecord) -> "MemoryCallStore":
        """The calls of a run that was taken at `record.epoch`."""
        return MemoryCallStore(self._runs[record.run_id], record.epoch, self._clock)

    async def events(self, record: RunRecord) -> "MemoryEvents":
        """The event sink of a run that was taken."""
        return MemoryEvents(self._runs[record.run_id], record.epoch, self._clock)


class MemoryRunStore:
    """Implements `ports.RunStore`."""

    def __init__(self, runs: dict[str, _Run], clock: Clock) -> None:
        self._runs = runs
        self._clock = clock

    async def create(self, record: RunRecord) -> None:
        """Store a new run. Errors: Conflict."""
        if record.run_id in self._runs:
            raise Conflict(f"there is a run {record.run_id} already", reason="run_exists")
        self._runs[record.run_id] = _Run(record)

    async def get(self, run_id: str) -> RunRecord:
        """The run. Errors: RunNotFound."""
        return self._run(run_id).record

    async def list(
        self,
        limit: int = 50,
        *,
        before: tuple[datetime, str] | None = None,
        project: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[RunRecord]:
        """The newest runs first (of a project, of a status); with `before` (time and id of a run) those after it."""
        records = [run.record for run in self._runs.values() if project in {None, run.record.project}]
        records = [record for record in records if status in {None, record.status}]
        asked = [r for r in records if before is None or (r.created_at, r.run_id) < before]
        return tuple(sorted(asked, key=lambda r: (r.created_at, r.run_id), reverse=True)[:limit])

    async def take(self, run_id: str, worker: str, lease_s: float) -> RunRecord:
        """Own the run. Errors: RunNotFound, Locked."""
        run = self._run(run_id)
        if self._is_owned(run):
            raise Locked(f"run {run_id} is being worked on by {run.worker}", reason="run_owned")
        run.losses, run.in_company, run.not_before = 0, False, 0.0
        return self._own_anew(run, worker, lease_s, deaths=0)

    async def claim(self, run_id: str, worker: str, lease_s: float, at_most: int) -> RunRecord | None:
        """As `take`, for a worker; None when there is nothing to do."""
        run = self._runs.get(run_id)
        if run is None or run.record.status not in (RunStatus.QUEUED, RunStatus.RUNNING) or self._is_owned(run):
            return None
        died = run.record.status is RunStatus.RUNNING
        if not died and run.not_before > self._now_s():
            return None
        if died and run.cancel_requested:
            await self.cancel(run_id)
            return None
        if sum(self._is_owned(other) for other in self._runs.values()) >= at_most:
            return None
        if not died:
            return self._own_anew(run, worker, lease_s, deaths=run.record.deaths)
        if self._waits_after_death(run):
            return None
        return self._own_anew(run, worker, lease_s, deaths=run.record.deaths)

    def _waits_after_death(self, run: _Run) -> bool:
        """Note the death, by the rules of `storage.deaths`; whether the run now waits for its next owner."""
        company = [
            other
            for other in self._runs.values()
            if other is not run and other.worker == run.worker and other.record.status is RunStatus.RUNNING
        ]
        for other in company:
            other.in_company = True
        in_company, waited = bool(company) or run.in_company, run.not_before > 0
        run.losses, run.in_company, run.not_before = run.losses + 1, False, 0.0
        run.record = replace(run.record, deaths=run.record.deaths + (not in_company or waited))
        if not in_company or run.losses < 2:
            return False
        run.not_before = self._now_s() + min(10.0 * 2.0 ** (run.losses - 2), 160.0)
        run.lease_until, run.worker = 0.0, ""
        run.record = replace(run.record, status=RunStatus.QUEUED, for_workers=True, epoch=run.record.epoch + 1)
        return True

    def _own_anew(self, run: _Run, worker: str, lease_s: float, *, deaths: int) -> RunRecord:
        run.lease_until, run.worker, run.cancel_requested = self._now_s() + lease_s, worker, False
        run.record = replace(
            run.record,
            status=RunStatus.RUNNING,
            reason="",
            epoch=run.record.epoch + 1,
            deaths=deaths,
            updated_at=self._clock.now(),
        )
        return run.record

    async def renew(self, run_id: str, epoch: int, lease_s: float) -> bool:
        """Keep owning the run. Errors: RunFenced."""
        run = _owned(self._runs.get(run_id), epoch)
        run.lease_until = self._now_s() + lease_s
        return run.cancel_requested

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask the owner to stop, or cancel at once. Errors: RunNotFound."""
        run = self._run(run_id)
        if run.record.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            if self._is_owned(run):
                run.cancel_requested = True
            else:
                run.record = replace(run.record, status=RunStatus.CANCELLED, epoch=run.record.epoch + 1)
        return run.record.status

    async def finish(self, run_id: str, epoch: int, status: RunStatus, reason: str = "") -> None:
        """Give the run its final status. Errors: RunFenced."""
        run = _owned(self._runs.get(run_id), epoch)
        run.lease_until, run.worker = 0.0, ""
        run.record = replace(run.record, status=status, reason=reason, updated_at=self._clock.now())

    async def queue(self, run_id: str, priority: int) -> bool:
        """Have the run wait for a worker; False where one has it. Errors: RunNotFound."""
        run = self._run(run_id)
        if self._is_owned(run):
            return False
        changed: dict[str, Any] = {
            "status": RunStatus.QUEUED,
            "for_workers": True,
            "priority": priority,
            "deaths": 0,
            "reason": "",
        }
        epoch = run.record.epoch
        run.losses, run.in_company, run.not_before = 0, False, 0.0
        run.record = replace(run.record, epoch=epoch + 1 if epoch else 0, **changed)
        return True

    async def hand_back(self, run_id: str, epoch: int) -> None:
        """Let another worker go on with the run. Errors: RunFenced."""
        run = _owned(self._runs.get(run_id), epoch)
        run.lease_until, run.worker = 0.0, ""
        run.record = replace(run.record, status=RunStatus.QUEUED, for_workers=True)

    async def put_report(self, report: Report) -> None:
        """Store a version of the run's report."""
        self._run(report.run_id).reports[report.version] = report

    async def get_report(self, run_id: str, version: int | None = None) -> Report | None:
        """The newest version (or this one), or None."""
        run = self._runs.get(run_id)
        reports = {} if run is None else run.reports
        return reports.get(max(reports, default=0) if version is None else version)

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Sequence[Event]:
        """The events of the run numbered above `after`; the first `limit` of them."""
        run = self._runs.get(run_id)
        return () if run is None else tuple(event for _, event in run.events if event.seq > after)[:limit]

    async def calls(self, run_id: str) -> Sequence[CallRecord]:
        """Every outside call of the run in the order they were first made."""
        run = self._runs.get(run_id)
        return () if run is None else tuple(_call(run, *run.calls[key]) for key in run.calls)

    async def latest_calls(
        self, limit: int, *, before: tuple[datetime, str] | None = None, kind: str | None = None
    ) -> Sequence[tuple[str, CallRecord]]:
        """Outside calls of all runs, newest first."""
        made = [(id_, _call(run, *run.calls[key])) for id_, run in self._runs.items() for key in run.calls]
        asked = [
            (id_, call)
            for id_, call in made
            if (before is None or (call.started_at, call.key) < before) and kind in (None, call.kind)
        ]
        return tuple(sorted(asked, key=lambda item: (item[1].started_at, item[1].key), reverse=True)[:limit])

    async def delete(self, run_id: str) -> None:
        """Forget the run. Errors: RunNotFound, Locked."""
        if self._is_owned(self._run(run_id)):
            raise Locked(f"run {run_id} is being worked on", reason="run_owned")
        del self._runs[run_id]

    def _run(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise RunNotFound(f"there is no run {run_id}")
        return run

    def _is_owned(self, run: _Run) -> bool:
        return run.record.status is RunStatus.RUNNING and run.lease_until > self._now_s()

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


class MemoryCallStore:
    """Implements `ports.CallStore`."""

    def __init__(self, run: _Run, epoch: int, clock: Clock) -> None:
        self._run = run
        self._epoch = epoch
        self._clock = clock

    async def load(self) -> Mapping[str, str]:
        """Final outcomes by key; interrupted calls are charged."""
        run = _owned(self._run, self._epoch)
        for call, settled in tuple(run.calls.values()):
            if settled is None:
                self._charge(call)
        return {
            key: settled.outcome for key, (_, settled) in run.calls.items() if settled is not None and settled.final
        }

    async def reserve(self, call: PlannedCall) -> None:
        """Take the estimate out of the budget. Errors: BudgetExhausted, RunFenced."""
        run = _owned(self._run, self._epoch)
        exceeded = asked_above(run.record.budget, run.record.usage + run.reserved, call.estimate)
        if exceeded is not None:
            raise BudgetExhausted(f"the cap on {exceeded} is reached", reason=exceeded)
        old = run.calls.get(call.key)
        if old is not None and old[1] is None:
            self._charge(old[0])
        run.reserved += call.estimate
        run.made[call.key] = (self._clock.now(), run.made.get(call.key, (None, 0))[1] + 1)
        run.calls[call.key] = (call, None)

    async def refuse(self, call: PlannedCall, outcome: str) -> None:
        """Note a call that was not made. Errors: RunFenced."""
        run = _owned(self._run, self._epoch)
        run.made.setdefault(call.key, (self._clock.now(), 0))
        run.calls.setdefault(call.key, (call, SettledCall(outcome, Usage(), False, True, 0.0)))

    async def settle(self, call: PlannedCall, settled: SettledCall) -> None:
        """Exchange the estimate for what was used. Errors: RunFenced."""
        run = _owned(self._run, self._epoch)
        if run.calls[call.key][1] is not None:
            raise RunFenced("the reservation is gone")
        self._count(call, settled.usage)
        run.calls[call.key] = (call, settled)

    async def confirm(self) -> None:
        """Return when the run is still owned. Errors: RunFenced."""
        _owned(self._run, self._epoch)

    async def spent(self) -> Usage:
        """What the run has settled so far."""
        return self._run.record.usage

    def _charge(self, call: PlannedCall) -> None:
        self._count(call, call.estimate.perhaps_billed)
        self._run.calls[call.key] = (
            call,
            SettledCall('{"error":null}', call.estimate.perhaps_billed, False, True, 0.0),
        )

    def _count(self, call: PlannedCall, used: Usage) -> None:
        self._run.reserved -= call.estimate
        self._run.record = replace(self._run.record, usage=self._run.record.usage + used)


class MemoryEvents:
    """Implements `ports.EventSink`. Data must not change between two executions (the real sink is more lenient)."""

    def __init__(self, run: _Run, epoch: int, clock: Clock) -> None:
        self._run = run
        self._epoch = epoch
        self._clock = clock
        self._said: Counter[str] = Counter()
        self._news = anyio.Event()
        self._closed = False

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The stored event; one that an earlier owner wrote is returned as it was. Errors: RunFenced."""
        run = _owned(self._run, self._epoch)
        said = f"{type_} {sorted(data.items())!r}"
        if type_ in (EventType.RUN_RESUMED, EventType.RUN_FAILED, EventType.RUN_CANCELLED):
            said = f"{type_} {self._epoch}"
        self._said[said] += 1
        identity = f"{said}.{self._said[said]}"
        known = next((event for other, event in run.events if other == identity), None)
        if known is not None:
            return known
        event = Event(len(run.events) + 1, type_, run.record.run_id, self._clock.now(), dict(data))
        run.events.append((identity, event))
        self._news.set()
        self._news = anyio.Event()
        return event

    async def follow(self, after: int = 0) -> AsyncIterator[Event]:
        """The events numbered above `after` as they come, until `close`."""
        for seq in itertools.count(after):
            while len(self._run.events) <= seq:
                if self._closed:
                    return
                await self._news.wait()
            yield self._run.events[seq][1]

    def close(self) -> None:
        """Tell those who follow that nothing more comes."""
        self._closed = True
        self._news.set()


class MemorySnapshotStore:
    """Implements `ports.SnapshotStore`."""

    def __init__(self) -> None:
        self._snapshots: dict[str, Snapshot] = {}

    async def put(self, snapshot: Snapshot) -> None:
        """Store it; putting the same id again changes nothing."""
        self._snapshots.setdefault(snapshot.snapshot_id, snapshot)

    async def get(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None."""
        return self._snapshots.get(snapshot_id)


class MemoryDocumentStore:
    """Implements `ports.DocumentStore`."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str, str], Document] = {}

    async def put(self, document: Document, snapshot_id: str) -> None:
        """Store it; putting the same id again changes nothing."""
        self._documents.setdefault((snapshot_id, document.extractor, document.version), document)

    async def get(self, document_id: str) -> Document | None:
        """The document, or None."""
        return next((d for d in self._documents.values() if d.document_id == document_id), None)

    async def excerpts(self, document_id: str) -> Excerpts | None:
        """None: every document here is whole."""
        return None

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        """What was read last out of that capture, or None."""
        found = [document for key, document in self._documents.items() if key[0] == snapshot_id]
        return found[-1] if found else None


class MemoryCache:
    """Implements `ports.Cache` without a bound."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str], Entry] = {}
        self._leases: dict[tuple[str, str], float] = {}

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None."""
        entry = self._entries.get((namespace, key))
        return None if entry is None or entry.stale_until <= self._clock.now() else entry

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it; ends a lease on the key."""
        self._entries[namespace, key] = entry
        self._leases.pop((namespace, key), None)

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        gone = [place for place in self._entries if place[0] == namespace and key in (None, place[1])]
        for place in gone:
            del self._entries[place]
        return len(gone)

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""
        return sorted(key for place, key in self._entries if place == namespace)[:limit]

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now."""
        now = self._clock.now().timestamp()
        if self._leases.get((namespace, key), 0.0) > now:
            return False
        self._leases[namespace, key] = now + ttl_s
        return True


def asked_above(budget: Budget, taken: Usage, asked: Usage) -> str | None:
    """The first dimension of which `asked` wants some and that would pass its cap."""
    for name in Usage.__dataclass_fields__:
        cap, more = getattr(budget, name), getattr(asked, name)
        if more and cap is not None and getattr(taken, name) + more > cap:
            return name
    return None


def _call(run: _Run, call: PlannedCall, settled: SettledCall | None) -> CallRecord:
    started_at, tries = run.made[call.key]
    status = "reserved" if settled is None else "ok" if not settled.failed else "error" if settled.final else "retry"
    return CallRecord(
        key=call.key,
        kind=call.kind,
        request=json.loads(call.request),
        status=status if tries else "refused",
        tries=tries,
        started_at=started_at,
        settled_at=None if settled is None or not tries else started_at,
        latency_ms=None if settled is None or not tries else settled.latency_ms,
        estimate=call.estimate if tries else Usage(),
        used=Usage() if settled is None else settled.usage,
        attempts=() if settled is None else settled.attempts,
    )


def _owned(run: _Run | None, epoch: int) -> _Run:
    if run is None or run.record.epoch != epoch or run.record.status is not RunStatus.RUNNING:
        raise RunFenced("the run is no longer ours")
    return run

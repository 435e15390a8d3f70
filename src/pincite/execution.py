"""A run from its row to its report: owned by a lease, executed, its end written down whatever comes.

`Engine` starts runs and hands them here; so do workers, who are offered runs and hand back what they can't finish.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

import anyio

from pincite.domain.codec import from_json
from pincite.domain.errors import CoverageNotMet, Locked, PinciteError, RunCancelled, RunFenced, StateError
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.ids import report_id, topic_hash
from pincite.domain.plan import Task
from pincite.domain.records import RunRecord
from pincite.domain.report import Report, ReportStatus
from pincite.ports import EventSink, Judge, ModelCalls, RunStore
from pincite.runtime import telemetry
from pincite.runtime.lease import LEASE_S, Lease, this_worker, with_lease
from pincite.runtime.recovery import DEFECT, first_failure
from pincite.runtime.telemetry import METER, bind, event_line, run_line, span
from pincite.settings import Settings
from pincite.urls.masking import mask_all
from pincite.wiring.parts import Parts
from pincite.wiring.run_settings import thawed_settings

OnEvent = Callable[[Event], None]
Listener = Callable[[Event], Awaitable[None] | None]
# Asked when a run is broken off here: whether workers shall go on with it, so that it has not ended.
Handoff = Callable[[], bool]
T = TypeVar("T")

# A run over which more owners than this died in a row is given up: it may be what kills them.
MAX_DEATHS: Final = 3
KILLS_WORKERS: Final = "kills_workers"
# What a run under a worker outlives: the database may come back. It counts as a death of its owner.
_PASSING: Final = ("STORAGE_UNAVAILABLE", "LOCKED")

_STORE_FAILED: Final = (*_PASSING, "STORAGE_FULL")
_GOES_ON: Final = "What was paid for is on record. When the database answers and has room: pincite runs resume {run_id}"

log = logging.getLogger(__name__)

FINAL_STATUS: Final = {
    ReportStatus.COMPLETE: RunStatus.COMPLETED,
    ReportStatus.PARTIAL: RunStatus.PARTIAL,
    ReportStatus.INSUFFICIENT_EVIDENCE: RunStatus.INSUFFICIENT_EVIDENCE,
}


class Execution:
    """Executes runs with the parts of one engine."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings

    async def work_on(self, run_id: str, at_most: int, listener: Listener | None) -> RunStatus | None:
        """How a run ended that was offered to workers; None when there was nothing to do (`RunStore.claim`).

        Errors: those of research.
        """
        runs, lease = await self._parts.runs(), Lease(self._parts.clock)
        with anyio.CancelScope(shield=True):  # once taken it must be let go of, so nothing may break in between
            record = await runs.claim(run_id, this_worker(), LEASE_S, at_most)
        if record is None:
            return None
        # Before anything is sent: the next try may kill this worker as well.
        if record.deaths > MAX_DEATHS:
            return await self._give_up(record)
        try:
            with first_failure():
                # Of a run under a worker: others go on with it.
                report = await self._execute(runs, record, lease, listener, lambda: True)
        except PinciteError:
            raise
        except Exception:  # the border of a worker's job: a defect ends this run, not the worker
            log.exception("run %s met a defect", run_id)
            return RunStatus.FAILED
        return FINAL_STATUS[report.status]

    async def resume(self, run_id: str, listener: Listener | None, handoff: Handoff | None = None) -> Report:
        """The report of a run that is taken here.

        Errors: Locked, RunNotFound, and those of research; CoverageNotMet, with the report that was stored.

        `handoff` says whether workers shall go on with the run when this task is cancelled.
        """
        runs, lease = await self._parts.runs(), Lease(self._parts.clock)
        with anyio.CancelScope(shield=True):
            record = await runs.take(run_id, this_worker(), LEASE_S)
        # Of a run that somebody asked for by name: broken off here, it has ended.
        report = await self._execute(runs, record, lease, listener, handoff or (lambda: False))
        settings = thawed_settings(self._settings, record.inputs.get("settings"))
        if (unmet := coverage_not_met(report, settings)) is not None:
            raise unmet
        return report

    async def calling(
        self, run_id: str, work: Callable[[ModelCalls, Judge | None], Awaitable[T]], *, from_record: bool
    ) -> T:
        """What `work` gives with models and a judge whose calls are on the record of an ended run, within its caps.

        The run is owned meanwhile, and is then as it was before. `from_record` answers from the record alone.

        Errors: Locked (somebody works on the run), InvalidInput (no model is set), Conflict (`replay_miss`), and those
            of `work`.
        """
        runs, lease = await self._parts.runs(), Lease(self._parts.clock)
        before = await runs.get(run_id)
        if from_record:
            return await work(*await self._parts.recorded_calls(before, None))
        if before.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            raise Locked(f"run {run_id} is {before.status}", reason="run_owned", hint="Wait for its end.")
        with anyio.CancelScope(shield=True):
            record = await runs.take(run_id, this_worker(), LEASE_S)
        try:

            async def called() -> T:
                return await work(*await self._parts.recorded_calls(record, lease))

            return await with_lease(runs, record, self._parts.clock, called, lease=lease)
        finally:
            with anyio.CancelScope(shield=True), suppress(StateError):
                await runs.finish(record.run_id, record.epoch, before.status, before.reason)

    async def _execute(
        self, runs: RunStore, record: RunRecord, lease: Lease, listener: Listener | None, handoff: Handoff
    ) -> Report:
        with self._parts.log.noted("research", {"question": record.question}, run_id=record.run_id) as note:
            try:
                report = await self._owned(runs, record, lease, listener, handoff)
            except PinciteError:
                raise
            except Exception:  # whoever called meets the defect; the run has ended for all others
                run_line("run ended", record.run_id, record.request_id, status=str(RunStatus.FAILED), reason=DEFECT)
                await self._finish(record, RunStatus.FAILED, DEFECT)
                raise
            metrics = report.metrics
            note.outcome = str(FINAL_STATUS[report.status])
            note.cost_usd, note.tokens_in, note.tokens_out = metrics.cost_usd, metrics.tokens_in, metrics.tokens_out
        return report

    async def _owned(
        self, runs: RunStore, record: RunRecord, lease: Lease, listener: Listener | None, handoff: Handoff
    ) -> Report:
        parts = self._parts
        task = from_json(Task, record.inputs["task"])
        settings = thawed_settings(self._settings, record.inputs.get("settings"))

        async def work() -> Report:
            log_event = partial(event_line, run_id=record.run_id, request_id=record.request_id)
            sink = PublishingSink(
                await parts.events(record, topic_hash(task.question)), listener, lease, handoff, log_event=log_event
            )
            if record.epoch > 1:
                await sink.emit(EventType.RUN_RESUMED, {"epoch": record.epoch})
            research = await parts.research(record, task, settings, sink, lease=lease)
            # Stored before the run is given its end: a run that says completed has its report.
            report = next_version(await research.run(task), await runs.get_report(record.run_id))
            await runs.put_report(report)
            return report

        bind(run_id=record.run_id, request_id=record.request_id)
        line = partial(run_line, run_id=record.run_id, request_id=record.request_id)
        started_s = parts.clock.monotonic_s()
        line("run started" if record.epoch == 1 else "run goes on", profile=task.profile, epoch=record.epoch)
        about = {telemetry.RUN_ID: record.run_id, telemetry.REQUEST_ID: record.request_id}
        try:
            with span("research", {**about, telemetry.TOPIC_HASH: topic_hash(task.question)}):
                report = await with_lease(runs, record, parts.clock, work, lease=lease)
        except anyio.get_cancelled_exc_class():
            # A store that is away can't take it down: the lease ends by itself, and the cancellation goes on.
            with anyio.CancelScope(shield=True), suppress(StateError):
                if handoff():
                    await runs.hand_back(record.run_id, record.epoch)
                else:
                    await runs.finish(record.run_id, record.epoch, RunStatus.CANCELLED, "interrupted")
            line("run handed on" if handoff() else "run ended", status=str(RunStatus.CANCELLED), reason="interrupted")
            raise
        except RunFenced as error:
            line("run taken over by another process")
            raise await _taken_over(runs, record) from error
        except PinciteError as error:
            if handoff() and error.code in _PASSING:  # the lease ends, and a worker goes on
                line("run handed on", code=error.code, reason=error.reason)
            else:
                line("run ended", status=str(_ended_as(error)), code=error.code, reason=error.reason)
                await self._finish(record, _ended_as(error), error.reason)
            if error.code in _STORE_FAILED:
                error.hint = _GOES_ON.format(run_id=record.run_id)
            raise
        with anyio.CancelScope(shield=True):
            unmet = coverage_not_met(report, settings)
            reason = "" if unmet is None else unmet.reason
            await runs.finish(record.run_id, record.epoch, FINAL_STATUS[report.status], reason)
        seconds = parts.clock.monotonic_s() - started_s
        line("run ended", status=str(FINAL_STATUS[report.status]), seconds=round(seconds, 2))
        METER.add(telemetry.RUNS, 1, FINAL_STATUS[report.status])
        METER.add(telemetry.RUN_SECONDS, seconds)
        # At the very end, when nobody needs the pages whole: what may not be kept is cut to its quotes.
        await parts.settle_run(record.run_id)
        return report

    async def _give_up(self, record: RunRecord) -> RunStatus:
        sink = await self._parts.events(record, topic_hash(record.question))
        await sink.emit(EventType.RUN_FAILED, {"code": "INTERNAL", "reason": KILLS_WORKERS, "deaths": record.deaths})
        await (await self._parts.runs()).finish(record.run_id, record.epoch, RunStatus.DEAD_LETTER, KILLS_WORKERS)
        METER.add(telemetry.RUNS, 1, RunStatus.DEAD_LETTER)
        return RunStatus.DEAD_LETTER

    async def _finish(self, record: RunRecord, status: RunStatus, reason: str) -> None:
        METER.add(telemetry.RUNS, 1, status)
        with anyio.CancelScope(shield=True):
            try:
                await (await self._parts.runs()).finish(record.run_id, record.epoch, status, reason)
            except StateError:
                # The store that failed can't take its own failure down; the lease ends by itself.
                return


def _ended_as(error: PinciteError) -> RunStatus:
    return RunStatus.CANCELLED if isinstance(error, RunCancelled) else RunStatus.FAILED


async def _taken_over(runs: RunStore, record: RunRecord) -> RunFenced:
    """What happened to a run that went on elsewhere, and where its result is. Errors: RunNotFound (it was deleted)."""
    now = await runs.get(record.run_id)
    if now.status in (RunStatus.QUEUED, RunStatus.RUNNING):
        did, hint = "works on it now", f"See how far it is: pincite runs show {record.run_id}"
    else:
        did, hint = f"has ended it ({now.status})", f"Its report: pincite runs export {record.run_id} -o report.html"
    return RunFenced(f"this process stood still, and another one took over run {record.run_id} and {did}", hint=hint)


def coverage_not_met(report: Report, settings: Settings) -> CoverageNotMet | None:
    """The refusal of a report that was stored; None where as many parts are answered as the settings require."""
    share, wanted = report.answered_share(), settings.require_coverage
    if wanted is None or share >= wanted:
        return None
    error = CoverageNotMet(
        f"{share:.0%} of the question's parts are answered; {wanted:.0%} were required",
        context={"run_id": report.run_id, "coverage": round(share, 3)},
    )
    error.report = report
    return error


def next_version(report: Report, newest: Report | None) -> Report:
    """The report with its version and id: one above the newest stored one, or that one's when it says the same."""
    if newest is None:
        return report
    same = replace(report, report_id=newest.report_id, version=newest.version)
    # A resumed run that made the same report again: a second version that says nothing new would only confuse.
    if replace(same, metrics=newest.metrics, created_at=newest.created_at) == newest:
        return same
    version = newest.version + 1
    return replace(report, report_id=report_id(report.run_id, version), version=version)


class PublishingSink:
    """An event sink that also calls the caller's listener. What looks like a credential in a URL is masked first.

    A run whose owner hands it on while its lease holds is neither cancelled nor failed but goes on elsewhere: then
    nobody says so.
    """

    def __init__(
        self,
        sink: EventSink,
        listener: Listener | None,
        lease: Lease,
        handoff: Handoff,
        *,
        log_event: Callable[[Event], None],
    ) -> None:
        self._sink = sink
        self._log_event = log_event
        self._said_before = 0
        self._listener = listener
        self._lease = lease
        self._handoff = handoff

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """Store the event, log it and hand it to the listener. Errors: RunFenced."""
        # Its reader goes on reading: an end that is none would close the stream.
        goes_on = type_ is EventType.RUN_CANCELLED or (type_ is EventType.RUN_FAILED and data.get("code") in _PASSING)
        if goes_on and self._lease.lost is None and self._handoff():
            return Event(0, type_, "", datetime.now(UTC), data)
        # In this order, nobody hears of an event that a crash took back.
        event = await self._sink.emit(type_, {name: mask_all(value) for name, value in data.items()})
        if type_ is EventType.RUN_RESUMED:
            self._said_before = event.seq
        if event.seq > self._said_before:  # what an earlier owner said is not logged again
            self._log_event(event)
        heard = self._listener(event) if self._listener is not None else None
        if isinstance(heard, Awaitable):
            await heard
        return event

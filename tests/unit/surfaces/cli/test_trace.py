"""The tree of a run: times of calls that ran side by side are not added up."""

from datetime import UTC, datetime, timedelta

from pincite.domain.budget import Budget, Usage
from pincite.domain.events import Event, EventType, RunStatus
from pincite.domain.records import CallRecord, RunRecord
from pincite.surfaces.cli.trace import trace_lines

START = datetime(2026, 11, 21, 9, tzinfo=UTC)


def call(kind: str, at_s: float, took_s: float | None) -> CallRecord:
    begun = START + timedelta(seconds=at_s)
    took_ms = None if took_s is None else took_s * 1000
    return CallRecord(f"{kind}{at_s}", kind, {}, "ok", 1, begun, begun, took_ms, Usage(), Usage(), ())


def last_line(*calls: CallRecord) -> str:
    record = RunRecord("run_1", "local", "Why?", RunStatus.COMPLETED, START, START, {}, Budget())
    told = ((0, EventType.RUN_STARTED), (10, EventType.RUN_COMPLETED))
    events = [Event(n, type_, "run_1", START + timedelta(seconds=at), {}) for n, (at, type_) in enumerate(told)]
    return list(trace_lines(record, events, calls))[-1]


def test_calls_at_the_same_time_take_their_time_once() -> None:
    assert last_line(
        call("search", 0, 2), call("fetch", 1, 5), call("fetch", 2, 5), call("fetch", 8, 1), call("fetch", 9, None)
    ) == ("└─ 1 search in 2.0 s for $0; 4 fetch in 7.0 s for $0; at least one running for 8.0 s of 10.0 s")


def test_a_run_without_calls() -> None:
    assert last_line() == "└─ no calls"

"""Notes of calls are written in batches by a thread: soon, in order, never lost on closing, bounded when it can't."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from pincite.domain.errors import Locked, StorageFull
from pincite.domain.records import LoggedCall
from pincite.runtime.telemetry import Caller, called_by, caller
from pincite.wiring import observing
from pincite.wiring.observing import ToolLog, shortened


def call(n: int) -> LoggedCall:
    return LoggedCall(f"call_{n}", datetime(2026, 1, 1, tzinfo=UTC), "python", "search", {"n": n}, "ok", 1.0)


def test_what_was_noted_is_written_when_the_log_is_closed() -> None:
    batches: list[Sequence[LoggedCall]] = []
    log = ToolLog(batches.append, behind_s=60)
    for n in range(500):
        log.note(call(n))
    log.close()
    assert [item.request for batch in batches for item in batch] == [{"n": n} for n in range(500)]
    assert len(batches) <= 2


def test_a_note_is_written_soon_without_closing() -> None:
    written = threading.Event()
    log = ToolLog(lambda batch: written.set(), behind_s=0.01)
    log.note(call(1))
    assert written.wait(5)
    log.close()


def test_a_log_that_can_not_be_written_stops_nothing() -> None:
    def refuse(batch: Sequence[LoggedCall]) -> None:
        raise StorageFull("no space")

    log = ToolLog(refuse, behind_s=0)
    log.note(call(1))
    log.close()
    assert log.lost == 1
    ToolLog(refuse).close()  # nothing was noted: no thread


def test_what_could_not_be_written_for_a_moment_is_written_later_and_in_order() -> None:
    written: list[int] = []
    done, tries = threading.Event(), 0

    def passes(batch: Sequence[LoggedCall]) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            log.note(call(tries))
            raise Locked("another process writes")
        written.extend(item.request["n"] for item in batch)  # type: ignore[index,call-overload,misc]  # JSON of this test, a number
        done.set()

    log = ToolLog(passes, behind_s=0)
    log.note(call(0))
    assert done.wait(30)
    log.close()
    assert (written, log.lost) == ([0, 1, 2], 0)


def test_a_log_that_stays_locked_is_bounded_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "MAX_WAITING", 3)
    tried = threading.Event()

    def locked(batch: Sequence[LoggedCall]) -> None:
        tried.set()
        raise Locked("another process writes")

    log = ToolLog(locked, behind_s=0.01)
    for n in range(10):
        log.note(call(n))
    assert tried.wait(30)
    log.close()
    assert log.lost >= 1
    assert not log._waiting


def test_notes_are_short() -> None:
    text = "a" * (observing.MAX_TEXT + 500)
    found = shortened({"query": text, "list": [text, 1]})
    assert isinstance(found, dict)
    assert len(str(found["query"])) < observing.MAX_TEXT + 40
    assert str(found["query"]).endswith("(2500 characters)")


def test_who_called_is_told_within_the_block_alone() -> None:
    assert caller() == Caller("python")
    with called_by(Caller("http", "req_1")):
        assert caller().request_id == "req_1"
    assert caller().surface == "python"

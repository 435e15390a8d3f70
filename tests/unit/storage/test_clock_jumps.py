"""A clock that is set back, or forward, by an hour: limits, leases, events and the ledger stay sound."""

from pathlib import Path

import pytest

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import Locked
from pincite.domain.events import EventType, RunStatus
from pincite.domain.records import Outcome, RunRecord
from pincite.runtime.limiter import Ask
from pincite.storage.limits import opened_buckets
from pincite.storage.service import ScopedStorage
from pincite.testing.clock import FrozenClock

HOUR_S = 3600.0
ASKS = (Ask(cost_s=1.0, room_s=3.0),)


async def test_a_limit_is_not_used_up_when_the_clock_is_set_back(tmp_path: Path, clock: FrozenClock) -> None:
    async with opened_buckets(tmp_path / "limits.sqlite", clock) as buckets:
        assert [await buckets.take("exa", ASKS) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(1.0)]
        await buckets.push_back("busy", 20)
        clock.set_back(HOUR_S)
        assert await buckets.take("exa", ASKS) == pytest.approx(1.0), "it knows what was taken"
        assert await buckets.take("busy", ASKS) == pytest.approx(20.0)
        clock.advance(1)
        assert await buckets.take("exa", ASKS) == 0.0
        assert await buckets.take("exa", ASKS) == pytest.approx(1.0)
        clock.advance(HOUR_S)
        assert [await buckets.take("exa", ASKS) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(1.0)]


async def test_clocks_of_two_processes_that_differ_by_little_move_nothing(tmp_path: Path, clock: FrozenClock) -> None:
    slow = FrozenClock()
    slow.set_back(0.4)
    async with (
        opened_buckets(tmp_path / "limits.sqlite", clock) as one,
        opened_buckets(tmp_path / "limits.sqlite", slow) as two,
    ):
        taken = [await buckets.take("exa", ASKS) for buckets in (one, two, one, two)]
    assert taken[:3] == [0.0, 0.0, 0.0]
    assert taken[3] == pytest.approx(1.4)


@pytest.mark.parametrize("seconds", [-HOUR_S, HOUR_S])
async def test_a_run_goes_on_over_a_jump(alice: ScopedStorage, clock: FrozenClock, seconds: float) -> None:
    await alice.runs.create(RunRecord("run_1", "alice", "?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget()))
    run = await alice.runs.take("run_1", "elsewhere/x/1/1", 20)
    ledger, events = await alice.ledger(run), await alice.events(run)

    async def jump() -> Outcome:
        if seconds < 0:
            clock.set_back(-seconds)
        else:
            clock.advance(seconds)
        return Outcome({"found": 1}, Usage(searches=1))

    await events.emit(EventType.RUN_STARTED, {"question": "?"})
    assert await ledger.call("search", {"text": "a"}, Usage(searches=1), jump) == {"found": 1}
    await events.emit(EventType.RUN_COMPLETED, {"status": "complete"})
    assert [event.seq for event in await alice.runs.events("run_1")] == [1, 2]
    (call,) = await alice.runs.calls("run_1")
    assert call.latency_ms is not None
    assert call.latency_ms >= 0
    assert not await alice.runs.renew("run_1", run.epoch, 20)
    with pytest.raises(Locked):
        await alice.runs.take("run_1", "elsewhere/y/1/1", 20)
    await alice.runs.finish("run_1", run.epoch, RunStatus.COMPLETED)
    assert (await alice.runs.take("run_1", "elsewhere/y/1/1", 20)).epoch == run.epoch + 1

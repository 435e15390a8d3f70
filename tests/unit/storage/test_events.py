"""Those who follow a run's events miss none, whatever happens while they read."""

from pathlib import Path
from typing import Any

from pincite.domain.budget import Budget
from pincite.domain.events import EventType, RunStatus
from pincite.domain.records import RunRecord
from pincite.storage.ledger import SqlEvents
from pincite.storage.service import open_storage
from pincite.testing.clock import FrozenClock


class _LastWordDuringTheFirstRead:
    """A database in which the run says its last event and ends after a follower's read, before its answer is used."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.sink: SqlEvents | None = None

    async def read(self, scope: str, work: Any) -> Any:
        answer = await self._database.read(scope, work)
        if self.sink is not None:
            sink, self.sink = self.sink, None
            await sink.emit(EventType.RUN_COMPLETED, {})
            sink.close()
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


async def test_what_is_said_during_a_read_is_read_next(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_storage(tmp_path, clock) as storage:
        alice = storage.scope("alice")
        now = clock.now()
        await alice.runs.create(RunRecord("run_1", "alice", "Why?", RunStatus.QUEUED, now, now, {}, Budget(pages=1)))
        run = await alice.runs.take("run_1", "w1", 20)
        database: Any = _LastWordDuringTheFirstRead(storage.database)
        sink = SqlEvents(database, "alice", run.run_id, run.epoch, clock, ())
        database.sink = sink
        assert [event.type async for event in sink.follow()] == [EventType.RUN_COMPLETED]

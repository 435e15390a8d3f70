"""Runs that others work on, followed through the database: their events, and whether their owner is alive."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import anyio

from pincite.domain.errors import Locked, StorageUnavailable
from pincite.domain.events import Event, RunStatus
from pincite.domain.records import RunRecord
from pincite.engine import Engine

# How often the database is asked for events of a run that others work on: quick to an eye, cheap to a database.
LOOK_EVERY_S: Final = 0.4
# A run whose owner gave no sign for so long is nobody's. A worker takes over what a dead one left within 30 s.
DEAD_AFTER_S: Final = 45.0
# Events that are read ahead for a reader, however slow.
EVENTS_AT_ONCE: Final = 100


def may_be_worked_on(record: RunRecord) -> bool:
    """Whether somebody seems to work on the run, or will."""
    return record.status is RunStatus.RUNNING or (record.status is RunStatus.QUEUED and record.for_workers)


async def follow_elsewhere(engine: Engine, run_id: str, on_event: Callable[[Event], None]) -> None:
    """Call `on_event` with the events of a run that others work on, until it ends or nobody works on it any more.

    A database that is away for a while is waited for.

    Errors: RunNotFound, StorageUnavailable, Locked.
    """
    heartbeat, last, away_since_s = _Heartbeat(), 0, None
    while True:
        try:
            going = heartbeat.is_alive(await engine.run(run_id))  # before the events: then the last one is among them
            while page := await engine.events(run_id, last, EVENTS_AT_ONCE):
                for event in page:
                    last = event.seq
                    on_event(event)
            away_since_s = None
        except (StorageUnavailable, Locked):
            now_s = anyio.current_time()
            away_since_s = now_s if away_since_s is None else away_since_s
            if now_s - away_since_s > DEAD_AFTER_S:
                raise
            # Away is not over: the run may well go on while its database does not answer us.
            going = True
        if not going:
            return
        await anyio.sleep(LOOK_EVERY_S)


class _Heartbeat:
    """Whether the owner of a run is alive: it touches the run's row every second. No two clocks are compared."""

    def __init__(self) -> None:
        self._seen: datetime | None = None
        self._since_s = 0.0

    def is_alive(self, record: RunRecord) -> bool:
        """Whether somebody works on the run, or will."""
        if record.status is not RunStatus.RUNNING:
            return may_be_worked_on(record)
        now_s = anyio.current_time()
        if record.updated_at != self._seen:
            # A change of the row is the sign, whatever its time says: clocks of two machines differ.
            self._seen, self._since_s = record.updated_at, now_s
        return now_s - self._since_s < DEAD_AFTER_S

"""Runs that another process works on, as far as the database tells: whether they go on, and what they say."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import anyio

from pincite.domain.errors import Locked, StorageUnavailable
from pincite.domain.events import Event, RunStatus
from pincite.domain.records import RunRecord
from pincite.engine import Engine

LOOK_EVERY_S: Final = 0.4
EVENTS_AT_ONCE: Final = 100
DEAD_AFTER_S: Final = 45.0
"""A run whose owner gave no sign for so long is nobody's. A worker takes over what a dead one left within 30 s."""


def may_go_on(record: RunRecord) -> bool:
    """Whether somebody seems to work on the run, or will."""
    return record.status is RunStatus.RUNNING or (record.status is RunStatus.QUEUED and record.for_workers)


async def look_on(engine: Engine, run_id: str, told: Callable[[Event], None]) -> None:
    """Tell the events of a run that others work on, until it has ended or nobody works on it any more.

    A database that is away for a while is waited for.

    Errors: RunNotFound, StorageUnavailable, Locked.
    """
    signs, last, away_since_s = _Signs(), 0, None
    while True:
        try:
            going = signs.of_life(await engine.run(run_id))  # before the events: then the last one is among them
            while page := await engine.events(run_id, last, EVENTS_AT_ONCE):
                for event in page:
                    last = event.seq
                    told(event)
            away_since_s = None
        except (StorageUnavailable, Locked):
            now_s = anyio.current_time()
            away_since_s = now_s if away_since_s is None else away_since_s
            if now_s - away_since_s > DEAD_AFTER_S:
                raise
            going = True
        if not going:
            return
        await anyio.sleep(LOOK_EVERY_S)


class _Signs:
    """Signs of life of a run: its owner touches its row every second. No two machines' clocks are compared."""

    def __init__(self) -> None:
        self._seen: datetime | None = None
        self._since_s = 0.0

    def of_life(self, record: RunRecord) -> bool:
        """Whether somebody works on the run, or will."""
        if record.status is not RunStatus.RUNNING:
            return may_go_on(record)
        now_s = anyio.current_time()
        if record.updated_at != self._seen:
            self._seen, self._since_s = record.updated_at, now_s
        return now_s - self._since_s < DEAD_AFTER_S

"""Events of a run in the database: numbered without gaps, each written once, also by a run that is resumed.

A resumed run executes the same code and says the same things again. An event is known by its type and data (without
times and counters of time) and by how often that was said before, not by its number: concurrent tasks may come in
another order after a crash, and nothing is lost or doubled by that.
"""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

import anyio
from sqlalchemy import bindparam

from pincite.domain.errors import RunFenced
from pincite.domain.events import Event, EventType, Json
from pincite.ports import Clock
from pincite.storage.database import Database
from pincite.storage.evidence import read_events
from pincite.storage.schema import events, runs
from pincite.storage.transactions import PREPARED, Transaction

# Endings of the names of data that differ between two executions of the same thing.
_PASSING: Final = ("_ms", "_s", "_at")
# What every owner of a run says for itself.
_EACH_OWNER: Final = frozenset({EventType.RUN_RESUMED, EventType.RUN_FAILED, EventType.RUN_CANCELLED})
_MINE: Final = (
    PREPARED.select(runs, runs.c.run_id)
    .where(runs.c.run_id == bindparam("in_run"), runs.c.epoch == bindparam("at_epoch"))
    .with_for_update(read=True)
)


class SqlEvents:
    """Implements `ports.EventSink` for one run owned at one epoch. Made by `open_events`."""

    def __init__(
        self, database: Database, scope: str, run_id: str, epoch: int, clock: Clock, stored: Sequence[tuple[str, Event]]
    ) -> None:
        self._database = database
        self._scope = scope
        self._run_id = run_id
        self._epoch = epoch
        self._clock = clock
        self._stored = dict(stored)
        self._said: Counter[str] = Counter()
        self._last = max((event.seq for _, event in stored), default=0)
        self._order = anyio.Lock()
        self._news = anyio.Event()
        self._closed = False
        self.request_id: str | None = None
        self.topic_hash: str | None = None

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The stored, numbered event; one that an earlier owner wrote already is returned as it was.

        Errors: RunFenced, StorageFull, StorageUnavailable.
        """
        said = _said(type_, data, self._epoch)
        self._said[said] += 1
        identity = f"{said}.{self._said[said]}"
        # Taken out: each stored event answers for one saying of it.
        known = self._stored.pop(identity, None)
        if known is not None:
            return known
        async with self._order:
            event = Event(
                # Under the lock until it is stored: a number is used up only by what is there, so that none is missing.
                self._last + 1,
                type_,
                self._run_id,
                self._clock.now(),
                dict(data),
                self.request_id,
                self.topic_hash,
            )
            await self._database.write(self._scope, lambda tx: self._write(tx, event, identity), durable=False)
            self._last = event.seq
        self._news.set()
        self._news = anyio.Event()
        return event

    async def follow(self, after: int = 0) -> AsyncIterator[Event]:
        """The events numbered above `after` as they come, until `close`; a slow reader misses none."""
        while True:
            news, closed = self._news, self._closed  # before the read: what is said during it is read next time
            batch = await self._database.read(self._scope, lambda tx, n=after: read_events(tx, self._run_id, n))  # type: ignore[misc]  # mypy infers no defaults
            for _, event in batch:
                yield event
                after = event.seq
            if not batch and closed:
                return
            if not batch:
                await news.wait()

    def close(self) -> None:
        """Tell those who follow that nothing more comes."""
        self._closed = True
        self._news.set()

    def _write(self, tx: Transaction, event: Event, identity: str) -> None:
        # The row is locked for reading, so that nobody takes the run over between this look and the insert.
        if tx.first(_MINE, in_run=self._run_id, at_epoch=self._epoch) is None:
            raise RunFenced(f"run {self._run_id} is no longer ours: another worker took it")
        tx.insert(events, identity=identity, **asdict(event))


async def open_events(database: Database, scope: str, run_id: str, epoch: int, clock: Clock) -> SqlEvents:
    """The sink of a run that is owned at `epoch`, knowing what was said before."""
    stored = await database.read(scope, lambda tx: read_events(tx, run_id))
    return SqlEvents(database, scope, run_id, epoch, clock, stored)


def _said(type_: EventType, data: Mapping[str, Json], epoch: int) -> str:
    lasting = {name: value for name, value in data.items() if not name.endswith(_PASSING)}
    if type_ in _EACH_OWNER:
        # By the owner alone: that the second owner resumed is news, however alike its words are.
        lasting = {"epoch": epoch}
    text = json.dumps([type_, lasting], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]

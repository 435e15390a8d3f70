"""The way into storage: one open database, and what belongs to one scope of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from pincite.domain.records import RunRecord
from pincite.ports import Breaker, Clock
from pincite.runtime.lease import Lease
from pincite.runtime.ledger import RunLedger, open_ledger
from pincite.runtime.limiter import DEFAULT_RULES, BreakerRules
from pincite.storage import retention
from pincite.storage.cache import TableCache
from pincite.storage.database import Database, Scoped, open_database, reads, writes
from pincite.storage.home_files import DATABASE_NAME
from pincite.storage.ledger import SqlCallStore, SqlEvents, open_events
from pincite.storage.limits import PUBLIC, TableBreaker, TableBuckets
from pincite.storage.pages import TableDocuments, TableSnapshots, stored_bytes
from pincite.storage.retention import in_small_steps
from pincite.storage.runs import SqlRunStore
from pincite.storage.schema import run_snapshots
from pincite.storage.server import SqlRunQueue
from pincite.storage.tables import TextStatements
from pincite.storage.transactions import WAIT_S, Transaction
from pincite.urls.policy import Retention

if TYPE_CHECKING:
    from pincite.storage.server import SqlServerMemory

T = TypeVar("T")

# Captures younger than this are never pruned: a run may be about to refer to them.
_MIN_AGE: Final = timedelta(hours=1)
# Captures that go in one transaction: others write in between.
_PRUNE_STEP: Final = 200


class SharedTables:
    """Implements `Tables` in a database that many processes use."""

    # Unlike the files of a home, which the first write makes, the tables came with the database.
    is_there = True

    def __init__(self, database: Database, scope: str) -> None:
        self._database = database
        self._scope = scope

    async def read(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns."""
        return await self._database.read(self._scope, do)

    async def write(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns; a power cut may take back the last of it."""
        return await self._database.write(self._scope, do, durable=False)

    def read_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `read`, in the calling thread."""
        return self._database.read_now(self._scope, do)

    def write_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `write`, in the calling thread."""
        return self._database.write_now(self._scope, do, False)

    async def shrink(self) -> None:
        """PostgreSQL gives space back by itself."""

    async def close(self) -> None:
        """The database is closed by whoever opened it."""


class ScopedStorage(Scoped):
    """Everything one scope has stored."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        super().__init__(database, scope, clock)
        self.runs = SqlRunStore(database, scope, clock)
        self.snapshots = TableSnapshots(SharedTables(database, scope), clock)
        self.documents = TableDocuments(SharedTables(database, scope), clock)

    @cached_property
    def server_memory(self) -> "SqlServerMemory":
        """What a server remembers of requests and keys; a command needs none of it."""
        from pincite.storage.server import SqlServerMemory

        return SqlServerMemory(self._database, self._scope, self._clock)

    def calls(self, record: RunRecord) -> SqlCallStore:
        """The calls of a run that was taken at `record.epoch`."""
        return SqlCallStore(self._database, self._scope, record.run_id, record.epoch, self._clock)

    async def ledger(self, record: RunRecord, lease: Lease | None = None) -> RunLedger:
        """The ledger of a run that was taken. Errors: RunFenced."""
        return await open_ledger(self.calls(record), self._clock, lease=lease)

    async def replay(self, run_id: str) -> RunLedger:
        """A ledger that answers from the record of a run alone and writes nothing."""
        store = SqlCallStore(self._database, self._scope, run_id, None, self._clock)
        return await open_ledger(store, self._clock, strict=True)

    async def events(self, record: RunRecord) -> SqlEvents:
        """The event sink of a run that was taken."""
        return await open_events(self._database, self._scope, record.run_id, record.epoch, self._clock)

    def buckets(self) -> TableBuckets | None:
        """Token buckets of all workers; None where one process has the database to itself."""
        return TableBuckets(SharedTables(self._database, PUBLIC)) if self._database.is_shared else None

    def breaker(self, rules: BreakerRules = DEFAULT_RULES) -> Breaker | None:
        """Circuit breakers of all workers; None as for `buckets`."""
        return TableBreaker(SharedTables(self._database, PUBLIC), rules) if self._database.is_shared else None

    def cache(self) -> TableCache | None:
        """The cache of all workers; None as for `buckets`."""
        tables = SharedTables(self._database, self._scope)
        return TableCache(tables, self._clock) if self._database.is_shared else None

    def common_cache(self) -> TableCache | None:
        """The part of that cache which belongs to no user; None as for `buckets`."""
        return ScopedStorage(self._database, PUBLIC, self._clock).cache()

    async def prune(self, *, max_age: timedelta | None = None, max_bytes: int | None = None) -> int:
        """Forget captures that no run refers to: those older than `max_age`, then the oldest above `max_bytes`.

        Returns how many went.
        """
        removed = 0
        if max_age is not None:
            before = self._clock.now() - max(max_age, _MIN_AGE)
            removed += await in_small_steps(self._database, self._scope, _prune_step(before, None))
        if max_bytes is not None:
            before = self._clock.now() - _MIN_AGE
            removed += await in_small_steps(self._database, self._scope, _prune_step(before, max_bytes))
        if removed:
            await self._database.shrink()
        return removed

    @writes
    def settle_run(self, tx: Transaction, run_id: str, rules: Retention) -> int:
        """Cut back the pages of an ended run that may not stay whole; how many were."""
        rows = tx.run(tx.select(run_snapshots, run_snapshots.c.snapshot_id).where(run_snapshots.c.run_id == run_id))
        return retention.settle(tx, tuple(row.snapshot_id for row in rows), rules, self._clock)

    @writes
    def settle_page(self, tx: Transaction, snapshot_id: str, rules: Retention) -> int:
        """The same for one page that was read outside of a run."""
        return retention.settle(tx, (snapshot_id,), rules, self._clock)

    @reads
    def captured_bytes(self, tx: Transaction) -> int:
        """What the stored pages and documents of the scope take up, compressed."""
        return stored_bytes(tx)

    @writes
    def delete_everything(self, tx: Transaction) -> int:
        """Remove every row of the scope; how many went."""
        return retention.delete_scope(tx)


def _prune_step(before: datetime, max_bytes: int | None) -> Callable[[Transaction], int]:
    """One small part of pruning: the oldest unused captures before that time; with `max_bytes` while there are more."""
    since: datetime | None = None

    def step(tx: Transaction) -> int:
        nonlocal since
        if max_bytes is not None and stored_bytes(tx) <= max_bytes:
            return 0
        found = retention.oldest_unused(tx, since, before, _PRUNE_STEP)
        since = found[-1].stored_at if found else since
        return retention.delete_snapshots(tx, [row.snapshot_id for row in found])

    return step


class Storage:
    """An open database. Made by `open_storage`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.queue = SqlRunQueue(database, clock.now())

    def scope(self, name: str) -> ScopedStorage:
        """What belongs to `name` (a user, or `public`)."""
        return ScopedStorage(self.database, name, self.clock)


@asynccontextmanager
async def open_storage(place: str | Path, clock: Clock, *, wait_s: float = WAIT_S) -> AsyncIterator[Storage]:
    """The storage at a database URL or a SQLite file (text), or in a home folder (a `Path`); closed at the end.

    A server that does not answer is waited for, `wait_s` seconds.

    Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting, ExtraNotInstalled.
    """
    at = place / DATABASE_NAME if isinstance(place, Path) else place
    database = await anyio.to_thread.run_sync(open_database, at, clock, wait_s)
    try:
        yield Storage(database, clock)
    finally:
        await database.close()

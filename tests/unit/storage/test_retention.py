"""Old runs go by index and in small transactions, however much is kept, and a live run writes meanwhile."""

import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import event
from tests.many_runs import EVENTS, put_ended_runs

from pincite.domain.budget import Budget
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord
from pincite.storage import retention
from pincite.storage.retention import STEP, expire
from pincite.storage.schema import blobs, calls, documents, events, metadata, run_snapshots, runs, snapshots
from pincite.storage.service import Storage, open_storage
from pincite.storage.transactions import Transaction
from pincite.testing.clock import FrozenClock

SCOPE = "alice"
AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = AT + timedelta(days=100)


@pytest.fixture(params=["sqlite", "postgresql"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storage]:
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_database")
    async with open_storage(place, FrozenClock()) as opened:
        await opened.database.write(SCOPE, lambda tx: put_ended_runs(tx, 0, 35, AT))
        yield opened


async def rows(storage: Storage, *tables: Any) -> list[int]:
    return await storage.database.read(SCOPE, lambda tx: [len(tx.run(tx.select(table))) for table in tables])


async def test_what_ended_long_ago_goes_with_all_that_only_it_used(storage: Storage) -> None:
    went = await expire(storage.database, SCOPE, runs_before=AT + timedelta(seconds=30), events_before=None)
    assert went == (30, 0)
    left = {row.snapshot_id for row in await storage.database.read(SCOPE, lambda tx: tx.run(tx.select(snapshots)))}
    used = {row.snapshot_id for row in await storage.database.read(SCOPE, lambda tx: tx.run(tx.select(run_snapshots)))}
    never_used = {f"snap_common{n}" for n in range(42, 50)}  # nobody's: what no run had is another setting's affair
    assert used <= left
    assert left - used == never_used
    assert await rows(storage, runs, documents, blobs) == [5, len(left), 2 * len(left)]


async def test_everything_goes_in_the_end(storage: Storage) -> None:
    await expire(storage.database, SCOPE, runs_before=LATER, events_before=LATER)
    clock = storage.clock
    assert isinstance(clock, FrozenClock)
    clock.advance(timedelta(days=1).total_seconds())
    await storage.scope(SCOPE).prune(max_age=timedelta(hours=2))
    stays = {"schema_versions", "api_keys", "server_secrets"}
    tables = [table for table in metadata.sorted_tables if table.name not in stays]
    assert sum(await rows(storage, *tables)) == 0


async def test_events_go_and_runs_stay(storage: Storage) -> None:
    went = await expire(storage.database, SCOPE, runs_before=None, events_before=AT + timedelta(seconds=30))
    assert went == (0, 30 * EVENTS)
    assert await rows(storage, runs, events) == [35, 5 * EVENTS]


async def test_no_statement_looks_at_every_row(tmp_path: Path) -> None:
    """The plans of SQLite: a `SCAN` of a table costs more with every run that is kept."""
    asked: list[tuple[str, Any]] = []
    async with open_storage(tmp_path, FrozenClock()) as storage:
        await storage.database.write(SCOPE, lambda tx: put_ended_runs(tx, 0, 3, AT))

        def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            if re.match(r"SELECT|DELETE", statement):
                asked.append((statement, parameters))

        engine = storage.database._writer
        event.listen(engine, "before_cursor_execute", note)

        def let_go(tx: Transaction) -> None:
            retention.expire_events(tx, LATER, AT)
            retention.expire_runs(tx, LATER)
            retention.delete_snapshots(tx, [row.snapshot_id for row in retention.oldest_unused(tx, AT, LATER, 9)])

        await storage.database.write(SCOPE, let_go)
        event.remove(engine, "before_cursor_execute", note)
        assert len(asked) >= 20
        plans = await anyio.to_thread.run_sync(_plans, engine, asked)
    scans = [plan for plan in plans if re.search(r"SCAN (?!CONSTANT)", plan)]
    assert scans == []
    assert any("USING INDEX" in plan for plan in plans)


def _plans(engine: Any, asked: list[tuple[str, Any]]) -> list[str]:
    with engine.connect() as connection:
        raw = connection.connection.cursor()
        return [
            f"{row[3]}: {statement[:200]}"
            for statement, parameters in asked
            for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]


async def test_a_live_run_writes_between_small_transactions(storage: Storage) -> None:
    live = RunRecord("run_live", SCOPE, "?", RunStatus.QUEUED, LATER, LATER, {}, Budget())
    mine = storage.scope(SCOPE).runs
    await mine.create(live)
    record = await mine.take("run_live", "worker", 60)
    gone_at_once: list[int] = []
    written, done = 0, anyio.Event()

    def counted(step: Callable[..., None]) -> Callable[..., None]:
        def delete_runs(tx: Transaction, run_ids: tuple[str, ...]) -> None:
            gone_at_once.append(len(run_ids))
            step(tx, run_ids)

        return delete_runs

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(retention, "delete_runs", counted(retention.delete_runs))

        async def write() -> None:
            nonlocal written
            while not done.is_set():
                await mine.renew("run_live", record.epoch, 60)
                written += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await expire(storage.database, SCOPE, runs_before=LATER, events_before=None)
            done.set()
    assert (sum(gone_at_once), max(gone_at_once)) == (35, STEP)
    assert written >= len(gone_at_once) - 1, "it had its turn between them"
    assert (await mine.get("run_live")).status is RunStatus.RUNNING
    assert (await rows(storage, runs, calls))[1] == 0

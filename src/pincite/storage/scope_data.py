"""All that is kept of one user, row by row, for a request to see it; and what goes when its time has come."""

import base64
import json
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import anyio
from sqlalchemy import Table

from pincite.domain.events import RunStatus
from pincite.storage import retention
from pincite.storage.captures import unpacked
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import (
    api_keys,
    blobs,
    events,
    metadata,
    reports,
    runs,
    schema_versions,
    server_secrets,
    tool_log,
)

# Rows held in memory at a time; a row may hold a page.
_BATCH: Final = 200
# Runs that go in one transaction: about 20 ms of the one writer that SQLite has.
STEP: Final = 10
# A pause as long as the step took, so that others get every second turn at the one writer.
_PAUSE_AT_MOST_S: Final = 1.0
ENDED: Final = tuple(status.value for status in RunStatus if status not in (RunStatus.QUEUED, RunStatus.RUNNING))


async def rows_of(database: Database, scope: str, table: Table, after: int) -> list[dict[str, Any]]:
    """Up to a batch of the scope's rows in a table as plain JSON, in the order of their keys."""
    return await database.read(scope, lambda tx: _batch(tx, table, after))


def tables() -> Iterator[Table]:
    """Every table that may hold rows of a user; the log of calls is read by its own way."""
    others = (schema_versions, server_secrets, tool_log)
    yield from (table for table in metadata.sorted_tables if table not in others)


async def in_small_steps(database: Database, scope: str, step: Callable[[Transaction], int]) -> int:
    """Repeat a small transaction until it says that nothing was left to do; the sum of what it said.

    Between two there is a pause as long as the last one took: SQLite has no line for those who wait to write, so a
    process that writes without a pause may keep a live run of another one out until that gives up.
    """
    total = 0
    while True:
        begun_s = time.monotonic()
        went = await database.write(scope, step, durable=False)
        total += went
        if not went:
            return total
        await anyio.sleep(min(time.monotonic() - begun_s, _PAUSE_AT_MOST_S))


async def expire(
    database: Database, scope: str, *, runs_before: datetime | None, events_before: datetime | None
) -> tuple[int, int]:
    """Remove the runs, and the events of runs, that ended before those times; how many runs and events went."""
    went_runs = went_events = 0
    if runs_before is not None:
        went_runs = await in_small_steps(database, scope, lambda tx: expire_runs(tx, runs_before, STEP))
    if events_before is not None:
        since: datetime | None = None

        def step(tx: Transaction) -> int:
            nonlocal since
            went, since = expire_events(tx, events_before, since, STEP)
            return went

        went_events = await in_small_steps(database, scope, step)
    return went_runs, went_events


def expire_runs(tx: Transaction, before: datetime, limit: int) -> int:
    """Remove the runs that ended before that time, with all that only they used; how many went."""
    old = (runs.c.status.in_(ENDED), runs.c.updated_at < before)
    found = tx.run(tx.select(runs, runs.c.run_id).where(*old).order_by(runs.c.updated_at).limit(limit))
    retention.delete_runs(tx, tuple(row.run_id for row in found))
    return len(found)


def expire_events(tx: Transaction, before: datetime, since: datetime | None, limit: int) -> tuple[int, datetime | None]:
    """Remove the events of so many runs that ended before that time, from `since` on; runs and reports stay.

    Returns how many events went, and where to go on; None when that was all.
    """
    has_events = tx.select(events, events.c.seq).where(events.c.run_id == runs.c.run_id).correlate(runs).exists()
    query = tx.select(runs, runs.c.run_id, runs.c.updated_at).where(
        runs.c.status.in_(ENDED), runs.c.updated_at < before, has_events
    )
    if since is not None:
        query = query.where(runs.c.updated_at >= since)
    found = tx.run(query.order_by(runs.c.updated_at).limit(limit))
    if not found:
        return 0, None
    went = tx.change(tx.delete(events).where(events.c.run_id.in_([row.run_id for row in found])))
    return went, found[-1].updated_at


def _batch(tx: Transaction, table: Table, after: int) -> list[dict[str, Any]]:
    found = tx.run(tx.select(table).order_by(*table.primary_key.columns).offset(after).limit(_BATCH))
    return [{"table": table.name, **_plain(table, row)} for row in found]


def _plain(table: Table, row: Any) -> dict[str, Any]:  # a row of the table
    values = dict(row._mapping)  # noqa: SLF001  # the public way to a row's columns by name
    if table is blobs:
        values["content"] = unpacked(values["encoding"], values["content"])
    if table is reports:
        values["content"] = json.loads(zlib.decompress(values["content"]))
    if table is api_keys:
        del values["sha256"]
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    match value:
        case bytes() | memoryview():
            return {"base64": base64.b64encode(bytes(value)).decode()}
        case datetime():
            return value.isoformat()
        case _:
            return value

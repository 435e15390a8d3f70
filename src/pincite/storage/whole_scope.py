"""All that is kept of one user, row by row, for a request to see it; and what goes when its time has come."""

import base64
import json
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Table

from pincite.domain.events import RunStatus
from pincite.storage import removal
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
from pincite.storage.snapshots import unpacked

_BATCH: Final = 200
ENDED: Final = tuple(status.value for status in RunStatus if status not in (RunStatus.QUEUED, RunStatus.RUNNING))


async def rows_of(database: Database, scope: str, table: Table, after: int) -> list[dict[str, Any]]:
    """Up to a batch of the scope's rows in a table as plain JSON, in the order of their keys."""
    return await database.read(scope, lambda tx: _batch(tx, table, after))


def tables() -> Iterator[Table]:
    """Every table that may hold rows of a user; the log of calls is read by its own way."""
    others = (schema_versions, server_secrets, tool_log)
    yield from (table for table in metadata.sorted_tables if table not in others)


def expire_runs(tx: Transaction, before: datetime, limit: int) -> int:
    """Remove the runs that ended before that time, with all that only they used; how many went."""
    old = (runs.c.status.in_(ENDED), runs.c.updated_at < before)
    found = tx.run(tx.select(runs, runs.c.run_id).where(*old).order_by(runs.c.updated_at).limit(limit))
    for row in found:
        removal.delete_run(tx, row.run_id)
    return len(found)


def expire_events(tx: Transaction, before: datetime) -> int:
    """Remove the events of runs that ended before that time; how many went. Runs and reports stay."""
    old = tx.select(runs, runs.c.run_id).where(runs.c.status.in_(ENDED), runs.c.updated_at < before)
    return tx.change(tx.delete(events).where(events.c.run_id.in_(old)))


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

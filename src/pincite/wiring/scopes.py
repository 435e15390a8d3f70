"""A user's data as a whole: exported, deleted, or expired."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

import anyio
import anyio.to_thread

from pincite.domain.codec import to_json
from pincite.domain.errors import Locked
from pincite.domain.events import RunStatus
from pincite.domain.frozen import dataclass
from pincite.settings import Settings
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.stores import Shared, open_shared

# A run looks whether it was stopped between two calls; a model's may take that long.
_STOP_WITHIN_S: Final = 30.0
# Rows held in memory at a time.
_LOG_CALLS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Removed:
    """What went: rows of the database, cached answers, calls of the log."""

    rows: int
    cache_entries: int
    logged_calls: int


@dataclass(frozen=True, slots=True)
class Expired:
    """What went because its time had come."""

    runs: int
    events: int
    captures: int


async def export_scope(settings: Settings) -> AsyncGenerator[str, None]:
    """All that is kept of the scope of these settings, one JSON object a line; each names its table.

    Errors: StorageUnavailable, Locked, SchemaMismatch.
    """
    from pincite.storage.retention import rows_of, tables

    async with _opened(settings) as (parts, shared):
        database = (await shared.storage()).database
        for table in tables():
            after = 0
            while rows := await rows_of(database, settings.scope, table, after):
                after += len(rows)
                for row in rows:
                    yield json.dumps(row, ensure_ascii=False)
        before = None
        while page := await parts.log.read(await parts.runs(), _LOG_CALLS, before=before):
            before = (page[-1].at, page[-1].id)
            for call in page:
                value = to_json(call)
                members = value if isinstance(value, dict) else {"value": value}
                yield json.dumps({"table": "tool_log", **members}, ensure_ascii=False)


async def delete_scope(settings: Settings) -> Removed:
    """Remove all that is kept of the scope of these settings. Runs in work are stopped first.

    Errors: Locked (a run does not stop), StorageUnavailable, SchemaMismatch.
    """
    async with _opened(settings) as (parts, shared):
        await _stop_runs(parts)
        storage = (await shared.storage()).scope(settings.scope)
        logged = await parts.log.forget()
        rows = await storage.delete_everything()
        cached = (await parts.clear_cache()).entries
        return Removed(rows, cached, logged)


async def expire(settings: Settings, shared: Shared) -> Expired:
    """Delete what the settings keep no longer, in the scope of these settings. Errors: StorageUnavailable, Locked."""
    from pincite.storage import retention

    storage = await shared.storage()
    now, mine = shared.clock.now(), storage.scope(settings.scope)
    went_captures = 0

    def before(days: int | None) -> datetime | None:
        return None if days is None else now - timedelta(days=days)

    went_runs, went_events = await retention.expire(
        storage.database,
        settings.scope,
        runs_before=before(settings.runs_keep_days),
        events_before=before(settings.events_keep_days),
    )
    if settings.captures_keep_days is not None or settings.captures_max_mb is not None:
        days, most = settings.captures_keep_days, settings.captures_max_mb
        went_captures = await mine.prune(
            max_age=None if days is None else timedelta(days=days),
            max_bytes=None if most is None else most * 1_000_000,
        )
    return Expired(went_runs, went_events, went_captures)


async def expire_every_scope(settings: Settings, shared: Shared) -> Expired:
    """The same in every scope. Errors: as `expire`."""
    found = Expired(0, 0, 0)
    kept = (settings.runs_keep_days, settings.events_keep_days, settings.captures_keep_days, settings.captures_max_mb)
    if all(bound is None for bound in kept):
        return found
    for scope in await (await shared.storage()).queue.scopes():
        went = await expire(settings.model_copy(update={"scope": scope}), shared)
        found = Expired(found.runs + went.runs, found.events + went.events, found.captures + went.captures)
    return found


async def _stop_runs(parts: Parts) -> None:
    runs = await parts.runs()
    active = (RunStatus.QUEUED, RunStatus.RUNNING)
    with anyio.move_on_after(_STOP_WITHIN_S):
        while waiting := [run for run in await runs.list(1_000_000) if run.status in active]:
            for run in waiting:
                await runs.cancel(run.run_id)
            await anyio.sleep(0.2)
        return
    raise Locked("a run of this user does not stop", reason="run_owned", hint="Stop the workers, then try again.")


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[Parts, Shared]]:
    async with open_shared(settings) as shared, open_parts(settings, shared) as parts:
        yield parts, shared

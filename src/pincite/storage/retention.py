"""Forgetting: what goes when a run has ended, and when a run, a report or old captures go.

Hashes and quotes of pages that may not stay whole are kept. Deleted content is overwritten on SQLite.
"""

import base64
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import anyio
from sqlalchemy import ColumnElement, Row, Table

from pincite.domain.events import RunStatus
from pincite.domain.excerpts import excerpts_of
from pincite.domain.page import Kept
from pincite.ports import Clock
from pincite.storage.database import Database
from pincite.storage.evidence import DROPPED, read_document, snapshot_of, unpacked
from pincite.storage.pages import put_excerpts
from pincite.storage.schema import (
    api_keys,
    blobs,
    citations,
    documents,
    events,
    evidence,
    metadata,
    reports,
    run_snapshots,
    runs,
    schema_versions,
    server_secrets,
    snapshots,
    tool_log,
)
from pincite.storage.transactions import Transaction
from pincite.urls.policy import Retention

# All that names a run but the log of calls, which has its own term. The run's own row goes last: what refers to it is
# gone by then.
_OF_A_RUN = (
    *(table for table in metadata.sorted_tables if "run_id" in table.c and table not in (runs, tool_log)),
    runs,
)
_STAYS: tuple[Table, ...] = (schema_versions, api_keys, server_secrets)
# Ids in one statement, far below every database's limit on parameters.
_BATCH = 500


def delete_runs(tx: Transaction, run_ids: tuple[str, ...]) -> None:
    """Remove some runs (at most a few hundred) and the captures that no other run of the scope used.

    Every statement finds its rows by an index: what it costs does not depend on how much else is kept.
    """
    # Asked before the rows go that say so.
    used = set()
    for table in (run_snapshots, evidence, citations):
        rows = tx.run(tx.select(table, table.c.snapshot_id).where(table.c.run_id.in_(run_ids)).distinct())
        used |= {row.snapshot_id for row in rows}
    for table in _OF_A_RUN:
        tx.change(tx.delete(table).where(table.c.run_id.in_(run_ids)))
    delete_snapshots(tx, tuple(sorted(used)))


def delete_snapshots(tx: Transaction, snapshot_ids: Sequence[str]) -> int:
    """Remove those of the captures that nothing refers to, with what was read from them; how many went."""
    removed = 0
    for batch in (snapshot_ids[i : i + _BATCH] for i in range(0, len(snapshot_ids), _BATCH)):
        unused = tx.delete(snapshots).where(snapshots.c.snapshot_id.in_(batch), *_unused(tx))
        gone = tx.run(unused.returning(snapshots.c.snapshot_id, snapshots.c.body_sha256))
        if not gone:
            continue
        of_gone = documents.c.snapshot_id.in_([row.snapshot_id for row in gone])
        read = tx.run(tx.delete(documents).where(of_gone).returning(documents.c.content_sha256))
        _delete_bodies(tx, sorted({row.body_sha256 for row in gone} | {row.content_sha256 for row in read}))
        removed += len(gone)
    return removed


def oldest_unused(tx: Transaction, since: datetime | None, moment: datetime, limit: int) -> Sequence[Row[Any]]:
    """The oldest captures stored from `since` on and before `moment` that nothing refers to: `snapshot_id, stored_at`.

    `since` spares a second look at those that are in use.
    """
    query = tx.select(snapshots, snapshots.c.snapshot_id, snapshots.c.stored_at).where(
        snapshots.c.stored_at < moment, *_unused(tx)
    )
    if since is not None:
        query = query.where(snapshots.c.stored_at >= since)
    return tx.run(query.order_by(snapshots.c.stored_at).limit(limit))


def delete_scope(tx: Transaction) -> int:
    """Remove every row of the scope but API keys, which an operator revokes; how many went."""
    return sum(tx.change(tx.delete(table)) for table in metadata.sorted_tables if table not in _STAYS)


def _unused(tx: Transaction) -> tuple[ColumnElement[bool], ...]:
    return tuple(
        ~_refers(tx, table, table.c.snapshot_id == snapshots.c.snapshot_id, snapshots)
        for table in (run_snapshots, evidence, citations)
    )


def _delete_bodies(tx: Transaction, hashes: Sequence[str]) -> None:
    """Remove those of the bodies and texts that neither a capture nor a document has any more."""
    for batch in (hashes[i : i + _BATCH] for i in range(0, len(hashes), _BATCH)):
        tx.change(
            tx.delete(blobs).where(
                blobs.c.sha256.in_(batch),
                ~_refers(tx, snapshots, snapshots.c.body_sha256 == blobs.c.sha256, blobs),
                ~_refers(tx, documents, documents.c.content_sha256 == blobs.c.sha256, blobs),
            )
        )


def _refers(tx: Transaction, table: Table, link: ColumnElement[bool], to: Table) -> ColumnElement[bool]:
    return tx.select(table, table.c.scope).where(link).correlate(to).exists()


# What goes when a run has ended: bodies and texts of pages that may not stay whole. Hashes and quotes stay.

_LIVE = ("queued", "running")
_STRICTEST = (Kept.FULL, Kept.RUN, Kept.EXCERPTS)


def settle(tx: Transaction, snapshot_ids: Sequence[str], rules: Retention, clock: Clock) -> int:
    """Cut back these captures as far as the rules ask, except those that a live run uses; how many were.

    Doing it again changes nothing.
    """
    count = 0
    for snapshot_id in snapshot_ids:
        row = tx.first(tx.select(snapshots).where(snapshots.c.snapshot_id == snapshot_id))
        kept = Kept.FULL if row is None else rules.of(snapshot_of(row._mapping))  # noqa: SLF001  # the public way to a row's columns by name
        users = tx.select(run_snapshots, run_snapshots.c.run_id).where(run_snapshots.c.snapshot_id == snapshot_id)
        live = tx.select(runs, runs.c.run_id).where(runs.c.run_id.in_(users), runs.c.status.in_(_LIVE))
        if kept is Kept.FULL or tx.first(live.limit(1)) is not None:
            continue
        assert row is not None
        if kept is Kept.EXCERPTS:
            _cut_documents(tx, snapshot_id, clock)
        _drop_body(tx, row.body_sha256, kept, rules)
        count += 1
    return count


def _drop_body(tx: Transaction, body_sha256: str, kept: Kept, rules: Retention) -> None:
    """Empty the body, unless another capture with the same bytes may be kept whole."""
    others = tx.run(tx.select(snapshots).where(snapshots.c.body_sha256 == body_sha256))
    if any(rules.of(snapshot_of(other._mapping)) is Kept.FULL for other in others):  # noqa: SLF001  # as above
        return
    # Rules may have been loosened since: what was cut back under the stricter one can't come back.
    known = tx.first(tx.select(blobs, blobs.c.encoding).where(blobs.c.sha256 == body_sha256))
    if known is not None and known.encoding in DROPPED:
        kept = max(kept, Kept(known.encoding), key=_STRICTEST.index)
    # The row stays, so that the hash of the page still says which bytes were read.
    values = {"encoding": kept.value, "content": b"", "stored_bytes": 0}
    tx.change(tx.update(blobs).where(blobs.c.sha256 == body_sha256).values(**values))


def _cut_documents(tx: Transaction, snapshot_id: str, clock: Clock) -> None:
    """Put the windows around quotes in place of every document read out of the capture."""
    for row in tx.run(tx.select(documents).where(documents.c.snapshot_id == snapshot_id)):
        document = read_document(tx, row.content_sha256, row.document_id)
        if document is None:
            continue
        quoted = tx.run(
            tx.select(evidence).where(
                evidence.c.snapshot_id == snapshot_id, evidence.c.document_id == document.document_id
            )
        )
        spans = [(item.start_offset, item.end_offset) for item in quoted]
        content = put_excerpts(tx, excerpts_of(document, spans), clock)
        this = (documents.c.snapshot_id == snapshot_id, documents.c.extractor == row.extractor)
        cut = tx.update(documents).where(*this, documents.c.version == row.version)
        tx.change(cut.values(content_sha256=content))
        unused = blobs.c.sha256.not_in(tx.select(documents, documents.c.content_sha256))
        tx.change(tx.delete(blobs).where(blobs.c.sha256 == row.content_sha256, unused))


# Rows held in memory at a time; a row may hold a page.
_SCOPE_DATA_BATCH: Final = 200
# Runs that go in one transaction: about 20 ms of the one writer that SQLite has.
STEP: Final = 10
# A pause as long as the step took, so that others get every second turn at the one writer.
_PAUSE_AT_MOST_S: Final = 1.0
ENDED: Final = tuple(status.value for status in RunStatus if status not in (RunStatus.QUEUED, RunStatus.RUNNING))


async def rows_of(database: Database, scope: str, table: Table, after: int) -> list[dict[str, Any]]:
    """Up to a batch of the scope's rows in a table as plain JSON, in the order of their keys."""

    def batch(tx: Transaction) -> list[dict[str, Any]]:
        found = tx.run(tx.select(table).order_by(*table.primary_key.columns).offset(after).limit(_SCOPE_DATA_BATCH))
        return [{"table": table.name, **_plain(table, row)} for row in found]

    return await database.read(scope, batch)


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
        # Not durable: what a power cut brings back is deleted again by the next sweep.
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
        went_runs = await in_small_steps(database, scope, lambda tx: expire_runs(tx, runs_before))
    if events_before is not None:
        since: datetime | None = None

        def step(tx: Transaction) -> int:
            nonlocal since
            went, since = expire_events(tx, events_before, since)
            return went

        went_events = await in_small_steps(database, scope, step)
    return went_runs, went_events


def expire_runs(tx: Transaction, before: datetime) -> int:
    """Remove the runs that ended before that time, with all that only they used; how many went."""
    old = (runs.c.status.in_(ENDED), runs.c.updated_at < before)
    found = tx.run(tx.select(runs, runs.c.run_id).where(*old).order_by(runs.c.updated_at).limit(STEP))
    delete_runs(tx, tuple(row.run_id for row in found))
    return len(found)


def expire_events(tx: Transaction, before: datetime, since: datetime | None) -> tuple[int, datetime | None]:
    """Remove the events of so many runs that ended before that time, from `since` on; runs and reports stay.

    Returns how many events went, and where to go on; None when that was all.
    """
    has_events = tx.select(events, events.c.seq).where(events.c.run_id == runs.c.run_id).correlate(runs).exists()
    query = tx.select(runs, runs.c.run_id, runs.c.updated_at).where(
        runs.c.status.in_(ENDED), runs.c.updated_at < before, has_events
    )
    if since is not None:
        query = query.where(runs.c.updated_at >= since)
    found = tx.run(query.order_by(runs.c.updated_at).limit(STEP))
    if not found:
        return 0, None
    went = tx.change(tx.delete(events).where(events.c.run_id.in_([row.run_id for row in found])))
    return went, found[-1].updated_at


def _plain(table: Table, row: Any) -> dict[str, Any]:  # a row of the table
    values = dict(row._mapping)  # noqa: SLF001  # the public way to a row's columns by name
    if table is blobs:
        values["content"] = unpacked(values["encoding"], values["content"])
    if table is reports:
        values["content"] = json.loads(zlib.decompress(values["content"]))
    # Even a hash of a key has no business in a file that is handed out.
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

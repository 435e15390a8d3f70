"""Forgetting: what goes when a run, a report or old captures go. Deleted content is overwritten on SQLite."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Table

from pincite.storage.database import Transaction
from pincite.storage.schema import (
    api_keys,
    blobs,
    calls,
    citations,
    claims,
    documents,
    events,
    evidence,
    metadata,
    provider_attempts,
    reports,
    request_keys,
    run_snapshots,
    runs,
    schema_versions,
    server_secrets,
    snapshots,
    webhooks,
)

_OF_A_RUN: tuple[Table, ...] = (
    calls,
    provider_attempts,
    events,
    reports,
    claims,
    evidence,
    citations,
    run_snapshots,
    request_keys,
    webhooks,
    runs,
)
_OF_A_REPORT: tuple[Table, ...] = (claims, evidence, citations)
_STAYS: tuple[Table, ...] = (schema_versions, api_keys, server_secrets)
_BATCH = 500
"""Ids in one statement, far below every database's limit on parameters."""


def delete_run(tx: Transaction, run_id: str) -> None:
    """Remove a run and the captures that no other run of the scope used."""
    delete_runs(tx, (run_id,))


def delete_runs(tx: Transaction, run_ids: tuple[str, ...]) -> None:
    """Remove some runs (at most a few hundred) and the captures that no other run of the scope used.

    Every statement finds its rows by an index: what it costs does not depend on how much else is kept.
    """
    used = set()
    for table in (run_snapshots, evidence, citations):
        rows = tx.run(tx.select(table, table.c.snapshot_id).where(table.c.run_id.in_(run_ids)).distinct())
        used |= {row.snapshot_id for row in rows}
    for table in _OF_A_RUN:
        tx.change(tx.delete(table).where(table.c.run_id.in_(run_ids)))
    delete_snapshots(tx, tuple(sorted(used)))


def delete_report(tx: Transaction, run_id: str, version: int) -> None:
    """Remove one version of a report."""
    tx.change(tx.delete(reports).where(reports.c.run_id == run_id, reports.c.version == version))
    for table in _OF_A_REPORT:
        tx.change(tx.delete(table).where(table.c.run_id == run_id, table.c.report_version == version))


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

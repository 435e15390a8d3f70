"""Forgetting: what goes when a run, a report or old captures go. Deleted content is overwritten on SQLite."""

from datetime import datetime

from sqlalchemy import ColumnElement, Table

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
    used = {row.snapshot_id for row in tx.run(tx.select(run_snapshots).where(run_snapshots.c.run_id == run_id))}
    used |= {row.snapshot_id for row in tx.run(tx.select(evidence).where(evidence.c.run_id == run_id))}
    used |= {row.snapshot_id for row in tx.run(tx.select(citations).where(citations.c.run_id == run_id))}
    for table in _OF_A_RUN:
        tx.change(tx.delete(table).where(table.c.run_id == run_id))
    delete_snapshots(tx, tuple(sorted(used)))


def delete_report(tx: Transaction, run_id: str, version: int) -> None:
    """Remove one version of a report."""
    tx.change(tx.delete(reports).where(reports.c.run_id == run_id, reports.c.version == version))
    for table in _OF_A_REPORT:
        tx.change(tx.delete(table).where(table.c.run_id == run_id, table.c.report_version == version))


def delete_snapshots(tx: Transaction, snapshot_ids: tuple[str, ...]) -> int:
    """Remove those of the captures that nothing refers to, with what was read from them; how many went."""
    removed = 0
    for batch in (snapshot_ids[i : i + _BATCH] for i in range(0, len(snapshot_ids), _BATCH)):
        removed += tx.change(tx.delete(snapshots).where(snapshots.c.snapshot_id.in_(batch), *_unused(tx)))
    if removed:
        _sweep(tx)
    return removed


def delete_unused_before(tx: Transaction, moment: datetime) -> int:
    """Remove the captures stored before `moment` that nothing refers to; how many went."""
    removed = tx.change(tx.delete(snapshots).where(snapshots.c.stored_at < moment, *_unused(tx)))
    if removed:
        _sweep(tx)
    return removed


def oldest_unused(tx: Transaction, moment: datetime, limit: int) -> tuple[str, ...]:
    """The oldest captures stored before `moment` that nothing refers to."""
    query = tx.select(snapshots, snapshots.c.snapshot_id).where(snapshots.c.stored_at < moment, *_unused(tx))
    return tuple(row.snapshot_id for row in tx.run(query.order_by(snapshots.c.stored_at).limit(limit)))


def delete_scope(tx: Transaction) -> int:
    """Remove every row of the scope but API keys, which an operator revokes; how many went."""
    return sum(tx.change(tx.delete(table)) for table in metadata.sorted_tables if table not in _STAYS)


def _unused(tx: Transaction) -> tuple[ColumnElement[bool], ...]:
    return tuple(
        snapshots.c.snapshot_id.not_in(tx.select(table, table.c.snapshot_id))
        for table in (run_snapshots, evidence, citations)
    )


def _sweep(tx: Transaction) -> None:
    """Documents without their capture, then bodies that neither a capture nor a document has."""
    tx.change(tx.delete(documents).where(documents.c.snapshot_id.not_in(tx.select(snapshots, snapshots.c.snapshot_id))))
    tx.change(
        tx.delete(blobs).where(
            blobs.c.sha256.not_in(tx.select(snapshots, snapshots.c.body_sha256)),
            blobs.c.sha256.not_in(tx.select(documents, documents.c.content_sha256)),
        )
    )

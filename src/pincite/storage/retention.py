"""Forgetting: what goes when a run has ended, and when a run, a report or old captures go.

Hashes and quotes of pages that may not stay whole are kept. Deleted content is overwritten on SQLite.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Table

from pincite.domain.page import Kept, Snapshot, excerpts_of
from pincite.ports import Clock
from pincite.storage.captures import DROPPED, excerpts_bytes, put_blob, read_document
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
from pincite.urls.policy import Retention

# Forgetting: what goes when a run, a report or old captures go. Deleted content is overwritten on SQLite.

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
# Ids in one statement, far below every database's limit on parameters.
_BATCH = 500


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


# What goes when a run has ended: bodies and texts of pages that may not stay whole. Hashes and quotes stay.

_LIVE = ("queued", "running")
_STRICTEST = (Kept.FULL, Kept.RUN, Kept.EXCERPTS)


def settle_run(tx: Transaction, run_id: str, rules: Retention, clock: Clock) -> int:
    """Cut back the captures of a run that ended, except those that a live run uses; how many were cut back."""
    rows = tx.run(tx.select(run_snapshots, run_snapshots.c.snapshot_id).where(run_snapshots.c.run_id == run_id))
    return settle(tx, tuple(row.snapshot_id for row in rows), rules, clock)


def settle(tx: Transaction, snapshot_ids: Sequence[str], rules: Retention, clock: Clock) -> int:
    """Cut back these captures as far as the rules ask; how many were. Doing it again changes nothing."""
    count = 0
    for snapshot_id in snapshot_ids:
        row = tx.first(tx.select(snapshots).where(snapshots.c.snapshot_id == snapshot_id))
        kept = Kept.FULL if row is None else rules.of(_described(row))
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


def _described(row: Any) -> Snapshot:  # a row of `snapshots`
    """The capture as far as rules look at it."""
    return Snapshot(
        snapshot_id=row.snapshot_id,
        url=row.url,
        final_url=row.final_url,
        canonical_url=row.canonical_url,
        status=row.status,
        content_type=row.content_type,
        headers=(),
        body=b"",
        body_sha256=row.body_sha256,
        fetched_at=row.fetched_at,
        via=row.via,
        usage_signals=tuple(row.usage_signals),
    )


def _drop_body(tx: Transaction, body_sha256: str, kept: Kept, rules: Retention) -> None:
    """Empty the body, unless another capture with the same bytes may be kept whole."""
    others = tx.run(tx.select(snapshots).where(snapshots.c.body_sha256 == body_sha256))
    if any(rules.of(_described(other)) is Kept.FULL for other in others):
        return
    known = tx.first(tx.select(blobs, blobs.c.encoding).where(blobs.c.sha256 == body_sha256))
    if known is not None and known.encoding in DROPPED:
        kept = max(kept, Kept(known.encoding), key=_STRICTEST.index)
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
        content = put_blob(tx, excerpts_bytes(excerpts_of(document, spans)), clock)
        this = (documents.c.snapshot_id == snapshot_id, documents.c.extractor == row.extractor)
        cut = tx.update(documents).where(*this, documents.c.version == row.version)
        tx.change(cut.values(content_sha256=content))
        unused = blobs.c.sha256.not_in(tx.select(documents, documents.c.content_sha256))
        tx.change(tx.delete(blobs).where(blobs.c.sha256 == row.content_sha256, unused))

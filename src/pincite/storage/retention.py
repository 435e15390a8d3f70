"""What goes when a run has ended: bodies and texts of pages that may not stay whole. Hashes and quotes stay."""

from collections.abc import Sequence
from typing import Any

from pincite.domain.page import Kept, Snapshot, excerpts_of
from pincite.ports import Clock
from pincite.storage.database import Transaction
from pincite.storage.documents import excerpts_bytes, read_document
from pincite.storage.schema import blobs, documents, evidence, run_snapshots, runs, snapshots
from pincite.storage.snapshots import DROPPED, put_blob
from pincite.urls.retention import Retention

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
        if kept is Kept.FULL or _in_use(tx, snapshot_id):
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


def _in_use(tx: Transaction, snapshot_id: str) -> bool:
    users = tx.select(run_snapshots, run_snapshots.c.run_id).where(run_snapshots.c.snapshot_id == snapshot_id)
    live = tx.select(runs, runs.c.run_id).where(runs.c.run_id.in_(users), runs.c.status.in_(_LIVE))
    return tx.first(live.limit(1)) is not None


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

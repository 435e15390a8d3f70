"""Captures of pages in the database: bodies compressed and stored once, whatever number of captures had them."""

import zlib
from typing import Any, Final

from sqlalchemy import func

from pincite.domain.errors import StorageUnavailable
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Kept, Snapshot
from pincite.ports import Clock
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import blobs, snapshots

_LEVEL: Final = 6
_SAMPLE_BYTES: Final = 65_536
_WORTH_IT: Final = 0.9
"""A body is stored compressed when a sample of it shrinks below this share (a PDF or an image does not)."""

DROPPED: Final = frozenset({Kept.RUN.value, Kept.EXCERPTS.value})
"""In place of an encoding: the body was dropped, and what was kept of its page."""


class SqlSnapshotStore:
    """Implements `ports.SnapshotStore` for one scope."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock

    async def put(self, snapshot: Snapshot) -> None:
        """Store it; putting the same id again changes nothing. Errors: StorageFull, StorageUnavailable."""
        await self._database.write(self._scope, lambda tx: self._put(tx, snapshot), durable=False)

    async def get(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None. Errors: StorageUnavailable (the stored body is damaged)."""
        return await self._database.read(self._scope, lambda tx: _get(tx, snapshot_id))

    def _put(self, tx: Transaction, snapshot: Snapshot) -> None:
        now = self._clock.now()
        added = tx.insert_new(
            snapshots,
            snapshot_id=snapshot.snapshot_id,
            url=snapshot.url,
            final_url=snapshot.final_url,
            canonical_url=snapshot.canonical_url,
            status=snapshot.status,
            content_type=snapshot.content_type,
            headers=[list(pair) for pair in snapshot.headers],
            body_sha256=snapshot.body_sha256,
            fetched_at=snapshot.fetched_at,
            via=snapshot.via,
            robots=snapshot.robots,
            usage_signals=list(snapshot.usage_signals),
            redirects=list(snapshot.redirects),
            note=snapshot.note,
            stored_at=now,
        )
        if added:
            put_blob(tx, snapshot.body, self._clock)


def put_blob(tx: Transaction, content: bytes, clock: Clock) -> str:
    """Store bytes once; their SHA-256."""
    sha256 = sha256_hex(content)
    known = tx.first(tx.select(blobs, blobs.c.encoding).where(blobs.c.sha256 == sha256))
    if known is not None and known.encoding in DROPPED:
        encoding, stored = _packed(content)
        values = {"encoding": encoding, "content": stored, "stored_bytes": len(stored), "stored_at": clock.now()}
        tx.change(tx.update(blobs).where(blobs.c.sha256 == sha256).values(**values))
    elif known is None:
        encoding, stored = _packed(content)
        tx.insert_new(
            blobs,
            sha256=sha256,
            encoding=encoding,
            content=stored,
            size_bytes=len(content),
            stored_bytes=len(stored),
            stored_at=clock.now(),
        )
    return sha256


def get_blob(tx: Transaction, sha256: str) -> bytes | None:
    """The bytes with this SHA-256, or None where they never were or were dropped. Errors: StorageUnavailable."""
    row = tx.first(tx.select(blobs, blobs.c.encoding, blobs.c.content).where(blobs.c.sha256 == sha256))
    if row is None or row.encoding in DROPPED:
        return None
    content = unpacked(row.encoding, row.content)
    if sha256_hex(content) != sha256:
        raise StorageUnavailable(f"the stored body {sha256[:12]} is not what was stored", reason="corrupt")
    return content


def kept_of(tx: Transaction, sha256: str) -> Kept:
    """Whether the body with this SHA-256 is kept, or as what its page was."""
    row = tx.first(tx.select(blobs, blobs.c.encoding).where(blobs.c.sha256 == sha256))
    return Kept(row.encoding) if row is not None and row.encoding in DROPPED else Kept.FULL


def unpacked(encoding: str, stored: bytes) -> bytes:
    """The bytes of a stored blob. Errors: StorageUnavailable (damaged)."""
    if encoding == "raw":
        return bytes(stored)
    try:
        return zlib.decompress(stored)
    except zlib.error as error:
        raise StorageUnavailable(f"a stored body can't be unpacked: {error}", reason="corrupt") from error


def stored_bytes(tx: Transaction) -> int:
    """What all bodies of the scope take up, compressed."""
    row = tx.first(tx.select(blobs, func.coalesce(func.sum(blobs.c.stored_bytes), 0).label("total")))
    return 0 if row is None else int(row.total)


def _packed(content: bytes) -> tuple[str, bytes]:
    sample = content[:_SAMPLE_BYTES]
    if len(zlib.compress(sample, 1)) > len(sample) * _WORTH_IT:
        return "raw", content
    return "zlib", zlib.compress(content, _LEVEL)


def _get(tx: Transaction, snapshot_id: str) -> Snapshot | None:
    row: Any = tx.first(tx.select(snapshots).where(snapshots.c.snapshot_id == snapshot_id))
    if row is None:
        return None
    kept = kept_of(tx, row.body_sha256)
    body = get_blob(tx, row.body_sha256) if kept is Kept.FULL else b""
    if body is None:
        raise StorageUnavailable(f"the body of {snapshot_id} is missing", reason="corrupt")
    return Snapshot(
        snapshot_id=row.snapshot_id,
        url=row.url,
        final_url=row.final_url,
        canonical_url=row.canonical_url,
        status=row.status,
        content_type=row.content_type,
        headers=tuple((name, value) for name, value in row.headers),
        body=body,
        body_sha256=row.body_sha256,
        fetched_at=row.fetched_at,
        via=row.via,
        robots=row.robots,
        usage_signals=tuple(row.usage_signals),
        redirects=tuple(row.redirects),
        note=row.note,
        kept=kept,
    )

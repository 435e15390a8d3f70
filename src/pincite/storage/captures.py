"""Captures of pages in the database, and what extractors read in them. Equal bytes and equal text are stored once."""

import json
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import ParseError, StorageUnavailable
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Excerpts, Kept, Snapshot
from pincite.storage.database import Scoped, Transaction, reads
from pincite.storage.evidence import DROPPED, EXCERPTS_KEY, snapshot_of
from pincite.storage.pages import document_bytes, put_document, put_snapshot
from pincite.storage.schema import blobs, documents, snapshots


@dataclass(frozen=True, slots=True)
class StoredCapture:
    """Which capture it is, and of what."""

    snapshot_id: str
    url: str
    final_url: str
    fetched_at: datetime
    stored_at: datetime


class SqlSnapshotStore(Scoped):
    """Implements `ports.SnapshotStore` for one scope."""

    async def put(self, snapshot: Snapshot) -> None:
        """Store it; putting the same id again changes nothing. Errors: StorageFull, StorageUnavailable."""
        await self._database.write(self._scope, lambda tx: put_snapshot(tx, snapshot, self._clock), durable=False)

    @reads
    def get(self, tx: Transaction, snapshot_id: str) -> Snapshot | None:
        """The capture, or None. Errors: StorageUnavailable (the stored body is damaged)."""
        return _get(tx, snapshot_id)

    @reads
    def of_body(self, tx: Transaction, url: str, sha256_prefix: str) -> Snapshot | None:
        """The newest capture of that address whose body has a hash that begins so, or None."""
        bodies = snapshots.c.body_sha256.between(sha256_prefix, sha256_prefix + "g")  # by its index
        query = tx.select(snapshots, snapshots.c.snapshot_id).where(bodies, snapshots.c.url == url)
        row = tx.first(query.order_by(snapshots.c.stored_at.desc()).limit(1))
        return None if row is None else _get(tx, row.snapshot_id)

    @reads
    def listed(self, tx: Transaction, since: datetime | None, limit: int) -> Sequence[StoredCapture]:
        """The newest captures stored at that time or later, in the order they were stored; without bodies."""
        names = ("snapshot_id", "url", "final_url", "fetched_at", "stored_at")
        query = tx.select(snapshots, *(snapshots.c[name] for name in names))
        query = query if since is None else query.where(snapshots.c.stored_at >= since)
        rows = tx.run(query.order_by(snapshots.c.stored_at.desc(), snapshots.c.snapshot_id).limit(limit))
        return [StoredCapture(*(getattr(row, name) for name in names)) for row in rows][::-1]


def get_blob(tx: Transaction, sha256: str) -> bytes | None:
    """The bytes with this SHA-256, or None where they never were or were dropped. Errors: StorageUnavailable."""
    row = tx.first(tx.select(blobs, blobs.c.encoding, blobs.c.content).where(blobs.c.sha256 == sha256))
    if row is None or row.encoding in DROPPED:
        return None
    content = unpacked(row.encoding, row.content)
    # On every read: a body that rotted on the disk must not become evidence.
    if sha256_hex(content) != sha256:
        raise StorageUnavailable(f"the stored body {sha256[:12]} is not what was stored", reason="corrupt")
    return content


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


def _get(tx: Transaction, snapshot_id: str) -> Snapshot | None:
    row: Any = tx.first(tx.select(snapshots).where(snapshots.c.snapshot_id == snapshot_id))
    if row is None:
        return None
    stored = tx.first(tx.select(blobs, blobs.c.encoding).where(blobs.c.sha256 == row.body_sha256))
    # A body that was dropped under the rules is no damage; one that is missing is.
    kept = Kept(stored.encoding) if stored is not None and stored.encoding in DROPPED else Kept.FULL
    body = get_blob(tx, row.body_sha256) if kept is Kept.FULL else b""
    if body is None:
        raise StorageUnavailable(f"the body of {snapshot_id} is missing", reason="corrupt")
    return snapshot_of(row._mapping, body, kept)  # noqa: SLF001  # the public way to a row's columns by name


class SqlDocumentStore(Scoped):
    """Implements `ports.DocumentStore` for one scope."""

    async def put(self, document: Document, snapshot_id: str) -> None:
        """Store it; putting the same id again changes nothing. Errors: StorageFull, StorageUnavailable."""
        content = document_bytes(document)
        await self._database.write(
            self._scope, lambda tx: put_document(tx, document, snapshot_id, content, self._clock), durable=False
        )

    @reads
    def get(self, tx: Transaction, document_id: str) -> Document | None:
        """The document, from whichever capture has it whole, or None. Errors: StorageUnavailable (it is damaged)."""
        query = tx.select(documents).where(documents.c.document_id == document_id)
        rows = tx.run(query.order_by(documents.c.stored_at, documents.c.snapshot_id))
        for content_sha256 in dict.fromkeys(row.content_sha256 for row in rows):
            if (found := read_document(tx, content_sha256, document_id)) is not None:
                return found
        return None

    @reads
    def excerpts(self, tx: Transaction, document_id: str) -> Excerpts | None:
        """What is kept in place of the document, or None. Errors: as `get`."""
        rows = tx.run(tx.select(documents).where(documents.c.document_id == document_id))
        for content_sha256 in dict.fromkeys(row.content_sha256 for row in rows):
            content = get_blob(tx, content_sha256)
            if content is not None and isinstance(found := _reading(content), Excerpts):
                return found
        return None

    @reads
    def newest_for_snapshot(self, tx: Transaction, snapshot_id: str) -> Document | None:
        """What was read last out of that capture, by whichever extractor, or None. Errors: as `get`."""
        of_capture = tx.select(documents).where(documents.c.snapshot_id == snapshot_id)
        newest = of_capture.order_by(documents.c.stored_at.desc(), documents.c.extractor, documents.c.version)
        row = tx.first(newest.limit(1))
        return None if row is None else read_document(tx, row.content_sha256, row.document_id)


def _reading(content: bytes) -> Document | Excerpts:
    try:
        stored = json.loads(content)
        return from_json(Excerpts, stored[EXCERPTS_KEY]) if EXCERPTS_KEY in stored else from_json(Document, stored)
    except (ValueError, TypeError, ParseError) as error:
        raise StorageUnavailable(f"a stored document can't be read: {error}", reason="corrupt") from error


def excerpts_bytes(excerpts: Excerpts) -> bytes:
    """How excerpts are stored in place of their document."""
    return json.dumps({EXCERPTS_KEY: to_json(excerpts)}, ensure_ascii=False, separators=(",", ":")).encode()


def read_document(tx: Transaction, content_sha256: str, document_id: str) -> Document | None:
    """The document in the blob, or None when only excerpts were kept. Errors: StorageUnavailable (damaged)."""
    content = get_blob(tx, content_sha256)
    if content is None:
        raise StorageUnavailable(f"the content of {document_id} is missing", reason="corrupt")
    if isinstance(document := _reading(content), Excerpts):
        return None
    # The id is made of the content: this compares what is stored with what it was stored as.
    if document.document_id != document_id:
        raise StorageUnavailable(f"the stored document is not {document_id}", reason="corrupt")
    return document

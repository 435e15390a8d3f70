"""What extractors read, in the database. Equal content is stored once, however many captures gave it."""

import json
from typing import Final

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import ParseError, StorageUnavailable
from pincite.domain.page import Document, Excerpts
from pincite.ports import Clock
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import documents
from pincite.storage.snapshots import get_blob, put_blob


class SqlDocumentStore:
    """Implements `ports.DocumentStore` for one scope."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock

    async def put(self, document: Document, snapshot_id: str) -> None:
        """Store it; putting the same id again changes nothing. Errors: StorageFull, StorageUnavailable."""
        content = document_bytes(document)
        await self._database.write(self._scope, lambda tx: self._put(tx, document, snapshot_id, content), durable=False)

    async def get(self, document_id: str) -> Document | None:
        """The document, or None. Errors: StorageUnavailable (what is stored is damaged)."""
        return await self._database.read(self._scope, lambda tx: _get(tx, document_id))

    async def excerpts(self, document_id: str) -> Excerpts | None:
        """What is kept in place of the document, or None. Errors: as `get`."""
        return await self._database.read(self._scope, lambda tx: _excerpts(tx, document_id))

    async def for_snapshot(self, snapshot_id: str, extractor: str, version: str) -> Document | None:
        """What this extractor version read out of that capture, or None. Errors: as `get`."""
        return await self._database.read(self._scope, lambda tx: _for_snapshot(tx, snapshot_id, extractor, version))

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        """What was read last out of that capture, by whichever extractor, or None. Errors: as `get`."""
        return await self._database.read(self._scope, lambda tx: _newest(tx, snapshot_id))

    def _put(self, tx: Transaction, document: Document, snapshot_id: str, content: bytes) -> None:
        tx.insert_new(
            documents,
            snapshot_id=snapshot_id,
            extractor=document.extractor,
            version=document.version,
            document_id=document.document_id,
            content_sha256=put_blob(tx, content, self._clock),
            stored_at=self._clock.now(),
        )


EXCERPTS_KEY: Final = "excerpts"
"""The one member of the JSON that is stored in place of a document of which only excerpts are kept."""


def document_of(content: bytes) -> Document | None:
    """The document in a stored blob, or None when only excerpts were kept. Errors: StorageUnavailable (damaged)."""
    try:
        stored = json.loads(content)
        return None if EXCERPTS_KEY in stored else from_json(Document, stored)
    except (ValueError, TypeError, ParseError) as error:
        raise StorageUnavailable(f"a stored document can't be read: {error}", reason="corrupt") from error


def document_bytes(document: Document) -> bytes:
    """How a document is stored."""
    return json.dumps(to_json(document), ensure_ascii=False, separators=(",", ":")).encode()


def excerpts_bytes(excerpts: Excerpts) -> bytes:
    """How excerpts are stored in place of their document."""
    return json.dumps({EXCERPTS_KEY: to_json(excerpts)}, ensure_ascii=False, separators=(",", ":")).encode()


def _get(tx: Transaction, document_id: str) -> Document | None:
    """From whichever capture still has it whole."""
    query = tx.select(documents).where(documents.c.document_id == document_id)
    rows = tx.run(query.order_by(documents.c.stored_at, documents.c.snapshot_id))
    for content_sha256 in dict.fromkeys(row.content_sha256 for row in rows):
        if (found := read_document(tx, content_sha256, document_id)) is not None:
            return found
    return None


def _excerpts(tx: Transaction, document_id: str) -> Excerpts | None:
    rows = tx.run(tx.select(documents).where(documents.c.document_id == document_id))
    for content_sha256 in dict.fromkeys(row.content_sha256 for row in rows):
        content = get_blob(tx, content_sha256)
        if content is not None and (found := excerpts_in(content)) is not None:
            return found
    return None


def excerpts_in(content: bytes) -> Excerpts | None:
    """The excerpts in a stored blob, or None when it holds a whole document. Errors: StorageUnavailable (damaged)."""
    try:
        stored = json.loads(content)
        return from_json(Excerpts, stored[EXCERPTS_KEY]) if EXCERPTS_KEY in stored else None
    except (ValueError, TypeError, ParseError) as error:
        raise StorageUnavailable(f"stored excerpts can't be read: {error}", reason="corrupt") from error


def _for_snapshot(tx: Transaction, snapshot_id: str, extractor: str, version: str) -> Document | None:
    row = tx.first(
        tx.select(documents).where(
            documents.c.snapshot_id == snapshot_id,
            documents.c.extractor == extractor,
            documents.c.version == version,
        )
    )
    return None if row is None else read_document(tx, row.content_sha256, row.document_id)


def _newest(tx: Transaction, snapshot_id: str) -> Document | None:
    query = tx.select(documents).where(documents.c.snapshot_id == snapshot_id)
    row = tx.first(query.order_by(documents.c.stored_at.desc(), documents.c.extractor, documents.c.version).limit(1))
    return None if row is None else read_document(tx, row.content_sha256, row.document_id)


def read_document(tx: Transaction, content_sha256: str, document_id: str) -> Document | None:
    """The document in the blob, or None when only excerpts were kept. Errors: StorageUnavailable (damaged)."""
    content = get_blob(tx, content_sha256)
    if content is None:
        raise StorageUnavailable(f"the content of {document_id} is missing", reason="corrupt")
    document = document_of(content)
    if document is not None and document.document_id != document_id:
        raise StorageUnavailable(f"the stored document is not {document_id}", reason="corrupt")
    return document

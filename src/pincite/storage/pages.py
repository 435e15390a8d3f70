"""Captures of pages in the database, and what extractors read in them. Equal bytes and equal text are stored once.

All of it is text of SQL, so that a home's pages need no database layer: a command that fetches one page loads that for
longer than it takes to fetch the page.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pincite.domain.codec import to_json, utc_moment, utc_text
from pincite.domain.errors import PinciteError
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Snapshot
from pincite.ports import Clock
from pincite.storage import failures
from pincite.storage.evidence import DROPPED, EXCERPTS_KEY, find_document, find_excerpts, find_snapshot, read_document
from pincite.storage.home_files import WAIT_S, can_only_be_read, open_read_only
from pincite.storage.migrations import newest
from pincite.storage.tables import FileTables, FileTransaction, Tables, TextStatements

T = TypeVar("T")

# zlib's own default.
_LEVEL: Final = 6
# Twice the window of DEFLATE (RFC 1951): what does not shrink within it will not shrink after it.
_SAMPLE_BYTES: Final = 65_536
# A body is stored compressed when a sample of it shrinks below this share (a PDF or an image does not).
_WORTH_IT: Final = 0.9

_SNAPSHOT: Final = (
    *("snapshot_id", "url", "final_url", "canonical_url", "status", "content_type", "headers", "body_sha256"),
    *("fetched_at", "via", "robots", "usage_signals", "redirects", "note", "stored_at"),
)
_BLOB: Final = ("sha256", "encoding", "content", "size_bytes", "stored_bytes", "stored_at")
_DOCUMENT: Final = ("snapshot_id", "extractor", "version", "document_id", "content_sha256", "stored_at")


@dataclass(frozen=True, slots=True)
class StoredCapture:
    """Which capture it is, and of what."""

    snapshot_id: str
    url: str
    final_url: str
    fetched_at: datetime
    stored_at: datetime


class TableSnapshots:
    """Implements `ports.SnapshotStore` for one scope. Errors of every method: those of `Tables`, InvalidInput."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def put(self, snapshot: Snapshot) -> None:
        """Store it; putting the same id again changes nothing."""
        await self._tables.write(lambda tx: _put_snapshot(tx, snapshot, self._clock))

    async def get(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None. Errors: StorageUnavailable (the stored body is damaged)."""
        return await self._tables.read(lambda tx: find_snapshot(tx, snapshot_id))

    async def of_body(self, url: str, sha256_prefix: str) -> Snapshot | None:
        """The newest capture of that address whose body has a hash that begins so, or None."""
        query = (
            "SELECT snapshot_id FROM snapshots WHERE scope = :in_scope AND body_sha256 BETWEEN :first AND :last"
            " AND url = :url ORDER BY stored_at DESC LIMIT 1"
        )
        # By the index of hashes.
        wanted = {"first": sha256_prefix, "last": f"{sha256_prefix}g", "url": url}

        return await self._tables.read(
            lambda tx: next((find_snapshot(tx, found) for (found,) in tx.query(query, wanted)), None)
        )

    async def listed(self, since: datetime | None, limit: int) -> Sequence[StoredCapture]:
        """The newest captures stored at that time or later, in the order they were stored; without bodies."""
        query = (
            "SELECT snapshot_id, url, final_url, fetched_at, stored_at FROM snapshots"
            " WHERE scope = :in_scope AND stored_at >= :since ORDER BY stored_at DESC, snapshot_id LIMIT :most"
        )
        wanted = {"since": "" if since is None else utc_text(since), "most": limit}
        rows = await self._tables.read(lambda tx: tx.query(query, wanted))
        return [
            StoredCapture(snapshot_id, url, final_url, utc_moment(fetched_at), utc_moment(stored_at))
            for snapshot_id, url, final_url, fetched_at, stored_at in reversed(rows)
        ]


class TableDocuments:
    """Implements `ports.DocumentStore` for one scope. Errors of every method: those of `Tables`, InvalidInput."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def put(self, document: Document, snapshot_id: str) -> None:
        """Store it; putting the same id again changes nothing."""
        content = _json(to_json(document, sparse=True)).encode()
        await self._tables.write(lambda tx: _put_document(tx, document, snapshot_id, content, self._clock))

    async def get(self, document_id: str) -> Document | None:
        """The document, from whichever capture has it whole, or None. Errors: StorageUnavailable (it is damaged)."""
        return await self._tables.read(lambda tx: find_document(tx, document_id))

    async def excerpts(self, document_id: str) -> Excerpts | None:
        """What is kept in place of the document, or None. Errors: as `get`."""
        return await self._tables.read(lambda tx: find_excerpts(tx, document_id))

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        """What was read last out of that capture, by whichever extractor, or None. Errors: as `get`."""
        query = (
            "SELECT content_sha256, document_id FROM documents WHERE scope = :in_scope AND snapshot_id = :snapshot_id"
            " ORDER BY stored_at DESC, extractor, version LIMIT 1"
        )

        wanted = {"snapshot_id": snapshot_id}
        return await self._tables.read(
            lambda tx: next((read_document(tx, *row) for row in tx.query(query, wanted)), None)
        )


def _new_row(table: str, columns: tuple[str, ...]) -> str:
    values = ", ".join(f":{name}" for name in columns)
    places = f"{table} (scope, {', '.join(columns)})"
    return f"INSERT INTO {places} VALUES (:in_scope, {values}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of ours


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _put_snapshot(tx: TextStatements, snapshot: Snapshot, clock: Clock) -> None:
    values = {name: getattr(snapshot, name) for name in _SNAPSHOT if name != "stored_at"} | {
        "headers": _json([list(pair) for pair in snapshot.headers]),
        "fetched_at": utc_text(snapshot.fetched_at),
        "usage_signals": _json(list(snapshot.usage_signals)),
        "redirects": _json(list(snapshot.redirects)),
        "stored_at": utc_text(clock.now()),
    }
    if tx.apply(_new_row("snapshots", _SNAPSHOT), values):
        put_blob(tx, snapshot.body, clock)


def _put_document(tx: TextStatements, document: Document, snapshot_id: str, content: bytes, clock: Clock) -> None:
    values = {
        "snapshot_id": snapshot_id,
        "extractor": document.extractor,
        "version": document.version,
        "document_id": document.document_id,
        "content_sha256": put_blob(tx, content, clock),
        "stored_at": utc_text(clock.now()),
    }
    tx.apply(_new_row("documents", _DOCUMENT), values)


def put_excerpts(tx: TextStatements, excerpts: Excerpts, clock: Clock) -> str:
    """Store what is kept in place of a document; its SHA-256."""
    return put_blob(tx, _json({EXCERPTS_KEY: to_json(excerpts)}).encode(), clock)


def put_blob(tx: TextStatements, content: bytes, clock: Clock) -> str:
    """Store bytes once; their SHA-256."""
    sha256 = sha256_hex(content)
    asked = {"sha256": sha256}
    known = tx.query("SELECT encoding FROM blobs WHERE scope = :in_scope AND sha256 = :sha256", asked)
    if known and known[0][0] not in DROPPED:
        return sha256
    encoding, stored = _packed(content)
    values = asked | {"encoding": encoding, "content": stored, "stored_bytes": len(stored)}
    values |= {"stored_at": utc_text(clock.now())}
    if known:
        tx.apply(
            "UPDATE blobs SET encoding = :encoding, content = :content, stored_bytes = :stored_bytes,"
            " stored_at = :stored_at WHERE scope = :in_scope AND sha256 = :sha256",
            values,
        )
    else:
        tx.apply(_new_row("blobs", _BLOB), values | {"size_bytes": len(content)})
    return sha256


def _packed(content: bytes) -> tuple[str, bytes]:
    sample = content[:_SAMPLE_BYTES]
    if len(zlib.compress(sample, 1)) > len(sample) * _WORTH_IT:
        return "raw", content
    return "zlib", zlib.compress(content, _LEVEL)


def stored_bytes(tx: TextStatements) -> int:
    """What all bodies of the scope take up, compressed."""
    ((total,),) = tx.query("SELECT coalesce(sum(stored_bytes), 0) FROM blobs WHERE scope = :in_scope")
    return int(total)


class _DatabaseFile(FileTables):
    """The database of a home, which is there and has its schema."""

    def opened(self) -> sqlite3.Connection:
        """The connection that writes, set up as that of the database layer."""
        if self._connection is None and not can_only_be_read(self.path):
            place = f"{self.path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(place, uri=True, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._connection = connection
        return super().opened()

    async def read(self, do: Callable[[TextStatements], T]) -> T:
        """As of every table, beside who writes."""
        return await anyio.to_thread.run_sync(self.read_now, do)

    def read_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `read`, in the calling thread."""
        with failures.translated(), closing(open_read_only(self.path)) as connection:
            return do(FileTransaction(connection, self._scope, self._clock))

    def version(self) -> int:
        """The version of its schema."""
        with failures.translated(), closing(open_read_only(self.path)) as connection:
            return int(connection.execute("SELECT max(version) FROM schema_versions").fetchone()[0])


class HomePages:
    """The captures and readings of one scope of a home, found and stored with the standard library alone."""

    def __init__(self, path: Path, scope: str, clock: Clock) -> None:
        self._file = _DatabaseFile(path, "", scope, clock)
        self.snapshots = TableSnapshots(self._file, clock)
        self.documents = TableDocuments(self._file, clock)

    async def is_current(self) -> bool:
        """Whether the database is there, with the schema of this Pincite."""
        try:
            return await anyio.to_thread.run_sync(self._file.version) == newest()
        except PinciteError:
            return False

    def close(self) -> None:
        """Close the file."""
        self._file.close_now()

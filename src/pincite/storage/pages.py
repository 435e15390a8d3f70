"""How captures and readings are stored, as text of SQL; and those of a home without the database layer.

A command that fetches one page loads that layer for longer than it takes to fetch the page.
"""

import json
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread

from pincite.domain.codec import to_json, utc_text
from pincite.domain.errors import PinciteError
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Excerpts, Snapshot
from pincite.ports import Clock, DocumentStore, SnapshotStore
from pincite.storage.evidence import DROPPED, EvidenceReader
from pincite.storage.home_files import WAIT_S, can_only_be_read
from pincite.storage.migrations import newest
from pincite.storage.tables import FileTables, TextStatements

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


def _new_row(table: str, columns: tuple[str, ...]) -> str:
    values = ", ".join(f":{name}" for name in columns)
    places = f"{table} (scope, {', '.join(columns)})"
    return f"INSERT INTO {places} VALUES (:in_scope, {values}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of ours


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def put_snapshot(tx: TextStatements, snapshot: Snapshot, clock: Clock) -> None:
    """Store a capture; putting the same id again changes nothing."""
    values = {name: getattr(snapshot, name) for name in _SNAPSHOT if name != "stored_at"} | {
        "headers": _json([list(pair) for pair in snapshot.headers]),
        "fetched_at": utc_text(snapshot.fetched_at),
        "usage_signals": _json(list(snapshot.usage_signals)),
        "redirects": _json(list(snapshot.redirects)),
        "stored_at": utc_text(clock.now()),
    }
    if tx.apply(_new_row("snapshots", _SNAPSHOT), values):
        put_blob(tx, snapshot.body, clock)


def put_document(tx: TextStatements, document: Document, snapshot_id: str, content: bytes, clock: Clock) -> None:
    """Store a reading, whose `content` is `document_bytes`."""
    values = {
        "snapshot_id": snapshot_id,
        "extractor": document.extractor,
        "version": document.version,
        "document_id": document.document_id,
        "content_sha256": put_blob(tx, content, clock),
        "stored_at": utc_text(clock.now()),
    }
    tx.apply(_new_row("documents", _DOCUMENT), values)


def document_bytes(document: Document) -> bytes:
    """A reading as it is stored."""
    return json.dumps(to_json(document, sparse=True), ensure_ascii=False, separators=(",", ":")).encode()


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


class _ProvenReader(EvidenceReader):
    """Gives no body that is not what was stored."""

    def _blob(self, sha256: str) -> bytes | None:
        content = super()._blob(sha256)
        return content if content is not None and sha256_hex(content) == sha256 else None


class _DatabaseFile(FileTables):
    """The database of a home, which is there and has its schema."""

    def opened(self) -> sqlite3.Connection:
        """The connection, set up as that of the database layer."""
        if self._connection is None:
            place = f"{self.path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(place, uri=True, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._connection = connection
        return self._connection


class _Snapshots(SnapshotStore, Protocol):
    async def of_body(self, url: str, sha256_prefix: str) -> Snapshot | None: ...


class _Storage(Protocol):
    """The same over the database layer: `ScopedStorage`."""

    @property
    def snapshots(self) -> _Snapshots: ...
    @property
    def documents(self) -> DocumentStore: ...


class HomePages:
    """The captures and readings of one scope of a home (`ports.SnapshotStore`, `ports.DocumentStore`).

    They are found and stored with the standard library alone. The database layer is loaded with the first call for
    anything that is not there, whole and as it was: so every answer but a plain one is its own.
    """

    def __init__(self, path: Path, scope: str, clock: Clock, open_: Callable[[], Awaitable[_Storage]]) -> None:
        self._path, self._scope, self._clock = path, scope, clock
        self._file = _DatabaseFile(path, "", scope, clock)
        self.opened = open_
        self.snapshots = _HomeSnapshots(self, clock)
        self.documents = _HomeDocuments(self, clock)

    async def find(self, read: Callable[[EvidenceReader], T | None]) -> T | None:
        """What `read` finds; None also where it can't be read."""

        def work() -> T | None:
            try:
                with _ProvenReader(self._path, self._scope) as reader:
                    return read(reader)
            except PinciteError:
                return None

        return await anyio.to_thread.run_sync(work)

    async def stored(self, write: Callable[[TextStatements], None]) -> bool:
        """Whether that was written; not where the database layer has something to say about it."""
        if can_only_be_read(self._path):
            return False
        try:
            await self._file.write(write)
        except (PinciteError, UnicodeEncodeError):
            return False
        return True

    async def is_current(self) -> bool:
        """Whether the database is there, with the schema of this Pincite."""
        return await self.find(EvidenceReader.version) == newest()

    def close(self) -> None:
        """Close the file."""
        self._file.close_now()


class _HomeSnapshots:
    """As `SqlSnapshotStore`."""

    def __init__(self, home: HomePages, clock: Clock) -> None:
        self._home, self._clock = home, clock

    async def put(self, snapshot: Snapshot) -> None:
        if not await self._home.stored(lambda tx: put_snapshot(tx, snapshot, self._clock)):
            await (await self._sql()).put(snapshot)

    async def get(self, snapshot_id: str) -> Snapshot | None:
        found = await self._home.find(lambda reader: reader.snapshot(snapshot_id))
        return found or await (await self._sql()).get(snapshot_id)

    async def of_body(self, url: str, sha256_prefix: str) -> Snapshot | None:
        return await (await self._sql()).of_body(url, sha256_prefix)

    async def _sql(self) -> _Snapshots:
        return (await self._home.opened()).snapshots


class _HomeDocuments:
    """As `SqlDocumentStore`."""

    def __init__(self, home: HomePages, clock: Clock) -> None:
        self._home, self._clock = home, clock

    async def put(self, document: Document, snapshot_id: str) -> None:
        content = document_bytes(document)
        if not await self._home.stored(lambda tx: put_document(tx, document, snapshot_id, content, self._clock)):
            await (await self._sql()).put(document, snapshot_id)

    async def get(self, document_id: str) -> Document | None:
        found = await self._home.find(lambda reader: reader.document(document_id))
        if found is not None and found.document_id == document_id:
            return found
        return await (await self._sql()).get(document_id)

    async def excerpts(self, document_id: str) -> Excerpts | None:
        return await (await self._sql()).excerpts(document_id)

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        return await (await self._sql()).newest_for_snapshot(snapshot_id)

    async def _sql(self) -> DocumentStore:
        return (await self._home.opened()).documents

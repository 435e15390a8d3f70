"""What runs left behind, as text of SQL: pages with what was read in them, events, reports, runs.

Read in a transaction of the database layer, and by `EvidenceReader` with the standard library alone: for `check`,
`runs list` and `runs show` on SQLite.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.budget import Budget, Usage
from pincite.domain.codec import from_json, utc_moment
from pincite.domain.errors import PinciteError, RunNotFound, StorageUnavailable
from pincite.domain.events import Event, EventType, RunStatus
from pincite.domain.excerpts import Excerpts
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Kept, Snapshot
from pincite.domain.records import RunRecord
from pincite.runtime.system import SystemClock
from pincite.storage.failures import translated
from pincite.storage.home_files import open_read_only
from pincite.storage.tables import FileTransaction, TextStatements

if TYPE_CHECKING:
    from pincite.domain.report import Report

_SPENT: Final = ("searches", "pages", "web_requests", "size_bytes", "tokens_in", "tokens_out")
# In place of an encoding: the body was dropped, and what was kept of its page.
DROPPED: Final = frozenset({Kept.RUN.value, Kept.EXCERPTS.value})
# The one member of the JSON that is stored in place of a document of which only excerpts are kept.
EXCERPTS_KEY: Final = "excerpts"
# Members that columns are called after.
_PLAIN: Final = (
    *("snapshot_id", "url", "final_url", "canonical_url", "status", "content_type", "body_sha256", "fetched_at"),
    *("via", "robots", "note"),
)
_DECODED: Final = ("headers", "usage_signals", "redirects")
_RECORD: Final = tuple("run_id scope question created_at updated_at inputs epoch reason project priority".split())
# Columns that a home of an older release does not have: it is read as it is, for `check` must not migrate it.
_NEWER: Final = ("for_workers", "deaths", "request_id")
_RUN: Final = "SELECT * FROM runs WHERE scope = :in_scope"
_SNAPSHOT: Final = (
    f"SELECT {', '.join((*_PLAIN, *_DECODED))} FROM snapshots"  # noqa: S608  # names of columns
    " WHERE scope = :in_scope AND snapshot_id = :snapshot_id"
)
_BLOB: Final = "SELECT encoding, content FROM blobs WHERE scope = :in_scope AND sha256 = :sha256"
_DOCUMENTS: Final = (
    "SELECT snapshot_id, content_sha256 FROM documents WHERE scope = :in_scope AND document_id = :document_id"
    " ORDER BY stored_at, snapshot_id"
)
_REPORT: Final = (
    "SELECT content FROM reports WHERE scope = :in_scope AND run_id = :run_id"
    " AND (CAST(:version AS INTEGER) IS NULL OR version = :version) ORDER BY version DESC LIMIT 1"
)
_EVENTS: Final = (
    "SELECT identity, seq, type, run_id, at, data, request_id, topic_hash FROM events"
    " WHERE scope = :in_scope AND run_id = :run_id AND seq > :after ORDER BY seq"
)


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except (zlib.error, ValueError, TypeError, PinciteError) as error:
        raise StorageUnavailable(f"a stored {what} can't be read: {error}", reason="corrupt") from error


def find_snapshot(tx: TextStatements, snapshot_id: str, *, proven: bool = True) -> Snapshot | None:
    """The capture, or None.

    What is `proven` has the body that was stored; else one that was tampered with is given as it is, and one whose body
    is missing is none.

    Errors: StorageUnavailable (damaged).
    """
    rows = tx.query(_SNAPSHOT, {"snapshot_id": snapshot_id})
    if not rows:
        return None
    row: dict[str, Any] = dict(zip((*_PLAIN, *_DECODED), rows[0], strict=True))
    # A body that was dropped under the rules is no damage; one that is missing is.
    stored = tx.query(_BLOB, {"sha256": row["body_sha256"]})
    kept = Kept(stored[0][0]) if stored and stored[0][0] in DROPPED else Kept.FULL
    body = _unpacked(stored, row["body_sha256"], proven=proven) if kept is Kept.FULL else b""
    if body is None:
        if proven:
            raise StorageUnavailable(f"the body of {snapshot_id} is missing", reason="corrupt")
        return None
    with _readable("capture"):
        decoded = {name: json.loads(row[name]) for name in _DECODED}
        return snapshot_of({**row, **decoded, "fetched_at": utc_moment(row["fetched_at"])}, body, kept)


def snapshot_of(row: Mapping[Any, Any], body: bytes = b"", kept: Kept = Kept.FULL) -> Snapshot:
    """The capture in a row of `snapshots` whose times and JSON are decoded, with this body."""
    headers = tuple((name, value) for name, value in row["headers"])
    signals, redirects = tuple(row["usage_signals"]), tuple(row["redirects"])
    plain = {name: row[name] for name in _PLAIN}
    return Snapshot(**plain, headers=headers, usage_signals=signals, redirects=redirects, body=body, kept=kept)


def get_blob(tx: TextStatements, sha256: str, *, proven: bool = True) -> bytes | None:
    """The bytes with this SHA-256, or None where they never were or were dropped. Errors: StorageUnavailable."""
    stored = tx.query(_BLOB, {"sha256": sha256})
    return None if stored and stored[0][0] in DROPPED else _unpacked(stored, sha256, proven=proven)


def _unpacked(stored: Sequence[Sequence[Any]], sha256: str, *, proven: bool) -> bytes | None:  # rows of `_BLOB`
    if not stored:
        return None
    content = unpacked(*stored[0])
    # On every read: a body that rotted on the disk must not become evidence.
    if proven and sha256_hex(content) != sha256:
        raise StorageUnavailable(f"the stored body {sha256[:12]} is not what was stored", reason="corrupt")
    return content


def unpacked(encoding: str, stored: bytes) -> bytes:
    """The bytes of a stored blob. Errors: StorageUnavailable (damaged)."""
    with _readable("body"):
        return bytes(stored) if encoding == "raw" else zlib.decompress(stored)


def find_document(tx: TextStatements, document_id: str) -> Document | None:
    """The document, from whichever capture has it whole, or None. Errors: StorageUnavailable (it is damaged)."""
    found = (read_document(tx, content_sha256, document_id) for content_sha256 in _contents(tx, document_id))
    return next((document for document in found if document is not None), None)


def find_excerpts(tx: TextStatements, document_id: str) -> Excerpts | None:
    """What is kept in place of the document, or None. Errors: as `find_document`."""
    for content_sha256 in _contents(tx, document_id):
        content = get_blob(tx, content_sha256)
        if content is not None and isinstance(found := _reading(content), Excerpts):
            return found
    return None


def _contents(tx: TextStatements, document_id: str) -> Sequence[str]:
    rows = tx.query(_DOCUMENTS, {"document_id": document_id})
    return tuple(dict.fromkeys(content_sha256 for _, content_sha256 in rows))


def read_document(tx: TextStatements, content_sha256: str, document_id: str) -> Document | None:
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


def _reading(content: bytes) -> Document | Excerpts:
    with _readable("document"):
        stored = json.loads(content)
        return from_json(Excerpts, stored[EXCERPTS_KEY]) if EXCERPTS_KEY in stored else from_json(Document, stored)


def find_report(tx: TextStatements, run_id: str, version: int | None = None) -> "Report | None":
    """The newest report of a run (or this version), or None. Errors: StorageUnavailable (it is damaged)."""
    from pincite.domain.report import Report

    rows = tx.query(_REPORT, {"run_id": run_id, "version": version})
    with _readable("report"):
        return from_json(Report, json.loads(zlib.decompress(rows[0][0]))) if rows else None


def read_events(
    tx: TextStatements, run_id: str, after: int = 0, limit: int | None = None
) -> tuple[tuple[str, Event], ...]:
    """The events of a run numbered above `after`, in order, each with its identity. Errors: StorageUnavailable."""
    some = _EVENTS if limit is None else f"{_EVENTS} LIMIT :most"
    rows = tx.query(some, {"run_id": run_id, "after": after, "most": limit})
    with _readable("event"):
        return tuple(
            (identity, Event(seq, EventType(type_), run_id, utc_moment(at), json.loads(data), request_id, topic_hash))
            for identity, seq, type_, run_id, at, data, request_id, topic_hash in rows
        )


def record_of(row: Mapping[Any, Any], usage: Usage) -> RunRecord:
    """The run in a row of `runs` whose times and JSON are decoded. Errors: ParseError (its budget)."""
    members = {name: row[name] for name in (*_RECORD, *_NEWER) if name in _RECORD or name in row}
    return RunRecord(**members, status=RunStatus(row["status"]), budget=from_json(Budget, row["budget"]), usage=usage)


def _record(row: Any) -> RunRecord:  # a sqlite3.Row of `runs`
    cost_usd = (Decimal(row["spent_cost_nanousd"]) / 1_000_000_000).normalize() + Decimal(0)
    usage = Usage(**{name: row[f"spent_{name}"] for name in _SPENT}, cost_usd=cost_usd)
    with _readable("run"):
        decoded: dict[str, Any] = {name: json.loads(row[name]) for name in ("inputs", "budget")}
        decoded |= {name: utc_moment(row[name]) for name in ("created_at", "updated_at")}
        values = {**dict(row), **decoded}
        if "for_workers" in values:
            values["for_workers"] = bool(values["for_workers"])
        return record_of(values, usage)


class EvidenceReader:
    """Read-only access to the SQLite database at `path` for one scope. Close it, or use it in a `with`.

    What is read is given as stored, also when it was tampered with: comparing hashes and quotes is the checker's
    business.

    Errors: StorageUnavailable (there is no database, or it is damaged).
    """

    def __init__(self, path: Path, scope: str = "local") -> None:
        if not path.is_file():
            raise StorageUnavailable(f"there is no database at {path}", reason="cannot_open")
        with translated():
            self._connection = open_read_only(path)
        self._connection.row_factory = sqlite3.Row
        self._tx = FileTransaction(self._connection, scope, SystemClock())

    def __enter__(self) -> "EvidenceReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture with its body, or None when it is not stored (any more)."""
        return find_snapshot(self._tx, snapshot_id, proven=False)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document as it was stored under this id (for this capture), or None."""
        found = self._stored(document_id, snapshot_id)
        return found if isinstance(found, Document) else None

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What was kept in place of the document, or None."""
        found = self._stored(document_id, snapshot_id)
        return found if isinstance(found, Excerpts) else None

    def _stored(self, document_id: str, snapshot_id: str | None) -> Document | Excerpts | None:
        rows = self._tx.query(_DOCUMENTS, {"document_id": document_id})
        # Equal content has one id, whichever capture it came from.
        row = next((row for row in rows if row[0] == snapshot_id), rows[0] if rows else None)
        content = None if row is None else get_blob(self._tx, row[1], proven=False)
        return None if content is None else _reading(content)

    def report(self, run_id: str, version: int | None = None) -> "Report | None":
        """The newest report of a run (or this version), or None."""
        return find_report(self._tx, run_id, version)

    def runs(self, limit: int = 50) -> Sequence[RunRecord]:
        """The newest runs first."""
        newest = f"{_RUN} ORDER BY created_at DESC, run_id DESC LIMIT :most"
        return tuple(map(_record, self._tx.query(newest, {"most": limit})))

    def run(self, run_id: str) -> RunRecord:
        """The run. Errors: RunNotFound."""
        rows = self._tx.query(f"{_RUN} AND run_id = :run_id", {"run_id": run_id})
        if not rows:
            raise RunNotFound(f"there is no run {run_id}")
        return _record(rows[0])

    def events(self, run_id: str) -> Sequence[Event]:
        """All events of a run in order."""
        return tuple(event for _, event in read_events(self._tx, run_id))

"""What a run left behind, read without the database layer: for `check`, `runs list` and `runs show` on SQLite.

Only reads, only the standard library. What is read is given as stored, also when it was tampered with: comparing
hashes and quotes is the checker's business.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.budget import Budget, Usage
from pincite.domain.codec import from_json, utc_moment
from pincite.domain.errors import PinciteError, RunNotFound, StorageUnavailable
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.page import Document, Excerpts, Kept, Snapshot
from pincite.domain.records import RunRecord
from pincite.storage.failures import translated
from pincite.storage.home_files import open_read_only

if TYPE_CHECKING:
    from pincite.domain.report import Report

_SPENT: Final = ("searches", "pages", "web_requests", "size_bytes", "tokens_in", "tokens_out")
# In place of an encoding: the body was dropped, and what was kept of its page.
DROPPED: Final = frozenset({Kept.RUN.value, Kept.EXCERPTS.value})
# The one member of the JSON that is stored in place of a document of which only excerpts are kept.
EXCERPTS_KEY: Final = "excerpts"
# Members that columns are called after.
_CAPTURE: Final = (
    *("snapshot_id", "url", "final_url", "canonical_url", "status", "content_type", "body_sha256", "fetched_at"),
    *("via", "robots", "note"),
)
_RECORD: Final = tuple("run_id scope question created_at updated_at inputs epoch reason project priority".split())
# Columns that a home of an older release does not have: it is read as it is, for `check` must not migrate it.
_NEWER: Final = ("for_workers", "deaths", "request_id")
_RUN: Final = "SELECT * FROM runs WHERE scope = ?"


class EvidenceReader:
    """Read-only access to the SQLite database at `path` for one scope. Close it, or use it in a `with`.

    Errors: StorageUnavailable (there is no database, or it is damaged).
    """

    def __init__(self, path: Path, scope: str = "local") -> None:
        if not path.is_file():
            raise StorageUnavailable(f"there is no database at {path}", reason="cannot_open")
        self._scope = scope
        self._path = path
        self._connection = self._open()

    def __enter__(self) -> "EvidenceReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture with its body, or None when it is not stored (any more)."""
        row = self._one("SELECT * FROM snapshots WHERE scope = ? AND snapshot_id = ?", snapshot_id)
        kept = Kept.FULL if row is None else self._kept(row["body_sha256"])
        body = None if row is None else b"" if kept is not Kept.FULL else self._blob(row["body_sha256"])
        if row is None or body is None:
            return None
        with _readable("capture"):
            decoded = {name: json.loads(row[name]) for name in ("headers", "usage_signals", "redirects")}
            return snapshot_of({**dict(row), **decoded, "fetched_at": utc_moment(row["fetched_at"])}, body, kept)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document as it was stored under this id (for this capture), or None."""
        stored = self._reading(document_id, snapshot_id)
        if stored is None or EXCERPTS_KEY in stored:
            return None
        with _readable("document"):
            return from_json(Document, stored)

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What was kept in place of the document, or None."""
        stored = self._reading(document_id, snapshot_id)
        if stored is None or EXCERPTS_KEY not in stored:
            return None
        with _readable("document"):
            return from_json(Excerpts, stored[EXCERPTS_KEY])

    def _reading(self, document_id: str, snapshot_id: str | None) -> dict[str, Json] | None:
        query = "SELECT content_sha256 FROM documents WHERE scope = ? AND document_id = ?"
        row = None
        if snapshot_id is not None:
            row = self._one(query + " AND snapshot_id = ?", document_id, snapshot_id)
        # Equal content has one id, whichever capture it came from.
        row = row or self._one(query + " ORDER BY stored_at, snapshot_id LIMIT 1", document_id)
        content = None if row is None else self._blob(row["content_sha256"])
        if content is None:
            return None
        with _readable("document"):
            found: dict[str, Json] = json.loads(content)
            return found

    def report(self, run_id: str, version: int | None = None) -> "Report | None":
        """The newest report of a run (or this version), or None."""
        from pincite.domain.report import Report

        row = self._one(
            "SELECT content FROM reports WHERE scope = ? AND run_id = ? AND (? IS NULL OR version = ?)"
            " ORDER BY version DESC LIMIT 1",
            run_id,
            version,
            version,
        )
        if row is None:
            return None
        with _readable("report"):
            return from_json(Report, json.loads(zlib.decompress(row["content"])))

    def runs(self, limit: int = 50) -> Sequence[RunRecord]:
        """The newest runs first."""
        rows = self._all(_RUN + " ORDER BY created_at DESC, run_id DESC LIMIT ?", limit)
        return tuple(_record(row) for row in rows)

    def run(self, run_id: str) -> RunRecord:
        """The run. Errors: RunNotFound."""
        row = self._one(_RUN + " AND run_id = ?", run_id)
        if row is None:
            raise RunNotFound(f"there is no run {run_id}")
        return _record(row)

    def events(self, run_id: str) -> Sequence[Event]:
        """All events of a run in order."""
        rows = self._all("SELECT * FROM events WHERE scope = ? AND run_id = ? ORDER BY seq", run_id)
        return tuple(_event(row) for row in rows)

    def _blob(self, sha256: str) -> bytes | None:
        row = self._one("SELECT encoding, content FROM blobs WHERE scope = ? AND sha256 = ?", sha256)
        if row is None:
            return None
        with _readable("body"):
            return bytes(row["content"]) if row["encoding"] == "raw" else zlib.decompress(row["content"])

    def _kept(self, sha256: str) -> Kept:
        row = self._one("SELECT encoding FROM blobs WHERE scope = ? AND sha256 = ?", sha256)
        return Kept(row["encoding"]) if row is not None and row["encoding"] in DROPPED else Kept.FULL

    def _one(self, query: str, *values: object) -> sqlite3.Row | None:
        return next(iter(self._all(query, *values)), None)

    def _all(self, query: str, *values: object) -> list[sqlite3.Row]:
        with translated(), closing(self._connection.execute(query, (self._scope, *values))) as cursor:
            return cursor.fetchall()

    def _open(self) -> sqlite3.Connection:
        with translated():
            connection = open_read_only(self._path)
            connection.row_factory = sqlite3.Row
            return connection

    def version(self) -> int:
        """The schema version of the database."""
        with translated(), closing(self._connection.execute("SELECT max(version) FROM schema_versions")) as cursor:
            return int(cursor.fetchone()[0])


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except (zlib.error, ValueError, TypeError, PinciteError) as error:
        raise StorageUnavailable(f"a stored {what} can't be read: {error}", reason="corrupt") from error


def snapshot_of(row: Mapping[Any, Any], body: bytes = b"", kept: Kept = Kept.FULL) -> Snapshot:
    """The capture in a row of `snapshots` whose times and JSON are decoded, with this body."""
    headers = tuple((name, value) for name, value in row["headers"])
    signals, redirects = tuple(row["usage_signals"]), tuple(row["redirects"])
    plain = {name: row[name] for name in _CAPTURE}
    return Snapshot(**plain, headers=headers, usage_signals=signals, redirects=redirects, body=body, kept=kept)


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


def _event(row: Any) -> Event:  # a sqlite3.Row of `events`
    with _readable("event"):
        return Event(
            row["seq"],
            EventType(row["type"]),
            row["run_id"],
            utc_moment(row["at"]),
            json.loads(row["data"]),
            row["request_id"],
            row["topic_hash"],
        )

"""The log of calls of one home: one SQLite file beside the database, standard library only. It may be deleted."""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.records import LoggedCall
from pincite.ports import Clock
from pincite.storage import failures
from pincite.storage.home_files import can_only_be_read, open_read_only, open_side_file

FILE_NAME: Final = "log.sqlite"
# Terms are counted in days.
_PRUNE_EVERY_S: Final = 3600.0
_MOVED_AT_ONCE: Final = 500
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS tool_log (
  scope TEXT NOT NULL, at TEXT NOT NULL, id TEXT NOT NULL, surface TEXT NOT NULL, tool TEXT NOT NULL,
  request TEXT NOT NULL, outcome TEXT NOT NULL, latency_ms REAL NOT NULL, cost_usd TEXT NOT NULL,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
  request_id TEXT NOT NULL, PRIMARY KEY (scope, at, id)) WITHOUT ROWID;
"""
_COLUMNS: Final = (
    *("id", "surface", "tool", "outcome", "latency_ms", "tokens_in", "tokens_out", "run_id", "session_id"),
    "request_id",
)


class FileToolLog:
    """Writes and reads the calls of one scope. Blocking: callers run it in a thread.

    Args:
        path: the file; made by the first batch.
        scope: whose calls.
        clock: the time.
        keep: how long a call stays on record.
    """

    def __init__(self, path: Path, scope: str, clock: Clock, keep: timedelta) -> None:
        self._path = path
        self._scope = scope
        self._clock = clock
        self._keep = keep
        self._pruned_at = -_PRUNE_EVERY_S

    def write(self, batch: Sequence[LoggedCall]) -> None:
        """Store a batch, and now and then forget what is too old. Errors: StorageUnavailable, StorageFull, Locked."""
        rows = [
            (
                self._scope,
                utc_text(call.at),
                json.dumps(call.request, ensure_ascii=True, separators=(",", ":")),
                str(call.cost_usd),
                *(getattr(call, name) for name in _COLUMNS),
            )
            for call in batch
        ]
        names = ", ".join(("scope", "at", "request", "cost_usd", *_COLUMNS))
        marks = ", ".join("?" for _ in range(4 + len(_COLUMNS)))
        with failures.translated(), closing(open_side_file(self._path, _SCHEMA)) as file:
            file.execute("BEGIN IMMEDIATE")
            file.executemany(f"INSERT OR IGNORE INTO tool_log ({names}) VALUES ({marks})", rows)  # noqa: S608  # names of columns, none from outside
            if time.monotonic() - self._pruned_at >= _PRUNE_EVERY_S:
                self._pruned_at = time.monotonic()
                too_old = utc_text(self._clock.now() - self._keep)
                file.execute("DELETE FROM tool_log WHERE scope = ? AND at < ?", (self._scope, too_old))
            file.execute("COMMIT")

    def read(
        self,
        limit: int,
        *,
        before: tuple[datetime, str] | None = None,
        tool: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
    ) -> tuple[LoggedCall, ...]:
        """The newest calls first; with `before` (time and id of a call) those that come after it in that order."""
        if not self._path.is_file():
            return ()
        where, values = ["scope = ?"], [self._scope]
        if before is not None:
            where.append("(at, id) < (?, ?)")
            values += (utc_text(before[0]), before[1])
        for name, value in (("tool", tool), ("run_id", run_id), ("session_id", session_id)):
            if value is not None:
                where.append(f"{name} = ?")
                values.append(value)
        query = f"SELECT * FROM tool_log WHERE {' AND '.join(where)} ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608  # names of columns, none from outside
        with failures.translated(), closing(self._opened()) as file:
            file.row_factory = sqlite3.Row
            return tuple(_call(row) for row in file.execute(query, (*values, limit)))

    def _opened(self) -> sqlite3.Connection:
        if can_only_be_read(self._path):
            return open_read_only(self._path)
        return open_side_file(self._path, _SCHEMA)

    def forget(self, run_id: str | None = None) -> int:
        """Remove the calls of a run, or all of the scope; how many went."""
        if not self._path.is_file():
            return 0
        statement = "DELETE FROM tool_log WHERE scope = ? AND (? IS NULL OR run_id = ?)"
        with failures.translated(), closing(open_side_file(self._path, _SCHEMA)) as file:
            return file.execute(statement, (self._scope, run_id, run_id)).rowcount


def move_log(path: Path, write: Callable[[str, Sequence[LoggedCall]], None]) -> None:
    """Hand every call of a file to `write` with its scope, a batch at a time, then remove the file.

    What was handed over before an interruption comes again. Errors: StorageUnavailable, Locked, and those of `write`.
    """
    if not path.is_file():
        return
    with failures.translated():
        with closing(open_side_file(path, _SCHEMA)) as file:
            file.row_factory = sqlite3.Row
            for (scope,) in file.execute("SELECT DISTINCT scope FROM tool_log").fetchall():
                mine = file.execute("SELECT * FROM tool_log WHERE scope = ?", (scope,))
                while rows := mine.fetchmany(_MOVED_AT_ONCE):
                    write(scope, tuple(_call(row) for row in rows))
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)


def _call(row: Any) -> LoggedCall:  # a row of sqlite3's
    return LoggedCall(
        at=utc_moment(row["at"]),
        request=json.loads(row["request"]),
        cost_usd=Decimal(row["cost_usd"]),
        **{name: row[name] for name in _COLUMNS},
    )

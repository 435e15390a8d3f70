"""The log of calls: a SQLite file of a home, which may be deleted, or a table of a database that machines share."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.records import LoggedCall
from pincite.ports import Clock
from pincite.storage import failures
from pincite.storage.home_files import open_side_file
from pincite.storage.tables import FileTables, Tables, TextStatements, opened_tables

FILE_NAME: Final = "log.sqlite"
# Terms are counted in days.
_PRUNE_EVERY_S: Final = 3600.0
# Rows in one transaction: others write in between.
_BATCH: Final = 500
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS tool_log (
  scope TEXT NOT NULL, at TEXT NOT NULL, id TEXT NOT NULL, surface TEXT NOT NULL, tool TEXT NOT NULL,
  request TEXT NOT NULL, outcome TEXT NOT NULL, latency_ms REAL NOT NULL, cost_usd TEXT NOT NULL,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
  request_id TEXT NOT NULL, PRIMARY KEY (scope, at, id)) WITHOUT ROWID;
"""
_TEXTS: Final = ("id", "surface", "tool", "outcome", "run_id", "session_id", "request_id")
_NUMBERS: Final = ("latency_ms", "tokens_in", "tokens_out")
_COLUMNS: Final = ("at", "request", "cost_usd", *_TEXTS, *_NUMBERS)
_READ: Final = f"SELECT {', '.join(_COLUMNS)} FROM tool_log WHERE scope = :in_scope"  # noqa: S608  # names of columns
_ADD: Final = (
    f"INSERT INTO tool_log (scope, {', '.join(_COLUMNS)})"  # noqa: S608  # names of columns
    f" VALUES (:in_scope, {', '.join(f':{name}' for name in _COLUMNS)}) ON CONFLICT DO NOTHING"
)


class TableToolLog:
    """The log of calls in a table. Errors of every method: StorageUnavailable, StorageFull, Locked.

    Args:
        opened: gives the table for the time of a call; in the calling thread.
        keep: how long a call stays on record; whoever writes deletes what is older, in every scope.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Tables]], clock: Clock, keep: timedelta) -> None:
        self._opened = opened
        self._clock = clock
        self._keep = keep
        self._pruned_at = -_PRUNE_EVERY_S

    def write(self, batch: Sequence[LoggedCall]) -> None:
        """Store a batch, and now and then forget what is too old."""
        with self._opened() as tables:
            add_calls(tables, batch)
            if time.monotonic() - self._pruned_at >= _PRUNE_EVERY_S:
                self._pruned_at = time.monotonic()
                before = utc_text(self._clock.now() - self._keep)
                too_old = "DELETE FROM tool_log WHERE at < :before"
                tables.write_now(lambda tx: tx.apply(too_old, {"before": before}, every_scope=True))

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
        wanted = {"tool": tool, "run_id": run_id, "session_id": session_id}
        values: dict[str, object] = {name: value for name, value in wanted.items() if value is not None}
        query = _READ + "".join(f" AND {name} = :{name}" for name in values)
        if before is not None:
            query += " AND (at, id) < (:before_at, :before_id)"
            values |= {"before_at": utc_text(before[0]), "before_id": before[1]}
        query += " ORDER BY at DESC, id DESC LIMIT :most"
        with self._opened() as tables:
            if not tables.is_there:
                return ()
            return tuple(map(_call, tables.read_now(lambda tx: tx.query(query, {"most": limit, **values}))))

    def forget(self, run_id: str | None = None) -> int:
        """Remove the calls of a run, or all of the scope; how many went."""
        statement = "DELETE FROM tool_log WHERE scope = :in_scope"
        of_run: dict[str, object] = {}
        if run_id is not None:
            statement, of_run = f"{statement} AND run_id = :run_id", {"run_id": run_id}
        with self._opened() as tables:
            return tables.write_now(lambda tx: tx.apply(statement, of_run)) if tables.is_there else 0


def file_log(path: Path, scope: str, clock: Clock, keep: timedelta) -> TableToolLog:
    """The log of one scope in the file at `path`, which the first batch makes; it is open while it is used only."""
    return TableToolLog(lambda: opened_tables(FileTables(path, _SCHEMA, scope, clock)), clock, keep)


def add_calls(tables: Tables, batch: Sequence[LoggedCall]) -> None:
    """Store calls, in the calling thread; one that is there already stays as it is."""

    def add(tx: TextStatements) -> None:
        tx.apply_many(_ADD, rows)

    for start in range(0, len(batch), _BATCH):
        rows = [_row(call) for call in batch[start : start + _BATCH]]
        tables.write_now(add)


def move_log(path: Path, write: Callable[[str, Sequence[LoggedCall]], None]) -> None:
    """Hand every call of a file to `write` with its scope, a batch at a time, then remove the file.

    What was handed over before an interruption comes again. Errors: StorageUnavailable, Locked, and those of `write`.
    """
    if not path.is_file():
        return
    with failures.translated():
        with closing(open_side_file(path, _SCHEMA)) as file:
            for (scope,) in file.execute("SELECT DISTINCT scope FROM tool_log").fetchall():
                mine = file.execute(_READ, {"in_scope": scope})
                while rows := mine.fetchmany(_BATCH):
                    write(scope, tuple(map(_call, rows)))
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)


def _row(call: LoggedCall) -> dict[str, Any]:
    # PostgreSQL refuses NUL and halves of surrogate pairs.
    return {
        "at": utc_text(call.at),
        "request": json.dumps(call.request, ensure_ascii=True, separators=(",", ":")),
        "cost_usd": str(call.cost_usd),
        **{name: getattr(call, name).replace("\0", "").encode("utf-8", "replace").decode("utf-8") for name in _TEXTS},
        **{name: getattr(call, name) for name in _NUMBERS},
    }


def _call(row: Sequence[Any]) -> LoggedCall:  # a row of `_READ`
    at, request, cost_usd, *others = row
    return LoggedCall(
        at=utc_moment(at),
        request=json.loads(request),
        cost_usd=Decimal(cost_usd),
        **dict(zip((*_TEXTS, *_NUMBERS), others, strict=True)),
    )

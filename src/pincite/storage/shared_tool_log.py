"""The log of calls where many machines use one database: the same rows as `tool_log` keeps in a file."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import and_, or_

from pincite.domain.records import LoggedCall
from pincite.ports import Clock
from pincite.storage.database import AcrossScopes, Database, Transaction
from pincite.storage.schema import tool_log

_ALL: Final = AcrossScopes()
# Terms are counted in days.
_PRUNE_EVERY_S: Final = 3600.0
# Rows in one statement: far below PostgreSQL's 65,535 parameters.
_BATCH: Final = 500
_TEXTS: Final = ("id", "surface", "tool", "outcome", "run_id", "session_id", "request_id")
_NUMBERS: Final = ("latency_ms", "tokens_in", "tokens_out")


class SqlToolLog:
    """Implements `ports.ToolLogStore`. Errors of every method: StorageUnavailable, StorageFull, Locked.

    Args:
        opened: gives the database for the time of a statement.
        scope: whose calls.
        clock: the time.
        keep: how long a call stays on record; whoever writes lets go what is older, in every scope.
    """

    def __init__(
        self, opened: Callable[[], AbstractContextManager[Database]], scope: str, clock: Clock, keep: timedelta
    ) -> None:
        self._opened = opened
        self._scope = scope
        self._clock = clock
        self._keep = keep
        self._pruned_at = -_PRUNE_EVERY_S

    def write(self, batch: Sequence[LoggedCall]) -> None:
        """Store a batch, and now and then forget what is too old."""
        with self._opened() as database:
            for start in range(0, len(batch), _BATCH):
                add_calls(database, self._scope, batch[start : start + _BATCH])
            if time.monotonic() - self._pruned_at >= _PRUNE_EVERY_S:
                self._pruned_at = time.monotonic()
                too_old = _ALL.delete(tool_log).where(tool_log.c.at < self._clock.now() - self._keep)
                database.write_now(self._scope, lambda tx: tx.change(too_old), False)

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

        def found(tx: Transaction) -> tuple[LoggedCall, ...]:
            query = tx.select(tool_log)
            if before is not None:
                at, id_ = tool_log.c.at, tool_log.c.id
                query = query.where(or_(at < before[0], and_(at == before[0], id_ < before[1])))
            for column, wanted in (("tool", tool), ("run_id", run_id), ("session_id", session_id)):
                if wanted is not None:
                    query = query.where(tool_log.c[column] == wanted)
            query = query.order_by(tool_log.c.at.desc(), tool_log.c.id.desc()).limit(limit)
            return tuple(_call(row) for row in tx.run(query))

        with self._opened() as database:
            return database.read_now(self._scope, found)

    def forget(self, run_id: str | None = None) -> int:
        """Remove the calls of a run, or all of the scope; how many went."""

        def gone(tx: Transaction) -> int:
            mine = tx.delete(tool_log)
            return tx.change(mine if run_id is None else mine.where(tool_log.c.run_id == run_id))

        with self._opened() as database:
            return database.write_now(self._scope, gone)


def add_calls(database: Database, scope: str, batch: Sequence[LoggedCall]) -> None:
    """Store calls of a scope, in the calling thread; one that is there already stays as it is."""
    rows = [_row(call) for call in batch]
    database.write_now(scope, lambda tx: tx.insert_many_new(tool_log, rows), False)


def _row(call: LoggedCall) -> dict[str, Any]:
    # PostgreSQL refuses NUL and halves of surrogate pairs.
    return {
        "at": call.at,
        "request": json.dumps(call.request, ensure_ascii=True, separators=(",", ":")),
        "cost_usd": str(call.cost_usd),
        **{name: getattr(call, name).replace("\0", "").encode("utf-8", "replace").decode("utf-8") for name in _TEXTS},
        **{name: getattr(call, name) for name in _NUMBERS},
    }


def _call(row: Any) -> LoggedCall:  # a row of `tool_log`
    return LoggedCall(
        at=row.at,
        request=json.loads(row.request),
        cost_usd=Decimal(row.cost_usd),
        **{name: getattr(row, name) for name in (*_TEXTS, *_NUMBERS)},
    )

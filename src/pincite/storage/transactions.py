"""Connections to a database, and the statements and transactions on them, each within one scope.

How connections are opened, how long a server is waited for, and how many stay open.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Delete,
    Engine,
    Row,
    Select,
    Table,
    Text,
    Update,
    bindparam,
    delete,
    func,
    insert,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from pincite.domain.errors import InvalidSetting, StorageUnavailable
from pincite.ports import Clock
from pincite.runtime.system import SystemClock
from pincite.storage import failures
from pincite.storage.tables import NONE, Values


class Statements:
    """Makers of statements that see the rows of one scope only, the one of the transaction that runs them.

    Statements are made by these methods alone: code outside this module can't forget the scope (a test holds that
    nothing else in `storage` makes statements).
    """

    scope_value: ColumnElement[str] | str = bindparam("in_scope", type_=Text)

    def select(self, table: Table, *columns: ColumnElement[Any] | Column[Any]) -> Select[Any]:
        """A SELECT of these columns (all when none is named) of the scope's rows."""
        return select(*(columns or (table,))).select_from(table).where(table.c.scope == self.scope_value)

    def update(self, table: Table) -> Update:
        """An UPDATE of the scope's rows."""
        return update(table).where(table.c.scope == self.scope_value)

    def delete(self, table: Table) -> Delete:
        """A DELETE of the scope's rows."""
        return delete(table).where(table.c.scope == self.scope_value)


class AcrossScopes:
    """Makers of statements over the rows of all scopes: for the queue, webhooks that are due, keys, the log's age.

    A test holds that no other module uses them.
    """

    def select(self, table: Table, *columns: ColumnElement[Any] | Column[Any]) -> Select[Any]:
        """A SELECT of these columns of every scope's rows."""
        return select(*columns).select_from(table)

    def update(self, table: Table) -> Update:
        """An UPDATE of every scope's rows."""
        return update(table)


# For statements made once and run many times: their scope is filled in by the transaction.
PREPARED = Statements()


class Transaction(Statements):
    """An open transaction that sees the rows of one scope only."""

    def __init__(self, connection: Connection, scope: str, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self.scope = scope
        self.scope_value = scope

    def insert(self, table: Table, **values: Any) -> None:
        """Add a row of the scope."""
        self._connection.execute(insert(table), {"scope": self.scope, **values})

    def insert_many(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows of the scope."""
        if rows:
            self._connection.execute(insert(table), [{"scope": self.scope, **row} for row in rows])

    def insert_new(self, table: Table, **values: Any) -> bool:
        """Add a row of the scope unless its key is there; whether it was added."""
        if self._connection.dialect.name == "postgresql":
            from sqlalchemy.dialects import postgresql  # 14 modules that SQLite has no use for

            new: Any = postgresql.insert(table)
        else:
            new = sqlite_dialect.insert(table)
        added = new.values(scope=self.scope, **values).on_conflict_do_nothing().returning(table.c.scope)
        return self._connection.execute(added).first() is not None

    def run(self, statement: Select[Any] | Update | Delete, **values: object) -> Sequence[Row[Any]]:
        """The rows of a statement, or those its RETURNING names; `values` fill in a prepared one."""
        # A prepared statement takes the scope as a parameter, others carry it already and overlook this one.
        result = self._connection.execute(statement, {"in_scope": self.scope, **values})
        return result.all() if result.returns_rows else ()

    def change(self, statement: Update | Delete, **values: object) -> int:
        """How many rows the statement changed."""
        return self._connection.execute(statement, {"in_scope": self.scope, **values}).rowcount

    def first(self, statement: Select[Any] | Update | Delete, **values: object) -> Row[Any] | None:
        """The first row, or None."""
        return self._connection.execute(statement, {"in_scope": self.scope, **values}).first()

    def query(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> Sequence[Row[Any]]:
        """The rows of SQL as text, see `tables.TextStatements`."""
        return self._text(statement, every_scope, [values]).all()

    def apply(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> int:
        """How many rows SQL as text changed."""
        return self._text(statement, every_scope, [values]).rowcount

    def apply_many(self, statement: str, rows: Sequence[Values]) -> None:
        """Run SQL as text once for each of these values."""
        if rows:
            self._text(statement, False, rows)

    def _text(self, statement: str, every_scope: bool, rows: Sequence[Values]) -> CursorResult[Any]:
        failures.held_to_scope(statement, every_scope)
        return self._connection.execute(text(statement), [{"in_scope": self.scope, **row} for row in rows])

    def one_at_a_time(self, what: str) -> None:
        """Wait until no other transaction of the scope is between here and its end with the same `what`.

        SQLite has one writer anyway.
        """
        if self._connection.dialect.name == "postgresql":
            key = func.hashtextextended(f"{what}/{self.scope}", 0)
            self._connection.execute(select(func.pg_advisory_xact_lock(key)))

    def now_s(self) -> float:
        """The time that leases go by: the database's own where workers on several machines share it."""
        shared = self._connection.dialect.name == "postgresql"
        if shared and isinstance(self._clock, SystemClock):  # a frozen clock stays in charge
            moment = func.extract("epoch", func.clock_timestamp())
            return float(self._connection.execute(select(moment)).scalar_one())
        return self._clock.now().timestamp()


# Connections to a PostgreSQL that a quiet process keeps; with the queue's two that makes four.
KEPT_IDLE = 2
# A process that needed no more than those for so long is quiet. Shorter, and each pause would cost new connections.
CALM_S = 5.0


class IdleConnections:
    """Counts the connections that are in use, and closes the others of a process that has become quiet."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._lock = threading.Lock()
        self._now = self._most = 0
        self._since_s = clock.monotonic_s()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """One connection is in use within the block."""
        with self._lock:
            self._now += 1
            self._most = max(self._most, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1
                if self._is_quiet():
                    self._engine.dispose()  # what is needed again is opened again

    def _is_quiet(self) -> bool:
        # Only while none is in use: one that comes back to a pool thrown away is closed by nobody.
        now_s = self._clock.monotonic_s()
        if self._now or now_s - self._since_s < CALM_S:
            return False
        quiet, self._most, self._since_s = self._most <= KEPT_IDLE, 0, now_s
        pool = self._engine.pool
        return quiet and isinstance(pool, QueuePool) and pool.checkedin() > KEPT_IDLE


T = TypeVar("T")

# So long a server may be away before what needs it fails.
WAIT_S: Final = 10.0
# The first looks at a server that restarts are close together, later ones not.
_FIRST_PAUSE_S: Final = 0.05
# Nobody waits much longer than the server is away.
_LONGEST_PAUSE_S: Final = 1.0


class RetryPolicy:
    """Tries again what failed because the server was away. Used by several threads.

    After it waited in vain, everybody else fails at once for as long: a run that ends because its database is gone
    asks it more than once on the way.

    Args:
        wait_s: how long in all.
        now_s: a clock that never runs backwards.
        sleep: blocks for so many seconds.
    """

    def __init__(
        self,
        wait_s: float = WAIT_S,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wait_s = wait_s
        self._now_s = now_s
        self._sleep = sleep
        self._in_vain_until_s = float("-inf")

    def run(self, attempt: Callable[[], T], may_repeat: Callable[[], bool]) -> T:
        """What `attempt` returns. Where it fails and `may_repeat`, nothing of it has happened and it is tried again.

        Errors: what `attempt` raises, at the latest after the wait and one more try.
        """
        until_s, pause_s = self._until_s(), _FIRST_PAUSE_S
        while True:
            try:
                return self._answered(attempt())
            except StorageUnavailable as error:
                if not self._again(error, may_repeat(), pause_s, until_s):
                    raise
            self._sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def run_async(self, attempt: Callable[[], Awaitable[T]], may_repeat: Callable[[], bool]) -> T:
        """As `run`; a task that is cancelled while it waits stops waiting."""
        until_s, pause_s = self._until_s(), _FIRST_PAUSE_S
        while True:
            try:
                return self._answered(await attempt())
            except StorageUnavailable as error:
                if not self._again(error, may_repeat(), pause_s, until_s):
                    raise
            await anyio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _answered(self, value: T) -> T:
        self._in_vain_until_s = float("-inf")  # it is back: worth waiting for again
        return value

    def _until_s(self) -> float:
        """Until when somebody who begins to wait now may wait."""
        now_s = self._now_s()
        return now_s if now_s < self._in_vain_until_s else now_s + self._wait_s

    def _again(self, error: StorageUnavailable, may_repeat: bool, pause_s: float, until_s: float) -> bool:
        """Whether it is worth another try after such a pause, and that ends in time; that it does not is remembered."""
        if error.reason not in failures.AWAY or not may_repeat:
            return False
        now_s = self._now_s()
        if now_s + pause_s <= until_s:
            return True
        if now_s >= self._in_vain_until_s:
            self._in_vain_until_s = now_s + self._wait_s
        return False


def database_url(place: str | Path) -> URL:
    """The URL of a database at a path (SQLite) or URL. Errors: InvalidSetting (not such a URL)."""
    text = str(place)
    if "://" not in text:
        path = Path(text).absolute()
        with failures.translated():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return URL.create("sqlite", database=str(path))
    try:
        url = make_url(text)
    except ArgumentError as error:  # its message repeats the URL, which may hold a password
        raise InvalidSetting("the database URL can't be parsed", reason="database_url") from error
    if url.get_backend_name() == "postgresql" or url.drivername == "postgres":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        return url.set(drivername="sqlite")
    raise InvalidSetting(
        f"a database of the kind {url.get_backend_name()!r} can't be used",
        reason="database_url",
        hint="Give a path, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE.",
    )

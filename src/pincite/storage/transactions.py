"""Statements and transactions of the database, each within one scope."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Delete,
    Row,
    Select,
    Table,
    Text,
    Update,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import sqlite as sqlite_dialect

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

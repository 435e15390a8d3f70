"""Small tables with many short transactions (cache, limits, log of calls): one text of SQL, two places to keep them.

In a home each is a SQLite file beside the database, read with the standard library alone; where many machines share a
database, the same tables are there.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from pincite.ports import Clock
from pincite.storage import failures
from pincite.storage.home_files import can_only_be_read, open_read_only, open_side_file

T = TypeVar("T")
Values: TypeAlias = Mapping[str, object]
NONE: Final[Values] = {}


class TextStatements(Protocol):
    """A transaction that takes SQL as text. `:in_scope` is its scope, and must stand in each statement.

    Only what is for all scopes on purpose says `every_scope`. Values are named: `:until_s`.
    """

    def query(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> Sequence[Sequence[Any]]:
        """The rows."""

    def apply(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> int:
        """How many rows it changed."""

    def apply_many(self, statement: str, rows: Sequence[Values]) -> None:
        """Run it once for each of these values."""

    def now_s(self) -> float:
        """The time that all processes at these tables go by."""


class Tables(Protocol):
    """Where the tables are, for one scope. Errors of every method: StorageUnavailable, StorageFull, Locked."""

    @property
    def is_there(self) -> bool:
        """Whether anything was ever stored."""

    async def read(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns."""

    async def write(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns once its changes are committed; when it raises, nothing has changed."""

    def read_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `read`, in the calling thread."""

    def write_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `write`, in the calling thread."""

    async def shrink(self) -> None:
        """Give the space of deleted rows back to the disk."""

    async def close(self) -> None:
        """Close what was opened; a running statement ends first."""


class FileTransaction:
    """Implements `TextStatements` over a connection to a file. Errors of reading: those of `Tables`."""

    def __init__(self, connection: sqlite3.Connection, scope: str, clock: Clock) -> None:
        self._connection = connection
        self._scope = scope
        self._clock = clock

    def query(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> Sequence[Sequence[Any]]:
        """The rows."""
        with failures.translated():
            return self._connection.execute(statement, {**self._in_scope(statement, every_scope), **values}).fetchall()

    def apply(self, statement: str, values: Values = NONE, *, every_scope: bool = False) -> int:
        """How many rows it changed."""
        return self._connection.execute(statement, {**self._in_scope(statement, every_scope), **values}).rowcount

    def apply_many(self, statement: str, rows: Sequence[Values]) -> None:
        """Run it once for each of these values."""
        scope = self._in_scope(statement, every_scope=False)
        self._connection.executemany(statement, [{**scope, **row} for row in rows])

    def now_s(self) -> float:
        """The time of the wall clock."""
        return self._clock.now().timestamp()

    def _in_scope(self, statement: str, every_scope: bool) -> dict[str, object]:
        failures.held_to_scope(statement, every_scope)
        return {"in_scope": self._scope}


class FileTables:
    """Implements `Tables` in one SQLite file of a home. It is opened by the first statement.

    Args:
        clock: the time; its wall clock counts, since processes share the file.
        version: of the schema. A file of another version is begun anew, unless this is 0.
        before_write: runs at the begin of every writing transaction.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        scope: str,
        clock: Clock,
        *,
        version: int = 0,
        before_write: Callable[[TextStatements], object] | None = None,
    ) -> None:
        self.path = path
        self._schema = schema
        self._scope = scope
        self._clock = clock
        self._version = version
        self._before_write = before_write
        self._connection: sqlite3.Connection | None = None
        # One connection: no other thread's statement may get into a transaction.
        self._one_at_a_time = anyio.CapacityLimiter(1)

    @property
    def is_there(self) -> bool:
        """Whether the file was made."""
        return self.path.is_file()

    async def read(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns."""
        return await anyio.to_thread.run_sync(self.read_now, do, limiter=self._one_at_a_time)

    async def write(self, do: Callable[[TextStatements], T]) -> T:
        """What `do` returns; a power cut may take back the last of it."""
        return await anyio.to_thread.run_sync(self.write_now, do, limiter=self._one_at_a_time)

    def read_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `read`, in the calling thread."""
        with failures.translated():
            return do(FileTransaction(self.opened(), self._scope, self._clock))

    def write_now(self, do: Callable[[TextStatements], T]) -> T:
        """As `write`, in the calling thread."""
        with failures.translated():
            connection = self.opened()
            transaction = FileTransaction(connection, self._scope, self._clock)
            # The lock for writing is taken now: a transaction that reads first and writes later could be refused in
            # between.
            connection.execute("BEGIN IMMEDIATE")
            try:
                if self._before_write is not None:
                    self._before_write(transaction)
                value = do(transaction)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself ends it where the disk is full
                    connection.execute("ROLLBACK")
                raise
            return value

    def opened(self) -> sqlite3.Connection:
        """The connection. Errors: StorageUnavailable, StorageFull, Locked."""
        if self._connection is None:
            # A home on a medium that can't be written still answers what it has.
            if can_only_be_read(self.path):
                self._connection = open_read_only(self.path)
            else:
                self._connection = open_side_file(self.path, self._schema, self._version)
        return self._connection

    async def shrink(self) -> None:
        """Write the file anew without its gaps."""
        await self.read(lambda tx: tx.query("VACUUM", every_scope=True))

    async def close(self) -> None:
        """Close the file; a running statement ends first."""
        # Also when the engine is cancelled: the running statement would outlive its connection.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.close_now, limiter=self._one_at_a_time)

    def close_now(self) -> None:
        """As `close`, in the calling thread."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def opened_tables(tables: FileTables) -> Iterator[FileTables]:
    """The tables, whose file is closed at the end of the block."""
    try:
        yield tables
    finally:
        tables.close_now()

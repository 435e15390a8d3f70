"""The one place that talks to the database: transactions in a bounded thread (`transactions`: each within a scope).

SQLite has one writer at a time (WAL, BEGIN IMMEDIATE) and a few readers; PostgreSQL a small pool. A transaction runs
whole in its thread: a cancelled task waits for its end, so that no lock is ever left behind (ADR 0005).
"""

import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
)
from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.pool import QueuePool

from pincite.domain.errors import Internal, PinciteError, StorageUnavailable
from pincite.ports import Clock
from pincite.runtime.system import CONNECTION, make_private, needing
from pincite.sqlite import switch_to_wal
from pincite.storage import failures, migrations
from pincite.storage.home_files import can_only_be_read, open_read_only
from pincite.storage.transactions import WAIT_S, IdleConnections, RetryPolicy, Transaction, database_url

T = TypeVar("T")
S = TypeVar("S", bound="Scoped")
P = ParamSpec("P")

# How long a writer waits for another process: a slow disk is no defect.
BUSY_TIMEOUT_S = 20.0
# SQLite has one writer at a time, whatever we do; these read beside it.
_READERS = 4
# A process has few cores and transactions are short; more connections only take them from other processes.
_POOL = 8
# Far above any statement here; what takes longer holds locks for a client that may be gone.
_STATEMENT_TIMEOUT_MS = 60_000


class Database:
    """An open database with its schema up to date. Made by `open_database`."""

    def __init__(self, writer: Engine, reader: Engine, clock: Clock, retries: RetryPolicy) -> None:
        self._retries = retries
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._idle = IdleConnections(writer, clock)
        one_writer = writer is not reader
        # One thread for SQLite's one writer: more would only wait inside SQLite, where a deadline can't reach them.
        self._writing = anyio.CapacityLimiter(1 if one_writer else _POOL)
        self._reading = anyio.CapacityLimiter(_READERS) if one_writer else self._writing

    @property
    def is_shared(self) -> bool:
        """Whether processes on several machines may use it."""
        return self._writer.dialect.name == "postgresql"

    async def read(self, scope: str, do: Callable[[Transaction], T]) -> T:
        """What `do` makes of one consistent state. Errors: Locked, StorageUnavailable, SchemaMismatch."""
        attempt, may_repeat = self._attempt(self._reader, scope, do)
        in_thread = partial(anyio.to_thread.run_sync, attempt, limiter=self._reading)
        return await self._retries.run_async(in_thread, may_repeat)

    async def write(self, scope: str, do: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """What `do` returns once its changes are committed; when it raises, nothing has changed.

        With `durable` the commit survives a power cut; without, it survives a killed process, and a power cut takes
        it back only together with everything after it.

        Errors: Locked, StorageFull, StorageUnavailable, SchemaMismatch, and what `do` raises.
        """
        attempt, may_repeat = self._attempt(self._writer, scope, do, durable=durable)
        in_thread = partial(anyio.to_thread.run_sync, attempt, limiter=self._writing)
        return await self._retries.run_async(in_thread, may_repeat)

    def read_now(self, scope: str, do: Callable[[Transaction], T]) -> T:
        """As `read`, in the calling thread."""
        return self._retries.run(*self._attempt(self._reader, scope, do))

    def write_now(self, scope: str, do: Callable[[Transaction], T], durable: bool = True) -> T:
        """As `write`, in the calling thread."""
        return self._retries.run(*self._attempt(self._writer, scope, do, durable=durable))

    def _attempt(
        self, engine: Engine, scope: str, do: Callable[[Transaction], T], *, durable: bool = True
    ) -> tuple[Callable[[], T], Callable[[], bool]]:
        """A transaction, and whether it may be tried again: until its commit begins, nothing of it has happened."""
        committing = False

        def attempt() -> T:
            nonlocal committing
            with (
                # The commit is in here, at the end of the block: from then on nobody knows whether it happened, so it
                # is not repeated.
                self._idle.counted() if self.is_shared else nullcontext(),
                _our_errors(),
                engine.connect().execution_options(durable=durable) as connection,
                connection.begin(),
            ):
                value = do(Transaction(connection, scope, self._clock))
                committing = True
            return value

        return attempt, lambda: not committing

    def migrate_now(self) -> None:
        """Apply what is missing of the schema, in one transaction; a schema up to date is only looked at."""
        # Looked at by a reader first: opening a home must not wait for whoever is writing to it.
        if self._retries.run(self._version, lambda: True) == migrations.newest():
            return
        with _our_errors(), self._writer.connect() as connection, connection.begin():
            migrations.migrate(connection, self._clock)

    def _version(self) -> int:
        with _our_errors(), self._reader.connect() as connection, connection.begin():
            return migrations.version_of(connection)

    async def shrink(self) -> None:
        """Give the space of deleted rows back to the disk (SQLite; PostgreSQL does it by itself).

        Errors: Locked, StorageUnavailable.
        """
        if not self.is_shared:
            await anyio.to_thread.run_sync(self._shrink_now, limiter=self._writing)

    def _shrink_now(self) -> None:
        with _our_errors(), self._writer.connect() as connection:
            raw = connection.connection.cursor()
            try:
                # A pragma works while its rows are fetched. The log of writes is cut last: it holds the pages that the
                # vacuum moved.
                raw.execute("PRAGMA incremental_vacuum").fetchall()
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                raw.close()

    def close_now(self) -> None:
        """Close every connection."""
        self._reader.dispose()
        self._writer.dispose()

    async def close(self) -> None:
        """Close every connection; running transactions end first."""
        with anyio.CancelScope(shield=True):
            # Behind the last writer, by the same limiter.
            await anyio.to_thread.run_sync(self.close_now, limiter=self._writing)


class Scoped:
    """What one scope has in a database. Its methods are transactions: `reads` and `writes` make them of functions."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock


def reads(do: Callable[Concatenate[S, Transaction, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Makes a method one transaction that reads: it is awaited, and called without `tx`."""

    @wraps(do)
    async def transaction(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(self._scope, lambda tx: do(self, tx, *args, **kwargs))

    return transaction


def writes(do: Callable[Concatenate[S, Transaction, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """As `reads`, for one that writes; when it raises, nothing has changed."""

    @wraps(do)
    async def transaction(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(self._scope, lambda tx: do(self, tx, *args, **kwargs))

    return transaction


@contextmanager
def opened_now(place: str | Path, clock: Clock, *, wait_s: float = WAIT_S) -> Iterator[Database]:
    """As `open_database`, closed at the end."""
    database = open_database(place, clock, wait_s)
    try:
        yield database
    finally:
        database.close_now()


def open_database(
    place: str | Path, clock: Clock, wait_s: float = WAIT_S, *, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> Database:
    """The database at a path (SQLite) or URL (`sqlite:///`, `postgresql://`), made and migrated as needed. Blocks.

    A server that does not answer is waited for, `wait_s` seconds, now and whenever it goes away later.

    Errors: StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting (not such a URL),
        ExtraNotInstalled (PostgreSQL without its driver).
    """
    url = database_url(place)
    if url.get_backend_name() == "postgresql":
        writer = reader = _postgresql_engine(url, busy_timeout_s)
    elif can_only_be_read(Path(str(url.database))):
        writer = reader = _sqlite_engine(url, busy_timeout_s, _READERS, read_only=True)
    else:
        with failures.translated():
            make_private(Path(str(url.database)))
        writer, reader = (_sqlite_engine(url, busy_timeout_s, connections) for connections in (1, _READERS))
    database = Database(writer, reader, clock, RetryPolicy(wait_s))
    try:
        database.migrate_now()
    except PinciteError:
        database.close_now()
        raise
    return database


def _sqlite_engine(url: URL, busy_timeout_s: float, connections: int, *, read_only: bool = False) -> Engine:
    writes = connections == 1
    how: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": busy_timeout_s}}
    if read_only:
        how = {"creator": lambda: open_read_only(Path(str(url.database)))}
    engine = create_engine(url, poolclass=QueuePool, pool_size=connections, max_overflow=0, **how)

    @event.listens_for(engine, "connect")
    def _prepare(raw: sqlite3.Connection, _record: object) -> None:
        raw.isolation_level = None  # transactions are begun below, not by the driver's guess
        raw.execute("PRAGMA secure_delete = ON" if writes else "PRAGMA query_only = ON")
        if writes:
            raw.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts for a new file; lets `shrink` give space back
            switch_to_wal(raw, busy_timeout_s)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Given to the driver as it is: through the layer above these took a tenth of a question's CPU time.
        pooled = connection.connection
        raw: Any = pooled.driver_connection
        wanted = "FULL" if connection.get_execution_options().get("durable", True) else "NORMAL"
        if writes and pooled.info.get("synchronous") != wanted:
            raw.execute(f"PRAGMA synchronous = {wanted}").close()
            pooled.info["synchronous"] = wanted
        raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN").close()

    return engine


def _postgresql_engine(url: URL, busy_timeout_s: float) -> Engine:
    with needing("postgres", "PostgreSQL needs the driver psycopg"):
        engine = create_engine(
            url,
            pool_size=_POOL,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={name: value for name, value in CONNECTION.items() if name not in url.query},
        )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Set for the transaction only, and not at the start of the session: a pooler would refuse or leak it.
        durable = connection.get_execution_options().get("durable", True)
        connection.exec_driver_sql(
            f"SELECT set_config('lock_timeout', '{int(busy_timeout_s * 1000)}', true),"
            f" set_config('statement_timeout', '{_STATEMENT_TIMEOUT_MS}', true)"
            + ("" if durable else ", set_config('synchronous_commit', 'off', true)")
        )

    return engine


@contextmanager
def _our_errors() -> Iterator[None]:
    with failures.translated():
        try:
            yield
        except DBAPIError as error:
            state = getattr(error.orig, "sqlstate", None)
            if isinstance(error, DataError) and state is None:  # the driver refuses a NUL before anything is sent
                raise failures.not_storable() from error
            if isinstance(error.orig, sqlite3.Error):
                raise failures.of_sqlite(error.orig) from error
            raise failures.of_sqlstate(state, str(error.orig)) from error
        except NoFreeConnection as error:
            raise StorageUnavailable("no database connection was free in time", reason="pool_exhausted") from error
        except SQLAlchemyError as error:
            raise Internal(f"the database layer refused: {error}", reason="database_layer") from error

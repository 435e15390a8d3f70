"""What goes wrong in a database, as Pincite's own errors: one table for SQLite, one for PostgreSQL."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pincite.domain.errors import (
    Internal,
    InvalidInput,
    Locked,
    PinciteError,
    SchemaMismatch,
    StorageFull,
    StorageUnavailable,
)
from pincite.runtime.system import too_many_open_files

_CORRUPT_HINT: Final = (
    "Stop all Pincite processes and restore the database file from a backup, or move it away; "
    "`sqlite3 FILE .recover` reads out what is readable."
)

_AWAY_HINT: Final = (
    "The database is waited for a while. When it answers again: pincite runs resume RUN (servers and workers go on by "
    "themselves); finished calls are not made again."
)

_REFUSED_HINT: Final = (
    "This server takes no changes from this user: point PINCITE_DATABASE_URL at the primary, as a user who may write. "
    "Nothing was changed."
)

_SQLITE: Final[dict[int, tuple[type[PinciteError], str]]] = {
    sqlite3.SQLITE_BUSY: (Locked, "database_locked"),
    sqlite3.SQLITE_LOCKED: (Locked, "database_locked"),
    sqlite3.SQLITE_PROTOCOL: (Locked, "database_locked"),
    sqlite3.SQLITE_INTERRUPT: (Locked, "interrupted"),
    sqlite3.SQLITE_FULL: (StorageFull, "disk_full"),
    sqlite3.SQLITE_TOOBIG: (StorageFull, "row_too_big"),
    sqlite3.SQLITE_READONLY: (StorageUnavailable, "read_only"),
    sqlite3.SQLITE_PERM: (StorageUnavailable, "no_permission"),
    sqlite3.SQLITE_AUTH: (StorageUnavailable, "no_permission"),
    sqlite3.SQLITE_CANTOPEN: (StorageUnavailable, "cannot_open"),
    sqlite3.SQLITE_IOERR: (StorageUnavailable, "io_error"),
    sqlite3.SQLITE_NOLFS: (StorageUnavailable, "io_error"),
    sqlite3.SQLITE_NOMEM: (StorageUnavailable, "out_of_memory"),
    sqlite3.SQLITE_CORRUPT: (StorageUnavailable, "corrupt"),
    sqlite3.SQLITE_NOTADB: (StorageUnavailable, "corrupt"),
    sqlite3.SQLITE_FORMAT: (StorageUnavailable, "corrupt"),
    sqlite3.SQLITE_NOTFOUND: (StorageUnavailable, "cannot_open"),
    sqlite3.SQLITE_EMPTY: (StorageUnavailable, "corrupt"),
    sqlite3.SQLITE_SCHEMA: (SchemaMismatch, "schema_changed"),
    sqlite3.SQLITE_ERROR: (SchemaMismatch, "schema_differs"),
    sqlite3.SQLITE_ABORT: (Internal, "transaction_aborted"),
    sqlite3.SQLITE_CONSTRAINT: (Internal, "constraint"),
    sqlite3.SQLITE_MISMATCH: (Internal, "constraint"),
    sqlite3.SQLITE_MISUSE: (Internal, "misuse"),
    sqlite3.SQLITE_RANGE: (Internal, "misuse"),
    sqlite3.SQLITE_INTERNAL: (Internal, "database_internal"),
}

# By whole SQLSTATE first, then by its class (Source: PostgreSQL, Appendix A).
_POSTGRESQL: Final[dict[str, tuple[type[PinciteError], str]]] = {
    "25006": (StorageUnavailable, "read_only"),
    "42501": (StorageUnavailable, "no_permission"),
    "40001": (Locked, "serialization"),
    "40P01": (Locked, "deadlock"),
    "55P03": (Locked, "database_locked"),
    "57014": (Locked, "statement_timeout"),
    "53100": (StorageFull, "disk_full"),
    "54000": (StorageFull, "row_too_big"),
    "42P01": (SchemaMismatch, "schema_differs"),
    "42703": (SchemaMismatch, "schema_differs"),
    "42P07": (SchemaMismatch, "schema_differs"),  # a table that a migration makes is there already
    "42701": (SchemaMismatch, "schema_differs"),
    "42710": (SchemaMismatch, "schema_differs"),
    "3F000": (SchemaMismatch, "schema_differs"),
    "XX001": (StorageUnavailable, "corrupt"),
    "XX002": (StorageUnavailable, "corrupt"),
    "08": (StorageUnavailable, "connection_lost"),
    "28": (StorageUnavailable, "login_refused"),
    "3D": (StorageUnavailable, "no_such_database"),
    "53": (StorageUnavailable, "out_of_resources"),
    "57": (StorageUnavailable, "shut_down"),
    "58": (StorageUnavailable, "io_error"),
    "23": (Internal, "constraint"),
    "": (StorageUnavailable, "connection_lost"),
}

# A server that may be back soon.
AWAY: Final = frozenset({"connection_lost", "shut_down", "out_of_resources"})
_PASSING: Final = AWAY | {"statement_timeout"}


def of_sqlite(error: sqlite3.Error) -> PinciteError:
    """The error of SQLite as one of ours."""
    extended = getattr(error, "sqlite_errorcode", None)
    if extended is None:  # raised by the Python module itself
        if "closed" in str(error):  # whoever asked is just being stopped; what it did may be done again
            return StorageUnavailable("the store was closed meanwhile", reason="closed", retryable=True)
        return Internal(f"SQLite refused: {error}", reason="misuse")
    kind, reason = _SQLITE.get(extended & 0xFF, (Internal, "database_internal"))
    # SQLite says the same of a file that is missing and of a process that may open no more.
    if reason == "cannot_open" and (full := too_many_open_files(error, silent=True)) is not None:
        return full
    return _failure(kind, reason, f"{error} ({getattr(error, 'sqlite_errorname', extended)})")


def of_sqlstate(sqlstate: str | None, message: str) -> PinciteError:
    """An error of PostgreSQL as one of ours; None is a connection that broke or never came about."""
    state = sqlstate or ""
    # The first line alone: what follows in messages of PostgreSQL may quote values.
    kind, reason = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2]) or (Internal, "database_internal")
    failure = _failure(kind, reason, f"{message.strip().splitlines()[0] if message.strip() else 'no answer'} ({state})")
    if reason in ("read_only", "no_permission"):
        failure.hint = _REFUSED_HINT
    return failure


def of_os(error: OSError) -> PinciteError:
    """An error of the file system as one of ours."""
    if (full := too_many_open_files(error)) is not None:
        return full
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return _failure(StorageFull, "disk_full", str(error))
    reason = {errno.EROFS: "read_only", errno.EACCES: "no_permission", errno.EPERM: "no_permission"}
    return _failure(StorageUnavailable, reason.get(error.errno or 0, "cannot_open"), str(error))


@contextmanager
def translated() -> Iterator[None]:
    """A block in which errors of SQLite and of the file system come out as ours. Errors: those of the tables."""
    try:
        yield
    except sqlite3.Error as error:
        raise of_sqlite(error) from error
    except OSError as error:
        raise of_os(error) from error
    except UnicodeEncodeError as error:
        raise not_storable() from error


def not_storable() -> InvalidInput:
    """That a text is none which every database takes."""
    return InvalidInput("a text holds characters that can't be stored (NUL, half of a pair)", reason="not_text")


def _failure(kind: type[PinciteError], reason: str, detail: str) -> PinciteError:
    hint = _CORRUPT_HINT if reason == "corrupt" else _AWAY_HINT if reason in AWAY else None
    return kind(f"the store failed: {detail}", reason=reason, hint=hint, retryable=True if reason in _PASSING else None)


def held_to_scope(statement: str, every_scope: bool) -> None:
    """Refuse SQL that would see the rows of other users. Errors: Internal (`no_scope`)."""
    if not every_scope and ":in_scope" not in statement:
        raise Internal("a statement names no scope", reason="no_scope")

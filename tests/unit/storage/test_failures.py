"""Every way in which a database fails has an error of ours."""

import errno
import sqlite3

import pytest

from pincite.domain.errors import Internal, Locked, PinciteError, SchemaMismatch, StorageFull, StorageUnavailable
from pincite.storage import failures

# Source: SQLite, "Result and Error Codes", primary codes that are errors.
RESULT_CODES = (
    "ABORT AUTH BUSY CANTOPEN CONSTRAINT CORRUPT EMPTY ERROR FORMAT FULL INTERNAL INTERRUPT IOERR LOCKED MISMATCH "
    "MISUSE NOLFS NOMEM NOTADB NOTFOUND PERM PROTOCOL RANGE READONLY SCHEMA TOOBIG"
).split()


class Raised(sqlite3.OperationalError):
    def __init__(self, code: int) -> None:
        super().__init__("it failed")
        self.sqlite_errorcode = code
        self.sqlite_errorname = "SQLITE_X"


@pytest.mark.parametrize("name", sorted(n for n in dir(sqlite3) if n.startswith("SQLITE_IOERR_")))
def test_every_input_output_error_is_an_unavailable_store(name: str) -> None:
    assert isinstance(failures.of_sqlite(Raised(getattr(sqlite3, name))), StorageUnavailable)


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Locked, "database_locked"),
        (sqlite3.SQLITE_FULL, StorageFull, "disk_full"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StorageUnavailable, "read_only"),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, StorageUnavailable, "cannot_open"),
        (sqlite3.SQLITE_CORRUPT_INDEX, StorageUnavailable, "corrupt"),
        (sqlite3.SQLITE_NOTADB, StorageUnavailable, "corrupt"),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, Internal, "constraint"),
        (99, Internal, "database_internal"),
    ],
)
def test_errors_of_sqlite(code: int, kind: type[PinciteError], reason: str) -> None:
    error = failures.of_sqlite(Raised(code))
    assert (type(error), error.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("state", "kind", "reason", "retryable"),
    [
        ("08006", StorageUnavailable, "connection_lost", True),
        (None, StorageUnavailable, "connection_lost", True),
        ("57P01", StorageUnavailable, "shut_down", True),
        ("57014", Locked, "statement_timeout", True),
        ("40P01", Locked, "deadlock", True),
        ("53100", StorageFull, "disk_full", False),
        ("53300", StorageUnavailable, "out_of_resources", True),
        ("42P01", SchemaMismatch, "schema_differs", False),
        ("25006", StorageUnavailable, "read_only", False),
        ("28P01", StorageUnavailable, "login_refused", False),
        ("3D000", StorageUnavailable, "no_such_database", False),
        ("23505", Internal, "constraint", False),
        ("42601", Internal, "database_internal", False),
    ],
)
def test_errors_of_postgresql(state: str | None, kind: type[PinciteError], reason: str, retryable: bool) -> None:
    error = failures.of_sqlstate(state, "it failed\nDETAIL: more")
    assert (type(error), error.reason, error.retryable) == (kind, reason, retryable)
    assert "DETAIL" not in str(error)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, StorageUnavailable),
        (0, StorageUnavailable),
    ],
)
def test_errors_of_the_file_system(number: int, kind: type[PinciteError]) -> None:
    assert isinstance(failures.of_os(OSError(number, "no")), kind)


def test_the_table_is_complete() -> None:
    assert {getattr(sqlite3, f"SQLITE_{name}") for name in RESULT_CODES} == set(failures._SQLITE)


def test_a_store_that_was_closed_meanwhile_may_be_asked_again() -> None:
    connection = sqlite3.connect(":memory:")
    connection.close()
    with pytest.raises(StorageUnavailable) as caught, failures.translated():
        connection.execute("SELECT 1")
    assert (caught.value.reason, caught.value.retryable) == ("closed", True)

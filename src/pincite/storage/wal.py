"""Switching a SQLite file to a write-ahead log, which many processes may try at once on a new file."""

import sqlite3
import time

_AGAIN_AFTER_S = 0.02


def switch_to_wal(connection: sqlite3.Connection, within_s: float) -> None:
    """Return when the file has a write-ahead log.

    SQLite answers "busy" at once, without its own waiting, where two connections ask for this lock together.

    Errors: sqlite3.OperationalError as SQLite says it; "busy" only when `within_s` has passed.
    """
    until = time.monotonic() + within_s
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_AGAIN_AFTER_S)

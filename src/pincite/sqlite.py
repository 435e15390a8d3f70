"""How SQLite files are opened that several processes may make at the same moment: databases, indexes, small files."""

import sqlite3
import time
from pathlib import Path

# SQLite refuses at once, without waiting, to change the journal's mode while somebody reads; a switch takes a few
# milliseconds.
_AGAIN_AFTER_S = 0.02


def open_sqlite(path: Path, wait_s: float) -> sqlite3.Connection:
    """A connection to a file with a write-ahead log: it commits by itself, and any one thread at a time may use it.

    What a power cut may take back of it is what was committed last: cached answers, what an index is made of again.

    Errors: sqlite3.Error.
    """
    connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        switch_to_wal(connection, wait_s)
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def switch_to_wal(connection: sqlite3.Connection, within_s: float) -> None:
    """Return when the file has a write-ahead log.

    SQLite answers "busy" at once, without its own waiting, where two connections ask for this lock together.

    Errors: sqlite3.OperationalError as SQLite says it; "busy" only when `within_s` has passed.
    """
    until_s = time.monotonic() + within_s
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until_s:
                raise
            time.sleep(_AGAIN_AFTER_S)

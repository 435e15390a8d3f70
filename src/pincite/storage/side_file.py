"""Small SQLite files beside the database, standard library only: each may be deleted, a damaged one is begun anew."""

import sqlite3
from pathlib import Path

from pincite.runtime.private_files import make_private
from pincite.storage import failures
from pincite.storage.wal import switch_to_wal

_WAIT_S = 20


def open_side_file(path: Path, schema: str) -> sqlite3.Connection:
    """A connection to the file at `path` with its tables; a damaged file is moved to `PATH.damaged` first.

    Errors: StorageUnavailable, StorageFull, Locked.
    """
    with failures.translated():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _open(path, schema)
        except sqlite3.DatabaseError as error:
            if failures.of_sqlite(error).reason != "corrupt":
                raise
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        path.replace(f"{path}.damaged")
        return _open(path, schema)


def _open(path: Path, schema: str) -> sqlite3.Connection:
    make_private(path)
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        switch_to_wal(connection, _WAIT_S)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(schema)
    except sqlite3.Error:
        connection.close()
        raise
    return connection

"""A SQLite file on a read-only mount, or of somebody else: it can be listed, shown and checked, and nothing changes."""

import os
import sqlite3
from pathlib import Path


def can_only_be_read(path: Path) -> bool:
    """Whether the file is there, and neither it nor its folder takes changes from this process."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that reads. Errors: sqlite3.Error.

    A home that can't be written has no write-ahead log beside the file, or one that can't be shared: then the file
    itself is all there is.
    """
    for options in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}", uri=True, timeout=5, check_same_thread=False
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            connection.close()
            if "immutable" in options:
                raise
        else:
            return connection
    raise sqlite3.OperationalError("unable to open database file")

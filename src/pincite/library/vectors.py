"""Vectors kept in a SQLite file of the home, by a key made of what was embedded. Derived data: it may be deleted."""

import sqlite3
import threading
from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from pincite.domain.errors import PinciteError
from pincite.library.schema import mapped

_AT_A_TIME: Final = 500
_BUSY_S: Final = 5.0


class VectorFile:
    """Implements `VectorStore`. A file that can't be read or written costs time, never an answer."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Sequence[float]]:
        """Those that are there."""
        found: dict[bytes, Sequence[float]] = {}
        if not self._file.is_file():
            return found
        try:
            with self._lock, mapped(self._file), closing(self._open()) as connection:
                for start in range(0, len(keys), _AT_A_TIME):
                    some = keys[start : start + _AT_A_TIME]
                    marks = ",".join("?" * len(some))
                    rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)  # noqa: S608
                    found.update((key, _read(blob)) for key, blob in rows)
        except PinciteError:
            return found
        return found

    def keep(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Keep them; the same key again changes nothing."""
        try:
            with self._lock, mapped(self._file):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with closing(self._open()) as connection, connection:
                    connection.executemany(
                        "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                        ((key, array("f", vector).tobytes()) for key, vector in vectors.items()),
                    )
        except PinciteError:
            return

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=_BUSY_S)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )
        return connection


def _read(blob: bytes) -> Sequence[float]:
    numbers = array("f")
    numbers.frombytes(blob)
    return numbers

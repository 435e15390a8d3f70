"""Vectors kept by a key made of what was embedded: in a SQLite file of the home, and as shipped with pages.

Both are derived data: they may be deleted. A shipped file is one line of JSON (who made the vectors, how many of which
width, the hash of all that follows), then for each vector its key, a scale in four bytes, its numbers in one byte each.
"""

import json
import sqlite3
import struct
import threading
from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

from pincite.domain.errors import PinciteError
from pincite.library.schema import mapped
from pincite.ranking.passages import KEY_BYTES

# SQLite takes 999 parameters in a statement by its oldest limit.
_AT_A_TIME: Final = 500
# The vectors are only a memory: who can't have them soon makes them.
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
                    rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)  # noqa: S608  # question marks alone
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
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        except BaseException:
            connection.close()
            raise
        return connection


def _read(blob: bytes) -> Sequence[float]:
    numbers = array("f")
    numbers.frombytes(blob)
    return numbers


def packed(vectors: Mapping[bytes, Sequence[float]], made_by: str) -> bytes:
    """Vectors as a file to ship; `made_by` names the weights. One byte a number: cosines are off by less than 0.005."""
    width = len(next(iter(vectors.values()), ()))
    record = struct.Struct(f"<{KEY_BYTES}sf{width}b")
    pieces = []
    for key, vector in sorted(vectors.items()):
        scale = max(map(abs, vector), default=0.0) / 127 or 1.0
        pieces.append(record.pack(key, scale, *(round(number / scale) for number in vector)))
    body = b"".join(pieces)
    head = {"made_by": made_by, "count": len(vectors), "width": width, "sha256": sha256(body).hexdigest()}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + body


def unpacked(data: bytes, made_by: str) -> dict[bytes, Sequence[float]]:
    """The vectors of a shipped file; none when it is damaged, or made by other weights."""
    line, _, body = data.partition(b"\n")
    try:
        head = json.loads(line)
        whole = head["made_by"] == made_by and head["sha256"] == sha256(body).hexdigest()
        record = struct.Struct(f"<{KEY_BYTES}sf{int(head['width'])}b")
    except (ValueError, KeyError, TypeError, struct.error):
        return {}
    if not whole:
        return {}
    rows = record.iter_unpack(body)
    return {key: array("f", [scale * number for number in numbers]) for key, scale, *numbers in rows}

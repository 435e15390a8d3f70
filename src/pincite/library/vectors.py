"""Vectors kept by a key made of what was embedded: in a SQLite file of the home, and as shipped with pages.

Both are derived data: they may be deleted. A shipped file is one line of JSON (who made the vectors, how many of which
width, the hash of all that follows), then for each vector its key, a scale in four bytes, its numbers in one byte each.
"""

import json
import sqlite3
import struct
import threading
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pincite.domain.errors import PinciteError
from pincite.library.schema import mapped
from pincite.ranking.passages import KEY_BYTES, passage_text
from pincite.ranking.vectors import KnownVectors
from pincite.sqlite import open_sqlite

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
                    found.update((key, array("f", blob)) for key, blob in rows)
        except PinciteError:
            return found
        return found

    def keep(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Keep them; the same key again changes nothing."""
        try:
            with self._lock, mapped(self._file):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with closing(self._open()) as connection, connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany(
                        "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                        ((key, array("f", vector).tobytes()) for key, vector in vectors.items()),
                    )
        except PinciteError:
            return

    def _open(self) -> sqlite3.Connection:
        connection = open_sqlite(self._file, _BUSY_S)
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        except BaseException:
            connection.close()
            raise
        return connection


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
        # Vectors of other weights are numbers of the right size that mean nothing.
        whole = head["made_by"] == made_by and head["sha256"] == sha256(body).hexdigest()
        record = struct.Struct(f"<{KEY_BYTES}sf{int(head['width'])}b")
    except (ValueError, KeyError, TypeError, struct.error):
        return {}
    if not whole:
        return {}
    rows = record.iter_unpack(body)
    return {key: array("f", [scale * number for number in numbers]) for key, scale, *numbers in rows}


# The vectors of a library's passages, held together so that all of them are compared at once.

# Called with the number of vectors made so far and of those to make.
VectorProgress = Callable[[int, int], None]
# Passages whose vectors are held: 460 MB. A larger library is found by those that open pages and sections.
_MOST = 300_000
# So that somebody who looks on sees the count move, and a stop is heard within about a second.
_MADE_AT_A_TIME = 64
_HEADS = (
    "SELECT min(passage_id), vector_key FROM passages JOIN pages USING (page_id) WHERE is_current = 1"
    " GROUP BY page_id, section ORDER BY 1"
)
_PASSAGES = "SELECT passage_id, vector_key FROM passages JOIN pages USING (page_id) WHERE is_current = 1 ORDER BY 1"


class PassageVectors:
    """Compares a question with all passages, or with page and section heads while those of others are not made.

    Not safe for several threads at a time.
    """

    def __init__(self, connection: sqlite3.Connection, embedder: KnownVectors) -> None:
        self._db = connection
        self._embedder = embedder
        self._matrix: Any = None
        self._names: list[int] = []
        self._rows: dict[int, int] = {}

    def forget(self) -> None:
        """Read the vectors again at the next question."""
        self._matrix = None

    def nearest(self, wanted: Sequence[float], limit: int) -> dict[int, float]:
        """The nearest passages with how near they are (0-1); none while the vectors of heads are not all made."""
        self._load()
        if not self._names:
            return {}
        numpy: Any = import_module("numpy")
        near = self._matrix @ numpy.asarray(wanted, dtype=self._matrix.dtype)
        count = min(limit, len(self._names))
        # The nearest in any order: the caller sorts them together with the others.
        best = numpy.argpartition(-near, count - 1)[:count]
        return {self._names[index]: max(float(near[index]), 0.0) for index in best}

    def of(self, wanted: Sequence[float], passages: Sequence[int]) -> dict[int, float]:
        """How near those of these passages are whose vectors are held."""
        self._load()
        rows = [(name, self._rows[name]) for name in passages if name in self._rows]
        if not rows:
            return {}
        numpy: Any = import_module("numpy")
        near = self._matrix[[row for _, row in rows]] @ numpy.asarray(wanted, dtype=self._matrix.dtype)
        return {name: max(float(value), 0.0) for (name, _), value in zip(rows, near, strict=True)}

    def _load(self) -> None:
        if self._matrix is not None:
            return
        (passages,) = self._db.execute(f"SELECT count(*) FROM ({_PASSAGES})").fetchone()  # noqa: S608  # our own text
        at_hand = (self._at_hand(_PASSAGES) if passages <= _MOST else []) or self._at_hand(_HEADS)
        self._names = [name for name, _ in at_hand]
        self._rows = {name: row for row, name in enumerate(self._names)}
        numpy: Any = import_module("numpy")
        self._matrix = numpy.empty((len(at_hand), len(at_hand[0][1]) if at_hand else 0), dtype=numpy.float32)
        for row, (_, vector) in enumerate(at_hand):
            self._matrix[row] = vector

    def _at_hand(self, query: str) -> list[tuple[int, Sequence[float]]]:
        """The vectors of these passages. All or none: known in part, those would be found whatever the question is."""
        rows = self._db.execute(f"{query} LIMIT ?", (_MOST,)).fetchall()
        # The last ones are made last: without them nothing else has to be read.
        some = [key for _, key in rows[-_AT_A_TIME:]]
        if len(self._embedder.stored(some)) < len(set(some)):
            return []
        # Asked for as they lie in the file, which takes six tenths of the time.
        found = self._embedder.stored(sorted(key for _, key in rows))
        return [(name, found[key]) for name, key in rows] if all(key in found for _, key in rows) else []


def make_vectors(connection: sqlite3.Connection, embedder: KnownVectors, progress: VectorProgress) -> int:
    """Make the vectors of passages that are missing; how many were made. What was made stays.

    Those of page and section heads come first: with them a library is found by meaning while the others are made.

    Args:
        connection: of the index.
        embedder: keeps what it makes.
        progress: is told how many of how many are done; what it raises ends the work.
    """
    heads, passages = (connection.execute(query).fetchall() for query in (_HEADS, _PASSAGES))
    rows = dict(heads if len(passages) > _MOST else [*heads, *passages])
    known = embedder.stored(list(rows.values()))
    missing = [name for name, key in rows.items() if key not in known]
    done = 0
    for start in range(0, len(missing), _MADE_AT_A_TIME):
        some = missing[start : start + _MADE_AT_A_TIME]
        embedder.embed(list(_texts(connection, some)))
        done += len(some)
        progress(done, len(missing))
    return done


def _texts(connection: sqlite3.Connection, passages: Sequence[int]) -> Iterator[str]:
    rows = connection.execute(
        'SELECT pages.title, section, start, "end", pages.text FROM passages JOIN pages USING (page_id)'
        " WHERE passage_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    for title, section, start, end, text in rows:
        body = zlib.decompress(text).decode("utf-8", "surrogatepass")[start:end]
        yield passage_text(title, tuple(json.loads(section)), body)

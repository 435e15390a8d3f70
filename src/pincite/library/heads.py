"""The vectors of a library's page and section heads, held together so that all of them are compared at once.

`pincite index` makes them. They count when all are there, and vectors of other passages never do: what a library
answers must not depend on what was asked before, or a resumed run would end in another report.
"""

import json
import sqlite3
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from pincite.ranking.passages import passage_text
from pincite.ranking.vectors import KnownVectors

# Called with the number of vectors made so far and of those to make.
VectorProgress = Callable[[int, int], None]
# Heads whose vectors are held: 460 MB. A larger library is found by words, and by meaning among those.
_MOST = 300_000
# So that somebody who looks on sees the count move, and a stop is heard within about a second.
_AT_A_TIME = 64
_HEADS = (
    "SELECT min(passage_id), vector_key FROM passages JOIN pages USING (page_id) WHERE is_current = 1"
    " GROUP BY page_id, section ORDER BY 1"
)


class Heads:
    """Compares a question with all heads. Not safe for several threads at a time."""

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
        """The nearest heads with how near they are (0-1); none while their vectors are not all made."""
        self._load()
        if not self._names:
            return {}
        numpy: Any = import_module("numpy")
        near = self._matrix @ numpy.asarray(wanted, dtype=self._matrix.dtype)
        count = min(limit, len(self._names))
        best = numpy.argpartition(-near, count - 1)[:count]
        return {self._names[index]: max(float(near[index]), 0.0) for index in best}

    def of(self, wanted: Sequence[float], passages: Sequence[int]) -> dict[int, float]:
        """How near those of these passages are that are heads."""
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
        numpy: Any = import_module("numpy")
        rows = self._db.execute(f"{_HEADS} LIMIT ?", (_MOST,)).fetchall()
        found = self._embedder.stored([key for _, key in rows])
        all_there = all(key in found for _, key in rows)
        at_hand = [(name, found[key]) for name, key in rows] if all_there else []
        self._names = [name for name, _ in at_hand]
        self._rows = {name: row for row, name in enumerate(self._names)}
        numbers = b"".join(array("f", vector).tobytes() for _, vector in at_hand)
        self._matrix = numpy.frombuffer(numbers, dtype=numpy.float32).reshape(len(at_hand), -1 if at_hand else 0)


def make_heads(connection: sqlite3.Connection, embedder: KnownVectors, progress: VectorProgress) -> int:
    """Make the vectors of page and section heads that are missing; how many were made. What was made stays.

    Args:
        connection: of the index.
        embedder: keeps what it makes.
        progress: is told how many of how many are done; what it raises ends the work.
    """
    rows = connection.execute(_HEADS).fetchall()
    known = embedder.stored([key for _, key in rows])
    missing = [name for name, key in rows if key not in known]
    done = 0
    for start in range(0, len(missing), _AT_A_TIME):
        some = missing[start : start + _AT_A_TIME]
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

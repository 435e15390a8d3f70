"""Vectors that come with pages: small, checked, and never taken for those of other weights."""

import math
import random
from pathlib import Path

import pytest
from tests.fakes.embedder import WordEmbedder

from pincite.fetch.extractors import BytesExtractor
from pincite.library.local import LocalLibrary
from pincite.library.vectors import VectorFile, packed, unpacked
from pincite.ranking.ranker import dot
from pincite.ranking.vectors import KeptVectors
from pincite.wiring.libraries import learn_shipped
from pincite.wiring.sources import bundled_library, is_bundled


def some_vectors(count: int = 20) -> dict[bytes, list[float]]:
    chance = random.Random(7)
    found = {}
    for number in range(count):
        vector = [chance.gauss(0, 1) for _ in range(384)]
        length = math.sqrt(dot(vector, vector))
        found[number.to_bytes(16, "big")] = [value / length for value in vector]
    return found


def test_vectors_come_back_nearly_as_they_were() -> None:
    vectors = some_vectors()
    data = packed(vectors, "weights-1")
    assert len(data) < len(vectors) * 410 + 200
    back = unpacked(data, "weights-1")
    assert back.keys() == vectors.keys()
    one, other, *_ = vectors
    for a in (one, other):
        assert abs(dot(vectors[one], vectors[a]) - dot(back[one], back[a])) < 0.005


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no header", "other weights"])
def test_damaged_or_foreign_vectors_are_not_used(damage: str) -> None:
    data = packed(some_vectors(), "weights-1")
    given = {
        "cut": data[:-1],
        "changed": data[:-1] + bytes([data[-1] ^ 1]),
        "empty": b"",
        "no header": b"[]\n" + data,
        "other weights": packed(some_vectors(), "weights-2"),
    }[damage]
    assert unpacked(given, "weights-1") == {}


def test_the_bundled_library_comes_with_its_vectors(tmp_path: Path) -> None:
    """When this fails, passages are cut otherwise than they were: run `scripts/build_examples.py --vectors`."""
    store = VectorFile(tmp_path / "vectors.sqlite")
    kept = KeptVectors(WordEmbedder(), store)
    learn_shipped(kept, "another model")
    assert not (tmp_path / "vectors.sqlite").exists()
    learn_shipped(kept, "minilm")
    assert is_bundled(bundled_library())
    with LocalLibrary(bundled_library(), index_dir=tmp_path, extractor=BytesExtractor(), workers=0) as library:
        library.refresh()
        rows = library._connection.execute("SELECT vector_key FROM passages").fetchall()
    keys = {key for (key,) in rows}
    assert not keys - store.vectors(list(keys)).keys()

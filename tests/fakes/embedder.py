"""An embedder without a model."""

from collections.abc import Sequence
from math import sqrt
from zlib import crc32

from pincite.text.tokens import is_stop, stem, words

# Few enough to be quick, enough that two words of a small test seldom meet in one.
_SIZE = 64


class WordEmbedder:
    """Counts the stems of a text in 64 places. `embedded` are the texts it was asked for."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text."""
        self.embedded.extend(texts)
        return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    counts = [0.0] * _SIZE
    for word in words(text):
        if not is_stop(word):
            counts[crc32(stem(word).encode()) % _SIZE] += 1.0
    counts[0] += 0.01  # a text without a word has a direction, too
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]

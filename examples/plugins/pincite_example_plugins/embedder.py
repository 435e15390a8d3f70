"""An embedder: the hashing trick over words, so that texts with the same words are near each other."""

import math
import re
import zlib
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_SIZE = 512


class HashingEmbedder:
    """Implements `pincite.ports.Embedder` without a model."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of length 1 for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * _SIZE
        for word in _WORD.findall(text.lower()) or [""]:
            vector[zlib.crc32(word.encode()) % _SIZE] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector]

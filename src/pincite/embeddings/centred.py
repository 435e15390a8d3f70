"""Vectors of any model, moved so that unrelated texts are about 0 apart: the scale that the ranking was fitted on.

Many models give every two texts a cosine of .5 to .9. What they all share, the mean over texts of many kinds, says
nothing of any one and is taken away. Source: Mu and Viswanath, "All-but-the-Top" (ICLR 2018), its first step.
"""

import math
from collections.abc import Sequence

from pincite.ports import Embedder


class CentredEmbedder:
    """Implements `ports.Embedder` over another one.

    Args:
        embedder: gives the vectors.
        sample: texts of many kinds, embedded once at the first use; their mean is the centre.
    """

    def __init__(self, embedder: Embedder, sample: Sequence[str]) -> None:
        self._embedder = embedder
        self._sample = tuple(sample)
        self._centre: list[float] | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order. Errors: those of the embedder."""
        if not texts:
            return []
        if self._centre is None:
            known = self._embedder.embed(self._sample)
            self._centre = [math.fsum(column) / len(known) for column in zip(*known, strict=True)]
        return [_moved(vector, self._centre) for vector in self._embedder.embed(texts)]


def _moved(vector: Sequence[float], centre: Sequence[float]) -> list[float]:
    moved = [value - middle for value, middle in zip(vector, centre, strict=True)]
    length = math.hypot(*moved)
    return [value / length for value in moved] if length else list(vector)

"""How well passages match by words: BM25 over title, headings, term and text as weighted columns of one passage."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pincite.ranking.terms import index_terms

# Robertson and Zaragoza 2009: 1.2 to 2 is usual.
K1: Final = 1.2
B: Final = 0.7
# How much one occurrence in title, headings, term and text counts; the order of columns is that of the index.
COLUMNS: Final = (2.0, 1.6, 1.6, 1.0)
# As many as a few questions look at; counting the words of one again costs little.
_PASSAGES_KEPT: Final = 8_192


@dataclass(frozen=True, slots=True)
class Rarity:
    """In how many of `passages` passages words stand: of a whole library where one is known, else of what was read."""

    passages: int
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """High when few passages have the term, never negative; a term that is nowhere weighs most."""
        found = self.frequencies.get(term, 0)
        return math.log(1 + (max(self.passages, found) - found + 0.5) / (found + 0.5))


@lru_cache(maxsize=_PASSAGES_KEPT)
def weighted_terms(title: str, headings: str, label: str, text: str) -> tuple[dict[str, float], int]:
    """The terms of a passage with their weighted counts, and its length in terms. Do not change the dictionary."""
    counts: Counter[str] = Counter()
    length = 0
    for weight, column in zip(COLUMNS, (title, headings, label, text), strict=True):
        found = index_terms(column)
        length += len(found) if weight == COLUMNS[-1] else 0
        for term, times in Counter(found).items():
            counts[term] += weight * times  # type: ignore[assignment]  # a Counter of weights
    return dict(counts), length


def bm25(terms: Sequence[str], passages: Sequence[tuple[dict[str, float], int]], rarity: Rarity) -> list[float]:
    """One score for each passage.

    Source: Robertson and Zaragoza 2009; Robertson, Zaragoza and Taylor 2004 for weighted fields.
    """
    mean = sum(length for _, length in passages) / max(len(passages), 1) or 1.0
    weights = {term: rarity.weight(term) for term in dict.fromkeys(terms)}
    return [
        sum(
            weight * found[term] * (K1 + 1) / (found[term] + K1 * (1 - B + B * length / mean))
            for term, weight in weights.items()
            if term in found
        )
        for found, length in passages
    ]


def coverage(terms: Sequence[str], found: Mapping[str, float], rarity: Rarity) -> float:
    """The share of the question's words, by weight, that the passage has in its text or above it."""
    weights = {term: rarity.weight(term) for term in dict.fromkeys(terms)}
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in found) / total if total else 0.0

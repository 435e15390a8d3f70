"""How well passages match by words: BM25 over title, headings, term and text as weighted columns of one passage."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.ranking.passages import CutPassage

# Robertson and Zaragoza 2009: 1.2 to 2 is usual.
K1: Final = 1.2
B: Final = 0.7
# How much one occurrence in title, headings with terms, and text counts: the columns of the index, in its order.
COLUMNS: Final = (2.0, 1.6, 1.0)


@dataclass(frozen=True, slots=True)
class Rarity:
    """In how many of `passages` passages words stand: of a whole library where one is known, else of what was read."""

    passages: int
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """High when few passages have the term, never negative; a term that is nowhere weighs most."""
        found = self.frequencies.get(term, 0)
        return math.log(1 + (max(self.passages, found) - found + 0.5) / (found + 0.5))


def weighted_terms(
    title: Mapping[str, int], passage: CutPassage, wanted: Collection[str]
) -> tuple[dict[str, float], int]:
    """The wanted terms that a passage has with their weighted counts, and its length in terms."""
    body = passage.body.split()
    in_headings, in_text = Counter(passage.headings.split()), Counter(body)
    of_title, of_headings, of_text = COLUMNS
    counts = {
        term: of_title * title.get(term, 0) + of_headings * in_headings[term] + of_text * in_text[term]
        for term in wanted
        if term in in_text or term in in_headings or term in title
    }
    return counts, len(body)


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

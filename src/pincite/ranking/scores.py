"""How passages are scored: by words (BM25 over title, headings, term and text), and how likely one answers.

The likelihoods are those of the models that `scripts/fit_ranking.py` fitted.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final, Literal

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


# From so many words on a passage counts as a whole one; shorter ones look nearer to a question than they are.
_FULL_WORDS: Final = 80
# What the likelihood of a passage is fitted on: its words and the nearness of each; words, its vector and those of its
# sentences; words and its vector; words.
Model = Literal["close", "meaning", "unread", "words"]


@dataclass(frozen=True, slots=True)
class Features:
    """What the likelihood of one passage is made of, each 0-1: the names in `weights.json`.

    `score` is BM25 beside that of the best passage, `strength` beside the highest that any passage could have;
    `near_score` and `near_strength` are the same of the nearness word by word.
    """

    score: float = 0.0
    similarity: float = 0.0
    best_sentence: float = 0.0
    coverage: float = 0.0
    strength: float = 0.0
    length: float = 0.0
    near_score: float = 0.0
    near_strength: float = 0.0


def length_of(text: str) -> float:
    """The feature `length` of a text."""
    return min(len(text.split()) / _FULL_WORDS, 1.0)


def likelihood(features: Features, model: str) -> float:
    """How likely a passage with these features answers, by the fitted model of that name."""
    fitted = weights()[model]
    return 1 / (1 + math.exp(-logit(fitted, {name: getattr(features, name) for name in Features.__slots__})))


def logit(fitted: Mapping[str, float], values: Mapping[str, float]) -> float:
    """The weighted sum of a fitted model."""
    return fitted["bias"] + sum(weight * values[name] for name, weight in fitted.items() if name != "bias")


@cache
def weights() -> dict[str, dict[str, float]]:
    """The fitted models by name."""
    found: dict[str, dict[str, float]] = json.loads(
        resources.files("pincite.ranking").joinpath("weights.json").read_text(encoding="utf-8")
    )["models"]
    return found

"""Scoring passages for a question: BM25F over title, headings and body, then closeness and phrases of its words.

Candidates come from SQLite's BM25; the best few hundred are scored again here, where fields saturate together and the
places of the words count. Weights were measured (docs/library.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.domain.library import PassageMatch

K1 = 1.2
FIELD_WEIGHTS = {"title": 2.0, "headings": 1.6, "body": 1.0}
FIELD_LENGTH_PARTS = {"title": 0.3, "headings": 0.3, "body": 0.7}
PROXIMITY_WEIGHT = 0.25
PHRASE_WEIGHT = 0.35
_WINDOW = 12


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scoring needs to know of the whole library."""

    passages: int
    mean_lengths: Mapping[str, float]
    frequencies: Mapping[str, int]

    def idf(self, term: str) -> float:
        """The weight of a term: high when few passages have it, never negative."""
        frequency = self.frequencies.get(term, 0)
        return math.log(1 + (self.passages - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class Fields:
    """The terms of a candidate passage, by field, in order."""

    title: tuple[str, ...]
    headings: tuple[str, ...]
    body: tuple[str, ...]


def score(
    terms: Mapping[str, float], order: Sequence[str], fields: Fields, statistics: Statistics
) -> tuple[float, PassageMatch]:
    """The score of a passage and why.

    Args:
        terms: the question's terms with their weights (1 for a word of the question, less for an added one).
        order: the question's own terms in their order, for phrases.
        fields: the passage.
        statistics: of the library.
    """
    places: dict[str, list[int]] = {}
    for position, term in enumerate(fields.body):
        if term in terms:
            places.setdefault(term, []).append(position)
    total = 0.0
    found = body_found = asked = 0.0
    for term, weight in terms.items():
        idf = statistics.idf(term) * weight
        asked += idf
        frequency = _weighted_frequency(term, places, fields, statistics)
        if frequency:
            total += idf * frequency * (K1 + 1) / (K1 + frequency)
            found += idf
            body_found += idf if term in places else 0.0
    proximity = _proximity(order, places, statistics)
    phrase = _phrase(order, fields, statistics)
    asked = asked or 1.0
    match = PassageMatch(coverage=found / asked, body_coverage=body_found / asked, proximity=proximity, phrase=phrase)
    return total * (1 + PROXIMITY_WEIGHT * proximity + PHRASE_WEIGHT * phrase), match


def _weighted_frequency(
    term: str, places: Mapping[str, Sequence[int]], fields: Fields, statistics: Statistics
) -> float:
    total = 0.0
    for name, count, length in (
        ("title", fields.title.count(term), len(fields.title)),
        ("headings", fields.headings.count(term), len(fields.headings)),
        ("body", len(places.get(term, ())), len(fields.body)),
    ):
        if count:
            part = FIELD_LENGTH_PARTS[name]
            mean = statistics.mean_lengths[name] or 1.0
            total += FIELD_WEIGHTS[name] * count / (1 - part + part * length / mean)
    return total


def _proximity(order: Sequence[str], places: Mapping[str, Sequence[int]], statistics: Statistics) -> float:
    """0-1: the term weight that stands within one short window, of all that was asked."""
    asked = sum(statistics.idf(term) for term in order)
    marks = sorted((position, term) for term in order for position in places.get(term, ()))
    best, first = 0.0, 0
    inside: dict[str, int] = {}
    weight = 0.0
    for position, term in marks:
        inside[term] = inside.get(term, 0) + 1
        weight += statistics.idf(term) if inside[term] == 1 else 0.0
        while position - marks[first][0] > _WINDOW:
            gone = marks[first][1]
            inside[gone] -= 1
            weight -= statistics.idf(gone) if inside[gone] == 0 else 0.0
            first += 1
        best = max(best, weight)
    single = max((statistics.idf(term) for term in places), default=0.0)
    return (best - single) / asked if asked and best > single else 0.0


def _phrase(order: Sequence[str], fields: Fields, statistics: Statistics) -> float:
    """0-1: the share of neighbouring question terms that are neighbours in the passage, by weight."""
    pairs = list(pairwise(order))
    if not pairs:
        return 0.0
    here = {pair for terms in (fields.title, fields.headings, fields.body) for pair in pairwise(terms)}
    weights = [min(statistics.idf(a), statistics.idf(b)) for a, b in pairs]
    total = sum(weights)
    return sum(w for w, pair in zip(weights, pairs, strict=True) if pair in here) / total if total else 0.0

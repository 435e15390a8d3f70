"""Scoring passages for a question: BM25F over title, headings and body, then closeness and phrases of its words.

Candidates come from SQLite's BM25; the best few hundred are scored again here, where fields saturate together, the
places of the words count, and so does the page around. Then the best passages lend the question their own rare words
and all are scored once more (pseudo-relevance feedback). Weights were measured (docs/library.md).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.domain.library import PassageMatch

K1 = 1.2
PAGE_WEIGHT = 0.5
FIELD_WEIGHTS = {"title": 2.0, "headings": 1.6, "body": 1.0}
FIELD_LENGTH_PARTS = {"title": 0.3, "headings": 0.3, "body": 0.7}
PROXIMITY_WEIGHT = 0.25
PHRASE_WEIGHT = 0.35
FEEDBACK_PASSAGES = 8
FEEDBACK_TERMS = 20
FEEDBACK_WEIGHT = 0.3
FEEDBACK_SHARE = 0.5
_WINDOW = 12
_COMMON = 0.05


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scoring needs to know of the whole library."""

    passages: int
    mean_lengths: Mapping[str, float]
    frequencies: Mapping[str, int]

    @property
    def fields(self) -> tuple[tuple[float, float, float], ...]:
        """Weight, length part and mean length of title, headings and body."""
        return tuple((w, FIELD_LENGTH_PARTS[name], self.mean_lengths[name]) for name, w in FIELD_WEIGHTS.items())

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


Places = Mapping[str, tuple[tuple[int, ...], ...]]
"""Where each known term stands: positions in title, headings and body."""


def places_of(terms: Collection[str], fields: Fields) -> Places:
    """Where the terms stand in the passage; terms that don't occur are left out."""
    found: dict[str, tuple[list[int], list[int], list[int]]] = {}
    for index, words in enumerate((fields.title, fields.headings, fields.body)):
        for position, word in enumerate(words):
            if word in terms:
                if word not in found:
                    found[word] = ([], [], [])
                found[word][index].append(position)
    return {term: tuple(tuple(field) for field in lists) for term, lists in found.items()}


def term_score(terms: Mapping[str, float], places: Places, fields: Fields, statistics: Statistics) -> float:
    """BM25F: the fields of a passage saturate together. `terms` are the question's terms with their weights."""
    lengths = (len(fields.title), len(fields.headings), len(fields.body))
    total = 0.0
    for term, spots in places.items():
        frequency = 0.0
        for (weight, part, mean), length, positions in zip(statistics.fields, lengths, spots, strict=True):
            if positions:
                frequency += weight * len(positions) / (1 - part + part * length / mean)
        if frequency:
            total += terms.get(term, 0.0) * statistics.idf(term) * frequency * (K1 + 1) / (K1 + frequency)
    return total


def match_of(order: Sequence[str], places: Places, statistics: Statistics) -> PassageMatch:
    """Why a passage matches: coverage, closeness and phrases of the question's own terms, each 0-1."""
    asked = sum(statistics.idf(term) for term in order) or 1.0
    found = sum(statistics.idf(term) for term in order if term in places)
    in_body = {term: places[term][2] for term in order if term in places and places[term][2]}
    return PassageMatch(
        coverage=found / asked,
        body_coverage=sum(statistics.idf(term) for term in in_body) / asked,
        proximity=_proximity(in_body, statistics) / asked,
        phrase=_phrase(order, places, statistics),
    )


def boosted(score: float, match: PassageMatch) -> float:
    """The score of the terms, raised by how they stand together."""
    return score * (1 + PROXIMITY_WEIGHT * match.proximity + PHRASE_WEIGHT * match.phrase)


def _proximity(places: Mapping[str, Sequence[int]], statistics: Statistics) -> float:
    """The term weight that stands within one short window, beyond that of the weightiest term alone."""
    marks = sorted((position, term) for term, positions in places.items() for position in positions)
    best, first, weight = 0.0, 0, 0.0
    inside: dict[str, int] = {}
    for position, term in marks:
        inside[term] = inside.get(term, 0) + 1
        weight += statistics.idf(term) if inside[term] == 1 else 0.0
        while position - marks[first][0] > _WINDOW:
            gone = marks[first][1]
            inside[gone] -= 1
            weight -= statistics.idf(gone) if inside[gone] == 0 else 0.0
            first += 1
        best = max(best, weight)
    return max(best - max((statistics.idf(term) for term in places), default=0.0), 0.0)


def _phrase(order: Sequence[str], places: Places, statistics: Statistics) -> float:
    """The share of neighbouring question terms that are neighbours in the passage, by weight."""
    total = hit = 0.0
    for first, second in pairwise(order):
        weight = min(statistics.idf(first), statistics.idf(second))
        total += weight
        if first in places and second in places:
            pairs = zip(places[first], places[second], strict=True)
            hit += weight if any(any(p + 1 in b for p in a) for a, b in pairs if a and b) else 0.0
    return hit / total if total else 0.0


def feedback_terms(
    best: Sequence[tuple[float, Fields]], known: Collection[str], statistics: Statistics
) -> dict[str, float]:
    """The rare words of the best passages with weights below 1: what their texts have in common beyond the question.

    `statistics` must know the frequencies of the passages' words. Numbers and words of more than one passage in
    twenty are left out.
    """
    together = sum(score for score, _ in best) or 1.0
    weights: dict[str, float] = defaultdict(float)
    for score, fields in best:
        for term, count in Counter(fields.body + fields.title).items():
            frequency = statistics.frequencies.get(term, 0)
            if term in known or term.isdigit() or not 2 <= frequency <= statistics.passages * _COMMON:
                continue
            times = min(count, 3)
            weights[term] += score / together * times / (times + 1) * math.log(1 + statistics.passages / frequency)
    chosen = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
    return {term: FEEDBACK_WEIGHT * weight / chosen[0][1] for term, weight in chosen}

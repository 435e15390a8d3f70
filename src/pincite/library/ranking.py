"""Scoring passages for a question: BM25F over title, headings and body, then closeness and phrases of its words.

Candidates come from SQLite's BM25; the best few hundred are scored again here, where fields saturate together, the
places of the words count, and so does the page around. Then the best passages lend the question their own rare words
and all are scored once more (pseudo-relevance feedback). Weights were measured (docs/library.md).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
FEEDBACK_WEIGHT = 0.4
FEEDBACK_SHARE = 0.5
_WINDOW = 12
_COMMON = 0.05


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scoring needs to know of the whole library, for the terms in `frequencies`."""

    passages: int
    mean_lengths: Mapping[str, float]
    frequencies: Mapping[str, int]
    weights: Mapping[str, float] = field(init=False, repr=False)
    fields: tuple[tuple[float, float, float], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Looked up a million times: made once. A weight is high when few passages have the term, never negative.
        weights = {t: math.log(1 + (self.passages - n + 0.5) / (n + 0.5)) for t, n in self.frequencies.items()}
        object.__setattr__(self, "weights", weights)
        parts = tuple((w, FIELD_LENGTH_PARTS[name], self.mean_lengths[name]) for name, w in FIELD_WEIGHTS.items())
        object.__setattr__(self, "fields", parts)


@dataclass(frozen=True, slots=True)
class Fields:
    """The terms of a candidate passage by field, in order, joined by single spaces as they are stored."""

    title: str
    headings: str
    body: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.title, self.headings, self.body))


Places = Mapping[str, tuple[list[int], list[int], list[int]]]
"""Where each known term stands: positions in title, headings and body."""


def places_of(terms: Collection[str], fields: Fields) -> Places:
    """Where the terms stand in the passage; terms that don't occur are left out."""
    found: dict[str, tuple[list[int], list[int], list[int]]] = {}
    for index, words in enumerate(fields):
        for position, word in enumerate(words.split()):
            if word in terms:
                if word not in found:
                    found[word] = ([], [], [])
                found[word][index].append(position)
    return found


def term_score(terms: Mapping[str, float], fields: Fields, statistics: Statistics) -> float:
    """BM25F: the fields of a passage saturate together. `terms` are the question's terms with their weights."""
    everything = f" {fields.title} \n {fields.headings} \n {fields.body} "
    parts: list[tuple[str, float]] = []
    total = 0.0
    for term, asked in terms.items():
        # Searching the joined text is many times faster than walking the words; of a word said twice in a row it
        # sees one.
        needle = f" {term} "
        if needle not in everything:
            continue
        parts = parts or _weighted(fields, statistics)
        frequency = sum(weight * text.count(needle) for text, weight in parts)
        total += asked * statistics.weights[term] * frequency / (K1 + frequency)
    return total * (K1 + 1)


def _weighted(fields: Fields, statistics: Statistics) -> list[tuple[str, float]]:
    """Each field with what one occurrence in it counts: less in a longer one."""
    return [
        (f" {text} ", weight / (1 - part + part * (text.count(" ") + 1) / mean))
        for text, (weight, part, mean) in zip(fields, statistics.fields, strict=True)
        if text
    ]


def match_of(order: Sequence[str], places: Places, statistics: Statistics) -> PassageMatch:
    """Why a passage matches: coverage, closeness and phrases of the question's own terms, each 0-1."""
    weights = statistics.weights
    asked = sum(weights[term] for term in order) or 1.0
    found = sum(weights[term] for term in order if term in places)
    in_body = {term: places[term][2] for term in order if term in places and places[term][2]}
    return PassageMatch(
        coverage=found / asked,
        body_coverage=sum(weights[term] for term in in_body) / asked,
        proximity=_proximity(in_body, weights) / asked,
        phrase=_phrase(order, places, weights),
    )


def boosted(score: float, match: PassageMatch) -> float:
    """The score of the terms, raised by how they stand together."""
    return score * (1 + PROXIMITY_WEIGHT * match.proximity + PHRASE_WEIGHT * match.phrase)


def _proximity(places: Mapping[str, Sequence[int]], weights: Mapping[str, float]) -> float:
    """The term weight that stands within one short window, beyond that of the weightiest term alone."""
    marks = sorted((position, term) for term, positions in places.items() for position in positions)
    best, first, weight = 0.0, 0, 0.0
    inside: dict[str, int] = {}
    for position, term in marks:
        inside[term] = inside.get(term, 0) + 1
        weight += weights[term] if inside[term] == 1 else 0.0
        while position - marks[first][0] > _WINDOW:
            gone = marks[first][1]
            inside[gone] -= 1
            weight -= weights[gone] if inside[gone] == 0 else 0.0
            first += 1
        best = max(best, weight)
    return max(best - max((weights[term] for term in places), default=0.0), 0.0)


def _phrase(order: Sequence[str], places: Places, weights: Mapping[str, float]) -> float:
    """The share of neighbouring question terms that are neighbours in the passage, by weight."""
    total = hit = 0.0
    for first, second in pairwise(order):
        weight = min(weights[first], weights[second])
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
        for term, count in Counter(f"{fields.body} {fields.title}".split()).items():
            frequency = statistics.frequencies.get(term, 0)
            if term in known or term.isdigit() or not 2 <= frequency <= statistics.passages * _COMMON:
                continue
            times = min(count, 3)
            weights[term] += score / together * times / (times + 1) * math.log(1 + statistics.passages / frequency)
    chosen = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
    return {term: FEEDBACK_WEIGHT * weight / chosen[0][1] for term, weight in chosen}

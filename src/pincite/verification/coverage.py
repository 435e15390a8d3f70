"""How much of a claim a passage covers: words weighted by rarity, pairs of words, the longest shared run."""

import heapq
import itertools
import math
from dataclasses import dataclass

from pincite.verification.passages import Sentence, Source, Window

WINDOW_SENTENCES = 3
_SEEDS = 4
_LENGTH_COST = 0.015
_NEAR_FORM = 0.8


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of the claim, 0-1. `words` is by rarity in the window, `page` the same over the whole source.

    `plain` counts each word alike, `pairs` are neighbouring content words found near each other in order, `run` is
    the longest run of content words in the same order without a gap, `rarest_missing` the weight of the rarest
    content word that is not covered, against the heaviest word of the claim.
    """

    words: float
    plain: float
    page: float
    pairs: float
    run: float
    rarest_missing: float
    missing: tuple[str, ...]


def candidate_windows(claim: Sentence, source: Source, limit: int) -> list[tuple[float, Window]]:
    """The windows of one to three sentences that cover most of the claim, best first, with their coverage."""
    weights = {stem: source.idf(stem) for stem in claim.stems}
    total = sum(weights.values())
    if not total or not source.sentences:
        return []
    scores: dict[int, float] = {}
    for stem, weight in weights.items():
        for index in source.postings.get(stem, ()):
            scores[index] = scores.get(index, 0.0) + weight
    seeds = heapq.nlargest(_SEEDS, scores, key=lambda index: (scores[index], -index))
    spans = {
        (first, last)
        for seed in seeds
        for first in range(max(0, seed - WINDOW_SENTENCES + 1), seed + 1)
        for last in range(seed, min(len(source.sentences), first + WINDOW_SENTENCES))
    }
    ranked: list[tuple[float, int, int, float]] = []
    for first, last in spans:
        held = {stem for sentence in source.sentences[first : last + 1] for stem in sentence.stems if stem in weights}
        share = sum(weights[stem] for stem in held) / total
        ranked.append((share - _LENGTH_COST * (last - first), -first, -last, share))
    ranked.sort(reverse=True)
    return [(share, Window(source, -first, -last)) for _, first, last, share in ranked[:limit]]


def coverage(claim: Sentence, window: Window) -> Coverage:
    """The shares of the claim that the window covers."""
    source = window.source
    content = [w for i, w in enumerate(claim.words) if w.content and i not in claim.measured]
    content = content or [word for word in claim.words if word.content]
    weights = {word.stem: source.idf(word.stem) for word in content}
    total = sum(weights.values()) or 1.0
    held = {stem: _held(stem, window.stems) for stem in weights}
    missing = [stem for stem, share in held.items() if share == 0]
    heaviest = max(weights.values(), default=1.0) or 1.0
    return Coverage(
        words=sum(weights[stem] * share for stem, share in held.items()) / total,
        plain=sum(held.values()) / len(held) if held else 0.0,
        page=sum(weight for stem, weight in weights.items() if stem in source.postings) / total,
        pairs=_pairs([word.stem for word in content], window),
        run=_run([word.stem for word in content], window),
        rarest_missing=max((weights[stem] for stem in missing), default=0.0) / heaviest,
        missing=tuple(next(word.text for word in content if word.stem == stem) for stem in missing),
    )


def _held(stem: str, stems: frozenset[str]) -> float:
    if stem in stems:
        return 1.0
    if len(stem) < 5 or not stem.isalpha():
        return 0.0
    head = stem[:5]
    near = any(other.startswith(head) and abs(len(other) - len(stem)) <= 4 for other in stems)
    return _NEAR_FORM if near else 0.0


def _pairs(stems: list[str], window: Window) -> float:
    """Share of neighbouring claim words that stand within four content words of each other in the passage."""
    if len(stems) < 2:
        return 1.0 if stems and stems[0] in window.stems else 0.0
    found = 0
    content = [[word.stem for word in sentence.words if word.content] for sentence in window.sentences]
    places: dict[str, list[tuple[int, int]]] = {}
    for row, line in enumerate(content):
        for column, stem in enumerate(line):
            places.setdefault(stem, []).append((row, column))
    for first, second in itertools.pairwise(stems):
        found += any(
            row == other_row and 0 < other - column <= 4
            for row, column in places.get(first, ())
            for other_row, other in places.get(second, ())
        )
    return found / (len(stems) - 1)


def _run(stems: list[str], window: Window) -> float:
    """Length of the longest run of content words in common, against the claim's length."""
    if not stems:
        return 0.0
    line = [word.stem for sentence in window.sentences for word in sentence.words if word.content]
    best = 0
    previous = [0] * (len(line) + 1)
    for stem in stems:
        current = [0] * (len(line) + 1)
        for index, other in enumerate(line, 1):
            if other == stem:
                current[index] = previous[index - 1] + 1
        best = max(best, max(current))
        previous = current
    return best / len(stems)


def length(claim: Sentence) -> float:
    """The logarithm of the number of content words, as a feature."""
    return math.log(1 + len(claim.stems))

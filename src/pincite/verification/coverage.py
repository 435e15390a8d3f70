"""How much of a claim a passage covers: words weighted by rarity, pairs of words, the longest shared run."""

import heapq
from dataclasses import dataclass
from itertools import pairwise

from pincite.verification.names import spelled_out
from pincite.verification.passages import Sentence, Source, Window, Word

WINDOW_SENTENCES = 3
_SEEDS = 4
_LENGTH_COST = 0.015
_NEAR_FORM = 0.8


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of the claim that a window covers, 0-1.

    `words` weighs content words by rarity; `surface` does so for all words as written, `bigrams` for neighbouring
    pairs of them; `weakest_clause` is the clause of the claim that is covered least; `missing` are the content words
    that are not there.
    """

    words: float
    surface: float
    bigrams: float
    weakest_clause: float
    missing: tuple[str, ...]


def candidate_windows(claim: Sentence, source: Source, limit: int) -> list[tuple[float, Window]]:
    """The windows of one to three sentences that cover most of the claim, best first, with their coverage."""
    weights = {stem: source.idf(stem) for stem in claim.stems}
    total = sum(weights.values())
    if not total or not source.sentences:
        return []
    scores: dict[int, float] = {}
    for stem, weight in weights.items():
        for index in source.postings_below(stem):
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
        held = weights.keys() & Window(source, first, last).stems
        share = sum(weights[stem] for stem in held) / total
        ranked.append((share - _LENGTH_COST * (last - first), -first, -last, share))
    ranked.sort(reverse=True)
    return [(share, Window(source, -first, -last)) for _, first, last, share in ranked[:limit]]


def coverage(claim: Sentence, window: Window) -> Coverage:
    """The shares of the claim that the window covers. Numbers and dates have checks of their own and do not count."""
    source = window.source
    content = [w for i, w in enumerate(claim.words) if w.content and i not in claim.measured]
    content = content or [word for word in claim.words if word.content]
    weights = {word.stem: source.idf(word.stem) for word in content}
    held = {stem: _held(stem, window.stems) for stem in weights}
    for word in content:
        if not held[word.stem] and word.text.isupper() and any(spelled_out(word.text, s) for s in window.sentences):
            held[word.stem] = 1.0
    missing = [stem for stem, share in held.items() if share == 0]
    return Coverage(
        words=_share(list(weights), weights, held),
        surface=_surface(claim, window),
        bigrams=_bigrams(claim, window),
        weakest_clause=min(_share(clause, weights, held) for clause in _clauses(content)),
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


def _surface(claim: Sentence, window: Window) -> float:
    weights = {word: window.source.surface_idf(word) for word in claim.surface}
    held: set[str] = set()
    for sentence in window.sentences:
        held.update(weights.keys() & set(sentence.surface))
    return sum(weights[word] for word in held) / (sum(weights.values()) or 1.0)


def _bigrams(claim: Sentence, window: Window) -> float:
    wanted = set(pairwise(claim.surface))
    found: set[tuple[str, str]] = set()
    for sentence in window.sentences:
        found |= wanted.intersection(pairwise(sentence.surface))
    return len(found) / len(wanted) if wanted else 0.0


def _clauses(content: list[Word]) -> list[list[str]]:
    """The stems of each clause that has at least two content words; all of them when there is none."""
    clauses: dict[int, list[str]] = {}
    for word in content:
        clauses.setdefault(word.clause, []).append(word.stem)
    return [stems for stems in clauses.values() if len(stems) > 1] or [[word.stem for word in content]]


def _share(stems: list[str], weights: dict[str, float], held: dict[str, float]) -> float:
    total = sum(weights[stem] for stem in stems)
    return sum(weights[stem] * held[stem] for stem in stems) / total if total else 0.0

"""Which blocks are content: small decision trees over the features of a block.

The trees were trained on labelled pages (WCXB, CC BY 4.0, Murrough Foley; scrapinghub article extraction benchmark,
MIT; trafilatura's evaluation corpus, Apache-2.0) by `benchmarks/content_model.py`, which also prints what
cross-validation expects of them on sites they have not seen. They know no words, only structure.

Source: ADR 0007.
"""

import math
from collections.abc import Hashable, Sequence

from pincite.fetch.extractors import content_trees

ONE, BOTH = "one", "both"
# Two blocks of one shape may be alike by chance. Chosen, not measured.
_GROUP_MIN = 3
# Chosen on half of 833 labelled pages by site, with shapes that leave numbers out: words .8699 to .8718, nothing else
# changes; the other half .8740 to .8751. Before, .3.
_AGREEMENT = 0.5


def content_odds(rows: Sequence[Sequence[float]], votes: str) -> list[float]:
    """For each row of features the probability that the block is content.

    Args:
        rows: the features.
        votes: whose votes they hold: `ONE`, the cheap reader's alone, or `BOTH`.
    """
    log_odds = content_trees.both if votes == BOTH else content_trees.one
    return [_odd(log_odds(row)) for row in rows]


def agreed(odds: Sequence[float], sizes: Sequence[int], groups: Sequence[Hashable]) -> list[float]:
    """The probabilities, each moved towards that of the blocks of its group: posts, cards and rows go together.

    Half of the way, by log-odds weighed with size; groups of one or two are left alone.
    """
    logits = [_logit(odd) for odd in odds]
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    agreeing = list(odds)
    for indexes in members.values():
        if len(indexes) < _GROUP_MIN:
            continue
        weights = [max(sizes[index], 1) for index in indexes]
        mean = sum(logits[index] * weight for index, weight in zip(indexes, weights, strict=True)) / sum(weights)
        for index in indexes:
            agreeing[index] = _odd((1 - _AGREEMENT) * logits[index] + _AGREEMENT * mean)
    return agreeing


def moved(odds: Sequence[float], by: float) -> list[float]:
    """The probabilities, each moved by so many log-odds."""
    return [_odd(_logit(odd) + by) for odd in odds]


def _odd(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))


def _logit(odd: float) -> float:
    bounded = min(max(odd, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))


def best_threshold(odds: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """The probability from which on blocks are kept so that the expected word F1 of the page is highest, and that F1.

    Where the odds are clear this is near a half; on pages that are all lists and teasers it falls, because leaving
    out half of what might be content costs more than a line too many.
    """
    order = sorted(range(len(odds)), key=lambda index: -odds[index])
    expected = sum(odd * size for odd, size in zip(odds, sizes, strict=True))
    kept = right = best = 0.0
    least = 1.0
    for index in order:
        right += odds[index] * sizes[index]
        kept += sizes[index]
        score = 2 * right / (kept + expected) if kept + expected else 0.0
        if score > best:
            best, least = score, odds[index]
    return least, best

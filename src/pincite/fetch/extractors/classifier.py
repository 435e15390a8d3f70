"""Which blocks are content: small decision trees over the features of a block.

The trees were trained on labelled pages (WCXB, CC BY 4.0, Murrough Foley; scrapinghub article extraction benchmark,
MIT; trafilatura's evaluation corpus, Apache-2.0) by `benchmarks/content_model.py`, which also prints what
cross-validation expects of them on sites they have not seen. They know no words, only structure.

Source: ADR 0007.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class _Trees:
    """Flat trees: a negative child is the leaf at its complement."""

    roots: tuple[int, ...]
    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaf: tuple[float, ...]


@cache
def _trees() -> _Trees:
    data = json.loads(files("pincite.fetch.extractors").joinpath("content_model.json").read_text(encoding="utf-8"))
    return _Trees(*(tuple(data[name]) for name in ("roots", "feature", "threshold", "left", "right", "leaf")))


def content_odds(rows: Sequence[Sequence[float]]) -> list[float]:
    """For each row of features the probability that the block is content."""
    trees = _trees()
    roots, feature, threshold, left, right, leaf = (
        trees.roots, trees.feature, trees.threshold, trees.left, trees.right, trees.leaf,
    )  # fmt: skip
    odds: list[float] = []
    for row in rows:
        total = 0.0
        for root in roots:
            node = root
            while node >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            total += leaf[~node]
        odds.append(1.0 / (1.0 + math.exp(-total)))
    return odds


def best_threshold(odds: Sequence[float], sizes: Sequence[int]) -> float:
    """The probability from which on blocks are kept so that the expected word F1 of the page is highest.

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
    return least

"""How likely the pages answer a part of a question at all, from what the best passages look like."""

import math
from collections.abc import Sequence
from typing import Final

from pincite.ranking.ranker import Ranking
from pincite.ranking.scores import Features, logit, weights

# Of the best passages; further down they say nothing about whether there is an answer.
_LOOKED_AT: Final = 10
# Less likely passages say nothing of the question, so they aren't even shown as the nearest ones. Of what was refused
# on the sites of the fit none below .33 held a fact, by words none below .34 (on the others .18 and .38); by words two
# or three pages make a passage that answers as unlikely as .26. Of nine silly questions six are below.
_NEAREST: Final = 0.2
PART_FEATURES: Final = ("top", "sentence", "near", "strength", "known")


def part_features(ranking: Ranking) -> dict[str, float]:
    """As `evidence`, of a ranking."""
    passages = ranking.passages
    best = passages[0].likelihood if passages else 0.0
    return evidence(best, [passage.features for passage in passages], ranking.known)


def evidence(likelihood: float, features: Sequence[Features], known: float) -> dict[str, float]:
    """What it is made of: the likelihood of the best passage, and the nearest sentence and words of the best ten.

    Args:
        likelihood: of the best passage.
        features: of the passages, best first.
        known: the share of the question's words, by weight, that stand on any passage.
    """
    best = features[:_LOOKED_AT]
    if not best:
        return dict.fromkeys(PART_FEATURES, 0.0)
    return {
        "top": math.log(max(likelihood, 1e-6) / max(1 - likelihood, 1e-6)),
        "sentence": max(passage.best_sentence for passage in best),
        "near": max(passage.near_strength for passage in best),
        "strength": max(passage.strength for passage in best),
        "known": known,
    }


def part_likelihood(ranking: Ranking) -> float:
    """How likely these pages answer; 0 when no passage has a word of the question."""
    if not ranking.passages:
        return 0.0
    fitted = weights()[f"part_{ranking.model}"]
    return 1 / (1 + math.exp(-logit(fitted, part_features(ranking))))


def is_near(ranking: Ranking) -> bool:
    """Whether the nearest passages may be shown where no sure answer is found."""
    return part_likelihood(ranking) >= _NEAREST


def is_here(ranking: Ranking) -> bool:
    """Whether a part may be said to be answered at least in part; else no sure answer is found."""
    return part_likelihood(ranking) >= _thresholds(ranking)["here"]


def is_answered(ranking: Ranking) -> bool:
    """Whether a part may be called answered without a word of doubt."""
    return part_likelihood(ranking) >= _thresholds(ranking)["answered"]


def _thresholds(ranking: Ranking) -> dict[str, float]:
    """Fitted with the models: refusing costs answers, and not refusing costs trust (docs/measurements.md has both)."""
    return weights()[f"thresholds_{ranking.model}"]

"""How likely a passage with certain features answers, by the models that `scripts/fit_ranking.py` fitted."""

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal

from pincite.domain.frozen import dataclass

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

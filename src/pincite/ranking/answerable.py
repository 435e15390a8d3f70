"""How likely the pages answer a part of a question at all, from what the best passages look like beside the rest."""

import math
from typing import Final

from pincite.ranking.ranker import Ranking, logit, weights

_LOOKED_AT: Final = 10


def part_features(ranking: Ranking) -> dict[str, float]:
    """What the likelihood is made of: the best passage, how far it stands out, how near and how covered it is."""
    best = ranking.passages[:_LOOKED_AT]
    if not best:
        return dict.fromkeys(("top", "margin", "similarity", "sentence", "coverage", "known"), 0.0)
    values = [math.log(max(p.likelihood, 1e-6) / max(1 - p.likelihood, 1e-6)) for p in best]
    return {
        "top": values[0],
        "margin": values[0] - sum(values) / len(values),
        "similarity": max(p.features.similarity for p in best),
        "sentence": max(p.features.best_sentence for p in best),
        "coverage": max(p.features.coverage for p in best),
        "known": ranking.known,
    }


def part_likelihood(ranking: Ranking) -> float:
    """How likely these pages answer; 0 when no passage has a word of the question."""
    if not ranking.passages:
        return 0.0
    fitted = weights()["part_words" if ranking.words_only else "part_meaning"]
    return 1 / (1 + math.exp(-logit(fitted, part_features(ranking))))


def is_here(ranking: Ranking) -> bool:
    """Whether a part may be said to be answered at least in part; else it is "not in these sources"."""
    return part_likelihood(ranking) >= _thresholds(ranking)["here"]


def is_answered(ranking: Ranking) -> bool:
    """Whether a part may be called answered without a word of doubt."""
    return part_likelihood(ranking) >= _thresholds(ranking)["answered"]


def _thresholds(ranking: Ranking) -> dict[str, float]:
    """Fitted with the models: refusing costs answers, and not refusing costs trust (docs/research.md has both)."""
    return weights()["thresholds_words" if ranking.words_only else "thresholds_meaning"]

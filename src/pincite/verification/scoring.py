"""The soft score: one probability from coverage and from what the checks found, by a small published model.

The model is logistic regression; its weights are `scoring.json` beside this file, fitted by
`benchmarks/verification.py --fit`. Every weight has a name, so a score can be explained term by term.
"""

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources

from pincite.domain.evidence import CheckOutcome
from pincite.verification import statements
from pincite.verification.coverage import Coverage, length
from pincite.verification.findings import Finding
from pincite.verification.passages import Sentence, Window

FEATURES = (
    "words",
    "words_squared",
    "plain",
    "page",
    "pairs",
    "run",
    "rarest_missing",
    "numbers",
    "dates",
    "names",
    "negation",
    "direction",
    "quantifiers",
    "modality",
    "roles",
    "length",
    "first_person",
    "subjective",
    "chat",
    "question",
    "several_sentences",
    "source_length",
    "missing_count",
    "all_covered",
)


def features(claim: Sentence, window: Window, covered: Coverage, findings: Sequence[Finding]) -> tuple[float, ...]:
    """The values the model weighs, in the order of `FEATURES`."""
    failures = {f.name: float(min(f.weight, 2)) for f in findings if f.outcome is CheckOutcome.FAILED}
    text = claim.text
    return (
        covered.words,
        covered.words**2,
        covered.plain,
        covered.page,
        covered.pairs,
        covered.run,
        covered.rarest_missing,
        failures.get("numbers", 0.0),
        failures.get("dates", 0.0),
        failures.get("names", 0.0),
        failures.get("negation", 0.0),
        failures.get("direction", 0.0),
        failures.get("quantifiers", 0.0),
        failures.get("modality", 0.0),
        failures.get("roles", 0.0),
        length(claim),
        float(min(statements.first_person(text), 3)),
        float(min(statements.subjective(text), 2)),
        float(statements.chat_opening(text)),
        float("?" in text),
        float(sum(mark in text.rstrip(" .!?") for mark in (". ", "! ", "? "))),
        math.log(1 + len(window.source.sentences)),
        float(min(len(covered.missing), 6)),
        float(not covered.missing),
    )


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights that come with the package, `bias` included."""
    text = resources.files("pincite.verification").joinpath("scoring.json").read_text(encoding="utf-8")
    loaded: dict[str, float] = json.loads(text)["weights"]
    return loaded


def probability(values: Sequence[float], weights: Mapping[str, float]) -> float:
    """How likely the passage supports the claim, 0-1."""
    total = weights["bias"] + sum(weights[name] * value for name, value in zip(FEATURES, values, strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))

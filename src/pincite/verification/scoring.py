"""The soft score: one probability from coverage and from what the checks found, by a small published model.

The model is logistic regression; its weights are `scoring.json` beside this file, fitted by
`benchmarks/verification.py --fit`. Every weight has a name, so a score can be explained term by term.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources

from pincite.domain.evidence import CheckOutcome
from pincite.verification import statements
from pincite.verification.coverage import Coverage
from pincite.verification.findings import Finding
from pincite.verification.names import names
from pincite.verification.passages import Sentence, Source, Window

FEATURES = (
    "words",
    "surface",
    "bigrams",
    "weakest_clause",
    "missing_count",
    "names_page",
    "figures_page",
    "numbers",
    "dates",
    "names",
    "negation",
    "length",
    "first_person",
    "subjective",
    "question",
    "several_sentences",
    "source_length",
)
"""What the model weighs. Fewer proved better: 17 of 34 tried, by area under the curve over five folds."""

_ASKS = re.compile(r"(?<![?*/\\\[])\?[\"'”’)\]]*(?:\s|$)")
"""A question's end; "objects/??/" is none."""


def features(claim: Sentence, window: Window, covered: Coverage, findings: Sequence[Finding]) -> tuple[float, ...]:
    """The values the model weighs, in the order of `FEATURES`."""
    failures = {f.name: float(min(f.weight, 2)) for f in findings if f.outcome is CheckOutcome.FAILED}
    text = claim.text
    source = window.source
    return (
        covered.words,
        covered.surface,
        covered.bigrams,
        covered.weakest_clause,
        float(min(len(covered.missing), 6)),
        _share(source, [stem for name in names(claim, source) for stem in name.stems]),
        _share(source, [word.stem for word in claim.words if word.text[0].isdigit()]),
        failures.get("numbers", 0.0),
        failures.get("dates", 0.0),
        failures.get("names", 0.0),
        failures.get("negation", 0.0),
        math.log(1 + len(claim.stems)),
        float(min(statements.first_person(text), 3)),
        float(min(statements.subjective(text), 2)),
        float(_ASKS.search(text) is not None),
        float(sum(mark in text.rstrip(" .!?") for mark in (". ", "! ", "? "))),
        math.log(1 + len(source.sentences)),
    )


def _share(source: Source, stems: Sequence[str]) -> float:
    """Share of the stems that the page has anywhere; 1 when there is none to look for."""
    return sum(stem in source.postings for stem in stems) / len(stems) if stems else 1.0


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights that come with the package, `bias` included."""
    text = resources.files("pincite.verification").joinpath("scoring.json").read_text(encoding="utf-8")
    loaded: dict[str, float] = json.loads(text)["weights"]
    return loaded


def probability(values: Sequence[float], weights: Mapping[str, float]) -> float:
    """How likely the passage supports the claim, 0-1."""
    total = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in zip(FEATURES, values, strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))

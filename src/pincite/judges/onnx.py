"""A judge that is a model on this machine: an ONNX cross-encoder for natural language inference with its tokenizer.

The folder holds `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, and `config.json`, whose `id2label` names the
outputs: families of models order them differently, so that nothing is assumed. Nothing is downloaded. Extra:
`entailment`.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import InvalidSetting
from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
from pincite.domain.frozen import dataclass
from pincite.judges.catalogue import languages_of, speaks, verify_files
from pincite.judges.wrappers import judgement_of, premises_of
from pincite.runtime.folder_model import FolderModel

_ENTAILMENT: Final = frozenset({"entailment", "entails", "supported", "consistent"})
_CONTRADICTION: Final = frozenset({"contradiction", "contradicts", "refuted"})
# Entailment, neutral, contradiction; models with more classes were not made for this.
_MOST_LABELS: Final = 3


@dataclass(frozen=True, slots=True)
class Labels:
    """Which outputs of a model stand for entailment and for contradiction; -1 where there is none."""

    entailment: int
    contradiction: int = -1


class OnnxJudge:
    """Implements `ports.Judge`. The model is loaded by the first question, in a worker thread.

    Args:
        name: what reports call it; the folder's name by default.
        thresholds: what its probabilities mean, where that was measured.
    """

    def __init__(self, folder: Path, *, name: str = "", thresholds: Thresholds | None = None) -> None:
        self._model = FolderModel(folder, "judge", verify=lambda: verify_files(folder))
        self._labels = labels_of(folder / "config.json")
        self._languages = languages_of(folder)
        self.name = name or folder.resolve().name
        self.thresholds = thresholds
        # Side by side they would share the same cores. Chosen, not measured.
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def aclose(self) -> None:
        """Unload the model."""
        self._model.unload()

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """The best of the pieces of each case's evidence.

        Left out are cases without evidence, and those in a language that the model was not made for.

        Errors: ExtraNotInstalled, InvalidSetting (the files are no such model, or not those that were fetched).
        """
        found: list[Judgement] = []
        for case in cases:  # a case at a time, so that a cancelled run stops soon
            judgement = await anyio.to_thread.run_sync(self._judge_case, case, limiter=self._one_at_a_time)
            if judgement is not None:
                found.append(judgement)
        return tuple(found)

    def _judge_case(self, case: JudgeCase) -> Judgement | None:
        if not speaks(self._languages, case.statement):
            return None
        scored = [self._shares(premise, case.statement) for premise in premises_of(case)]
        if not scored:
            return None
        # The best and the worst over all pieces, each by itself: one piece may state it and another contradict it.
        states, against = max(scored)[0], max(other for _, other in scored)
        return judgement_of(case, states, self.thresholds, contradicts=against)

    def _shares(self, premise: str, hypothesis: str) -> tuple[float, float]:
        """The probabilities of entailment and of contradiction."""
        [(_, values, _)] = self._model.outputs([(premise, hypothesis)])
        if not self._labels.entailment < len(values) <= _MOST_LABELS:
            raise self._model.unusable(f"{len(values)} outputs")
        shares = probabilities([float(value) for value in values])
        against = self._labels.contradiction
        return shares[self._labels.entailment], shares[against] if against >= 0 else 0.0


def probabilities(logits: Sequence[float]) -> list[float]:
    """Softmax over the labels, or a sigmoid where the model has one output."""
    if len(logits) == 1:
        # Clipped, or `exp` overflows; beyond 30 the share is 0 or 1 to thirteen digits.
        return [1 / (1 + math.exp(-max(-30.0, min(30.0, logits[0]))))]
    # Less the largest, as softmax is computed everywhere: `exp` of a large logit overflows.
    top = max(logits)
    shares = [math.exp(value - top) for value in logits]
    return [share / sum(shares) for share in shares]


def labels_of(config: Path) -> Labels:
    """Which output stands for what, by the names in the model's `config.json`.

    Errors: InvalidSetting: there is none, or none of its labels is entailment.
    """
    try:
        labels: Any = json.loads(config.read_text(encoding="utf-8")).get("id2label")
    except (OSError, ValueError, AttributeError, RecursionError):
        labels = None
    named = {
        str(label).strip().lower(): int(index)
        for index, label in (labels.items() if isinstance(labels, dict) else ())
        if str(index).isdigit() and int(index) < _MOST_LABELS
    }
    entailment = next((index for label, index in named.items() if label in _ENTAILMENT), None)
    if entailment is None:
        raise InvalidSetting(
            f"none of the model's labels is entailment: {', '.join(named)[:100] or 'config.json names none'}",
            reason="no_entailment_label",
            hint="A model that ranks passages by relevance can't judge. The labels are in config.json, id2label.",
            context={"setting": "judge"},
        )
    return Labels(entailment, next((index for label, index in named.items() if label in _CONTRADICTION), -1))

"""A judge that is a model on this machine: an ONNX cross-encoder for natural language inference with its tokenizer.

The folder holds `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, and `config.json`, whose `id2label` names the
outputs: families of models order them differently, so that nothing is assumed. Nothing is downloaded. Extra:
`entailment`.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import InvalidSetting
from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
from pincite.domain.frozen import dataclass
from pincite.judges.catalogue import languages_of, speaks, verify_files
from pincite.judges.wrappers import judgement_of, premises_of
from pincite.runtime.system import needing

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    import tokenizers

# Positions of the BERT and DeBERTa models that are used: beyond them they were not trained.
MAX_TOKENS: Final = 512
# Where exports on the hub have their weights; a folder may hold several, and the whole ones come first.
_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
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
        self._model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._tokenizer_file = folder / "tokenizer.json"
        if self._model is None or not self._tokenizer_file.is_file():
            raise InvalidSetting(
                f"there is no model with its tokenizer in {folder}",
                reason="no_model",
                hint="The folder needs model.onnx, tokenizer.json and config.json.",
                context={"setting": "judge"},
            )
        self._labels = labels_of(folder / "config.json")
        self._folder = folder
        self._languages = languages_of(folder)
        self.name = name or folder.resolve().name
        self.thresholds = thresholds
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None
        # Side by side they would share the same cores. Chosen, not measured.
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def aclose(self) -> None:
        """Unload the model."""
        self._loaded = None

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
        session, tokenizer = self._loaded or self._load()
        encoded = tokenizer.encode(_encodable(premise), _encodable(hypothesis))
        values = {
            "input_ids": [encoded.ids],
            "attention_mask": [encoded.attention_mask],
            "token_type_ids": [encoded.type_ids],
        }
        import numpy as np

        # By what the model asks for: some families know no token types.
        fed = {node.name: np.array(values[node.name], dtype=np.int64) for node in session.get_inputs()}
        shares = probabilities([float(value) for value in session.run(None, fed)[0][0]])
        against = self._labels.contradiction
        return shares[self._labels.entailment], shares[against] if against >= 0 else 0.0

    def _load(self) -> "tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]":
        with needing("entailment", "a model for entailment needs onnxruntime and tokenizers"):
            import onnxruntime
            import tokenizers
        verify_files(self._folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # more are slower on a busy machine
        # Fatal errors alone: onnxruntime warns on stderr about the machine, which is no news to whoever asked a
        # question.
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_file))
            unknown = {node.name for node in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
            width = session.get_outputs()[0].shape[-1]
        except Exception as error:  # both libraries raise bare exceptions of their own for files they can't read
            raise _unreadable(str(error)) from None
        if unknown or (isinstance(width, int) and not self._labels.entailment < width <= _MOST_LABELS):
            raise _unreadable(f"inputs {sorted(unknown) or 'known'}, {width} outputs")
        tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")  # the passage, unless the claim is a page
        self._loaded = (session, tokenizer)
        return self._loaded


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


# Half a surrogate pair, which broken pages have, is none of the tokenizer's characters: it would raise.
def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _unreadable(detail: str) -> InvalidSetting:
    return InvalidSetting(
        f"the files of the model for entailment can't be used: {detail[:200]}",
        reason="bad_model",
        context={"setting": "judge"},
    )

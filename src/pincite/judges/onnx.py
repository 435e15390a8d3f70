"""A judge that is a model on this machine: an ONNX cross-encoder for natural language inference with its tokenizer.

The folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; `config.json` with `id2label` names the
labels. Nothing is downloaded. Extra: `entailment`.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]
    import tokenizers

INSTALL: Final = "pip install 'pincite[entailment]'"
MAX_TOKENS: Final = 512
_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_ENTAILMENT: Final = frozenset({"entailment", "entails", "supported", "consistent"})


class OnnxJudge:
    """Implements `ports.EntailmentBackend`. The model is loaded by the first question, in a worker thread.

    Args:
        folder: where model and tokenizer are.
        threads: for one question; more than one is slower on a busy machine.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._tokenizer_file = folder / "tokenizer.json"
        if self._model is None or not self._tokenizer_file.is_file():
            raise InvalidSetting(
                f"there is no model with its tokenizer in {folder}",
                reason="no_model",
                hint="The folder needs model.onnx and tokenizer.json.",
                context={"setting": "entailment"},
            )
        self._index = _entailment_index(folder / "config.json")
        self._threads = threads
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def aclose(self) -> None:
        """Let go of the model."""
        self._loaded = None

    async def judge(self, claim: str, passage: str) -> float | None:
        """Probability 0-1 that the passage entails the claim.

        Errors: ExtraNotInstalled, InvalidSetting (the files are no such model).
        """
        return await anyio.to_thread.run_sync(self._judge, claim, passage, limiter=self._one_at_a_time)

    def _judge(self, claim: str, passage: str) -> float:
        session, tokenizer = self._loaded or self._load()
        encoded = tokenizer.encode(passage, claim)
        values = {
            "input_ids": [encoded.ids],
            "attention_mask": [encoded.attention_mask],
            "token_type_ids": [encoded.type_ids],
        }
        import numpy as np

        fed = {node.name: np.array(values[node.name], dtype=np.int64) for node in session.get_inputs()}
        logits = session.run(None, fed)[0][0]
        return probability([float(value) for value in logits], self._index)

    def _load(self) -> "tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]":
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ExtraNotInstalled(
                "a model for entailment needs onnxruntime and tokenizers", hint=f"Run: {INSTALL}"
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_file))
            unknown = {node.name for node in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
            width = session.get_outputs()[0].shape[-1]
        except Exception as error:  # both libraries raise bare exceptions of their own for files they can't read
            raise _unreadable(str(error)) from None
        if unknown or (isinstance(width, int) and width not in {1, 2, 3}):
            raise _unreadable(f"inputs {sorted(unknown) or 'known'}, {width} outputs")
        tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")  # the passage, unless the claim is a page
        self._loaded = (session, tokenizer)
        return self._loaded


def probability(logits: Sequence[float], index: int) -> float:
    """The probability of entailment: softmax over the labels, or a sigmoid where the model has one output."""
    if len(logits) == 1:
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logits[0]))))
    top = max(logits)
    shares = [math.exp(value - top) for value in logits]
    return shares[min(index, len(shares) - 1)] / sum(shares)


def _entailment_index(config: Path) -> int:
    """Which output stands for entailment; without a word about it the last of two, the first of three (MNLI).

    Errors: InvalidSetting: the labels name no entailment.
    """
    try:
        labels: Any = json.loads(config.read_text(encoding="utf-8")).get("id2label")
    except (OSError, ValueError, AttributeError):
        return 0
    if not isinstance(labels, dict) or not labels:
        return 0
    for index, label in labels.items():
        if str(label).lower() in _ENTAILMENT and str(index).isdigit():
            return int(index)
    if len(labels) == 1:
        return 0
    raise InvalidSetting(
        f"none of the model's labels is entailment: {', '.join(str(label) for label in labels.values())[:100]}",
        reason="no_entailment_label",
        context={"setting": "entailment"},
    )


def _unreadable(detail: str) -> InvalidSetting:
    return InvalidSetting(
        f"the files of the model for entailment can't be used: {detail[:200]}", reason="bad_model",
        context={"setting": "entailment"},
    )  # fmt: skip

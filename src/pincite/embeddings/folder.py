"""A model of sentence vectors in a folder of your own: ONNX weights, a tokenizer, laid out as by sentence-transformers.

The folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; `1_Pooling/config.json` says whether the
first token stands for the text or the mean of all (the mean, without it). Nothing is downloaded. Extra: `entailment`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting
from pincite.runtime.installing import install_extra

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    import tokenizers

# Passages have about 120 words; what such models were trained on is rarely longer.
_MAX_TOKENS: Final = 512
# As in `minilm`: padding to the longest is work for nothing.
_BATCH: Final = 16
_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class FolderEmbedder:
    """Implements `ports.Embedder`. The model is loaded at the first text; runs in the thread that calls it.

    Errors: InvalidSetting (no such model there), ExtraNotInstalled.
    """

    def __init__(self, folder: Path) -> None:
        self._model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._tokenizer = folder / "tokenizer.json"
        if self._model is None or not self._tokenizer.is_file():
            raise InvalidSetting(
                f"there is no model of sentence vectors in {folder}",
                reason="no_model",
                hint="The folder needs model.onnx and tokenizer.json.",
                context={"setting": "embeddings"},
            )
        self._first_token = _first_token_stands_for_all(folder / "1_Pooling" / "config.json")
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None
        self._loading = Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order. Errors: ExtraNotInstalled, InvalidSetting (`bad_model`)."""
        with self._loading:
            session, tokenizer = self._loaded = self._loaded or self._load()
        encoded = tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place].ids))
        vectors: list[list[float]] = [[] for _ in encoded]
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            found = self._vectors(session, [encoded[place] for place in places])
            for place, vector in zip(places, found, strict=True):
                vectors[place] = vector
        return vectors

    def _vectors(self, session: "onnxruntime.InferenceSession", batch: Sequence[Any]) -> list[list[float]]:
        import numpy

        width = max(1, *(len(each.ids) for each in batch))
        fed = {name: numpy.zeros((len(batch), width), dtype=numpy.int64) for name in _INPUTS}
        for row, each in enumerate(batch):
            fed["input_ids"][row, : len(each.ids)] = each.ids
            fed["attention_mask"][row, : len(each.ids)] = each.attention_mask
            fed["token_type_ids"][row, : len(each.ids)] = each.type_ids
        last = session.run(None, {node.name: fed[node.name] for node in session.get_inputs()})[0]
        if last.ndim == 3 and self._first_token:
            last = last[:, 0]
        elif last.ndim == 3:
            mask = fed["attention_mask"][:, :, None]
            last = (last * mask).sum(axis=1) / mask.sum(axis=1).clip(min=1)
        scaled: list[list[float]] = (last / numpy.linalg.norm(last, axis=1, keepdims=True).clip(min=1e-12)).tolist()
        return scaled

    def _load(self) -> "tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]":
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ExtraNotInstalled(
                "a model in a folder needs onnxruntime and tokenizers", hint=f"Run: {install_extra('entailment')}"
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer))
            unknown = {node.name for node in session.get_inputs()} - _INPUTS
            dimensions = len(session.get_outputs()[0].shape)
        except Exception as error:  # both libraries raise bare exceptions of their own for files they can't read
            raise _unusable(str(error)) from None
        if unknown or dimensions not in {2, 3}:
            raise _unusable(f"inputs {sorted(unknown) or 'known'}, output of {dimensions} dimensions")
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)
        return session, tokenizer


def _first_token_stands_for_all(config: Path) -> bool:
    try:
        return json.loads(config.read_text(encoding="utf-8")).get("pooling_mode_cls_token") is True
    except (OSError, ValueError, AttributeError, RecursionError):  # the mean is what most models take
        return False


def _unusable(detail: str) -> InvalidSetting:
    return InvalidSetting(
        f"the files of the model of sentence vectors can't be used: {detail[:200]}",
        reason="bad_model",
        context={"setting": "embeddings"},
    )

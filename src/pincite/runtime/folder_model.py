"""A model in a folder, run here on onnxruntime: its weights and its tokenizer. Nothing is downloaded.

Extra: `entailment`.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.errors import InvalidSetting
from pincite.runtime.system import needing

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    import tokenizers

# Passages have about 120 words; beyond this BERT, DeBERTa and their kin were not trained.
_MAX_TOKENS: Final = 512
# As in `minilm`: padding to the longest is work for nothing.
_BATCH: Final = 16
# Where exports on the hub have their weights; a folder may hold several, and the whole ones come first.
_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class FolderModel:
    """Weights and tokenizer of a folder, loaded at the first text. Runs in the thread that calls it.

    Args:
        folder: has `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.
        setting: that names it, for errors.
        output_dimensions: how many its output may have, that of the batch included.
        verify: is called before it is loaded.

    Errors: InvalidSetting (no such model there).
    """

    def __init__(
        self,
        folder: Path,
        setting: str,
        output_dimensions: frozenset[int] = frozenset({2}),
        *,
        verify: Callable[[], None] = lambda: None,
    ) -> None:
        self._weights = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._tokenizer = folder / "tokenizer.json"
        self._setting = setting
        self._output_dimensions = output_dimensions
        self._verify = verify
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

        encoded = tokenizer.encode_batch(
            [_whole(text) if isinstance(text, str) else (_whole(text[0]), _whole(text[1])) for text in texts]
        )
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
        self._verify()
        options = onnxruntime.SessionOptions()
        # More threads are slower on a busy machine.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Fatal errors alone: onnxruntime warns on stderr about the machine, which is no news to whoever asked.
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(self._weights), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer))
            unknown = {node.name for node in session.get_inputs()} - _INPUTS
            dimensions = len(session.get_outputs()[0].shape)
        except Exception as error:  # both libraries raise bare exceptions of their own for files they can't read
            raise self.unusable(str(error)) from None
        if unknown or dimensions not in self._output_dimensions:
            raise self.unusable(f"inputs {sorted(unknown) or 'known'}, output of {dimensions} dimensions")
        # Files bring settings of their own for both: padding is done here, and a cut must be the same for every model.
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)
        return session, tokenizer

    def unload(self) -> None:
        """Give the memory back; the next text loads it again."""
        self._loaded = None

    def unusable(self, detail: str) -> InvalidSetting:
        """The error for files that can't be used, and why."""
        return InvalidSetting(
            f"the files of the model for `{self._setting}` can't be used: {detail[:200]}",
            reason="bad_model",
            context={"setting": self._setting},
        )


def _whole(text: str) -> str:
    # Half a surrogate pair, which broken pages have, is none of the tokenizer's characters: it would raise.
    return text.encode("utf-8", "replace").decode()

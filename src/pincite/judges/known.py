"""Public cross-encoders that can judge, by name: where they are, under which licence, and what keeps others out.

Nothing here says how well one judges: none of them was measured by us. `pincite eval judge --fit` does that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from platform import machine
from types import MappingProxyType
from typing import Final

_ARM: Final = frozenset({"arm64", "aarch64"})


@dataclass(frozen=True, slots=True)
class KnownJudge:
    """A model on the hub.

    Attributes:
        repository: `owner/name` on the hub.
        licence: of the weights.
        megabytes: of the files, as the hub tells it.
        weights: the file with the weights, one for each kind of processor.
        revision: the 40 characters of a commit; fewer are how the commit must begin; empty: the newest.
        sha256: hashes by file where they are known; else those that the hub tells are what is compared and kept.
        languages: in which it was trained to judge; statements in others are left to somebody else.
    """

    repository: str
    licence: str
    megabytes: int
    weights: str
    weights_arm: str = ""
    revision: str = ""
    sha256: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    languages: tuple[str, ...] = ("en",)

    @property
    def files(self) -> dict[str, str]:
        """The files to fetch, by the name they get."""
        weights = self.weights_arm if self.weights_arm and machine().lower() in _ARM else self.weights
        return {"model.onnx": weights, "tokenizer.json": "tokenizer.json", "config.json": "config.json"}


def _cross_encoder(size: str, megabytes: int, revision: str) -> KnownJudge:
    return KnownJudge(
        f"cross-encoder/nli-deberta-v3-{size}",
        "Apache-2.0",
        megabytes,
        "onnx/model_quint8_avx2.onnx",
        "onnx/model_qint8_arm64.onnx",
        revision,
    )


# Source: the models' pages on the hub, read 2026-11-22; sizes are of the quantised weights.
KNOWN: Final[Mapping[str, KnownJudge]] = MappingProxyType(
    {
        "nli-deberta-v3-xsmall": _cross_encoder("xsmall", 88, "a150876"),
        "nli-deberta-v3-small": _cross_encoder("small", 173, ""),
        "nli-deberta-v3-base": _cross_encoder("base", 244, "6c749ce"),
        "nli-deberta-v3-large": _cross_encoder("large", 643, ""),
        "deberta-v3-large-wanli": KnownJudge(
            "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
            "MIT",
            643,
            "onnx/model_quantized.onnx",
            revision="0de4830",
        ),
    }
)

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hhem-2.1-open": "vectara/hallucination_evaluation_model runs code of its own, which is never loaded",
        "bespoke-minicheck-7b": "bespokelabs/Bespoke-MiniCheck-7B runs code of its own, and is not for commercial use",
        "minicheck-deberta-v3-large": "lytang/MiniCheck-DeBERTa-v3-Large has its weights as a pickle, which is never "
        "loaded; export it to ONNX, name its labels, and give the folder",
        "minicheck-flan-t5-large": "lytang/MiniCheck-Flan-T5-Large is no cross-encoder; serve it and "
        "give its http:// address",
        "bge-reranker-base": "BAAI/bge-reranker-base tells relevance, not whether a passage states something",
        "ms-marco-minilm-l6-v2": "cross-encoder/ms-marco-MiniLM-L6-v2 tells relevance, not "
        "whether a passage states something",
    }
)
"""Models people know, and why they can't be added."""

"""Judges and rerankers that are fetched by name: where they are, their files' hashes, what was measured of judges."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from platform import machine
from types import MappingProxyType
from typing import Any, Final

from pincite.domain.codec import from_json
from pincite.domain.errors import InvalidSetting, ParseError
from pincite.domain.evidence import Thresholds
from pincite.domain.frozen import dataclass
from pincite.runtime.system import replace_file

# Public cross-encoders that can judge or rerank, by name: where, under which licence, and what keeps others out.
#
# Nothing here says how well one judges: none of them was measured by us. `pincite eval judge --fit` does that.

_ARM: Final = frozenset({"arm64", "aarch64"})


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model on the hub.

    Attributes:
        repository: `owner/name` on the hub.
        licence: of the weights.
        megabytes: of the files, as the hub tells it.
        weights: the file with the weights, one for each kind of processor.
        revision: the 40 characters of a commit; fewer are how the commit must begin; empty: the newest.
        languages: in which it was trained to judge; statements in others are left to somebody else.
        reranks: whether it is no judge and tells the relevance of a passage for a question (the setting `reranker`).
    """

    repository: str
    licence: str
    megabytes: int
    weights: str
    weights_arm: str = ""
    revision: str = ""
    languages: tuple[str, ...] = ("en",)
    reranks: bool = False

    @property
    def files(self) -> dict[str, str]:
        """The files to fetch, by the name they get."""
        weights = self.weights_arm if self.weights_arm and machine().lower() in _ARM else self.weights
        return {"model.onnx": weights, "tokenizer.json": "tokenizer.json", "config.json": "config.json"}


def _cross_encoder(size: str, megabytes: int, revision: str) -> KnownModel:
    return KnownModel(
        f"cross-encoder/nli-deberta-v3-{size}",
        "Apache-2.0",
        megabytes,
        "onnx/model_quint8_avx2.onnx",
        "onnx/model_qint8_arm64.onnx",
        revision,
    )


# Source: the models' pages on the hub, read 2026-11-22; sizes are of the quantised weights.
KNOWN: Final[Mapping[str, KnownModel]] = MappingProxyType(
    {
        "nli-deberta-v3-xsmall": _cross_encoder("xsmall", 88, "a150876"),
        "nli-deberta-v3-small": _cross_encoder("small", 173, ""),
        "nli-deberta-v3-base": _cross_encoder("base", 244, "6c749ce"),
        "nli-deberta-v3-large": _cross_encoder("large", 643, ""),
        "deberta-v3-large-wanli": KnownModel(
            "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
            "MIT",
            643,
            "onnx/model_quantized.onnx",
            revision="0de4830",
        ),
        "bge-reranker-base": KnownModel(
            "BAAI/bge-reranker-base",
            "MIT",
            1_110,
            "onnx/model.onnx",
            "",
            "2cfc18c",
            languages=("en", "zh"),
            reranks=True,
        ),
    }
)

# Models people know, and why they can't be added.
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hhem-2.1-open": "vectara/hallucination_evaluation_model runs code of its own, which is never loaded",
        "bespoke-minicheck-7b": "bespokelabs/Bespoke-MiniCheck-7B runs code of its own, and is not for commercial use",
        "minicheck-deberta-v3-large": "lytang/MiniCheck-DeBERTa-v3-Large has its weights as a pickle, which is never "
        "loaded; export it to ONNX, name its labels, and give the folder",
        "minicheck-flan-t5-large": "lytang/MiniCheck-Flan-T5-Large is no cross-encoder; serve it and "
        "give its http:// address",
        "ms-marco-minilm-l6-v2": "cross-encoder/ms-marco-MiniLM-L6-v2 tells relevance, not "
        "whether a passage states something; as `reranker` it may be given as a folder",
    }
)


LOCK: Final = "judge.json"
# Where in the home `pincite models add` puts what it fetched.
FOLDER: Final = "judges"
_ENGLISH: Final = "en"
# Shorter texts may have no grammar word by which to know English.
_SENTENCE_WORDS: Final = 6
# Names and terms in another script stay below a third of an English sentence.
_LATIN: Final = 0.7
# English grammar words that are words of German, French or Spanish, too.
_AMBIGUOUS: Final = frozenset("a an am at die do has her him in me no not on or over so was will".split())


def languages_of(folder: Path) -> tuple[str, ...]:
    """The languages that the model in the folder was trained to judge; empty when nobody said."""
    try:
        languages = json.loads((folder / LOCK).read_text(encoding="utf-8")).get("languages")
    except (OSError, ValueError, AttributeError):
        return ()
    return tuple(str(language) for language in languages) if isinstance(languages, list) else ()


def speaks(languages: tuple[str, ...], statement: str) -> bool:
    """Whether a judge of these languages can read the statement; without any, or with others than English, it may."""
    if _ENGLISH not in languages:
        return True
    letters = [character for character in statement if character.isalpha()]
    if sum(map(str.isascii, letters)) < _LATIN * len(letters):
        return False
    from pincite.text.tokens import is_stop, words  # takes longer to load than all the rest here

    found = list(words(statement.lower()))
    return len(found) < _SENTENCE_WORDS or any(is_stop(word) and word not in _AMBIGUOUS for word in found)


def verify_files(folder: Path) -> None:
    """Return when each file of a fetched model still has its hash; a folder without `judge.json` is one's own.

    Errors: InvalidSetting (`model_changed`).
    """
    try:
        lock: Any = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        lock = None
    hashes = lock.get("sha256") if isinstance(lock, dict) else None
    # A note without hashes is no reason to trust the files: whoever changed them may have changed it.
    if not isinstance(hashes, dict) or not hashes:
        raise _changed(folder / LOCK)
    for name, wanted in hashes.items():
        whole = hashlib.sha256()
        try:
            # The name alone: a note that was tampered with does not lead out of the folder.
            with (folder / Path(str(name)).name).open("rb") as file:
                # In pieces: weights have up to a gigabyte.
                while piece := file.read(1 << 20):
                    whole.update(piece)
        except OSError:
            raise _changed(folder / str(name)) from None
        if whole.hexdigest() != wanted:
            raise _changed(folder / str(name))


def _changed(path: Path) -> InvalidSetting:
    return InvalidSetting(
        f"{path} is not the file that was fetched",
        reason="model_changed",
        hint=f"Fetch it again: pincite models add {path.parent.name}",
        context={"setting": "judge"},
    )


FILE: Final = f"{FOLDER}/thresholds.json"


def read_thresholds(home: Path, name: str) -> Thresholds | None:
    """The thresholds measured for the judge of this name; None without any.

    Errors: InvalidSetting: the file is damaged, or its figures are none.
    """
    found = _all(home / FILE).get(name)
    if found is None:
        return None
    try:
        made = from_json(Thresholds, found)
    except ParseError:
        raise _damaged(home / FILE, f"{name} has no supported_from and refused_to") from None
    if not 0 <= made.refused_to <= made.supported_from <= 1:
        raise _damaged(home / FILE, f"{name} needs 0 <= refused_to <= supported_from <= 1")
    return made


def write_thresholds(home: Path, name: str, thresholds: Thresholds) -> Path:
    """Keep the thresholds of a judge; the file."""
    path = home / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = _all(path) | {name: asdict(thresholds)}
    replace_file(path, json.dumps(kept, indent=2, sort_keys=True) + "\n")
    return path


def _all(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise _damaged(path, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _damaged(path, "it is not a table of judges")
    return value


def _damaged(path: Path, why: str) -> InvalidSetting:
    return InvalidSetting(
        f"the thresholds in {path} can't be used: {why}",
        reason="bad_thresholds",
        hint="Measure them again with `pincite eval judge --fit`, or delete the file.",
        context={"setting": "judge"},
    )

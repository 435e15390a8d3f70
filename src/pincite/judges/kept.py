"""What is noted beside a fetched model: where it is from, the hash of each file, the languages it judges."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from pincite.domain.errors import InvalidSetting
from pincite.text.tokens import is_stop, words

LOCK: Final = "judge.json"
_ENGLISH: Final = "en"
_SENTENCE_WORDS: Final = 6
_LATIN: Final = 0.7
_AMBIGUOUS: Final = frozenset("a an am at die do has her him in me no not on or over so was will".split())
"""English grammar words that are words of German, French or Spanish, too."""


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
    if not isinstance(hashes, dict) or not hashes:
        raise _changed(folder / LOCK)
    for name, wanted in hashes.items():
        whole = hashlib.sha256()
        try:
            with (folder / Path(str(name)).name).open("rb") as file:
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

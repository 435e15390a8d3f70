"""The instructions of a judge that is a language model, one file for each version. A changed text is a new version."""

from functools import cache
from importlib import resources
from typing import Final

NAME: Final = "judge_statements"
VERSION: Final = "5"


@cache
def instructions() -> str:
    """The text in the version in use."""
    file = resources.files("pincite.judges.prompts") / f"{NAME}.v{VERSION}.md"
    return file.read_text(encoding="utf-8").strip()

"""What a model is told when it writes the Markdown of a page. A changed text is a new version."""

from functools import cache
from importlib import resources
from typing import Final

VERSION: Final = "1"


@cache
def instructions() -> str:
    """The text of the prompt in its version in use."""
    file = resources.files("pincite.fetch.prompts") / f"markdown.v{VERSION}.md"
    return file.read_text(encoding="utf-8").strip()

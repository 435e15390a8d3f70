"""The instructions of each request, one file for each name and version. A changed text is a new version."""

from functools import cache
from importlib import resources
from typing import Final

# The version in use of each prompt.
VERSIONS: Final = {
    "planner": "4",
    "choose": "6",
    "compose": "19",
    "rewrite": "7",
    "summary": "1",
    "leads": "1",
    "structure": "3",
}


@cache
def instructions(name: str) -> str:
    """The text of the prompt in its version in use."""
    file = resources.files("pincite.research.model.prompts") / f"{name}.v{VERSIONS[name]}.md"
    return file.read_text(encoding="utf-8").strip()

"""What the site's builder has to be told about our pages: `mkdocs.yml` names this file."""

import re
from typing import Any

_FENCE = re.compile(r"^(```[a-z]+) [^\n`]+$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:  # the page, the settings and the files of mkdocs
    """The page without the notes behind a fence's language, which are for the tests and which mkdocs can't read."""
    return _FENCE.sub(r"\1", markdown)

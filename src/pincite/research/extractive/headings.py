"""Headings that say what a part of a page is for ("Description") and not what it is about; what to say instead."""

import re
from urllib.parse import unquote, urlsplit

from pincite.domain.page import BlockKind, Document
from pincite.research.extractive.passages import HEADING_NUMBER

HEADING_CHARS = 90
_LEVELS_LOOKED_AT = 2
_STRUCTURAL = re.compile(
    r"(?:(?:an?\s+|the\s+|short\s+|brief\s+|general\s+|quick\s+)?(?:introduction|overview|description|summary|abstract|preface|"
    r"synopsis|background|discussion|conclusions?|foreword|start|information)|(?:table\s+of\s+)?contents|index|home(?:\s?page)?|"
    r"welcome|read\s?me|about|general|details?|miscellaneous|misc|names?|notes?|remarks?|tips?|warnings?|examples?|usage|"
    r"parameters?|arguments?|options?|returns?|return\s+(?:values?|types?)|raises|exceptions?|outputs?|"
    r"inputs?|environment|files|diagnostics|bugs|see\s+also|references|credits?|authors?|acknowledge?ments?|"
    r"untitled(?:\s+document)?|document|page|main|part|section|chapter|appendix|faq|questions|more|other|further\s+reading)"
    r"(?:\s+\d+)?",
    re.IGNORECASE,
)


def is_structural(text: str) -> bool:
    """Whether a heading or term only names a part that any document may have."""
    plain = HEADING_NUMBER.sub("", " ".join(text.split()), count=1).strip(" ¶:.#§")
    return not plain or bool(_STRUCTURAL.fullmatch(plain))


def page_heading(document: Document, url: str) -> str:
    """What a section made from this page is about: its title, without its number, at most 90 characters.

    A title that says nothing ("Introduction") gets what the page's first headings or its address add.
    """
    title = short_title(document.title)
    if title and not is_structural(title):
        return title
    headings = [
        short_title(block.text)
        for block in document.blocks
        if block.kind is BlockKind.HEADING and block.level <= _LEVELS_LOOKED_AT and not is_structural(block.text)
    ]
    about = headings[0] if headings else _named_by(url)
    return f"{about}: {title}"[:HEADING_CHARS] if title else about


def short_title(title: str) -> str:
    """A page's title as a heading: without its number, at most 90 characters."""
    line = HEADING_NUMBER.sub("", " ".join(title.split()), count=1)
    return line if len(line) <= HEADING_CHARS else line[: HEADING_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _named_by(url: str) -> str:
    """The last part of an address that says something, else its host."""
    split = urlsplit(url)
    path = url.removeprefix("local:") if url.startswith("local:") else split.path
    pieces = [re.sub(r"\.\w{1,5}$", "", unquote(piece)) for piece in path.split("/")]
    spoken = [re.sub(r"[-_+]+", " ", piece).strip() for piece in pieces]
    said = [piece for piece in spoken if len(piece) > 2 and not is_structural(piece)]
    return said[-1] if said else split.hostname or url

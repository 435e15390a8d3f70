"""Plain text and Markdown to a Document."""

import re

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Block, BlockKind, Document
from pincite.fetch.extractors.characters import clean

EXTRACTOR = "plain"
VERSION = "1"

_INDENTED = re.compile(r"(?:[ ]{4}|\t)")


def read_plain(text: str, url: str) -> Document:
    """The paragraphs of a plain text: blank lines part them; indented ones keep their lines.

    Errors:
        EmptyContent: nothing but white space.
    """
    blocks: list[Block] = []
    for part in re.split(r"\n[ \t]*\n", clean(text).replace("\f", "\n\n")):
        lines = [line.rstrip() for line in part.strip("\n").split("\n")]
        if not any(lines):
            continue
        if all(_INDENTED.match(line) or not line for line in lines):
            blocks.append(Block(BlockKind.CODE, "\n".join(lines).rstrip()))
        else:
            blocks.append(Block(BlockKind.PARAGRAPH, "\n".join(line.strip() for line in lines).strip()))
    if not blocks:
        raise EmptyContent("the text is empty", reason="empty_page")
    first = blocks[0].text.split("\n")[0]
    return Document(EXTRACTOR, VERSION, tuple(blocks), title=first if len(first) <= 120 else "", canonical_url=url)

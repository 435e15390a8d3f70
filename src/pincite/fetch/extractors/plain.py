"""Plain text to a Document: by its layout, as RFCs, manuals and notes are written."""

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Document
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.preformatted import OVERSTRUCK, blocks_of_lines

EXTRACTOR = "plain"
VERSION = "2"


def read_plain(text: str, url: str) -> Document:
    """The paragraphs, headings, lists and entries of a plain text; what is no prose keeps its lines.

    Errors:
        EmptyContent: nothing but white space.
    """
    pages = (clean(page) for page in OVERSTRUCK.sub("", text).split("\f"))
    blocks = blocks_of_lines("\f".join(pages))
    if not blocks:
        raise EmptyContent("the text is empty", reason="empty_page")
    first = blocks[0].text.strip().split("\n")[0]
    return Document(EXTRACTOR, VERSION, tuple(blocks), title=first if len(first) <= 120 else "", canonical_url=url)

"""Plain text to a Document: by its layout, as RFCs, manuals and notes are written."""

from urllib.parse import unquote, urlsplit

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Document
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.preformatted import OVERSTRUCK, blocks_of_lines

EXTRACTOR = "plain"
VERSION = "3"
# A heading of two lines; chosen, not measured.
_TITLE_CHARS = 120


def read_plain(text: str, url: str) -> Document:
    """The paragraphs, headings, lists and entries of a plain text; what is no prose keeps its lines.

    Errors:
        EmptyContent: nothing but white space.
    """
    pages = (clean(page) for page in OVERSTRUCK.sub("", text).split("\f"))
    blocks = blocks_of_lines("\f".join(pages))
    if not blocks:
        raise EmptyContent("the text is empty", reason="empty_page")
    return Document(EXTRACTOR, VERSION, tuple(blocks), title=_title(blocks[0].text, url), canonical_url=url)


def _title(beginning: str, url: str) -> str:
    """The first line, where it can be a title; else the name of the file: "--continue::" says nothing to a reader.

    A title has a letter, ends with no mark that leads on, and fits in a line or two.
    """
    first = beginning.strip().split("\n")[0].strip()
    if len(first) <= _TITLE_CHARS and any(map(str.isalpha, first)) and not first.endswith((":", ",", ";")):
        return first
    return unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]

"""A report that somebody hands over, in HTML or DOCX, as Markdown: all of it, for nothing on it is a frame."""

from pincite.domain.errors import TooLarge
from pincite.domain.page import Document
from pincite.domain.page_markdown import document_markdown
from pincite.fetch.extractors import MAX_HTML_BYTES
from pincite.fetch.extractors.blocks import BlockWalk, blocks_of
from pincite.fetch.extractors.dom import parse
from pincite.fetch.extractors.office import read_docx


def report_markdown(report: bytes | str) -> str:
    """The text of a DOCX file (bytes) or of HTML, with its links, lists, tables and notes; links inside stay such.

    Errors: ExtraNotInstalled (a DOCX without the extra), ParseError, TooLarge, EmptyContent.
    """
    if isinstance(report, bytes):
        return document_markdown(read_docx(report, ""))
    if len(report) > MAX_HTML_BYTES:
        raise TooLarge(f"HTML of {len(report):,} characters is more than is read")
    return document_markdown(Document("html", "", blocks_of(BlockWalk("").run(parse(report).root))))

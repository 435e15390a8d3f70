"""PDF to a Document: text in reading order, page numbers kept, running heads and page numbers left out.

PDFium is not thread-safe, even across documents, so one lock serialises it in a process; hostile files belong in the
worker pool, whose processes can be killed.

Source: extraction figures: pypdfium2 had the right word spacing and column order; a soft line-end hyphen is U+0002.
"""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import pypdfium2

from pincite.domain.errors import EmptyContent, ParseError, TooLarge
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean, clean_line
from pincite.fetch.extractors.pdf_blocks import HEADING_CHARS, PageReader, key_of
from pincite.fetch.extractors.pdf_lines import Line, placed_lines, plain_lines, remove_unseen
from pincite.fetch.extractors.preformatted import unfolded
from pincite.runtime.system import install_extra

EXTRACTOR = "pdf"
VERSION = VERSIONS["pdf"]
# Long manuals have about so many; the page's deadline ends most reads sooner.
MAX_PAGES = 3_000
# As for text files.
MAX_CHARS = 20_000_000

_LOCK = threading.Lock()
# On two pages: less is a page number or a stamp over a scan.
_SCANNED_CHARS = 50
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?")
_PAGE_NUMBER = re.compile(
    r"^[\s\-–—|]*(?:page|seite|p\.?)?\s*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von)\s*\d{1,4})?[\s\-–—|]*$",
    re.IGNORECASE,
)
# Running heads alternate between left and right pages: each stands on less than half of all.
_REPEATED_SHARE = 0.4
# A head of two lines, a foot of two lines.
_EDGE_LINES = 2
_NUMBER_AT_EDGE = re.compile(r"\d{1,4}\Z")
# So many pages that count on together are no chance.
_NUMBERED_PAGES = 3
_WORD = re.compile(r"\w+")
# Of the words of a title in the file's metadata: else it is the name of a template or of another file.
_SHOWN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Raw:
    """What PDFium gives: lines of each page, bookmarks as (page index, level, title), metadata."""

    pages: tuple[tuple[Line, ...], ...]
    bookmarks: tuple[tuple[int, int, str], ...]
    metadata: dict[str, str]


def read_pdf(body: bytes, url: str) -> Document:
    """The document in a PDF file.

    Errors:
        ParseError: `pdf_encrypted`, or `pdf_unreadable` when the file is broken.
        EmptyContent: `pdf_scanned` when there are pages but hardly any text.
        TooLarge: more than `MAX_PAGES` pages.
    """
    try:
        with _LOCK:
            raw = _read(body)
    except ParseError as error:
        texts = second_pages(body) if error.reason == "pdf_unreadable" else None
        if texts is None:
            if error.reason == "pdf_unreadable" and find_spec("pdf_oxide") is None:
                error.hint = f"Another reader may make something of it: {install_extra('pdf-repair')}"
            raise
        raw = _Raw(tuple(map(plain_lines, texts)), (), {})
    characters = sum(len(line.text) for page in raw.pages for line in page)
    if characters < _SCANNED_CHARS * max(1, len(raw.pages) // 2) and not (len(raw.pages) == 1 and characters):
        raise EmptyContent(
            f"the PDF has {len(raw.pages)} pages but hardly any text; it is probably scanned", reason="pdf_scanned"
        )
    pages = _without_running_heads(raw.pages)
    titles = {(page, key_of(clean(title))): level for page, level, title in raw.bookmarks}
    blocks = list(unfolded(PageReader(pages, titles).read()))
    if not blocks:
        raise EmptyContent("the PDF has no text", reason="pdf_scanned")
    beginning = " ".join(block.text for block in blocks if (block.page or 1) <= 2)
    seen = frozenset(_WORD.findall(beginning.casefold()))
    title = _shown(raw.metadata.get("Title", ""), seen)
    return Document(
        EXTRACTOR,
        VERSION,
        tuple(blocks),
        title=title or next((block.text for block in blocks if len(block.text) <= HEADING_CHARS), ""),
        byline=_shown(raw.metadata.get("Author", ""), seen),
        published_at=_moment(raw.metadata.get("CreationDate", "")),
        modified_at=_moment(raw.metadata.get("ModDate", "")),
        canonical_url=url.partition("#")[0],
    )


def _shown(metadata: str, seen: frozenset[str]) -> str:
    """A field of the file's metadata, which nobody sees, where most of its words are `seen` on the first two pages."""
    text = clean_line(metadata)
    words = _WORD.findall(text.casefold())
    return text if words and sum(word in seen for word in words) >= _SHOWN_SHARE * len(words) else ""


def _read(body: bytes) -> _Raw:
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise ParseError("the PDF is locked with a password", reason="pdf_encrypted") from error
        raise ParseError("the PDF is broken", reason="pdf_unreadable") from error
    try:
        count = len(document)
        if count > MAX_PAGES:
            raise TooLarge(f"the PDF has {count:,} pages, more than {MAX_PAGES:,}", reason="too_many_pages")
        pages, total = [], 0
        for index in range(count):
            lines = _lines(document, index)
            total += sum(len(line.text) for line in lines)
            if total > MAX_CHARS:
                raise TooLarge("the PDF holds more text than is read", reason="too_much_text")
            pages.append(lines)
        return _Raw(tuple(pages), _bookmarks(document), dict(document.get_metadata_dict()))
    except pypdfium2.PdfiumError as error:
        raise ParseError("the PDF is broken", reason="pdf_unreadable") from error
    finally:
        document.close()


def _lines(document: Any, index: int) -> tuple[Line, ...]:
    page = document[index]
    try:
        rules = remove_unseen(page)
        text_page = page.get_textpage()
        try:
            return placed_lines(text_page, rules)
        finally:
            text_page.close()
    finally:
        page.close()


def _bookmarks(document: Any) -> tuple[tuple[int, int, str], ...]:
    found: list[tuple[int, int, str]] = []
    for mark in document.get_toc(max_depth=6):
        target = mark.get_dest()
        index = target.get_index() if target is not None else None
        if index is not None:
            found.append((index + 1, mark.level, mark.get_title()))
        if len(found) >= MAX_PAGES * 3:
            break
    return tuple(found)


def _edge_key(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _edges(lines: Sequence[Line]) -> set[int]:
    """The places of the lines at the top and the bottom of a page, wherever in the file they are drawn."""
    order = list(range(len(lines)))
    if lines and all(line.is_placed for line in lines):
        order = sorted(order, key=lambda place: -lines[place].bottom)
    return {*order[:_EDGE_LINES], *order[-_EDGE_LINES:]}


def _numbers(line: Line) -> set[int]:
    """Numbers that stand apart at an end of the line, as those of pages do in running heads."""
    if len(line.pieces) < 2:
        return set()
    return {int(piece.text) for piece in (line.pieces[0], line.pieces[-1]) if _NUMBER_AT_EDGE.match(piece.text)}


def _without_running_heads(pages: tuple[tuple[Line, ...], ...]) -> list[list[Line]]:
    """The pages without page numbers, heads that count with the pages, and lines repeated on many pages."""
    places = [_edges(lines) for lines in pages]
    edges = Counter(
        key for lines, at in zip(pages, places, strict=True) for key in {_edge_key(lines[place].text) for place in at}
    )
    counting = Counter(
        offset
        for index, (lines, at) in enumerate(zip(pages, places, strict=True))
        for offset in {number - index for place in at for number in _numbers(lines[place])}
    )
    counted = {offset for offset, count in counting.items() if count >= _NUMBERED_PAGES}
    often = {key for key, count in edges.items() if count >= 3 and count > _REPEATED_SHARE * len(pages) / 2}

    def is_head(index: int, line: Line) -> bool:
        if _PAGE_NUMBER.match(line.text) or any(number - index in counted for number in _numbers(line)):
            return True
        return len(pages) > 3 and _edge_key(line.text) in often

    return [
        [line for place, line in enumerate(lines) if place not in at or not is_head(index, line)]
        for index, (lines, at) in enumerate(zip(pages, places, strict=True))
    ]


def _moment(text: str) -> datetime | None:
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group) if group else None for group in match.groups())
    try:
        return datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
    except ValueError:
        return None


# The second try at files that PDFium refuses (cut off, or with a broken table of contents of their own) is the extra
# `pdf-repair`. It can be killed by deep nesting, so such files are not given to it.
# What a PDF may have at all (`FetchLimits.pdf_max_bytes`).
MAX_BYTES = 33_554_432
_DEEP = re.compile(rb"(?:\[\s*){200}|(?:<<\s*/\w{1,40}\s*){200}")
_ENCRYPTED = b"/Encrypt"


def second_pages(body: bytes) -> tuple[str, ...] | None:
    """The text of each page, or None where the library isn't installed or makes nothing of the file.

    Errors:
        TooLarge: more than `MAX_PAGES` pages.
    """
    try:
        import pdf_oxide
    except ImportError:
        return None
    # A locked file reads as empty pages there, without a word.
    if len(body) > MAX_BYTES or _ENCRYPTED in body or b"%PDF-" not in body[:1024] or _DEEP.search(body):
        return None
    try:
        document = pdf_oxide.PdfDocument.from_bytes(body)
        count = document.page_count()
        if count > MAX_PAGES:
            raise TooLarge(f"the PDF has {count:,} pages, more than {MAX_PAGES:,}", reason="too_many_pages")
        texts = tuple(str(document.extract_text(index)) for index in range(count))
    except (RuntimeError, ValueError, OSError, KeyError, IndexError, TypeError):
        return None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of the library's native part; derives from nothing narrower
            return None
        raise
    return texts if any(text.strip() for text in texts) else None

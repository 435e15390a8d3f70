"""PDF to a Document: text in reading order, page numbers kept, running heads and page numbers left out.

PDFium is not thread-safe, even across documents, so one lock serialises it in a process; hostile files belong in the
worker pool, whose processes can be killed.

Source: extraction figures: pypdfium2 had the right word spacing and column order; a soft line-end hyphen is U+0002.
"""

import re
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pincite.domain.errors import EmptyContent, ParseError, TooLarge
from pincite.domain.page import Block, BlockKind, Document
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.pdf_hidden import remove_unseen
from pincite.fetch.extractors.pdf_second import second_pages

EXTRACTOR = "pdf"
VERSION = "2"
MAX_PAGES = 3_000
MAX_CHARS = 20_000_000

_LOCK = threading.Lock()
_SCANNED_CHARS = 50
_SOFT_HYPHEN = re.compile("[\x02\ufffe]\\s*")
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?")
_BULLET = re.compile(r"^\s*[•‣◦▪●–—·*-]\s+")
_NUMBERED = re.compile(r"^\s*(\d{1,3})[.)]\s+(?=\S)")
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_PAGE_NUMBER = re.compile(
    r"^[\s\-–—|]*(?:page|seite|p\.?)?\s*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von)\s*\d{1,4})?[\s\-–—|]*$",
    re.IGNORECASE,
)
_REPEATED_SHARE = 0.4
_EDGE_LINES = 2
_SHORT = 0.75
_HEADING_CHARS = 120
_WORD = re.compile(r"\w+")
_SHOWN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Raw:
    """What PDFium gives: lines of each page, bookmarks as (page index, level, title), metadata."""

    pages: tuple[tuple[str, ...], ...]
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
        second = second_reading(body) if error.reason == "pdf_unreadable" else None
        if second is None:
            raise
        raw = second
    characters = sum(len(line) for page in raw.pages for line in page)
    if characters < _SCANNED_CHARS * max(1, len(raw.pages) // 2) and not (len(raw.pages) == 1 and characters):
        raise EmptyContent(
            f"the PDF has {len(raw.pages)} pages but hardly any text; it is probably scanned", reason="pdf_scanned"
        )
    pages = _without_running_heads(raw.pages)
    titles = {(page, _key(title)): level for page, level, title in raw.bookmarks}
    blocks: list[Block] = []
    for number, lines in enumerate(pages, start=1):
        blocks += _blocks(lines, number, titles)
    if not blocks:
        raise EmptyContent("the PDF has no text", reason="pdf_scanned")
    seen = _first_words(blocks)
    title = _shown(raw.metadata.get("Title", ""), seen)
    return Document(
        EXTRACTOR,
        VERSION,
        tuple(blocks),
        title=title or next((block.text for block in blocks if len(block.text) <= _HEADING_CHARS), ""),
        byline=_shown(raw.metadata.get("Author", ""), seen),
        published_at=_moment(raw.metadata.get("CreationDate", "")),
        modified_at=_moment(raw.metadata.get("ModDate", "")),
        canonical_url=url.partition("#")[0],
    )


def _first_words(blocks: list[Block]) -> frozenset[str]:
    """The words of the first two pages."""
    return frozenset(
        word for block in blocks if (block.page or 1) <= 2 for word in _WORD.findall(block.text.casefold())
    )


def _shown(metadata: str, seen: frozenset[str]) -> str:
    """A field of the file's metadata, which nobody sees, where most of its words are on the first pages as well."""
    text = " ".join(clean(metadata).split())
    words = _WORD.findall(text.casefold())
    return text if words and sum(word in seen for word in words) >= _SHOWN_SHARE * len(words) else ""


def _read(body: bytes) -> _Raw:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        reason = "pdf_encrypted" if locked else "pdf_unreadable"
        message = "the PDF is locked with a password" if locked else "the PDF is broken"
        raise ParseError(message, reason=reason) from error
    try:
        count = len(document)
        if count > MAX_PAGES:
            raise TooLarge(f"the PDF has {count:,} pages, more than {MAX_PAGES:,}", reason="too_many_pages")
        pages, total = [], 0
        for index in range(count):
            lines = _lines(document, index)
            total += sum(map(len, lines))
            if total > MAX_CHARS:
                raise TooLarge("the PDF holds more text than is read", reason="too_much_text")
            pages.append(lines)
        return _Raw(tuple(pages), _bookmarks(document), dict(document.get_metadata_dict()))
    except pypdfium2.PdfiumError as error:
        raise ParseError("the PDF is broken", reason="pdf_unreadable") from error
    finally:
        document.close()


def second_reading(body: bytes) -> _Raw | None:
    """What the second library makes of a file that PDFium refuses, or None."""
    texts = second_pages(body, MAX_PAGES)
    return None if texts is None else _Raw(tuple(_clean_lines(text) for text in texts), (), {})


def _lines(document: Any, index: int) -> tuple[str, ...]:
    page = document[index]
    try:
        remove_unseen(page)
        text_page = page.get_textpage()
        try:
            return _clean_lines(text_page.get_text_bounded())
        finally:
            text_page.close()
    finally:
        page.close()


def _clean_lines(text: str) -> tuple[str, ...]:
    text = clean(_SOFT_HYPHEN.sub("", text))
    return tuple(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


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


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", clean(text)).casefold()


def _edge_key(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _without_running_heads(pages: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    """The pages without page numbers and lines repeated at the top or bottom of many pages."""
    edges = Counter(
        key for lines in pages for key in {_edge_key(line) for line in (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])}
    )
    often = {key for key, count in edges.items() if count >= 3 and count > _REPEATED_SHARE * len(pages) / 2}
    cleaned: list[list[str]] = []
    for lines in pages:
        kept: list[str] = []
        for place, line in enumerate(lines):
            at_edge = place < _EDGE_LINES or place >= len(lines) - _EDGE_LINES
            if at_edge and (_PAGE_NUMBER.match(line) or (len(pages) > 3 and _edge_key(line) in often)):
                continue
            kept.append(line)
        cleaned.append(kept)
    return cleaned


def _blocks(lines: list[str], page: int, titles: dict[tuple[int, str], int]) -> list[Block]:
    """The lines of one page as headings, list items and paragraphs."""
    widths = sorted(len(line) for line in lines)
    full = widths[int(len(widths) * 0.8)] if widths else 0
    blocks: list[Block] = []
    pending: list[str] = []

    def flush() -> None:
        if pending:
            blocks.append(_paragraph(" ".join(pending), page))
            pending.clear()

    for line in lines:
        level = titles.get((page, _key(line)))
        if level is not None and len(line) <= _HEADING_CHARS:
            flush()
            blocks.append(Block(BlockKind.HEADING, line, level=min(level + 1, 6), page=page))
            continue
        if pending and (_BULLET.match(line) or _ends(pending[-1], line, full)):
            flush()
        pending.append(line)
    flush()
    return blocks


def _ends(last: str, line: str, full: int) -> bool:
    """Whether a paragraph ends between two lines."""
    short = len(last) < _SHORT * full
    if _SENTENCE_END.search(last):
        return short or bool(_NUMBERED.match(line))
    return short and not line[:1].islower() and (line[:1].isupper() or line[:1].isdigit())


def _paragraph(text: str, page: int) -> Block:
    if match := _BULLET.match(text):
        rest = text[match.end() :].strip()
        if rest:
            return Block(BlockKind.LIST_ITEM, rest, page=page)
    return Block(BlockKind.PARAGRAPH, text, page=page)


def _moment(text: str) -> datetime | None:
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group) if group else None for group in match.groups())
    try:
        return datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
    except ValueError:
        return None

"""What of a page is handed out: windows, bounded and cut at a border, never silently; and its source as text."""

import codecs
import re

from pincite.domain.errors import InvalidInput
from pincite.domain.page import Snapshot

# As excerpts of citations (`domain.citation`).
EXCERPT_CHARS = 280
# How far before the bound a border is looked for; without one the window ends in the middle of a line.
_SLACK = 0.2
_ELLIPSIS = "…"
_BORDERS = ("\n\n", "\n", ". ", " ")
_SPACES = re.compile(r"\s+")


def window(content: str, offset: int, max_chars: int) -> tuple[str, int | None]:
    """The part of `content` from `offset`, at most `max_chars` long, and the offset of the rest (None at the end).

    Windows that follow each other's `next_offset` give the whole content back.

    Errors: InvalidInput (`offset` out of range).
    """
    if max_chars < 1:
        raise InvalidInput("max_chars must be at least 1", reason="max_chars")
    if offset < 0 or (offset > len(content)):
        raise InvalidInput(f"offset must be between 0 and {len(content)}", reason="offset")
    end = offset + max_chars
    if end >= len(content):
        return content[offset:], None
    earliest = end - max(int(max_chars * _SLACK), 1)
    for border in _BORDERS:
        at = content.rfind(border, earliest, end)
        if at > offset:
            return content[offset : at + len(border)], at + len(border)
    return content[offset:end], end


def excerpt(text: str, max_chars: int = EXCERPT_CHARS) -> str:
    """The beginning of `text` on one line, at most `max_chars` long, cut on a word; nothing where that is 0."""
    if max_chars < 1:
        return ""
    line = _SPACES.sub(" ", text[: max_chars * 4]).strip()
    if len(line) <= max_chars:
        return line
    cut = line[: max_chars - 1]
    word = cut.rfind(" ")
    if word > max_chars // 2:
        cut = cut[:word]
    return cut.rstrip(" ,;:-") + _ELLIPSIS


_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|xhtml\+xml|javascript)\b)|html|^$", re.IGNORECASE
)
# WHATWG HTML §4.2.5.4: a declaration of the encoding stands within the first 1024 bytes.
_META_BYTES = 1_024


def source_text(snapshot: Snapshot) -> str | None:
    """The body as text, or None when it is no text (a PDF, an archive): then what was read has to do."""
    if not _TEXTUAL.search(snapshot.content_type) or b"\x00" in snapshot.body[:_META_BYTES]:
        return None
    body = snapshot.body.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(_charset(snapshot), "replace")


def _charset(snapshot: Snapshot) -> str:
    head = snapshot.body[:_META_BYTES].decode("latin-1")
    for text in (snapshot.content_type, head):
        if named := _CHARSET.search(text):
            try:
                return codecs.lookup(named[1]).name
            except LookupError:
                continue
    return "utf-8"

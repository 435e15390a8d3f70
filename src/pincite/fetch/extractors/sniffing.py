"""What a body is, by its bytes first, then by its name and declared type.

Source: WHATWG MIME Sniffing §7 for the HTML signatures and the binary test; the rest from the formats' magic numbers.
"""

import re
from enum import StrEnum
from urllib.parse import urlsplit


class Format(StrEnum):
    """The families of formats that are read, and the rest."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    UNSUPPORTED = "unsupported"


_HEAD_BYTES = 2_048
_HTML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|script|style|title|meta|link|iframe|h1|h2|div|font|table|a|b|br|p|article|"
    rb"section|main|header|nav|ul|ol|span|form|center|frameset)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_MAGIC = (
    b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF", b"\x1f\x8b", b"BZh",
    b"7z\xbc\xaf",
    b"\x7fELF", b"MZ\x90", b"\xd0\xcf\x11\xe0", b"OggS", b"ID3", b"\x00\x00\x01\x00", b"wOFF", b"wOF2", b"\xfd7zXZ",
    b"SQLite format 3", b"\xca\xfe\xba\xbe", b"\x00asm",
)  # fmt: skip
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MARKDOWN_NAMES = (".md", ".markdown", ".mdown", ".mkd")
_TEXT_NAMES = (".txt", ".text", ".rst", ".log", ".adoc", ".asc")


def format_of(content: bytes, url: str, content_type: str | None) -> Format:
    """The format of `content`."""
    head = content[:_HEAD_BYTES]
    declared = (content_type or "").partition(";")[0].strip().lower()
    name = _path_of(url)
    if head.startswith(_MAGIC):
        return Format.UNSUPPORTED
    if head[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return _textual(declared, name)
    if _HTML_START.match(head):
        return Format.TEXT if declared == "text/plain" and not name.endswith((".html", ".htm")) else Format.HTML
    if len(_BINARY.findall(head)) > len(head) // 50:
        return Format.UNSUPPORTED
    return _textual(declared, name)


def _textual(declared: str, name: str) -> Format:
    if declared in {"text/markdown", "text/x-markdown"} or name.endswith(_MARKDOWN_NAMES):
        return Format.MARKDOWN
    if declared in {"text/html", "application/xhtml+xml"}:
        return Format.HTML
    if declared.startswith("text/") or name.endswith(_TEXT_NAMES):
        return Format.TEXT
    if declared and not declared.endswith(("octet-stream", "unknown")):
        return Format.UNSUPPORTED
    return Format.HTML if name.endswith((".html", ".htm", ".xhtml")) else Format.TEXT


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path.lower()
    except ValueError:
        return ""

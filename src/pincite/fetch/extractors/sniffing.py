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
    CSV = "csv"
    JSON = "json"
    XML = "xml"
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    EPUB = "epub"
    ODT = "odt"
    RTF = "rtf"
    MAIL = "mail"
    UNSUPPORTED = "unsupported"


# Marks of formats stand at the start; HTML may have comments before its first tag.
_HEAD_BYTES = 2_048
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Comments are taken whole: a run of them could be cut up in too many ways otherwise.
_XHTML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*<\?xml[^<>]*>\s*(?>(?:<!--.*?-->\s*)*)<(?:!doctype\s+html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_HTML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?>(?:<!--.*?-->\s*)*)"
    rb"<(?:!doctype\s+html|html|head|body|script|style|title|meta|link|iframe|h1|h2|div|font|table|a|b|br|p|article|"
    rb"section|main|header|nav|ul|ol|span|form|center|frameset)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_MAGIC = (
    b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF", b"\x1f\x8b", b"BZh",
    b"7z\xbc\xaf",
    b"\x7fELF", b"MZ\x90", b"\xd0\xcf\x11\xe0", b"OggS", b"ID3", b"\x00\x00\x01\x00", b"wOFF", b"wOF2", b"\xfd7zXZ",
    b"SQLite format 3", b"\xca\xfe\xba\xbe", b"\x00asm",
)  # fmt: skip
_XML_START = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml|<rss|<feed|<rdf:RDF)", re.IGNORECASE)
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,40}):[ \t][^\n]*\n(?:[ \t][^\n]*\n)*")
_MAIL_FIELDS = frozenset(
    {b"from", b"date", b"subject", b"message-id", b"received", b"to", b"return-path", b"mime-version"}
)
_MAILBOX_START = re.compile(rb"From \S[^\n]*\d{4}[^\n]*\n")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# A member every file of the format has; names stand uncompressed in a ZIP.
_ZIPPED = (
    (b"word/document.xml", Format.DOCX),
    (b"xl/workbook.", Format.XLSX),
    (b"ppt/presentation.xml", Format.PPTX),
    (b"application/epub+zip", Format.EPUB),
    (b"application/vnd.oasis.opendocument.text", Format.ODT),
    (b"META-INF/container.xml", Format.EPUB),
)
# The names of files and the media types of what its bytes leave open.
_NAMED = {
    Format.HTML: ".html .htm .xhtml text/html application/xhtml+xml",
    Format.MARKDOWN: ".md .markdown .mdown .mkd text/markdown text/x-markdown",
    Format.TEXT: ".txt .text .rst .log .adoc",
    Format.CSV: ".csv .tsv text/csv text/tab-separated-values application/csv",
    Format.JSON: ".json .geojson .jsonl .ndjson application/json text/json application/x-ndjson application/jsonl "
    "application/x-jsonlines",
    Format.MAIL: ".eml .mbox .mht .mhtml message/rfc822 application/mbox multipart/related",
}
_BY_NAME = {name: kind for kind, names in _NAMED.items() for name in names.split()}
_TELLS_NOTHING = ("", "application/octet-stream", "binary/octet-stream", "application/unknown", "text/plain")


def format_of(content: bytes, url: str, content_type: str | None) -> Format:
    """The format of `content`."""
    head = content[:_HEAD_BYTES]
    if content.startswith(_UTF16_MARKS):  # one byte a character, as the patterns are
        head = content[: 2 * _HEAD_BYTES].decode("utf-16", "replace").encode("utf-8", "replace")
    declared = (content_type or "").partition(";")[0].strip().lower()
    suffix = _suffix_of(url)
    is_html = _HTML_START.match(head) or _XHTML_START.match(head)
    if head.startswith(b"%PDF-") or (not is_html and b"%PDF-" in head[:1_024]):
        return Format.PDF
    if head.startswith(b"PK\x03\x04"):
        return next((kind for member, kind in _ZIPPED if member in content), Format.UNSUPPORTED)
    if head.startswith(b"{\\rtf"):
        return Format.RTF
    if head.startswith(_MAGIC):
        return Format.UNSUPPORTED
    if is_html:
        shown_as_source = declared == "text/plain" and _BY_NAME.get(suffix) is not Format.HTML
        return Format.TEXT if shown_as_source or _BY_NAME.get(suffix) is Format.MARKDOWN else Format.HTML
    if len(_BINARY.findall(head)) > len(head) // 50:
        return Format.UNSUPPORTED
    if _XML_START.match(head):
        return Format.HTML if b"http://www.w3.org/1999/xhtml" in head or declared == "text/html" else Format.XML
    if declared in _TELLS_NOTHING:
        return _BY_NAME.get(suffix) or (Format.MAIL if _is_mail(head) else Format.TEXT)
    declared = "application/json" if declared.endswith("+json") else declared
    return _BY_NAME.get(declared, Format.TEXT if declared.startswith("text/") else Format.UNSUPPORTED)


def _is_mail(head: bytes) -> bool:
    """Whether the body begins with the header of a message: three fields of mail at least, its sender among them."""
    head = head.replace(b"\r\n", b"\n")
    start = _MAILBOX_START.match(head)
    place = start.end() if start else 0
    names: set[bytes] = set()
    while (field := _HEADER.match(head, place)) is not None:
        names.add(field.group(1).lower())
        place = field.end()
    return b"from" in names and len(names & _MAIL_FIELDS) >= 3


def _suffix_of(url: str) -> str:
    try:
        path = urlsplit(url).path.lower()
    except ValueError:
        return ""
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name else ""

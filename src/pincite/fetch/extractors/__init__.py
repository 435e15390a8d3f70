"""Bytes to Document. `extract` is the facade; each module reads one family of formats.

What a body is, is told by its bytes first, then by its name and declared type. `VERSIONS` are part of every document's
id, and what stored readings are made anew by.

Source: WHATWG MIME Sniffing §7 for the HTML signatures and the binary test; the rest from the formats' magic numbers.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

from pincite.domain.errors import EmptyContent, TooLarge, UnsupportedContentType
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.fetch.extractors.characters import decode


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


VERSIONS = {
    "ebooks": "2",
    "html": "23",
    "mail": "3",
    "markdown": "2",
    "office": "5",
    "pdf": "4",
    "preformatted": "6",
    "rtf": "1",
    "structured": "1",
    "shared": "22",
}
"""By module of this package; counted up when that reader reads anything differently.

`shared`: what they have in common, such as telling formats and character sets apart.
"""
REVISION = ",".join(VERSIONS.values())
"""Another one when pages read differently, so that stored readings and indexes are made anew."""
PLUGINS = "pincite.extractors"
READER = f"{__name__}:read"
"""What processes that read pages from outside run (`runtime.readers`)."""
# Decoded; above twice the default limit of fetching. The tree takes about ten times as much memory.
MAX_HTML_BYTES = 5_000_000
# Plain text needs no tree: it may be longer.
MAX_TEXT_BYTES = 20_000_000
# What extras bring to read files with; import names.
_OPTIONAL = ("mammoth", "pdf_oxide", "pptx", "python_calamine")
# As `document_max_bytes` may be set at most (`fetch.limits`).
MAX_FILE_BYTES = 50_000_000

_TEXT_READERS = {
    Format.HTML: ("html", "read_html"),
    Format.MARKDOWN: ("markdown", "read_markdown"),
    Format.TEXT: ("preformatted", "read_plain"),
    Format.CSV: ("structured", "read_csv"),
    Format.JSON: ("structured", "read_json"),
}
_BYTE_READERS = {
    Format.PDF: ("pdf", "read_pdf"),
    Format.DOCX: ("office", "read_docx"),
    Format.XLSX: ("office", "read_xlsx"),
    Format.PPTX: ("office", "read_pptx"),
    Format.EPUB: ("ebooks", "read_epub"),
    Format.ODT: ("ebooks", "read_odt"),
    Format.RTF: ("rtf", "read_rtf"),
    Format.XML: ("structured", "read_xml"),
    Format.MAIL: ("mail", "read_mail"),
}


def extract(content: bytes, url: str, content_type: str | None = None) -> Document:
    """The document in `content`, read in this process behind the input guards.

    The bytes decide what they are; `content_type` only helps where they leave it open. Native parsers can be killed
    by some inputs no guard knows: services read through `runtime.readers` instead.

    Errors:
        EmptyContent: no bytes, or no text a reader would see.
        UnsupportedContentType: images, archives, programs and the like.
        ExtraNotInstalled: an office format without its extra.
        TooLarge: over the size limit of its format.
        ParseError: built to break parsers, encrypted, or broken.
    """
    return read(content, url, content_type)


def read(content: bytes, url: str, content_type: str | None, known: Mapping[str, str] | None = None) -> Document:
    """As `extract`; `known` is what `installed` gives, for whoever has looked already."""
    if not content.strip():
        raise EmptyContent("the body is empty", reason="empty_body")
    own = (installed() if known is None else known).get((content_type or "").partition(";")[0].strip().lower())
    if own is not None:
        if len(content) > MAX_FILE_BYTES:
            raise TooLarge(f"{len(content):,} bytes are more than the {MAX_FILE_BYTES:,} that are read")
        module, _, name = own.partition(":")
        made: Document = getattr(import_module(module), name)().extract(content, url, content_type)
        return made
    found = format_of(content, url, content_type)
    if found is Format.UNSUPPORTED:
        hint = "HTML, Markdown, text, PDF, office files and mail are read."
        given = {"content_type": content_type}
        raise UnsupportedContentType("the body is not text", reason="binary", hint=hint, context=given)
    limit = MAX_HTML_BYTES if found is Format.HTML else MAX_FILE_BYTES if found in _BYTE_READERS else MAX_TEXT_BYTES
    if len(content) > limit:
        raise TooLarge(
            f"{len(content):,} bytes are more than the {limit:,} that are read", context={"limit_bytes": limit}
        )
    module, name = _BYTE_READERS.get(found) or _TEXT_READERS[found]
    reader = getattr(import_module(f"{__name__}.{module}"), name)
    document = reader(content if found in _BYTE_READERS else decode(content, content_type), url)
    assert isinstance(document, Document)
    return document


@cache
def installed() -> Mapping[str, str]:
    """Extractors of installed packages (`module:class`) by the media type that they read.

    Nobody installs one without meaning it. A process that reads is told by the one that starts it: to look takes
    it half as long as all it loads for a page.
    """
    from importlib.metadata import entry_points

    return {entry.name.lower(): entry.value for entry in entry_points(group=PLUGINS)}


def optional_readers() -> tuple[str, ...]:
    """Which packages of extras are here to read files with: when they change, what could not be read may be now."""
    return tuple(name for name in _OPTIONAL if find_spec(name) is not None)


@dataclass(frozen=True, slots=True)
class BytesExtractor:
    """Implements `ports.Extractor` in this process; a dataclass, so that others can be told to make one."""

    revision = REVISION

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """As `extract`."""
        return extract(body, url, content_type)

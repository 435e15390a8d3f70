"""Bytes to Document. `extract` is the facade; each module reads one family of formats.

`VERSIONS` are part of every document's id, and what stored readings are made anew by.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from pincite.domain.errors import EmptyContent, TooLarge, UnsupportedContentType
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.fetch.extractors.characters import decode
from pincite.fetch.extractors.sniffing import Format, format_of

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

"""One page as a library source holds it, what was not a page and why, and the bounds of reading."""

from dataclasses import field
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import quote

from pincite.domain.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Bounds of reading a library. A page or record above `page_bytes` is skipped with a reason, never cut."""

    page_bytes: int = 20_000_000
    manifest_bytes: int = 1_000_000
    files: int = 500_000
    skipped_kept: int = 1_000


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page before it is read. `offset` and `length` find it again inside an archive; a file has neither."""

    url: str
    body: bytes = field(repr=False)
    content_type: str
    captured_at: datetime
    note: str = ""
    member: str = ""
    offset: int = 0
    length: int = 0


# File names that hold text; files without a suffix do when their first bytes are text, all others are ignored.
READABLE_SUFFIXES = {
    ".htm": "text/html",
    ".html": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".rst": "text/plain",
    ".adoc": "text/plain",
    ".asciidoc": "text/plain",
    ".org": "text/plain",
    ".text": "text/plain",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".rtf": "application/rtf",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

ARCHIVE_SUFFIXES = (".warc", ".warc.gz", ".wacz")

_READABLE_TYPES = frozenset(READABLE_SUFFIXES.values())


def readable_type(content_type: str) -> bool:
    """Whether pages of this MIME type are read; parameters and case do not matter."""
    return content_type.split(";", 1)[0].strip().lower() in _READABLE_TYPES


def is_archive(name: str) -> bool:
    """Whether a file name is that of a WARC or WACZ."""
    return name.lower().endswith(ARCHIVE_SUFFIXES)


def local_url(library: str, path: PurePosixPath) -> str:
    """`local:NAME/path`, percent-encoded: the identity of a page that no manifest gives a published address."""
    return f"local:{quote(library, safe='')}/{quote(path.as_posix(), safe='/')}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """What holds no page: a file is named with the reason, a record (a request, an image) and a hidden file counted."""

    place: str
    reason: str = ""

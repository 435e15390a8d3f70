"""ZIP containers of office files and books, opened only when they can't be bombs."""

import io
import re
import struct
import zipfile
import zlib
from xml.parsers.expat import ExpatError

from pincite.domain.errors import ParseError, TooLarge

# Four times the largest file, in the memory of one worker.
MAX_UNPACKED_BYTES = 200_000_000
# Office files and books have tens to hundreds of parts.
MAX_ENTRIES = 5_000
# Deflate reaches about 1,000 to 1 on zeros; sheets of equal cells come to some tens. Chosen, not measured.
MAX_RATIO = 200
# However well packed, a megabyte is no bomb.
_SMALL_BYTES = 1_000_000
_XML_NAMES = (".xml", ".rels", ".opf", ".xhtml", ".html", ".htm", ".ncx")
# An XML part declares its document type before its root element, or not at all.
_SCAN_BYTES = 65_536
# What the libraries that read archives and office files raise on broken ones, none of them documented.
BROKEN = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError, RuntimeError, SyntaxError,
    TypeError, ValueError, ExpatError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_ROOT = re.compile(rb"<[A-Z_]")


def open_archive(body: bytes, *, allow_doctype: bool = False) -> zipfile.ZipFile:
    """The archive in `body`.

    Errors:
        ParseError: not a ZIP, encrypted, or its XML declares entities (or a document type unless allowed).
        TooLarge: unpacks to more than the limits, or packed suspiciously tight.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        entries = archive.infolist()
    except BROKEN as error:
        raise ParseError("the file is a broken archive", reason="archive_broken") from error
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES:
        raise TooLarge(f"the archive has {len(entries):,} entries", reason="too_many_entries")
    if unpacked > MAX_UNPACKED_BYTES:
        raise TooLarge(f"the archive unpacks to {unpacked:,} bytes", reason="archive_bomb")
    for entry in entries:
        if entry.file_size > _SMALL_BYTES and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
            raise TooLarge(f"{entry.filename} is packed more than {MAX_RATIO} to 1", reason="archive_bomb")
        if entry.flag_bits & 0x1:
            raise ParseError("the file is encrypted", reason="archive_encrypted")
        if entry.filename.lower().endswith(_XML_NAMES):
            _refuse_entities(archive, entry, allow_doctype=allow_doctype)
    return archive


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of one member.

    Errors:
        ParseError: it isn't there or is broken.
    """
    try:
        return archive.read(name)
    except BROKEN as error:
        raise ParseError(f"{name} can't be read from the archive", reason="archive_broken") from error


def _refuse_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *, allow_doctype: bool) -> None:
    try:
        with archive.open(entry) as member:
            head = member.read(_SCAN_BYTES).upper()
    except BROKEN as error:
        raise ParseError("the file is a broken archive", reason="archive_broken") from error
    head = head.replace(b"\0", b"")
    if b"<!ENTITY" in head or (b"<!DOCTYPE" in head and not allow_doctype):
        raise ParseError(f"{entry.filename} declares XML entities", reason="xml_entities")
    # What stands before the root may be padded to hide a declaration behind the part that is looked at.
    if entry.file_size > _SCAN_BYTES and not _ROOT.search(_COMMENT.sub(b"", head)):
        raise ParseError(f"{entry.filename} has no element at its start", reason="archive_broken")

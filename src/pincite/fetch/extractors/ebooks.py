"""EPUB and OpenDocument text to a Document, with the standard library and lxml, entities off.

Their ZIP containers, and those of office files, are opened only when they can't be bombs.
"""

import io
import posixpath
import re
import struct
import zipfile
import zlib
from contextlib import suppress
from urllib.parse import unquote
from xml.parsers.expat import ExpatError

from lxml import etree

from pincite.domain.errors import EmptyContent, ParseError, PinciteError, TooLarge
from pincite.domain.page import Block, Document
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean, decode
from pincite.fetch.extractors.dom import remove
from pincite.fetch.extractors.html import file_document, fragment_blocks, links_of
from pincite.fetch.extractors.metadata import parse_date
from pincite.fetch.extractors.tables import with_header

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


VERSION = VERSIONS["ebooks"]
# Chapters of a book, each a file of its own.
MAX_PARTS = 2_000
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_ODT_UNREAD = (f"{_TEXT}note", f"{_TEXT}tracked-changes", f"{_OFFICE}annotation")
# What elements and attributes of OpenDocument are in HTML; the others are parts of a line.
_ODT_TAGS = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list": "ul",
    f"{_TEXT}list-item": "li",
    f"{_TEXT}line-break": "br",
    f"{_TEXT}a": "a",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-header-rows": "thead",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
}
_ODT_ATTRIBUTES = {
    "{http://www.w3.org/1999/xlink}href": "href",
    f"{_TABLE}number-columns-spanned": "colspan",
    f"{_TABLE}number-rows-spanned": "rowspan",
}


def xml_root(content: bytes) -> etree._Element:
    """The root of an XML text, without entities, without network.

    Errors:
        ParseError: not well-formed.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ParseError("the XML is not well-formed", reason="xml_malformed") from error


def read_epub(body: bytes, url: str) -> Document:
    """The chapters of a book in reading order.

    Errors:
        ParseError, TooLarge, EmptyContent.
    """
    archive = open_archive(body, allow_doctype=True)
    container = xml_root(read_member(archive, "META-INF/container.xml"))
    rootfile = container.find(f".//{_CONTAINER}rootfile")
    path = rootfile.get("full-path") if rootfile is not None else None
    if not path:
        raise ParseError("the book has no package file", reason="epub_unreadable")
    package = xml_root(read_member(archive, path))
    parts = {item.get("id"): item.get("href") or "" for item in package.iter(f"{_OPF}item")}
    spine = [parts.get(item.get("idref"), "") for item in package.iter(f"{_OPF}itemref") if item.get("linear") != "no"]
    blocks: list[Block] = []
    for href in list(filter(None, dict.fromkeys(spine)))[:MAX_PARTS]:  # a chapter listed often is read once
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(href)))
        with suppress(PinciteError):  # a broken or empty chapter does not take the book with it
            blocks += fragment_blocks(decode(read_member(archive, name)), url, len(blocks))
    found = tuple(blocks)
    if not found:
        raise EmptyContent("the book has no text", reason="empty_page")
    names = ("title", "creator", "language", "date")
    fields = {name: clean(package.findtext(f".//{_DC}{name}") or "").strip() for name in names}
    return Document(
        "epub",
        VERSION,
        found,
        title=fields["title"],
        byline=fields["creator"],
        language=fields["language"].lower(),
        published_at=parse_date(fields["date"]),
        canonical_url=url.partition("#")[0],
        links=links_of(found),
    )


def read_odt(body: bytes, url: str) -> Document:
    """The text of an OpenDocument file.

    Errors:
        ParseError, TooLarge, EmptyContent.
    """
    root = xml_root(read_member(open_archive(body), "content.xml"))
    blocks = [with_header(block) for block in fragment_blocks(_odt_html(root), url)]
    return file_document("odt", VERSION, blocks, url)


def _odt_html(root: etree._Element) -> str:
    """The text as the HTML it stands for, without notes, remarks and what was taken out.

    Source: OpenDocument 1.3 part 3 §5 (paragraphs, lists), §6 (text), §9 (tables).
    """
    for element in list(root.iter(*_ODT_UNREAD)):
        remove(element)
    body = root.find(f".//{_OFFICE}text")
    for element in (root if body is None else body).iter(etree.Element):
        tag, known = element.tag, dict(element.attrib)
        element.attrib.clear()
        if tag in {f"{_TEXT}s", f"{_TEXT}tab"}:
            element.text = " "
        level = known.get(f"{_TEXT}outline-level", "1")
        element.tag = (
            f"h{min(int(level), 6) if level.isdigit() else 1}" if tag == f"{_TEXT}h" else _ODT_TAGS.get(tag, "span")
        )
        for name, meant in _ODT_ATTRIBUTES.items():
            if name in known:
                element.set(meant, known[name])
    return str(etree.tostring(root if body is None else body, encoding="unicode", method="html"))

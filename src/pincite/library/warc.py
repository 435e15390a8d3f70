"""Pages of a WARC: `resource` records and successful HTTP `response` records, with their provenance.

Source: ISO 28500:2017 (WARC 1.1). A record whose digest does not match its block is skipped and named, never read.
"""

import base64
import hashlib
import io
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import urldefrag

from pincite.domain.errors import ArchiveCorrupt
from pincite.domain.search import Skipped
from pincite.library.members import Damage, Member, member_at, members
from pincite.library.records import Ignored, RawPage, SourceLimits, is_archive, readable_type
from pincite.runtime.system import too_many_open_files

_ALGORITHMS = frozenset({"md5", "sha1", "sha256", "sha512"})
_SCHEMES = ("http://", "https://", "local:")
_HTTP_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")


class UnusablePage(Exception):
    """Why one record gives no page; stays inside this package."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def warc_pages(stream: BinaryIO, place: str, limits: SourceLimits) -> Iterator[RawPage | Skipped | Ignored]:
    """The pages of a WARC in file order, each with the note of a `metadata` record that follows and refers to it.

    Args:
        stream: the file, seekable.
        place: its name, for messages and notes.
        limits: bounds.

    Errors:
        ArchiveCorrupt: it is no WARC at all.
    """
    # One page is held back: the record that says where it came from follows it.
    held: tuple[str, RawPage] | None = None
    for member in members(stream, limits.page_bytes):
        note = _note(member) if isinstance(member, Member) else None
        if held and note and note[0] == held[0]:
            page = held[1]
            held = None
            yield replace(page, note=note[1] or page.note)
            continue
        if held:
            yield held[1]
            held = None
        outcome = _outcome(member, place, limits)
        if isinstance(outcome, RawPage) and isinstance(member, Member):
            held = (member.get("warc-record-id"), outcome)
        else:
            yield outcome
    if held:
        yield held[1]


def warc_page_at(stream: BinaryIO, page: RawPage, place: str, limits: SourceLimits) -> RawPage:
    """The page at a place that `warc_pages` gave before, its bytes read and checked again.

    Errors:
        ArchiveCorrupt: the file changed or is damaged there.
    """
    member = member_at(stream, page.offset, page.length, limits.page_bytes)
    try:
        found = _page(member, place, limits)
    except UnusablePage as problem:
        raise ArchiveCorrupt(f"{place}: the record at byte {page.offset}: {problem}", reason=problem.reason) from None
    if found is None or found.url != page.url:
        raise ArchiveCorrupt(f"{place} changed since it was indexed: index it again", reason="archive_changed")
    return found


@contextmanager
def open_archive(path: Path) -> Iterator[BinaryIO]:
    """The file, opened for reading.

    Errors:
        ArchiveCorrupt: it can't be opened.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        if (full := too_many_open_files(error)) is not None:
            raise full from error
        raise ArchiveCorrupt(f"{path.name} can't be read: {error.strerror}", reason="unreadable") from error
    with stream:
        yield stream


def _outcome(member: Member | Damage, place: str, limits: SourceLimits) -> RawPage | Skipped | Ignored:
    where = f"{place}, byte {member.offset}"
    if isinstance(member, Damage):
        return Skipped(where, member.reason, member.detail)
    try:
        return _page(member, place, limits) or Ignored(where)
    except UnusablePage as problem:
        return Skipped(f"{where}, {member.get('warc-target-uri') or 'no address'}", problem.reason, problem.detail)


def _page(member: Member, place: str, limits: SourceLimits) -> RawPage | None:
    """The page of a record, or None when the record holds none."""
    kind = member.get("warc-type")
    # Older writers put the address in angle brackets, as WARC 1.0 has it.
    url = urldefrag(member.get("warc-target-uri").strip("<>")).url
    if kind not in ("resource", "response") or not url.startswith(_SCHEMES):
        return None
    headers: dict[str, str] = {}
    content_type, payload = member.get("content-type"), member.block
    if kind == "response":
        answer = _http_message(member.block)
        if answer is None:
            return None
        headers, payload = answer
        content_type = headers.get("content-type", "")
    if not readable_type(content_type):
        return None
    # Over the payload as it was sent, before any coding is taken off: that is what the digest was made of.
    _check_digests(member, payload)
    body = _decoded(payload, headers, limits.page_bytes)
    captured_at = _date(member.get("warc-date"))
    return RawPage(
        url=url,
        body=body,
        content_type=content_type,
        captured_at=captured_at,
        note=f"from archive {place}, captured {captured_at:%Y-%m-%d %H:%M:%S} UTC",
        member=place,
        offset=member.offset,
        length=member.length,
    )


def _http_message(block: bytes) -> tuple[dict[str, str], bytes] | None:
    """Header fields (lower-case names) and raw payload of a 200 answer; None when it has another status."""
    head, _, payload = block.partition(b"\r\n\r\n")
    status = _HTTP_STATUS.match(head)
    if status is None:
        raise UnusablePage("bad_http", "the record holds no HTTP answer")
    if status.group(1) != b"200":
        return None
    fields: dict[str, str] = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.strip().lower()] = value.strip()
    return fields, payload


def _check_digests(member: Member, payload: bytes) -> None:
    """Refuse a block that its own digest contradicts. Where the block has a digest, the payload's is not needed."""
    for name, data in (("warc-block-digest", member.block), ("warc-payload-digest", payload)):
        algorithm, colon, expected = member.get(name).partition(":")
        if not colon or algorithm.lower() not in _ALGORITHMS:
            continue
        digest = hashlib.new(algorithm.lower(), data, usedforsecurity=False).digest()
        # Base32 as most writers have it, hexadecimal as some do.
        if expected.lower() != digest.hex() and expected.upper().rstrip("=") != base64.b32encode(
            digest
        ).decode().rstrip("="):
            raise UnusablePage("digest_mismatch", f"the {algorithm} digest of the record is not that of its bytes")
        return


def _decoded(payload: bytes, headers: dict[str, str], cap: int) -> bytes:
    """The body without chunked transfer and gzip or deflate coding. Other codings make the page unusable."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        payload = _dechunked(payload)
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in ("gzip", "x-gzip", "deflate"):
        payload = _inflated(payload, coding, cap)
    elif coding not in ("", "identity"):
        raise UnusablePage("content_encoding", f"content coding {coding[:40]!r}")
    if len(payload) > cap:
        raise UnusablePage("too_large", f"more than {cap} bytes")
    return payload


def _dechunked(payload: bytes) -> bytes:
    """The joined chunks; a body that was stored already joined is given unchanged."""
    stream, out = io.BytesIO(payload), bytearray()
    while True:
        line = stream.readline(64).split(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            return payload if not out else bytes(out)
        if size <= 0:
            return bytes(out)
        out += stream.read(size)
        stream.readline(4)


def _inflated(payload: bytes, coding: str, cap: int) -> bytes:
    # For deflate with its zlib header, as RFC 9110 §8.4.1.2 has it, and without, as many servers send it.
    tries = (31,) if coding != "deflate" else (15, -15)
    for wbits in tries:
        inflater = zlib.decompressobj(wbits=wbits)
        try:
            body = inflater.decompress(payload, cap + 1)
        except zlib.error:
            continue
        if inflater.eof or len(body) > cap:
            return body
    # Some writers store the decoded body beside the original header.
    if coding != "deflate" and not payload.startswith(b"\x1f\x8b"):
        return payload
    raise UnusablePage("content_encoding", f"the {coding} body is damaged")


def _date(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UnusablePage("bad_date", f"WARC-Date {text[:40]!r}") from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _note(member: Member) -> tuple[str, str] | None:
    """The record that a `metadata` record refers to and its `provenance` line, if it has one."""
    if member.get("warc-type") != "metadata" or "warc-fields" not in member.get("content-type"):
        return None
    target = member.get("warc-refers-to") or member.get("warc-concurrent-to")
    for line in member.block.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip().lower() == "provenance":
            return target, value.strip()[:1_000]
    return target, ""


# Pages of a WACZ: the WARC files below `archive/` of a zip, read in place.

# Small archives stay in memory, larger ones go to a temporary file.
_SPOOL_MEMORY = 16_000_000
# It is written to the disk while it is read: below what fills one. Chosen, not measured.
_MEMBER_CAP = 20_000_000_000
# Fixed part of a local file header, APPNOTE.TXT §4.3.7.
_LOCAL_HEADER = 30


class _Window(io.RawIOBase):
    """The bytes `[start, start + size)` of a file as a file of its own: a stored zip member without a copy."""

    def __init__(self, stream: BinaryIO, start: int, size: int) -> None:
        self._stream, self._start, self._size, self._position = stream, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        base = (0, self._position, self._size)[whence]
        self._position = min(max(base + offset, 0), self._size)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        left = self._size - self._position
        wanted = left if size < 0 else min(size, left)
        self._stream.seek(self._start + self._position)
        data = self._stream.read(wanted)
        self._position += len(data)
        return data


def wacz_pages(path: Path, place: str, limits: SourceLimits) -> Iterator[RawPage | Skipped | Ignored]:
    """The pages of all WARC files of the WACZ. A damaged member is skipped and named.

    Errors:
        ArchiveCorrupt: it is no zip, or holds no WARC.
    """
    with _zip(path) as (stream, archive):
        names = [n for n in archive.namelist() if n.startswith("archive/") and is_archive(n)]
        if not names:
            raise ArchiveCorrupt(f"{place} holds no WARC below archive/", reason="not_a_wacz")
        for name in names:
            try:
                with _member(stream, archive, name) as member:
                    for found in warc_pages(member, place, limits):
                        yield replace(found, member=name) if isinstance(found, RawPage) else found
            except (zipfile.BadZipFile, ArchiveCorrupt) as error:
                yield Skipped(f"{place}, {name}", "archive_corrupt", str(error))


def wacz_page_at(path: Path, page: RawPage, place: str, limits: SourceLimits) -> RawPage:
    """The page at a place that `wacz_pages` gave before, its bytes read and checked again.

    Errors:
        ArchiveCorrupt: the file changed or is damaged there.
    """
    with _zip(path) as (stream, archive):
        if page.member not in archive.namelist():
            raise ArchiveCorrupt(f"{place} changed since it was indexed: index it again", reason="archive_changed")
        with _member(stream, archive, page.member) as member:
            return warc_page_at(member, page, place, limits)


@contextmanager
def _zip(path: Path) -> Iterator[tuple[BinaryIO, zipfile.ZipFile]]:
    with open_archive(path) as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ArchiveCorrupt(
                f"{path.name} is no readable zip: {error}",
                hint="Get the file once more; a folder of pages is read as it is.",
                reason="not_a_wacz",
            ) from error
        with archive:
            yield stream, archive


@contextmanager
def _member(stream: BinaryIO, archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    info = archive.getinfo(name)
    # As WACZ asks for its archives: then a page is read at its place without unpacking what stands before it.
    if info.compress_type == zipfile.ZIP_STORED:
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
            raise ArchiveCorrupt(f"the zip entry {name} is damaged", reason="archive_corrupt")
        # Name and extra field may be longer here than in the directory.
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        yield cast("BinaryIO", _Window(stream, info.header_offset + _LOCAL_HEADER + skip, info.file_size))
        return
    if info.file_size > _MEMBER_CAP:
        raise ArchiveCorrupt(f"the zip entry {name} is larger than {_MEMBER_CAP} bytes", reason="too_large")
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_MEMORY) as spool, archive.open(name) as packed:
        shutil.copyfileobj(packed, spool)
        spool.seek(0)
        yield cast("BinaryIO", spool)

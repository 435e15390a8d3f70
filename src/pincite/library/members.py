"""The records of a WARC file as byte ranges: sequential reading that survives damage, and reading one record again.

A record that can't be read is given as `Damage` and reading goes on at the next record that can.
"""

import zlib
from collections.abc import Iterator
from dataclasses import field
from typing import BinaryIO

from pincite.domain.errors import ArchiveCorrupt
from pincite.domain.frozen import dataclass

# RFC 1952 §2.3.1, and the only compression method that exists.
_GZIP_MAGIC = b"\x1f\x8b\x08"
# Read and unpacked at a time: a damaged record can't make a process grow.
_CHUNK = 1 << 16
# HTTP and WARC headers before the body; servers refuse longer ones.
_HEADER_CAP = 1 << 16
_RECORD_END = b"\r\n\r\n"
_START = b"WARC/"


@dataclass(frozen=True, slots=True)
class Member:
    """One record: its place in the file, its header fields (lower-case names) and its block."""

    offset: int
    length: int
    header: tuple[tuple[str, str], ...]
    block: bytes = field(repr=False)

    def get(self, name: str, default: str = "") -> str:
        """The first value of a header field."""
        return next((value for key, value in self.header if key == name), default)


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of the file that is no readable record, with a code and words for it."""

    offset: int
    reason: str
    detail: str


def members(stream: BinaryIO, record_bytes: int) -> Iterator[Member | Damage]:
    """The records of a WARC, compressed record by record or not at all, in file order.

    Args:
        stream: the file, seekable.
        record_bytes: longest record that is kept; a longer one is given as Damage `too_large`.

    Errors:
        ArchiveCorrupt: it does not begin like a WARC, or it is one single gzip stream.
    """
    stream.seek(0)
    head = stream.read(len(_GZIP_MAGIC))
    if head == _GZIP_MAGIC:
        return _checked(_gzip_members(stream, record_bytes))
    stream.seek(0)
    if stream.read(len(_START)) != _START:
        raise ArchiveCorrupt("the file does not begin like a WARC", reason="not_a_warc")
    return _plain_members(stream, record_bytes)


def member_at(stream: BinaryIO, offset: int, length: int, record_bytes: int) -> Member:
    """The record at a place that `members` gave before.

    Errors:
        ArchiveCorrupt: the file changed or is damaged there.
    """
    stream.seek(offset)
    data = stream.read(length)
    found: Member | Damage
    if data.startswith(_GZIP_MAGIC):
        inflater = zlib.decompressobj(wbits=31)
        try:
            data = inflater.decompress(data, record_bytes + _HEADER_CAP)
        except zlib.error as error:
            raise ArchiveCorrupt(f"the record at byte {offset} is damaged: {error}", reason="bad_gzip") from error
    found = _parse(data, offset, length)
    if isinstance(found, Damage):
        raise ArchiveCorrupt(f"the record at byte {offset} is damaged: {found.detail}", reason=found.reason)
    return found


def _checked(found: Iterator[Member | Damage]) -> Iterator[Member | Damage]:
    """The same, after refusing files that are not compressed record by record: records could not be found again."""
    first = next(found, None)
    if isinstance(first, Damage) and first.reason in ("not_a_record", "record_length"):
        raise ArchiveCorrupt(
            "the WARC is not compressed record by record",
            reason="single_gzip_stream",
            hint="Rewrite it first: warcio recompress IN OUT",
        )
    if first is not None:
        yield first
    yield from found


def _gzip_members(stream: BinaryIO, record_bytes: int) -> Iterator[Member | Damage]:
    offset: int | None = 0
    while offset is not None:
        data, length, problem = _inflate(stream, offset, record_bytes + _HEADER_CAP)
        if length == 0:
            return
        if problem:
            yield Damage(offset, problem[0], problem[1])
        else:
            yield _parse(data, offset, length)
        if problem is None or problem[0] == "too_large":
            offset += length
        else:  # the length of the stretch is unknown: where the next gzip member with a WARC record begins
            starts = _places(stream, offset + 1, _GZIP_MAGIC)
            offset = next((place for place in starts if _begins_record(stream, place)), None)


def _inflate(stream: BinaryIO, offset: int, cap: int) -> tuple[bytes, int, tuple[str, str] | None]:
    """Unpacked bytes, packed length and the problem (code, words) of the gzip member at `offset`."""
    stream.seek(offset)
    inflater = zlib.decompressobj(wbits=31)
    out = bytearray()
    consumed, over = 0, False
    while not inflater.eof:
        packed = stream.read(_CHUNK)
        if not packed:
            return b"", consumed, ("truncated", "the file ends inside a record") if consumed else None
        consumed += len(packed)
        try:
            while packed and not inflater.eof:
                out += inflater.decompress(packed, _CHUNK)
                packed = inflater.unconsumed_tail
                if len(out) > cap:
                    over = True
                    # Read on and not kept: without the length of this record the next one can't be found.
                    out.clear()
        except zlib.error as error:
            return b"", consumed, ("bad_gzip", str(error))
    length = consumed - len(inflater.unused_data)
    return bytes(out), length, ("too_large", f"more than {cap} bytes") if over else None


def _places(stream: BinaryIO, offset: int, mark: bytes) -> Iterator[int]:
    """Where the mark stands from `offset` on; whoever asks may move the stream."""
    tail, base = b"", offset
    stream.seek(base)
    while chunk := stream.read(_CHUNK):
        window = tail + chunk
        position = window.find(mark)
        while position != -1:
            yield base - len(tail) + position
            position = window.find(mark, position + 1)
        base += len(chunk)
        # The mark may lie across two chunks.
        tail = window[-(len(mark) - 1) :]
        stream.seek(base)


def _begins_record(stream: BinaryIO, place: int) -> bool:
    stream.seek(place)
    try:
        return zlib.decompressobj(wbits=31).decompress(stream.read(512), len(_START)) == _START
    except zlib.error:
        return False


def _plain_members(stream: BinaryIO, record_bytes: int) -> Iterator[Member | Damage]:
    size = stream.seek(0, 2)
    offset: int | None = 0
    while offset is not None and offset < size:
        stream.seek(offset)
        head = stream.read(min(_HEADER_CAP, size - offset))
        end = head.find(_RECORD_END)
        fields = _header(head[:end]) if end != -1 else ()
        length = _content_length(fields)
        total = end + len(_RECORD_END) + (length or 0)
        if length is None or offset + total > size:
            if length is None:
                yield Damage(offset, "not_a_record", "no readable record header")
            else:
                yield Damage(offset, "truncated", "the file ends inside a record, or its length is wrong")
            offset = _next_plain_start(stream, offset + 1)
            continue
        if length > record_bytes:
            yield Damage(offset, "too_large", f"more than {record_bytes} bytes")
        else:
            stream.seek(offset)
            yield _parse(stream.read(total), offset, total)
        offset = _after(stream, offset + total)


def _after(stream: BinaryIO, offset: int) -> int | None:
    """Where the next record begins: after two line ends, else wherever one can be found."""
    stream.seek(offset)
    following = stream.read(len(_RECORD_END) + len(_START))
    if following == _RECORD_END + _START:
        return offset + len(_RECORD_END)
    return _next_plain_start(stream, offset)


def _next_plain_start(stream: BinaryIO, offset: int) -> int | None:
    return next((place + 2 for place in _places(stream, offset, b"\r\n" + _START)), None)


def _parse(data: bytes, offset: int, length: int) -> Member | Damage:
    end = data.find(_RECORD_END)
    fields = _header(data[:end]) if end != -1 else ()
    size = _content_length(fields)
    if size is None:
        return Damage(offset, "not_a_record", "no readable record header")
    block = data[end + len(_RECORD_END) :]
    if len(block) < size or block[size:].strip(b"\r\n"):
        return Damage(offset, "record_length", f"the record says {size} bytes and has {len(block)}")
    return Member(offset, length, fields, block[:size])


def _header(head: bytes) -> tuple[tuple[str, str], ...]:
    """Field names (lower case) and values, or nothing when it is not a WARC record header."""
    lines = head.decode("utf-8", "replace").split("\r\n")
    # 1.0 and 1.1 have the same header.
    if not lines[0].startswith("WARC/1."):
        return ()
    fields: list[tuple[str, str]] = []
    for line in lines[1:]:
        # WARC 1.0 §4: a field may go on in a line that begins with white space.
        if line[:1] in (" ", "\t") and fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if not colon:
            return ()
        fields.append((name.strip().lower(), value.strip()))
    return tuple(fields)


def _content_length(fields: tuple[tuple[str, str], ...]) -> int | None:
    value = next((value for name, value in fields if name == "content-length"), "")
    return int(value) if value.isascii() and value.isdigit() else None

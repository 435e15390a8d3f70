"""Pages of a WACZ: the WARC files below `archive/` of a zip, read in place.

Source: WACZ 1.1.1 (specs.webrecorder.net). Members that were deflated are spooled to a temporary file first.
"""

import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from pincite.domain.errors import ArchiveCorrupt
from pincite.domain.library import Skipped
from pincite.library.records import Ignored, RawPage, SourceLimits, is_archive
from pincite.library.warc import open_archive, warc_page_at, warc_pages

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
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """The new position."""
        base = (0, self._position, self._size)[whence]
        self._position = min(max(base + offset, 0), self._size)
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, all to the end for a negative size."""
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
            raise ArchiveCorrupt(f"{path.name} is no readable zip: {error}", reason="not_a_wacz") from error
        with archive:
            yield stream, archive


@contextmanager
def _member(stream: BinaryIO, archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    info = archive.getinfo(name)
    if info.compress_type == zipfile.ZIP_STORED:
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
            raise ArchiveCorrupt(f"the zip entry {name} is damaged", reason="archive_corrupt")
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        yield cast("BinaryIO", _Window(stream, info.header_offset + _LOCAL_HEADER + skip, info.file_size))
        return
    if info.file_size > _MEMBER_CAP:
        raise ArchiveCorrupt(f"the zip entry {name} is larger than {_MEMBER_CAP} bytes", reason="too_large")
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_MEMORY) as spool, archive.open(name) as packed:
        shutil.copyfileobj(packed, spool)
        spool.seek(0)
        yield cast("BinaryIO", spool)

"""Reading an evidence bundle again: is every byte as it was written, and what did the report rest on?

Layer by layer, each naming what differs: the list of files with its own hash, each file with its SHA-256 in the list,
the files with those that the report and its evidence make (`bundle_content`), and the container with one made anew of
the same files. Nothing is unpacked to disk.
"""

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pincite.domain.codec import from_json
from pincite.domain.errors import (
    ArchiveCorrupt,
    LibraryNotFound,
    ParseError,
    PinciteError,
    StorageUnavailable,
    TooLarge,
)
from pincite.domain.events import Json
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Kept, Snapshot
from pincite.exports.bundle_content import content_problems, json_object
from pincite.exports.codec import load_report, parse
from pincite.exports.wacz import ARCHIVE, CAPTURES, DOCUMENTS, EVENTS, PACKAGE, PACKAGE_DIGEST, REPORT, zip_bytes
from pincite.exports.warc_records import body_at

T = TypeVar("T")

# Some hundred pages of some megabytes each. Chosen, not measured.
MAX_BUNDLE_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class BundleProblem:
    """What is not as it was written: `where` is a file of the bundle, or `container`."""

    where: str
    what: str


class Bundle:
    """A bundle in memory. Implements ports.EvidenceSource; what was tampered with is given as it is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._files = _files(data)
        self._captures = dict(self._keyed(CAPTURES, "snapshot_id"))
        self._documents = dict(self._keyed(DOCUMENTS, "document_id"))

    @classmethod
    def open(cls, path: Path) -> "Bundle":
        """The bundle in a file.

        Errors:
            LibraryNotFound: there is no such file, or it can't be read.
            ArchiveCorrupt: it is no bundle, or too damaged to be looked into.
            TooLarge: above 2 GB.
        """
        try:
            if path.stat().st_size > MAX_BUNDLE_BYTES:
                raise TooLarge(f"{path} is larger than {MAX_BUNDLE_BYTES} bytes")
            data = path.read_bytes()
        except OSError as error:
            raise LibraryNotFound(f"{path} can't be read: {error.strerror}", reason="bundle_not_found") from error
        return cls(data)

    @property
    def report(self) -> dict[str, Json]:
        """The report JSON. Errors: ParseError."""
        return parse(self._files[REPORT])

    def events(self) -> Iterator[dict[str, Json]]:
        """The run's events in order, those that can be read."""
        return _json_lines(self._files.get(EVENTS, b""))

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture with its body, or None when the bundle does not hold it. Errors: StorageUnavailable (damaged)."""
        entry = self._captures.get(snapshot_id)
        if entry is None:
            return None
        record = entry.get("record")
        values = {name: value for name, value in entry.items() if name != "record"}
        # The page may not be passed on whole: the bundle holds its passages and hashes, no body.
        if entry.get("kept", Kept.FULL) != Kept.FULL:
            return _value(Snapshot, {**values, "body": ""}, CAPTURES)
        if not isinstance(record, dict):
            return None
        offset, length = record.get("offset"), record.get("length")
        # Anybody can have written the list: a negative offset would count from the end.
        if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length < 0:
            return None
        try:
            body = body_at(self._files.get(ARCHIVE, b""), offset, length)
        except ValueError:
            return None
        return _value(Snapshot, {**values, "body": base64.b64encode(body).decode("ascii")}, CAPTURES)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document stored under this id, or None. Errors: StorageUnavailable (damaged)."""
        entry = self._documents.get(document_id)
        return _value(Document, entry["document"], DOCUMENTS) if entry and "document" in entry else None

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What is kept in place of the document, or None. Errors: StorageUnavailable (damaged)."""
        entry = self._documents.get(document_id)
        return _value(Excerpts, entry["excerpts"], DOCUMENTS) if entry and "excerpts" in entry else None

    def problems(self) -> tuple[BundleProblem, ...]:
        """Everything that is not as it was written; empty for an untouched bundle."""
        found = [*self._list_problems(), *self._file_problems(), *self._record_problems()]
        try:
            report = load_report(self.report)
        except PinciteError:
            pass  # what is wrong with the report itself is for `check_report` to say
        else:
            made = content_problems(self._files, report, self)
            known = {problem.where for problem in found}
            found += [BundleProblem(where, what) for where, what in made if where not in known]
        rebuilt = zip_bytes(self._files)
        # Only when all else holds: a file that was changed changes the container as well.
        if not found and rebuilt != self._data:
            place = next(
                (i for i, (a, b) in enumerate(zip(rebuilt, self._data, strict=False)) if a != b),
                min(len(rebuilt), len(self._data)),
            )
            found.append(BundleProblem("container", f"the zip differs from the one written, from byte {place} on"))
        return tuple(found)

    def _list_problems(self) -> Iterator[BundleProblem]:
        """The list of files against its own hash."""
        for name in (PACKAGE, PACKAGE_DIGEST):
            if name not in self._files:
                yield BundleProblem(name, "is missing")
        expected = json_object(self._files.get(PACKAGE_DIGEST, b""))
        wanted = {"path": PACKAGE, "hash": f"sha256:{sha256_hex(self._files.get(PACKAGE, b''))}"}
        if PACKAGE_DIGEST in self._files and expected != wanted:
            yield BundleProblem(PACKAGE, f"its SHA-256 is not the one in {PACKAGE_DIGEST}")

    def _file_problems(self) -> Iterator[BundleProblem]:
        """Each file against the list, and the list against the files."""
        resources = json_object(self._files.get(PACKAGE, b"")).get("resources")
        listed = {}
        for entry in resources if isinstance(resources, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("path"), str):
                listed[str(entry["path"])] = entry
        for path, entry in listed.items():
            data = self._files.get(path)
            if data is None:
                yield BundleProblem(path, "is missing")
            elif entry.get("bytes") != len(data):
                yield BundleProblem(path, f"has {len(data)} bytes, the list says {entry.get('bytes')}")
            elif entry.get("hash") != f"sha256:{sha256_hex(data)}":
                yield BundleProblem(path, "its SHA-256 is not the one in the list")
        for path in self._files:
            if path not in listed and path not in (PACKAGE, PACKAGE_DIGEST):
                yield BundleProblem(path, "is not in the list of files")

    def _record_problems(self) -> Iterator[BundleProblem]:
        """Each capture's body against its hash, so that a changed page is named and not only its file."""
        for snapshot_id, entry in self._captures.items():
            try:
                snapshot = self.snapshot(snapshot_id)
            except StorageUnavailable as error:
                yield BundleProblem(CAPTURES, f"{snapshot_id}: {error.message}")
                continue
            if snapshot is None:
                yield BundleProblem(ARCHIVE, f"the capture of {entry.get('final_url')} can't be read")
            elif snapshot.kept is Kept.FULL and sha256_hex(snapshot.body) != snapshot.body_sha256:
                yield BundleProblem(ARCHIVE, f"the capture of {snapshot.final_url} is not what was captured")

    def _keyed(self, file: str, key: str) -> Iterator[tuple[str, dict[str, Json]]]:
        for entry in _json_lines(self._files.get(file, b"")):
            if isinstance(entry.get(key), str):
                yield str(entry[key]), entry


def _files(data: bytes) -> dict[str, bytes]:
    """All files of the zip; a file whose own checksum fails is given as its raw bytes, to be named later."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as error:
        raise ArchiveCorrupt(f"this is no readable bundle: {error}", reason="not_a_bundle") from error
    files: dict[str, bytes] = {}
    left = MAX_BUNDLE_BYTES
    with archive:
        for info in archive.infolist():
            left -= info.file_size
            # Only stored members are written: a compressed one is not ours, and could be a bomb.
            if left < 0 or info.compress_type != zipfile.ZIP_STORED:
                raise ArchiveCorrupt(f"{info.filename[:80]!r} is not stored as bundles are", reason="not_a_bundle")
            files[info.filename] = _stored(archive, info, data)
    if REPORT not in files:
        raise ArchiveCorrupt(f"the zip holds no {REPORT}", reason="not_a_bundle")
    return files


def _stored(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: bytes) -> bytes:
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, RuntimeError, NotImplementedError):
        # APPNOTE.TXT §4.3.7: 30 bytes, the name, and no extra field in files that we write.
        start = info.header_offset + 30 + len(info.filename.encode())
        return data[start : start + info.file_size]


def _json_lines(data: bytes) -> Iterator[dict[str, Json]]:
    return filter(None, map(json_object, data.split(b"\n")))


def _value(kind: type[T], data: Json, file: str) -> T:
    try:
        return from_json(kind, data)
    except ParseError as error:
        raise StorageUnavailable(
            f"{file} of the bundle is damaged: {error.message}", reason="bundle_damaged"
        ) from error

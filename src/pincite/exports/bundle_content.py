"""Whether a bundle holds what its report rests on and nothing else: every record, line and file that a reader can open.

The hashes of a bundle prove nothing to who made them anew. So the files that follow from others (Markdown, archive,
index, list of pages) are made again from the report and its evidence, and what has no place among them is named.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence

from pincite.domain.errors import PinciteError
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept, Snapshot
from pincite.domain.report import Report
from pincite.exports.codec import duplicate_members
from pincite.exports.wacz import (
    ARCHIVE,
    CAPTURES,
    DOCUMENTS,
    EVENTS,
    INDEX,
    MARKDOWN,
    PACKAGE,
    PACKAGE_DIGEST,
    PAGES,
    REPORT,
    Placed,
    Reading,
    cited_evidence,
    head_record,
    index_lines,
    page_lines,
    records_of,
)
from pincite.ports import EvidenceSource

# (which file, what is wrong with it).
Found = Iterator[tuple[str, str]]

_FILES = frozenset({ARCHIVE, INDEX, PAGES, REPORT, MARKDOWN, EVENTS, CAPTURES, DOCUMENTS, PACKAGE, PACKAGE_DIGEST})
_PACKAGE_MEMBERS = frozenset({"profile", "wacz_version", "software", "title", "created", "resources"})
_RESOURCE_MEMBERS = frozenset({"name", "path", "hash", "bytes"})
_SOFTWARE = b"software: "
# Above any page that is fetched or read: what unpacks to more is no record of ours.
_MAX_RECORD_BYTES = 256_000_000
# Unpacked piece by piece, so that what grows beyond the bound is stopped on the way.
_PIECE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class _Lying:
    """A record as it lies in the archive, unpacked, or `data` None for bytes that are none."""

    offset: int
    length: int
    data: bytes | None

    def header(self, name: str) -> str:
        """The value of a header field, or nothing."""
        head = (self.data or b"").partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
        fields = (line.partition(": ") for line in head.split("\r\n")[1:])
        return next((value for field, _, value in fields if field.lower() == name.lower()), "")


def content_problems(files: Mapping[str, bytes], report: Report, evidence: EvidenceSource) -> Found:
    """What of the files does not follow from the report and its evidence."""
    yield from ((name, "is no part of a bundle") for name in files if name not in _FILES)
    if files.get(MARKDOWN, b"") != report.markdown.encode("utf-8", "backslashreplace"):
        yield MARKDOWN, "is not the Markdown of the report"
    yield from _json_problems(files)
    yield from _package_problems(json_object(files.get(PACKAGE, b"")), report)
    yield from _event_problems(files.get(EVENTS, b""), report)
    try:
        cited = tuple(cited_evidence(report, evidence))
    except PinciteError:
        return  # what is missing or damaged is told where it is looked at
    lying = tuple(_records(files.get(ARCHIVE, b"")))
    placed = _placed(files.get(CAPTURES, b""), [snapshot for snapshot, _ in cited])
    yield from _archive_problems(lying, report, cited)
    yield from _place_problems(placed, lying)
    yield from _list_problems(files, cited)
    held = [item for item in placed if item.length]
    yield from _line_problems(INDEX, _unpacked(files.get(INDEX, b"")), sorted(index_lines(held)))
    yield from _line_problems(PAGES, files.get(PAGES, b""), list(page_lines(report, held)))


def _records(archive: bytes) -> Iterator[_Lying]:
    """Every gzip member of the archive, one after the other, to its last byte."""
    view = memoryview(archive)
    offset = 0
    while offset < len(archive):
        inflater = zlib.decompressobj(wbits=31)
        data, read = bytearray(), offset
        try:
            while not inflater.eof and read < len(archive) and len(data) <= _MAX_RECORD_BYTES:
                data += inflater.decompress(view[read : read + _PIECE_BYTES])
                read += _PIECE_BYTES
        except zlib.error:
            data.clear()
        if not inflater.eof:
            yield _Lying(offset, len(archive) - offset, None)
            return
        end = min(read, len(archive)) - len(inflater.unused_data)
        yield _Lying(offset, end - offset, bytes(data))
        offset = end


def _archive_problems(
    lying: Sequence[_Lying], report: Report, cited: Sequence[tuple[Snapshot, tuple[Reading, ...]]]
) -> Found:
    """Each record against those that the report's evidence makes."""
    wanted = {
        record.unpacked(): snapshot.final_url
        for snapshot, documents in cited
        for record in records_of(snapshot, documents)
    }
    addresses = set(wanted.values())
    left = dict(wanted)
    for number, record in enumerate(lying):
        where = f"the record at byte {record.offset}"
        if record.data is None:
            yield ARCHIVE, f"from byte {record.offset} on there are {record.length} bytes that are no record"
        # The first record names the version that wrote the file: compared under that name, not under ours.
        elif number == 0:
            software = record.data.partition(_SOFTWARE)[2].partition(b"\r\n")[0].decode("utf-8", "replace")
            if not software.startswith("Pincite ") or record.data != head_record(report, software).unpacked():
                yield ARCHIVE, f"{where} is not the one that says what the file is"
        # Taken out: a record that lies there twice is found the second time.
        elif left.pop(record.data, None) is None:
            url, kind = record.header("WARC-Target-URI"), record.header("WARC-Type")
            second = " for an address that has one" if url in addresses else ""
            yield ARCHIVE, f"{where} ({kind} of {url}) is another{second}, and the report does not rest on it"
    yield from ((ARCHIVE, f"a record of {url} is missing or was changed") for url in left.values())


def _placed(captures: bytes, cited: Sequence[Snapshot]) -> list[Placed]:
    """Where the list of captures says that their records lie, in its order."""
    known = {snapshot.snapshot_id: snapshot for snapshot in cited}
    found: list[Placed] = []
    for line in captures.split(b"\n"):
        entry = json_object(line)
        snapshot = known.get(str(entry.get("snapshot_id")))
        record = entry.get("record")
        place = record if isinstance(record, dict) else {}
        offset, length = place.get("offset"), place.get("length")
        if snapshot is not None:
            found.append(
                Placed(snapshot, offset if isinstance(offset, int) else 0, length if isinstance(length, int) else 0)
            )
    return found


def _place_problems(placed: Sequence[Placed], lying: Sequence[_Lying]) -> Found:
    at = {(record.offset, record.length): record for record in lying}
    for item in placed:
        if item.snapshot.kept is not Kept.FULL:
            continue
        record = at.get((item.offset, item.length))
        if record is None or record.header("WARC-Target-URI") != item.snapshot.final_url:
            yield CAPTURES, f"at byte {item.offset} there is no record of {item.snapshot.final_url}"


def _list_problems(files: Mapping[str, bytes], cited: Sequence[tuple[Snapshot, tuple[Reading, ...]]]) -> Found:
    """Whether captures and documents are those that the report cites, each once."""
    wanted = {
        CAPTURES: ("snapshot_id", {snapshot.snapshot_id for snapshot, _ in cited}),
        DOCUMENTS: ("document_id", {document.document_id for _, documents in cited for document in documents}),
    }
    for name, (key, ids) in wanted.items():
        seen: set[str] = set()
        for number, line in enumerate(files.get(name, b"").split(b"\n"), 1):
            if not line:
                continue
            found = str(json_object(line).get(key))
            if found not in ids:
                yield name, f"line {number} is of nothing that the report cites"
            elif found in seen:
                yield name, f"line {number} is a second one of {found}"
            seen.add(found)


def _line_problems(name: str, data: bytes, wanted: Sequence[str]) -> Found:
    if data != "".join(f"{line}\n" for line in wanted).encode("utf-8", "backslashreplace"):
        lines = data.decode("utf-8", "replace").splitlines()
        pairs = zip(lines, wanted, strict=False)
        number = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), min(len(lines), len(wanted)) + 1)
        yield name, f"line {number} is not what the captures make"


def _json_problems(files: Mapping[str, bytes]) -> Found:
    """Members that stand twice in one object: readers differ in which one they see."""
    for name in (REPORT, PACKAGE, PACKAGE_DIGEST):
        for member in duplicate_members(files.get(name, b"")):
            yield name, f"has the member {member!r} twice"
    for name in (PAGES, EVENTS, CAPTURES, DOCUMENTS):
        for number, line in enumerate(files.get(name, b"").split(b"\n"), 1):
            for member in duplicate_members(line):
                yield name, f"line {number} has the member {member!r} twice"


def _package_problems(package: Mapping[str, Json], report: Report) -> Found:
    if package and package.get("title") != (report.title or report.question):
        yield PACKAGE, "its title is not that of the report"
    yield from ((PACKAGE, f"has the unknown member {name!r}") for name in package if name not in _PACKAGE_MEMBERS)
    resources = package.get("resources")
    for entry in resources if isinstance(resources, list) else []:
        if isinstance(entry, dict) and not set(entry) <= _RESOURCE_MEMBERS:
            yield PACKAGE, f"the entry of {entry.get('path')} has unknown members"


def _event_problems(events: bytes, report: Report) -> Found:
    last = 0
    for number, line in enumerate(events.split(b"\n"), 1):
        if not line:
            continue
        entry = json_object(line)
        sequence = entry.get("seq")
        if entry.get("run_id") != report.run_id:
            yield EVENTS, f"line {number} is of another run"
        # Rising, not gapless: a run's events are numbered across its owners.
        if not isinstance(sequence, int) or sequence <= last:
            yield EVENTS, f"line {number} is not the next event"
        else:
            last = sequence


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return b""


def json_object(data: bytes) -> dict[str, Json]:
    """The JSON object in `data`; empty where there is none."""
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

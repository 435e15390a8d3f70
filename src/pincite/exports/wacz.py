"""The evidence bundle: a report with every page it cites, as one WACZ that web archive players open."""

import gzip
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC
from urllib.parse import urlsplit

from pincite.domain.codec import to_json
from pincite.domain.errors import NotFound
from pincite.domain.events import Event, Json
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Kept, Snapshot
from pincite.domain.report import Report
from pincite.domain.version import VERSION
from pincite.exports.codec import dump, dump_report, event_json
from pincite.exports.warc_records import Record, capture_record, digest, provenance_record, stamp, text_record, warcinfo
from pincite.ports import EvidenceSource
from pincite.urls.masking import mask_secrets

# A zip written byte for byte by rule: stored entries, one fixed time, no extras. The same files give the same bytes.
#
# Python's own writer is not used because its headers changed between versions; a reader can so compare a whole
# bundle.

# Local file header, APPNOTE.TXT §4.3.7. Written here so that the same report gives the same bytes.
_LOCAL = struct.Struct("<4s5H3L2H")
# Central directory header, APPNOTE.TXT §4.3.12.
_CENTRAL = struct.Struct("<4s6H3L5H2L")
# End of central directory record, APPNOTE.TXT §4.3.16.
_END = struct.Struct("<4s4H2LH")
# Source: PKWARE APPNOTE 6.3. Version 2.0 is the oldest that knows folders; bit 11 says that names are UTF-8; the first
# day that DOS dates can say; mode 0644 of a regular file, in the upper half as Unix keeps it; 3 above is Unix.
_VERSION = 20
# General purpose bit 11: names are UTF-8 (APPNOTE.TXT §4.4.4).
_UTF8_NAMES = 0x800
# 1980-01-01, the first day that the format knows: times of writing would make the bytes differ.
_DATE_1980 = 0x21
# External attributes of Unix: a file that its owner may write and all may read.
_REGULAR_FILE = 0o100644 << 16
# "Version made by": Unix, in the upper byte (APPNOTE.TXT §4.4.2).
_UNIX = 3 << 8
# What sizes and offsets can say without ZIP64, which is not written here.
MAX_BYTES = 0xFFFFFFFF


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """The zip with these files in the order given.

    Source: PKWARE APPNOTE 6.3.9 §4.3, without Zip64: `ValueError` above 4 GB or 65,535 files.
    """
    out, central = bytearray(), bytearray()
    for name, data in files.items():
        encoded, size, crc = name.encode(), len(data), zlib.crc32(data)
        central += _CENTRAL.pack(
            b"PK\x01\x02", _UNIX | _VERSION, _VERSION, _UTF8_NAMES, 0, 0, _DATE_1980, crc, size, size,
            len(encoded), 0, 0, 0, 0, _REGULAR_FILE, len(out),
        ) + encoded  # fmt: skip  # in the order of the format
        out += _LOCAL.pack(b"PK\x03\x04", _VERSION, _UTF8_NAMES, 0, 0, _DATE_1980, crc, size, size, len(encoded), 0)
        out += encoded + data
    # The end record counts files in two bytes (APPNOTE 4.3.16); sizes beyond four bytes need Zip64.
    if len(files) > 0xFFFF or len(out) + len(central) > MAX_BYTES:
        raise ValueError("too much for one zip without Zip64")
    end = _END.pack(b"PK\x05\x06", 0, 0, len(files), len(files), len(central), len(out), 0)
    return bytes(out + central + end)


# archive/data.warc.gz      each cited capture, its provenance, the text read out of it
# indexes/index.cdx.gz      where each capture lies
# pages/pages.jsonl         the cited pages, for players
# pincite/answer.json       the report; answer.md its Markdown; events.jsonl the run's events
# pincite/captures.jsonl    all of a capture but its body
# pincite/documents.jsonl   what was read, block by block
# datapackage.json          size and SHA-256 of every file; datapackage-digest.json the hash of that list
#
# Source: WACZ 1.1.1 (specs.webrecorder.net/wacz/1.1.1), Frictionless Data Package.

WACZ_VERSION = "1.1.1"
ARCHIVE = "archive/data.warc.gz"
INDEX = "indexes/index.cdx.gz"
PAGES = "pages/pages.jsonl"
# Not report.json: Data Package tools take a file of that name for one of their own validation reports.
REPORT = "pincite/answer.json"
MARKDOWN = "pincite/answer.md"
EVENTS = "pincite/events.jsonl"
CAPTURES = "pincite/captures.jsonl"
DOCUMENTS = "pincite/documents.jsonl"
PACKAGE = "datapackage.json"
PACKAGE_DIGEST = "datapackage-digest.json"


Reading = Document | Excerpts


@dataclass(frozen=True, slots=True)
class Placed:
    """A capture with the place of its record in the archive; no length when its body may not be passed on."""

    snapshot: Snapshot
    offset: int
    length: int


def render_bundle(report: Report, evidence: EvidenceSource, events: Sequence[Event] = ()) -> bytes:
    """The bundle of a report. Equal input gives equal bytes.

    What looks like a credential in an address is masked. Of a page that is not kept whole only what is kept goes in.

    Errors: NotFound (a cited capture or document is no longer stored), StorageUnavailable (it can't be read).
    """
    cited = tuple(cited_evidence(report, evidence))
    archive, placed = _archive(report, cited)
    documents = {document.document_id: document for _, found in cited for document in found}
    files = {
        ARCHIVE: archive,
        # No time in the gzip header: the same report must give the same bytes.
        INDEX: gzip.compress(_lines(sorted(index_lines([item for item in placed if item.length]))), 9, mtime=0),
        PAGES: _lines(page_lines(report, [item for item in placed if item.length])),
        REPORT: dump_report(report),
        MARKDOWN: report.markdown.encode("utf-8", "backslashreplace"),
        EVENTS: _lines(_json_line(event_json(event)) for event in events),
        CAPTURES: _lines(_json_line(_capture_json(item)) for item in placed),
        DOCUMENTS: _lines(_json_line(_document_json(document)) for document in documents.values()),
    }
    files = {path: content for path, content in files.items() if content}  # validators take an empty file for broken
    files[PACKAGE] = _package(report, files)
    files[PACKAGE_DIGEST] = dump({"path": PACKAGE, "hash": f"sha256:{sha256_hex(files[PACKAGE])}"})
    return zip_bytes(files)


def cited_evidence(report: Report, evidence: EvidenceSource) -> Iterator[tuple[Snapshot, tuple[Reading, ...]]]:
    """Every cited capture once, in the order of the references, with the documents that quotes were cut from.

    Errors: NotFound (`evidence_missing`), StorageUnavailable.
    """
    wanted: dict[str, dict[str, None]] = {reference.snapshot_id: {} for reference in report.references}
    for quote in report.quotes():
        wanted.setdefault(quote.snapshot_id, {})[quote.document_id] = None
    for snapshot_id, document_ids in wanted.items():
        snapshot = evidence.snapshot(snapshot_id)
        if snapshot is None:
            raise NotFound(f"the capture {snapshot_id} is no longer stored", reason="evidence_missing")
        documents: list[Reading] = []
        for document_id in document_ids:
            found = evidence.document(document_id, snapshot_id) or evidence.excerpts(document_id, snapshot_id)
            if found is None:
                raise NotFound(f"the document {document_id} is no longer stored", reason="evidence_missing")
            documents.append(found)
        yield _without_secrets(snapshot), tuple(documents)


def _without_secrets(snapshot: Snapshot) -> Snapshot:
    """The capture as it may leave: credentials in its addresses and headers masked, its id that of the real one."""
    return replace(
        snapshot,
        url=mask_secrets(snapshot.url),
        final_url=mask_secrets(snapshot.final_url),
        canonical_url=mask_secrets(snapshot.canonical_url),
        redirects=tuple(mask_secrets(url) for url in snapshot.redirects),
        headers=tuple((name, mask_secrets(value)) for name, value in snapshot.headers),
        note=mask_secrets(snapshot.note),
    )


def _archive(report: Report, cited: Iterable[tuple[Snapshot, tuple[Reading, ...]]]) -> tuple[bytes, tuple[Placed, ...]]:
    # Each record is a gzip member of its own, so that a player can read one at its place.
    out = bytearray(head_record(report, f"Pincite {VERSION}").packed())
    placed = []
    for snapshot, documents in cited:
        packed = [record.packed() for record in records_of(snapshot, documents)]
        placed.append(Placed(snapshot, len(out), len(packed[0]) if snapshot.kept is Kept.FULL else 0))
        out += b"".join(packed)
    return bytes(out), tuple(placed)


def head_record(report: Report, software: str) -> Record:
    """The first record of the archive: what the file is, and what wrote it."""
    return warcinfo(software, f"evidence of report {report.report_id} of run {report.run_id}", report.created_at)


def records_of(snapshot: Snapshot, documents: Iterable[Reading]) -> Iterator[Record]:
    """The records of a cited capture, in order: itself where it is kept whole, where it comes from, what was read."""
    if snapshot.kept is Kept.FULL:
        yield capture_record(snapshot)
    yield provenance_record(snapshot)
    for document in documents:
        if isinstance(document, Document):
            yield text_record(document, snapshot)


def index_lines(placed: Sequence[Placed]) -> Iterator[str]:
    """CDXJ: sortable address, time, and where the record lies."""
    for item in placed:
        snapshot = item.snapshot
        where: dict[str, Json] = {
            "url": snapshot.final_url,
            "mime": snapshot.content_type.split(";", 1)[0].strip() or "unk",
            "status": str(snapshot.status),
            "digest": digest(snapshot.body),
            "length": str(item.length),
            "offset": str(item.offset),
            "filename": ARCHIVE.rsplit("/", 1)[-1],
        }
        moment = snapshot.fetched_at.astimezone(UTC)
        yield f"{_sortable(snapshot.final_url)} {moment:%Y%m%d%H%M%S} {_json_line(where)}"


def _sortable(url: str) -> str:
    """The address with its host turned around (`com,example)/path`), as archive indexes sort it."""
    parts = urlsplit(url)
    if not parts.hostname:
        return url.lower()
    host = ",".join(reversed(parts.hostname.removeprefix("www.").split(".")))
    port = f":{parts.port}" if parts.port and parts.port not in (80, 443) else ""
    return f"{host}{port}){parts.path or '/'}{'?' + parts.query if parts.query else ''}".lower().replace(" ", "%20")


def page_lines(report: Report, placed: Sequence[Placed]) -> Iterator[str]:
    """The cited pages with their titles, for players."""
    titles = {reference.snapshot_id: reference.title for reference in report.references}
    yield _json_line({"format": "json-pages-1.0", "id": "pages", "title": report.title or report.question})
    for item in placed:
        snapshot = item.snapshot
        title = titles.get(snapshot.snapshot_id) or snapshot.final_url
        yield _json_line(
            {"id": snapshot.snapshot_id, "url": snapshot.final_url, "ts": stamp(snapshot.fetched_at), "title": title}
        )


def _capture_json(item: Placed) -> dict[str, Json]:
    """All of a capture but its body, and where its record lies."""
    snapshot = item.snapshot
    values = {f.name: to_json(getattr(snapshot, f.name)) for f in fields(Snapshot) if f.name != "body"}
    return {**values, "record": {"offset": item.offset, "length": item.length} if item.length else None}


def _document_json(document: Reading) -> dict[str, Json]:
    """The reading without the credentials of addresses, which its id is not made of."""
    if not isinstance(document, Document):
        return {"document_id": document.document_id, "excerpts": to_json(document)}
    links = tuple(replace(link, url=mask_secrets(link.url)) for link in document.links)
    blocks = tuple(
        replace(block, marks=tuple(replace(mark, href=mask_secrets(mark.href)) for mark in block.marks))
        if any(mark.href for mark in block.marks)
        else block
        for block in document.blocks
    )
    shown = replace(document, canonical_url=mask_secrets(document.canonical_url), links=links, blocks=blocks)
    return {"document_id": document.document_id, "document": to_json(shown)}


def _package(report: Report, files: Mapping[str, bytes]) -> bytes:
    return dump(
        {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": f"Pincite {VERSION}",
            "title": report.title or report.question,
            "created": stamp(report.created_at.replace(microsecond=0)),
            "resources": [
                {
                    "name": path.rsplit("/", 1)[-1].lower(),
                    "path": path,
                    "hash": f"sha256:{sha256_hex(data)}",
                    "bytes": len(data),
                }
                for path, data in files.items()
            ],
        }
    )


def _lines(lines: Iterable[str]) -> bytes:
    # As in reports: only lone surrogates can't be UTF-8, and JSON writes them as escapes that read back.
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _json_line(value: Mapping[str, Json]) -> str:
    """One line of JSON, as compact as it can be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

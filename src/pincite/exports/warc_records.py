"""Captures and documents as WARC records, and captures read back from them."""

import base64
import gzip
import hashlib
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime
from http import HTTPStatus

from pincite.domain.frozen import dataclass
from pincite.domain.page import Document, Snapshot

# Any UUID, fixed for ever: ids of records follow from what they hold, so that bundles are reproducible.
_NAMESPACE = uuid.UUID("5d0b0f6a-6c0e-5a54-9d3f-0f7d6f1d7c55")
_HTTP = ("http://", "https://")
_NOT_FETCHED = "archive"
# The stored body is decoded and whole; these fields would deny it.
_TRANSFER_FIELDS = frozenset({"content-encoding", "transfer-encoding", "content-length", "connection", "trailer"})


@dataclass(frozen=True, slots=True)
class Record:
    """One WARC record: its header fields in order and its block."""

    fields: tuple[tuple[str, str], ...]
    block: bytes = field(repr=False)

    def packed(self) -> bytes:
        """The record as one gzip member; equal records give equal bytes."""
        return gzip.compress(self.unpacked(), 9, mtime=0)

    def unpacked(self) -> bytes:
        """The bytes of the record."""
        lines = ["WARC/1.1", *(f"{name}: {value}" for name, value in self.fields), f"Content-Length: {len(self.block)}"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.block + b"\r\n\r\n"


def stamp(moment: datetime) -> str:
    """The time as WARC writes it, to the microsecond where there is one."""
    utc = moment.astimezone(UTC)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if utc.microsecond else "%Y-%m-%dT%H:%M:%SZ")


def warcinfo(software: str, description: str, created_at: datetime) -> Record:
    """The record that says what the file is."""
    block = f"software: {software}\r\nformat: WARC File Format 1.1\r\ndescription: {description}\r\n".encode()
    return _record("warcinfo", "warcinfo", created_at, "application/warc-fields", block)


def capture_record(snapshot: Snapshot) -> Record:
    """The capture: a `response` where a host answered, a `resource` where the page came from a library.

    Source: ISO 28500:2017 §6.3 (response) and §6.4 (resource).
    """
    if snapshot.via == _NOT_FETCHED or not snapshot.final_url.startswith(_HTTP):
        kind, content_type, head = "resource", snapshot.content_type or "application/octet-stream", b""
    else:
        kind, content_type, head = "response", "application/http; msgtype=response", _http_head(snapshot)
    block = head + snapshot.body
    return _record(
        kind, snapshot.snapshot_id, snapshot.fetched_at, content_type, block,
        ("WARC-Target-URI", snapshot.final_url), ("WARC-Payload-Digest", digest(snapshot.body)),
    )  # fmt: skip  # in the order of the format


def provenance_record(snapshot: Snapshot) -> Record:
    """Where the capture comes from, as a `metadata` record that refers to it."""
    provenance = " ".join((snapshot.note or f"fetched by Pincite via {snapshot.via}").split())
    block = f"provenance: {provenance}\r\nsnapshot_id: {snapshot.snapshot_id}\r\nvia: {snapshot.via}\r\n".encode()
    return _record(
        "metadata", f"metadata {snapshot.snapshot_id}", snapshot.fetched_at, "application/warc-fields", block,
        ("WARC-Target-URI", snapshot.final_url), ("WARC-Refers-To", record_id(snapshot.snapshot_id)),
    )  # fmt: skip  # in the order of the format


def text_record(document: Document, snapshot: Snapshot) -> Record:
    """What was read out of the capture, as a `conversion` record of plain text (ISO 28500:2017 §6.8)."""
    return _record(
        "conversion", f"{document.document_id} {snapshot.snapshot_id}", snapshot.fetched_at,
        "text/plain; charset=utf-8", document.text.encode("utf-8", "backslashreplace"),
        ("WARC-Target-URI", snapshot.final_url), ("WARC-Refers-To", record_id(snapshot.snapshot_id)),
    )  # fmt: skip  # in the order of the format


def record_id(name: str) -> str:
    """The WARC-Record-ID that is made of `name`."""
    return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, name)}>"


def digest(data: bytes) -> str:
    """`sha256:` and the hash in base 32, as WARC tools write it."""
    return "sha256:" + base64.b32encode(hashlib.sha256(data).digest()).decode()


def body_at(archive: bytes, offset: int, length: int) -> bytes:
    """The stored body of the capture whose record lies there.

    Raises ValueError for anything that is no such record; the caller names the place.
    """
    inflater = zlib.decompressobj(wbits=31)
    try:
        data = inflater.decompress(archive[offset : offset + length])
    except zlib.error as error:
        raise ValueError(f"the record at byte {offset} can't be unpacked: {error}") from error
    head, _, block = data.partition(b"\r\n\r\n")
    if not head.startswith(b"WARC/1.1\r\n") or not inflater.eof:
        raise ValueError(f"there is no whole record at byte {offset}")
    block = block.removesuffix(b"\r\n\r\n")
    return block.partition(b"\r\n\r\n")[2] if b"\r\nWARC-Type: response\r\n" in head else block


def _record(  # the parts of a record
    kind: str, name: str, at: datetime, content_type: str, block: bytes, *more: tuple[str, str]
) -> Record:
    return Record(
        (
            ("WARC-Type", kind),
            ("WARC-Record-ID", record_id(name)),
            ("WARC-Date", stamp(at)),
            *more,
            ("WARC-Block-Digest", digest(block)),
            ("Content-Type", _one_line(content_type)),
        ),
        block,
    )


def _http_head(snapshot: Snapshot) -> bytes:
    try:
        phrase = HTTPStatus(snapshot.status).phrase
    except ValueError:
        phrase = "Status"
    kept: Sequence[tuple[str, str]] = [h for h in snapshot.headers if h[0].lower() not in _TRANSFER_FIELDS]
    lines = [f"HTTP/1.1 {snapshot.status} {phrase}", *(f"{name}: {_one_line(value)}" for name, value in kept)]
    lines.append(f"content-length: {len(snapshot.body)}")
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""Bundles changed by somebody who makes sizes and hashes anew: each file that a reader can open is still compared."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.fakes.proven_report import proven_report

from pincite.audit.check import CheckResult, CheckStatus, check_report
from pincite.domain.events import Event, EventType
from pincite.domain.ids import sha256_hex
from pincite.exports.bundle import Bundle
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
    render_bundle,
    zip_bytes,
)
from pincite.exports.warc_records import capture_record
from pincite.settings import load_settings
from pincite.wiring.checking import check_stored_report

SAMPLE = proven_report()
FAILED, PASSED = CheckStatus.FAILED, CheckStatus.PASSED
Raw = dict[str, Any]


def said(result: CheckResult) -> str:
    return "\n".join(f"{p.kind} {p.where}: {p.what}" for p in result.problems)


EVENT_LIST = (Event(1, EventType.RUN_STARTED, SAMPLE.report.run_id, datetime(2026, 11, 21, tzinfo=UTC), {"q": "x"}),)
BUNDLE = render_bundle(SAMPLE.report, SAMPLE, EVENT_LIST)
Files = dict[str, bytes]
TEXT_RECORD = (
    b"removes dead rows. It takes 64 MB of memory and runs every 30 minutes.\n",
    b"removes live rows. It takes 64 MB of memory and runs every 30 minutes.\n",
)
"""As it stands in the text read out of the page, where a line ends, and not in the page."""


def files_of(data: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Files) -> bytes:
    """The files as a bundle with sizes and hashes made anew."""
    package = json.loads(files[PACKAGE])
    listed = {entry["path"]: entry for entry in package["resources"]}
    package["resources"] = [
        {**listed.get(path, {"name": path.rsplit("/", 1)[-1], "path": path}),
         "hash": f"sha256:{sha256_hex(data)}", "bytes": len(data)}
        for path, data in files.items() if path not in (PACKAGE, PACKAGE_DIGEST)
    ]  # fmt: skip
    text = (json.dumps(package, ensure_ascii=False, indent=2) + "\n").encode()
    digest = (json.dumps({"path": PACKAGE, "hash": f"sha256:{sha256_hex(text)}"}, indent=2) + "\n").encode()
    return zip_bytes({**files, PACKAGE: text, PACKAGE_DIGEST: digest})


def lines(data: bytes) -> list[Raw]:
    return [json.loads(line) for line in data.splitlines()]


def joined(entries: list[Raw]) -> bytes:
    return "".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + "\n" for e in entries).encode()


FIRST = next(iter(SAMPLE.snapshots.values()))
FORGED = replace(FIRST, body=b"<p>The vacuum deletes everything.</p>")


def appended(files: Files, record: bytes) -> None:
    files[ARCHIVE] += record


def second_capture(files: Files, *, url: str = FIRST.final_url, indexed: bool = False) -> None:
    record = capture_record(replace(FORGED, final_url=url)).packed()
    at = len(files[ARCHIVE])
    appended(files, record)
    if indexed:
        text = gzip.decompress(files[INDEX]).decode()
        head, _, rest = text.splitlines()[0].partition(" {")
        entry = json.loads("{" + rest) | {"offset": str(at), "length": str(len(record))}
        files[INDEX] = gzip.compress(f"{head} {json.dumps(entry)}\n{text}".encode(), mtime=0)


def in_archive(files: Files, before: bytes, after: bytes) -> None:
    """Bytes exchanged inside the first record that has them, the other records as they are, the places made anew."""
    out, done, moved = bytearray(), False, 0
    entries = lines(files[CAPTURES])
    stream, offset = files[ARCHIVE], 0
    while offset < len(stream):
        inflater = zlib.decompressobj(wbits=31)
        data = inflater.decompress(stream[offset:])
        length = len(stream) - offset - len(inflater.unused_data)
        record = stream[offset : offset + length]
        if not done and before in data:
            record, done = gzip.compress(data.replace(before, after, 1), 9, mtime=0), True
        for entry in entries:
            if entry["record"] and entry["record"]["offset"] == offset:
                entry["record"] = {"offset": offset + moved, "length": len(record)}
        moved += len(record) - length
        out += record
        offset += length
    assert done
    files[ARCHIVE], files[CAPTURES] = bytes(out), joined(entries)


def index_line(files: Files, **members: str) -> None:
    text = gzip.decompress(files[INDEX]).decode().splitlines()
    head, _, rest = text[0].partition(" {")
    text[0] = f"{head} {json.dumps(json.loads('{' + rest) | members, separators=(',', ':'))}"
    files[INDEX] = gzip.compress(("\n".join(text) + "\n").encode(), mtime=0)


def in_lines(files: Files, name: str, number: int, **members: Any) -> None:
    entries = lines(files[name])
    entries[number] |= members
    files[name] = joined(entries)


def more_lines(files: Files, name: str, **members: Any) -> None:
    entries = lines(files[name])
    files[name] = joined([*entries, {**entries[-1], **members}])


def in_package(files: Files, **members: Any) -> None:
    files[PACKAGE] = json.dumps({**json.loads(files[PACKAGE]), **members}).encode()


def replaced(files: Files, name: str, before: bytes, after: bytes) -> None:
    assert before in files[name]
    files[name] = files[name].replace(before, after, 1)


PACKED: dict[str, tuple[Callable[[Files], object], str, str]] = {
    "another answer.md": (
        lambda f: f.update({MARKDOWN: b"# The store is perfect\n"}),
        MARKDOWN,
        "is not the Markdown of the report",
    ),
    "no answer.md": (lambda f: f.pop(MARKDOWN), MARKDOWN, "is not the Markdown"),
    "a second record for an address": (second_capture, ARCHIVE, "is another for an address that has one"),
    "a second record that players find first": (
        lambda f: second_capture(f, indexed=True),
        ARCHIVE,
        "is another for an address that has one",
    ),
    "its line in the index": (lambda f: second_capture(f, indexed=True), INDEX, "line 1 is not what the captures make"),
    "a record that nothing refers to": (
        lambda f: second_capture(f, url="https://more.example/"),
        ARCHIVE,
        "response of https://more.example/) is another, and the report does not rest on it",
    ),
    "bytes after the last record": (lambda f: appended(f, b"hidden"), ARCHIVE, "bytes that are no record"),
    "an empty member after the last record": (
        lambda f: appended(f, gzip.compress(b"hidden", mtime=0)),
        ARCHIVE,
        "the report does not rest on it",
    ),
    "the provenance of a page": (
        lambda f: in_archive(f, b"fetched by Pincite via direct", b"checked by the ministry"),
        ARCHIVE,
        "is missing or was changed",
    ),
    "the text of a page for players": (lambda f: in_archive(f, *TEXT_RECORD), ARCHIVE, "is missing or was changed"),
    "the status a page answered with": (
        lambda f: in_archive(f, b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found"),
        ARCHIVE,
        "is missing or was changed",
    ),
    "the time of a record": (
        lambda f: in_archive(
            f, b"WARC-Date: 2026-11-21T09:30:00Z\r\nWARC-Target", b"WARC-Date: 2019-11-21T09:30:00Z\r\nWARC-Target"
        ),
        ARCHIVE,
        "is missing or was changed",
    ),
    "what the archive says it is": (
        lambda f: in_archive(f, b"evidence of report", b"proof by Reuters of"),
        ARCHIVE,
        "is not the one that says what the file is",
    ),
    "an address in the index": (lambda f: index_line(f, url="https://other.example/"), INDEX, "line 1"),
    "a place in the index": (lambda f: index_line(f, offset="0"), INDEX, "line 1"),
    "an index that is none": (lambda f: f.update({INDEX: b"x"}), INDEX, "line 1"),
    "a title in the list of pages": (lambda f: in_lines(f, PAGES, 1, title="Official manual"), PAGES, "line 2"),
    "a page more in the list": (lambda f: more_lines(f, PAGES, url="https://more.example/"), PAGES, "line 4"),
    "a capture more": (
        lambda f: more_lines(f, CAPTURES, snapshot_id="snap_1"),
        CAPTURES,
        "line 3 is of nothing that the report cites",
    ),
    "a capture twice": (lambda f: more_lines(f, CAPTURES), CAPTURES, "line 3 is a second one"),
    "another record for a capture": (
        lambda f: in_lines(f, CAPTURES, 0, record=lines(f[CAPTURES])[1]["record"]),
        CAPTURES,
        "there is no record of",
    ),
    "a document more": (
        lambda f: more_lines(f, DOCUMENTS, document_id="doc_1"),
        DOCUMENTS,
        "line 3 is of nothing that the report cites",
    ),
    "a document twice": (lambda f: more_lines(f, DOCUMENTS), DOCUMENTS, "line 3 is a second one"),
    "a file more, in the list": (
        lambda f: f.update({"pincite/read-me-first.html": b"<p>x"}),
        "pincite/read-me-first.html",
        "is no part of a bundle",
    ),
    "a second archive, in the list": (
        lambda f: f.update({"archive/more.warc.gz": capture_record(FORGED).packed()}),
        "archive/more.warc.gz",
        "is no part of a bundle",
    ),
    "the title of the package": (
        lambda f: in_package(f, title="Approved"),
        PACKAGE,
        "its title is not that of the report",
    ),
    "a member of the package": (
        lambda f: in_package(f, mainPageUrl="https://more.example/"),
        PACKAGE,
        "unknown member 'mainPageUrl'",
    ),
    "an event of another run": (lambda f: in_lines(f, EVENTS, 0, run_id="run_x"), EVENTS, "is of another run"),
    "an event twice": (lambda f: more_lines(f, EVENTS), EVENTS, "is not the next event"),
    "a member twice in the report": (
        lambda f: replaced(f, REPORT, b'"title": ', b'"title": "x", "title": '),
        REPORT,
        "has the member 'title' twice",
    ),
    "a member twice in a capture": (
        lambda f: replaced(f, CAPTURES, b'"status":', b'"status":404,"status":'),
        CAPTURES,
        "line 1 has the member 'status' twice",
    ),
    "a member twice in a document": (
        lambda f: replaced(f, DOCUMENTS, b'"title":', b'"title":"x","title":'),
        DOCUMENTS,
        "line 1 has the member 'title' twice",
    ),
    "what was read out of a page": (
        lambda f: replaced(f, DOCUMENTS, b"removes dead rows", b"removes live rows"),
        "claims[",
        "was changed: its text makes another id",
    ),
}


@pytest.mark.parametrize("name", PACKED)
def test_an_edit_of_a_bundle_with_its_hashes_made_anew_is_named(name: str) -> None:
    edit, where, what = PACKED[name]
    files = files_of(BUNDLE)
    edit(files)
    settings = load_settings({"home": "/nonexistent"}, environ={}, files=())
    result = check_stored_report(packed(files), settings)
    assert result.status is FAILED
    assert any(p.where.startswith(where) and what in p.what for p in result.problems), said(result)
    assert not [p for p in result.problems if "SHA-256" in p.what], "the hashes fit the forged files"


def test_the_untouched_bundle_passes_through_the_same_hands() -> None:
    assert packed(files_of(BUNDLE)) == BUNDLE
    assert Bundle(BUNDLE).problems() == ()
    assert check_report(Bundle(BUNDLE).report, Bundle(BUNDLE)).status is PASSED


def test_text_that_the_capture_does_not_give_is_named() -> None:
    """Page text, ids and quotes forged together, the capture left as players show it: reading it again tells."""
    settings = load_settings({"home": "/nonexistent"}, environ={}, files=())
    result = check_stored_report(BUNDLE, settings)  # its documents say that an unknown reader made them
    assert result.status is PASSED, said(result)
    assert all("was read by sample 1; its quotes were looked for with " in note for note in result.notes)
    assert len(result.notes) == 2

"""The evidence bundle: valid for web archive tools, complete, and every changed byte is noticed."""

import gc
import gzip
import io
import json
import logging
import warnings
import zipfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.fakes.extractor import TinyExtractor
from tests.fakes.proven_report import proven_report
from tests.fakes.stored import large_report
from warcio.archiveiterator import ArchiveIterator

from pincite.audit.check import CheckStatus, check_report
from pincite.domain.budget import Coverage
from pincite.domain.errors import ArchiveCorrupt, LibraryNotFound, NotFound, StorageUnavailable
from pincite.domain.events import Event, EventType
from pincite.domain.page import Snapshot
from pincite.domain.report import Summary
from pincite.exports.bundle import Bundle
from pincite.exports.codec import load_report
from pincite.exports.passages import PassagesOnly
from pincite.exports.wacz import ARCHIVE, CAPTURES, DOCUMENTS, PACKAGE, PACKAGE_DIGEST, REPORT, render_bundle, zip_bytes
from pincite.library.local import LocalLibrary
from pincite.settings import load_settings
from pincite.testing.reports import SampleReport
from pincite.wiring.checking import check_stored_report

RUN = "run_20261121093000_0123456789ad"
EVENTS = (Event(1, EventType.RUN_STARTED, RUN, datetime(2026, 11, 21, tzinfo=UTC), {"question": "x"}),)


@pytest.fixture(scope="module")
def sample() -> SampleReport:
    return proven_report()


@pytest.fixture(scope="module")
def data(sample: SampleReport) -> bytes:
    return render_bundle(sample.report, sample, EVENTS)


def files_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_bundle_holds_what_the_report_rests_on(sample: SampleReport, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(data)
    bundle = Bundle.open(path)
    report = bundle.report
    assert bundle.problems() == ()
    assert load_report(report) == sample.report
    quotes = [quote for claim in sample.report.claims for quote in claim.evidence]
    assert quotes
    for quote in quotes:
        assert bundle.snapshot(quote.snapshot_id) == sample.snapshots[quote.snapshot_id]
        document = bundle.document(quote.document_id, quote.snapshot_id)
        assert document == sample.documents[quote.document_id]
        assert document is not None
        assert document.text[quote.start : quote.end] == quote.quote
    assert bundle.snapshot("snap_0") is None
    assert bundle.document("doc_0") is None
    assert [event["type"] for event in bundle.events()] == ["run.started"]


def test_equal_input_gives_equal_bytes(sample: SampleReport, data: bytes) -> None:
    assert render_bundle(sample.report, sample, EVENTS) == data


def test_without_events_there_is_no_file_of_them(sample: SampleReport) -> None:
    bare = Bundle(render_bundle(sample.report, sample))
    assert bare.problems() == ()
    assert list(bare.events()) == []


@pytest.mark.parametrize("kept", ["full", "passages"])
def test_it_passes_the_validation_of_the_wacz_package(sample: SampleReport, kept: str, tmp_path: Path) -> None:
    source = sample if kept == "full" else PassagesOnly(sample.report, sample)
    data = render_bundle(sample.report, source, EVENTS if kept == "full" else ())
    path = tmp_path / "x.wacz"
    path.write_bytes(data)
    logging.getLogger("frictionless").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wacz_main = pytest.importorskip("wacz.main")
        assert wacz_main.main(["validate", "-f", str(path)]) == 0
        changed = tmp_path / "y.wacz"
        files = files_of(data)
        changed.write_bytes(zip_bytes({**files, REPORT: files[REPORT].replace(b"a", b"b", 1)}))
        assert wacz_main.main(["validate", "-f", str(changed)]) != 0
        gc.collect()  # the validator leaves files open


def test_its_records_are_whole_and_say_what_they_are(sample: SampleReport, data: bytes) -> None:
    kinds: dict[str, list[str]] = {}
    stream = io.BytesIO(files_of(data)[ARCHIVE])
    for record in ArchiveIterator(stream, check_digests="raise"):
        kinds.setdefault(record.rec_type, []).append(record.rec_headers.get_header("WARC-Target-URI") or "")
        record.content_stream().read()
    cited = {s.final_url for s in sample.snapshots.values()} & set(kinds["metadata"])
    assert set(kinds) <= {"warcinfo", "response", "resource", "metadata", "conversion"}
    assert sorted(kinds.get("response", []) + kinds.get("resource", [])) == sorted(kinds["metadata"])
    assert cited
    assert set(kinds["conversion"]) <= cited


def test_a_library_reads_the_pages_of_a_bundle(sample: SampleReport, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(data)
    with LocalLibrary(path, index_dir=tmp_path / "index", extractor=TinyExtractor(), workers=0) as library:
        assert library.refresh().pages >= 1
        for url in library.urls():
            held = {s.body for s in sample.snapshots.values() if s.final_url == url}
            assert library.page(url).body in held


def test_any_flipped_byte_is_caught_and_named(data: bytes) -> None:
    names = set(files_of(data)) | {"container"}
    caught: dict[str, int] = {}
    for position in range(0, len(data), max(len(data) // 700, 1)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        try:
            problems = Bundle(bytes(damaged)).problems()
        except ArchiveCorrupt:
            caught["unreadable"] = caught.get("unreadable", 0) + 1
            continue
        assert problems, f"byte {position} was changed and not noticed"
        for problem in problems:
            caught[problem.where] = caught.get(problem.where, 0) + 1
    assert {ARCHIVE, REPORT, DOCUMENTS, CAPTURES, PACKAGE, "container"} <= set(caught)
    assert names & set(caught)


def test_a_changed_page_is_named_by_its_address(sample: SampleReport, data: bytes) -> None:
    files = files_of(data)
    captures = files[CAPTURES].splitlines()
    first = json.loads(captures[0])
    record = files[ARCHIVE]
    middle = first["record"]["offset"] + first["record"]["length"] - 30
    files[ARCHIVE] = record[:middle] + bytes([record[middle] ^ 1]) + record[middle + 1 :]
    problems = Bundle(zip_bytes(files)).problems()
    assert any(first["final_url"] in problem.what for problem in problems)


@pytest.mark.parametrize("name", [ARCHIVE, DOCUMENTS, PACKAGE, PACKAGE_DIGEST])
def test_a_missing_file_is_named(data: bytes, name: str) -> None:
    files = files_of(data)
    del files[name]
    assert name in {problem.where for problem in Bundle(zip_bytes(files)).problems()}


def test_an_added_file_and_another_container_are_named(data: bytes) -> None:
    files = files_of(data)
    added = Bundle(zip_bytes({**files, "pincite/more.txt": b"x"})).problems()
    assert [problem.where for problem in added] == ["pincite/more.txt"]
    other = Bundle(zip_bytes(dict(reversed(files.items())))).problems()
    assert other == () or [problem.where for problem in other] == ["container"]
    trailing = Bundle(data + b"\0").problems()
    assert [problem.where for problem in trailing] == ["container"]


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LibraryNotFound):
        Bundle.open(tmp_path / "missing.wacz")
    for wrong in (b"", b"PK", b"text", zip_bytes({"a.txt": b"x"})):
        with pytest.raises(ArchiveCorrupt):
            Bundle(wrong)


def test_damaged_lists_do_not_break_reading(data: bytes) -> None:
    files = files_of(data)
    for name in (CAPTURES, DOCUMENTS, PACKAGE, PACKAGE_DIGEST, ARCHIVE):
        for content in (b"", b"[]", b'{"snapshot_id": "x"}\n', b"\xff\xfe"):
            bundle = Bundle(zip_bytes({**files, name: content}))
            assert bundle.problems()
            with suppress(StorageUnavailable):
                assert bundle.snapshot("x") is None


def test_evidence_that_is_gone_is_an_error(sample: SampleReport) -> None:
    with pytest.raises(NotFound) as error:
        render_bundle(sample.report, replace(sample, snapshots={}))
    assert error.value.reason == "evidence_missing"
    with pytest.raises(NotFound):
        render_bundle(sample.report, replace(sample, documents={}))


def test_headers_that_describe_the_transfer_are_left_out(sample: SampleReport) -> None:
    def with_headers(snapshot: Snapshot) -> Snapshot:
        headers = (("content-encoding", "gzip"), ("x-note", "a\r\nb"), ("content-type", "text/html"))
        return replace(snapshot, headers=headers, via="direct")

    changed = replace(sample, snapshots={k: with_headers(s) for k, s in sample.snapshots.items()})
    stream = io.BytesIO(files_of(render_bundle(sample.report, changed))[ARCHIVE])
    responses = [record for record in ArchiveIterator(stream) if record.rec_type == "response"]
    for record in responses:
        assert record.http_headers.get_header("content-encoding") is None
        assert record.http_headers.get_header("x-note") == "a b"
    assert responses


def test_a_bundle_of_passages_checks_itself_and_carries_no_page(sample: SampleReport, data: bytes) -> None:
    cut = render_bundle(sample.report, PassagesOnly(sample.report, sample), EVENTS)
    bundle = Bundle(cut)
    assert bundle.problems() == ()
    found = check_report(bundle.report, bundle)
    whole = check_report(Bundle(data).report, Bundle(data))
    assert (found.status, found.problems, found.counts) == (whole.status, (), whole.counts)
    assert set(found.kept) == {"excerpts"}
    assert set(whole.kept) == {"full"}
    body = next(iter(sample.snapshots.values())).body
    assert body not in gzip.decompress(files_of(cut)[ARCHIVE])
    changed = cut.replace(b"The vacuum removes dead rows.", b"The vacuum removes deaf rows.")
    assert Bundle(changed).problems()


def test_far_text_stays_behind() -> None:
    sample = large_report(40)
    first = sample.report.claims[0]
    report = replace(
        sample.report,
        summary=Summary(sample.report.summary.sentences[:1]),
        sections=(replace(sample.report.sections[0], sentences=sample.report.sections[0].sentences[:1]),),
        claims=(first,),
        outline=sample.report.outline[:1],
        coverage=Coverage(claims=1),
    )
    document = next(iter(sample.documents.values()))
    kept = PassagesOnly(report, sample).excerpts(document.document_id)
    assert kept is not None
    assert "Beacon 0 " in kept.windows[0][1]
    assert all("Beacon 39 " not in text for _, text in kept.windows)


def test_a_flipped_byte_is_named_whatever_it_breaks(sample: SampleReport, data: bytes, tmp_path: Path) -> None:
    settings = load_settings({"home": tmp_path}, environ={}, files=())
    at = data.index(b'"schema_version"')
    places = [0, 1, 2, 3, *range(at, at + 400, 3)]
    for position in places:
        damaged = bytearray(data)
        damaged[position] ^= 0x08
        result = check_stored_report(bytes(damaged), settings)
        assert result.status is CheckStatus.FAILED, position
        assert result.problems[0].where, position

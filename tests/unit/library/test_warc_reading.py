"""WARC and WACZ: damage costs the damaged records only, and each is named."""

import gzip
import hashlib
import io
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.errors import ArchiveCorrupt
from pincite.domain.search import Skipped
from pincite.library.folder import FileEntry, open_source, pages_of
from pincite.library.records import Ignored, RawPage, SourceLimits
from pincite.library.warc import warc_page_at, warc_pages
from pincite.testing.web import html, write_warc

PAGES = {f"https://zoo.example/{n}": html(f"Page {n}", f"Text number {n}.") for n in range(5)}
LIMITS = SourceLimits(page_bytes=100_000)


def archive(tmp_path: Path, *, compressed: bool) -> bytes:
    path = tmp_path / "x.warc"
    write_warc(path, PAGES, compressed=compressed)
    return path.read_bytes()


def read(data: bytes, limits: SourceLimits = LIMITS) -> tuple[dict[str, bytes], list[Skipped]]:
    found = list(warc_pages(io.BytesIO(data), "x.warc", limits))
    pages = {page.url: page.body for page in found if isinstance(page, RawPage)}
    return pages, [item for item in found if isinstance(item, Skipped)]


def record(kind: str, body: bytes, *fields: str) -> bytes:
    head = "\r\n".join(["WARC/1.1", f"WARC-Type: {kind}", *fields, f"Content-Length: {len(body)}"])
    return head.encode() + b"\r\n\r\n" + body + b"\r\n\r\n"


def response(http: bytes, url: str = "https://zoo.example/x") -> bytes:
    return record("response", http, f"WARC-Target-URI: {url}", "WARC-Date: 2026-01-01T00:00:00Z")


@pytest.mark.parametrize("compressed", [True, False])
def test_every_page_is_read_and_found_again(tmp_path: Path, compressed: bool) -> None:
    data = archive(tmp_path, compressed=compressed)
    pages, skipped = read(data)
    assert pages == PAGES
    assert not skipped
    for page in warc_pages(io.BytesIO(data), "x.warc", LIMITS):
        assert isinstance(page, RawPage)
        assert warc_page_at(io.BytesIO(data), page, "x.warc", LIMITS).body == page.body


@pytest.mark.parametrize("compressed", [True, False])
def test_any_flipped_byte_loses_at_most_the_records_around_it(tmp_path: Path, compressed: bool) -> None:
    data = archive(tmp_path, compressed=compressed)
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        try:
            pages, skipped = read(bytes(damaged))
        except ArchiveCorrupt:
            assert position < 10
            continue
        assert len(pages) >= len(PAGES) - 2
        for url, body in pages.items():
            # Only the header lines of a record lie outside its digests.
            assert body == PAGES.get(url, body)
        if len(pages) < len(PAGES) and not skipped:
            assert not compressed


@pytest.mark.parametrize("compressed", [True, False])
def test_a_cut_archive_keeps_what_came_before(tmp_path: Path, compressed: bool) -> None:
    data = archive(tmp_path, compressed=compressed)
    pages, skipped = read(data[:-40])
    assert len(pages) == len(PAGES) - 1
    assert [s.reason for s in skipped] == ["truncated"]


def test_garbage_between_records_is_stepped_over(tmp_path: Path) -> None:
    data = archive(tmp_path, compressed=True)
    second = data.index(b"\x1f\x8b\x08", 10)
    pages, skipped = read(data[:second] + b"\x1f\x8b\x08 garbage " * 20 + data[second:])
    assert pages == PAGES
    assert skipped


def test_one_gzip_stream_is_refused_with_the_way_out(tmp_path: Path) -> None:
    data = gzip.compress(archive(tmp_path, compressed=False))
    with pytest.raises(ArchiveCorrupt) as error:
        read(data)
    assert "recompress" in error.value.hint


def test_a_record_above_the_bound_is_named(tmp_path: Path) -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"x" * 200_000
    for data in (response(body), gzip.compress(response(body))):
        pages, skipped = read(data)
        assert not pages
        assert [s.reason for s in skipped] == ["too_large"]


def test_a_decompression_bomb_stays_small() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = bomb.compress(bytes(50_000_000)) + bomb.flush()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    _, skipped = read(response(head + packed))
    assert [s.reason for s in skipped] == ["too_large"]


@pytest.mark.parametrize(
    ("head", "payload"),
    [
        (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"hello world"),
        (b"Content-Encoding: gzip\r\n", gzip.compress(b"hello world", mtime=0)),
        (b"Content-Encoding: gzip\r\n", b"hello world"),
        (b"Content-Encoding: deflate\r\n", zlib.compress(b"hello world")),
        (b"Content-Encoding: deflate\r\n", zlib.compress(b"hello world")[2:-4]),
        (b"Content-Encoding: identity\r\n", b"hello world"),
    ],
)
def test_codings_are_undone(head: bytes, payload: bytes) -> None:
    pages, _ = read(response(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + b"\r\n" + payload))
    assert list(pages.values()) == [b"hello world"]


@pytest.mark.parametrize(
    ("http", "reason"),
    [
        (b"no http", "bad_http"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\nxx", "content_encoding"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: deflate\r\n\r\nxx", "content_encoding"),
    ],
)
def test_unusable_answers_are_named(http: bytes, reason: str) -> None:
    pages, skipped = read(response(http))
    assert not pages
    assert [s.reason for s in skipped] == [reason]


def test_what_is_no_page_is_ignored() -> None:
    data = (
        record("warcinfo", b"software: x\r\n")
        + response(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\ngone")
        + response(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG")
        + response(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nx", url="ftp://zoo.example/")
        + record("metadata", b"fetchTimeMs: 3\r\n", "Content-Type: application/warc-fields")
    )
    found = list(warc_pages(io.BytesIO(data), "x.warc", LIMITS))
    assert [type(item) for item in found] == [Ignored] * 5


def test_a_wrong_digest_or_date_is_named() -> None:
    body = b"<p>text</p>"
    fields = ("WARC-Target-URI: https://zoo.example/", "Content-Type: text/html")
    good = hashlib.sha256(body).hexdigest()
    right = record("resource", body, *fields, "WARC-Date: 2026-01-01T00:00:00Z", f"WARC-Block-Digest: sha256:{good}")
    wrong = right.replace(good[:4].encode(), b"0000")
    undated = record("resource", body, *fields, "WARC-Date: yesterday")
    assert list(read(right)[0].values()) == [body]
    assert [s.reason for s in read(wrong)[1]] == ["digest_mismatch"]
    assert [s.reason for s in read(undated)[1]] == ["bad_date"]
    assert "https://zoo.example/" in read(wrong)[1][0].place


def test_provenance_comes_from_the_metadata_record() -> None:
    fields = ("WARC-Target-URI: https://zoo.example/", "WARC-Date: 2026-01-01T00:00:00Z")
    page = record("resource", b"<p>x</p>", *fields, "Content-Type: text/html", "WARC-Record-ID: <urn:uuid:1>")
    note = record(
        "metadata",
        b"provenance: from a box\r\n",
        "WARC-Refers-To: <urn:uuid:1>",
        "Content-Type: application/warc-fields",
    )
    other = note.replace(b"uuid:1", b"uuid:2")
    notes = [p.note for p in warc_pages(io.BytesIO(page + note), "x", LIMITS) if isinstance(p, RawPage)]
    assert notes == ["from a box"]
    found = [p for p in warc_pages(io.BytesIO(page + other + page), "x", LIMITS) if isinstance(p, RawPage)]
    assert [p.note for p in found] == ["from archive x, captured 2026-01-01 00:00:00 UTC"] * 2


@pytest.mark.parametrize("stored", [True, False])
def test_a_wacz_is_read_in_place_or_unpacked(tmp_path: Path, stored: bool) -> None:
    data = archive(tmp_path, compressed=True)
    path = tmp_path / "x.wacz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as out:
        out.writestr("datapackage.json", "{}")
        out.writestr("archive/a.warc.gz", data)
        out.writestr("archive/b.warc.gz", b"broken")
    source = open_source(path, LIMITS)
    found = list(pages_of(source, FileEntry("x.wacz", 0, 0, True)))
    assert {p.url: p.body for p in found if isinstance(p, RawPage)} == PAGES
    assert [s.place for s in found if isinstance(s, Skipped)] == ["x.wacz, archive/b.warc.gz"]


def test_a_zip_without_warc_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("readme.txt", "hello")
    with pytest.raises(ArchiveCorrupt):
        list(pages_of(open_source(path, LIMITS), FileEntry("x.wacz", 0, 0, True)))


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for start in (b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08"):
        try:
            for found in warc_pages(io.BytesIO(start + data), "x", LIMITS):
                assert isinstance(found, RawPage | Skipped | Ignored)
        except ArchiveCorrupt:
            pass

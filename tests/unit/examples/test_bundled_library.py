"""The bundled library is what its README says: real pages with their published addresses and honest provenance."""

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

ARCHIVE = Path(__file__).parents[3] / "examples" / "postgresql-python-docs.warc.gz"


def test_every_page_says_which_package_it_is_from() -> None:
    pages: dict[str, str] = {}
    notes: dict[str, str] = {}
    with ARCHIVE.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            headers = record.rec_headers
            if record.rec_type == "resource":
                pages[headers.get_header("WARC-Record-ID")] = headers.get_header("WARC-Target-URI")
                assert len(record.content_stream().read()) > 1_000
            elif record.rec_type == "metadata":
                notes[headers.get_header("WARC-Refers-To")] = record.content_stream().read().decode()
    assert 40 <= len(pages) <= 80
    assert len(set(pages.values())) == len(pages)
    assert set(notes) == set(pages)
    for record_id, url in pages.items():
        package = "postgresql-doc-15" if "postgresql" in url else "python3.11-doc"
        assert url.startswith(("https://www.postgresql.org/docs/15/", "https://docs.python.org/3.11/"))
        assert notes[record_id].startswith(f"provenance: from Debian package {package} version ")
        assert "not fetched" in notes[record_id]


def test_it_is_small_and_its_licences_lie_beside_it() -> None:
    assert ARCHIVE.stat().st_size <= 3_000_000
    for package in ("postgresql-doc-15", "python3.11-doc"):
        assert "icense" in (ARCHIVE.parent / f"LICENSE.{package}.txt").read_text(encoding="utf-8")

"""A library from files to answers."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.extractor import TinyExtractor

from pincite.domain.errors import (
    ArchiveCorrupt,
    InvalidInput,
    LibraryNotFound,
    Locked,
    NotFound,
    StorageUnavailable,
)
from pincite.domain.ids import sha256_hex
from pincite.domain.search import Constraints, Query
from pincite.library.local import LocalLibrary
from pincite.library.records import MANIFEST_NAME, SourceLimits
from pincite.library.schema import writer_lock
from pincite.ranking.passages import cut_passages
from pincite.testing.web import html, write_warc
from pincite.wiring.libraries import IndexedReadings

Open = Callable[..., LocalLibrary]

BEES = html("Bees", "Honey bees dance to tell each other where flowers are.", "A hive holds up to 60,000 bees.")
OWLS = html("Owls", "Owls hunt at night and swallow mice whole.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "zoo"
    (root / "sub dir").mkdir(parents=True)
    (root / "bees.html").write_bytes(BEES)
    (root / "sub dir" / "owls.html").write_bytes(OWLS)
    (root / "notes.md").write_text("# Foxes\n\nA fox digs its den in sandy ground.\n", encoding="utf-8")
    (root / "style.css").write_text("p { color: red }", encoding="utf-8")
    return root


def test_a_folder_is_found_by_its_words(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    report = library.refresh()
    assert (report.pages, report.added, report.ignored, report.skipped_total) == (3, 3, 1, 0)
    hits = library.search(Query("which animals hunt in the night?"))
    assert hits[0].url == "local:zoo/sub%20dir/owls.html"
    assert hits[0].title == "Owls"
    assert hits[0].snippet.startswith("Owls hunt at night")
    assert library.urls() == ("local:zoo/bees.html", "local:zoo/notes.md", "local:zoo/sub%20dir/owls.html")


def test_only_what_changed_is_read_again(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    again = library.refresh()
    assert (again.added, again.removed, again.unchanged) == (0, 0, 3)
    (folder / "bees.html").write_bytes(html("Wasps", "Wasps build nests of paper."))
    (folder / "notes.md").unlink()
    touched = folder / "sub dir" / "owls.html"
    os.utime(touched, ns=(1, 1))
    changed = library.refresh()
    assert (changed.added, changed.removed, changed.unchanged, changed.pages) == (1, 2, 1, 2)
    assert not library.search(Query("honey dance"))
    assert library.search(Query("paper nest"))[0].title == "Wasps"


def test_another_revision_of_the_extractor_reads_everything_again(folder: Path, open_library: Open) -> None:
    open_library(folder, revision="1").refresh()
    library = open_library(folder, revision="2", extractor=TinyExtractor(version="2"))
    assert library.refresh().added == 3
    assert library.cut_passages(TinyExtractor(version="2").extract(BEES, "", None).document_id)


def test_what_a_missing_package_kept_out_is_read_once_it_is_there(folder: Path, open_library: Open) -> None:
    (folder / "ants.html").write_bytes(html("Ants", "Ants carry leaves home."))
    without = open_library(folder, extractor=TinyExtractor(fails_on={"ants": "lacks"})).refresh()
    assert (without.pages, [one.reason for one in without.skipped]) == (3, ["extra_not_installed"])
    # Nothing new to read with: not even tried, which would cost a process at each question.
    still = open_library(folder).refresh()
    assert (still.added, still.skipped_total) == (0, 1)
    library = open_library(folder, readers=("office",))
    found = library.refresh()
    assert (found.added, found.unchanged, found.skipped_total) == (1, 3, 0)
    assert library.search(Query("leaves carry"))[0].title == "Ants"
    assert library.refresh().added == 0


def test_a_page_comes_back_with_its_bytes_and_where_it_is_from(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    page = library.page("local:zoo/bees.html")
    assert page.body == BEES
    assert page.content_type == "text/html"
    dated = datetime.fromtimestamp((folder / "bees.html").stat().st_mtime, UTC)
    assert page.note == f"from file bees.html of library zoo, dated {dated:%Y-%m-%d}"
    assert page.captured_at is None, "whoever reads it captures it"
    with pytest.raises(NotFound) as missing:
        library.page("local:zoo/wolves.html")
    assert missing.value.reason == "not_in_library"
    (folder / "bees.html").unlink()
    with pytest.raises(NotFound):
        library.page("local:zoo/bees.html")


def test_a_manifest_gives_published_addresses(folder: Path, open_library: Open) -> None:
    (folder / MANIFEST_NAME).write_text(
        'name = "animals"\nexclude = ["*.md"]\n'
        '[[folders]]\npath = "."\nbase_url = "https://zoo.example/"\n'
        '[[folders]]\npath = "sub dir"\nbase_url = "https://owls.example/v2"\nnote = "from package owls 2"\n',
        encoding="utf-8",
    )
    library = open_library(folder)
    library.refresh()
    assert library.name == "animals"
    assert library.urls() == ("https://owls.example/v2/owls.html", "https://zoo.example/bees.html")
    os.utime(folder / "sub dir" / "owls.html", (86_400, 86_400))
    note = "from package owls 2; file sub dir/owls.html, dated 1970-01-02"
    assert library.page("https://owls.example/v2/owls.html#top").note == note
    only = Constraints(include_domains=("owls.example",))
    assert [hit.title for hit in library.search(Query("bees and owls", constraints=only))] == ["Owls"]
    without = Constraints(exclude_domains=("owls.example",))
    assert [hit.title for hit in library.search(Query("bees and owls", constraints=without))] == ["Bees"]
    first = Constraints(prefer_domains=("zoo.example",))
    assert library.search(Query("owls owl mice bees", constraints=first))[0].title == "Bees"


def test_a_library_is_held_to_a_file_type_and_words_of_the_title(folder: Path, open_library: Open) -> None:
    (folder / "text.md").write_text("# Owls in notes\n\nOwls eat mice, and bees they don't.\n", encoding="utf-8")
    library = open_library(folder)
    library.refresh()

    def found(**limits: Any) -> set[str]:
        asked = Query("owls mice bees", constraints=Constraints(**limits))
        return {hit.url.rpartition(".")[2] + ":" + hit.title for hit in library.search(asked)}

    assert found(file_type="md") == {"md:Owls in notes"}
    assert found(file_type="htm") == found(file_type="html") == {"html:Owls", "html:Bees"}
    assert found(file_type="pdf") == set()
    assert found(in_title="owl") == {"html:Owls", "md:Owls in notes"}


@pytest.mark.parametrize(
    "text",
    [
        "name = 3",
        "exclude = 'x'",
        "folders = 1",
        "folders = [1]",
        "[[folders]]\nbase_url = 'ftp://x.example/'",
        "[[folders]]\nbase_url = 'https://user:pw@x.example/'",
        "[[folders]]\nbase_url = 'https://x.example/'\npath = '../up'",
        "[[folder]]\nbase_url = 'https://x.example/'",
        "[[folders]]\nbase_url = 'https://x.example/'\nurl = 'x'",
        "no toml",
    ],
)
def test_a_broken_manifest_is_an_input_error(folder: Path, open_library: Open, text: str) -> None:
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as error:
        open_library(folder)
    assert error.value.reason == "manifest"


def test_links_do_not_lead_outside(folder: Path, open_library: Open, tmp_path: Path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_bytes(html("Secret", "The password is swordfish."))
    (folder / "link.html").symlink_to(secret)
    (folder / "inside.html").symlink_to(folder / "bees.html")
    (folder / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    (folder / "dead.html").symlink_to(tmp_path / "nothing.html")
    library = open_library(folder)
    report = library.refresh()
    assert {(s.place, s.reason) for s in report.skipped} == {
        ("link.html", "outside_library"),
        ("elsewhere", "linked_folder"),
        ("dead.html", "unreadable"),
    }
    assert not library.search(Query("swordfish password"))
    assert "local:zoo/inside.html" in library.urls()
    (folder / "inside.html").unlink()
    (folder / "inside.html").symlink_to(secret)
    with pytest.raises(NotFound):
        library.page("local:zoo/inside.html")


def test_pages_that_cannot_be_read_are_skipped_and_named(folder: Path, open_library: Open) -> None:
    (folder / "binary.html").write_bytes(b"\0\1\2")
    (folder / "empty.html").write_bytes(b"")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.4")
    (folder / "large.html").write_bytes(b"x" * 2_000)
    library = open_library(folder, limits=SourceLimits(page_bytes=1_000))
    report = library.refresh()
    assert report.pages == 3
    assert {(s.place.rsplit("/", 1)[-1], s.reason) for s in report.skipped} == {
        ("binary.html", "binary_body"),
        ("empty.html", "empty_content"),
        ("paper.pdf", "unsupported_content_type"),
        ("large.html", "too_large"),
    }
    assert library.refresh().skipped_total == 4


def test_a_page_that_kills_or_hangs_its_reader_costs_only_itself(folder: Path, open_library: Open) -> None:
    extractor = TinyExtractor(fails_on={"bees": "die", "owls": "raise"})
    report = open_library(folder, workers=2, extractor=extractor).refresh()
    assert report.pages == 1
    assert {(s.place.rsplit("/", 1)[-1], s.reason) for s in report.skipped} == {
        ("bees.html", "parser_died"),
        ("owls.html", "parser_failed"),
    }


def test_an_archive_gives_its_own_addresses(tmp_path: Path, open_library: Open) -> None:
    warc = tmp_path / "zoo.warc.gz"
    write_warc(warc, {"https://zoo.example/bees": BEES, "https://zoo.example/owls": OWLS})
    library = open_library(warc)
    assert library.refresh().pages == 2
    hit = library.search(Query("mice at night"))[0]
    assert hit.url == "https://zoo.example/owls"
    page = library.page(hit.url)
    assert page.body == OWLS
    assert page.captured_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert page.note == "from archive zoo.warc.gz, captured 2026-01-02 03:04:05 UTC"
    write_warc(
        warc, {"https://zoo.example/owls": OWLS, "https://zoo.example/bees": BEES, "https://zoo.example/x": BEES}
    )
    with pytest.raises(ArchiveCorrupt):
        library.page(hit.url)
    report = library.refresh()
    assert (report.added, report.unchanged, report.pages) == (1, 2, 3)
    assert library.page(hit.url).body == OWLS


def test_of_several_captures_the_newest_answers(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "captures"
    root.mkdir()
    write_warc(root / "a.warc", {"https://zoo.example/": BEES}, compressed=False, date="2026-03-01T00:00:00Z")
    write_warc(root / "b.warc", {"https://zoo.example/": OWLS}, compressed=False, date="2025-03-01T00:00:00Z")
    library = open_library(root)
    assert library.refresh().pages == 1
    assert library.page("https://zoo.example/").body == BEES
    assert not library.search(Query("owls"))
    (root / "a.warc").unlink()
    library.refresh()
    assert library.page("https://zoo.example/").body == OWLS
    assert library.search(Query("owls"))


@pytest.mark.parametrize(("name", "next_step"), [("missing", "Check the path"), ("style.css", "Name its folder")])
def test_what_is_no_library_is_not_found(folder: Path, open_library: Open, name: str, next_step: str) -> None:
    with pytest.raises(LibraryNotFound) as found:
        open_library(folder / name)
    assert found.value.hint.startswith(next_step)


def test_an_archive_that_is_none_is_corrupt(tmp_path: Path, open_library: Open) -> None:
    for name in ("x.warc", "x.warc.gz", "x.wacz"):
        (tmp_path / name).write_bytes(b"this is no archive at all")
        with pytest.raises(ArchiveCorrupt):
            open_library(tmp_path / name).refresh()


def test_words_and_identifiers_are_counted_in_any_inflection(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "a.md").write_text(
        "# Journal\n\nA Write-Ahead Log (WAL) comes first. Set max_wal_size as Ada Lovelace did.\n", encoding="utf-8"
    )
    library = open_library(root)
    library.refresh()
    assert dict(library.survey("logs zebra max_wal_size").frequencies) == {
        "logs": 1, "zebra": 0, "max_wal_size": 1, "max": 1, "wal": 1, "size": 1
    }  # fmt: skip


def test_dates_filter_and_undated_pages_stay(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    late = Constraints(since=date(2030, 1, 1))
    assert library.search(Query("owls", constraints=late))


@pytest.mark.parametrize("text", ["", "?!", "the of and", "zzzzz qqqqq", "\x00", '"unclosed (NEAR', "a" * 100_000])
def test_odd_queries_answer_with_nothing(folder: Path, open_library: Open, text: str) -> None:
    library = open_library(folder)
    library.refresh()
    assert library.search(Query(text)) == ()


def test_a_very_long_question_is_bounded(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    assert library.search(Query("owls " + "word " * 2_000))[0].title == "Owls"


def test_an_index_not_yet_built_answers_with_nothing(folder: Path, open_library: Open) -> None:
    assert open_library(folder).search(Query("owls")) == ()


def test_an_index_folder_that_cannot_be_made_is_unavailable(folder: Path, open_library: Open, tmp_path: Path) -> None:
    (tmp_path / "indexes").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageUnavailable):
        open_library(folder)


def test_a_damaged_index_names_itself(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    library.close()
    library._file.write_bytes(b"garbage " * 1_000)
    with pytest.raises(StorageUnavailable) as error:
        open_library(folder)
    assert str(library._file) in error.value.hint


def test_a_second_writer_waits_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    with writer_lock(file, 0.1), pytest.raises(Locked), writer_lock(file, 0.05):
        raise AssertionError("two writers at once")
    with writer_lock(file, 0.1):
        pass


def test_two_threads_indexing_and_searching_one_library(folder: Path, open_library: Open) -> None:
    first, second = open_library(folder), open_library(folder)
    reports = []
    threads = [threading.Thread(target=lambda lib=lib: reports.append(lib.refresh())) for lib in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.added for report in reports) == [0, 3]
    assert first.search(Query("owls"))[0].url == second.search(Query("owls"))[0].url


def test_a_killed_indexer_leaves_an_index_that_goes_on(folder: Path, open_library: Open, tmp_path: Path) -> None:
    for number in range(250):
        (folder / f"page{number:03}.html").write_bytes(html(f"Page {number}", f"Number {number} of many."))
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom pincite.library.local import LocalLibrary\n"
        "from tests.fakes.extractor import TinyExtractor\n"
        f"lib = LocalLibrary(Path({str(folder)!r}), index_dir=Path({str(tmp_path / 'indexes')!r}),"
        " extractor=TinyExtractor(), workers=0)\n"
        "lib.refresh(lambda count, place: os._exit(9) if count == 150 else None)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    library = open_library(folder)
    report = library.refresh()
    assert report.pages == 253
    assert 0 < report.added < 253


@pytest.mark.parametrize("changed", [False, True])
def test_an_update_that_was_stopped_at_its_last_page_is_counted_by_the_next(
    folder: Path, open_library: Open, changed: bool
) -> None:
    library = open_library(folder)
    if changed:
        library.refresh()
        for name in ("bees.html", "notes.md", "sub dir/owls.html"):
            (folder / name).write_bytes(html("Toads", "Toads sleep below stones."))

    def stop(count: int, place: str) -> None:
        if count == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.refresh(stop)
    assert open_library(folder).refresh().added == 0, "all was read"
    asked = Query("where do toads sleep?" if changed else "which animals hunt in the night?")
    assert library.search(asked)
    assert open_library(folder).search(asked)


def test_a_library_that_may_only_be_read_is_indexed(folder: Path, open_library: Open) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    library = open_library(folder)
    before = sorted(folder.rglob("*"))
    assert library.refresh().pages == 3
    assert sorted(folder.rglob("*")) == before
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def test_the_index_holds_no_page_of_a_removed_library(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    shutil.rmtree(folder)
    with pytest.raises(LibraryNotFound):
        library.refresh()
    folder.mkdir()
    report = library.refresh()
    assert (report.pages, report.passages, report.removed) == (0, 0, 3)
    with closing(sqlite3.connect(library._file)) as connection, connection:
        connection.execute("INSERT INTO passage_terms (passage_terms) VALUES ('integrity-check')")
        assert connection.execute("SELECT count(*) FROM words").fetchone()[0] == 0


def test_what_was_read_for_the_index_is_not_read_again(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    page_url = "local:zoo/bees.html"
    assert library.reading(page_url, sha256_hex(BEES)) is None  # nothing is known before it is brought up to date
    library.refresh()
    document = TinyExtractor().extract(BEES, page_url, "text/html")
    fallback = TinyExtractor()
    reader = IndexedReadings([library], fallback)
    assert reader.extract(BEES, page_url, "text/html") == document
    assert fallback.read == []
    assert library.cut_passages(document.document_id) == cut_passages(document)
    assert library.cut_passages("doc_unknown") is None
    changed = BEES.replace(b"flowers", b"meadows")
    assert "meadows" in reader.extract(changed, page_url, "text/html").text
    assert len(fallback.read) == 1


def test_a_damaged_reading_is_read_again(folder: Path, open_library: Open) -> None:
    library = open_library(folder)
    library.refresh()
    with closing(sqlite3.connect(library._file)) as index, index:
        index.execute("UPDATE pages SET reading = x'00'")
    fallback = TinyExtractor()
    assert "Honey bees" in IndexedReadings([library], fallback).extract(BEES, "local:zoo/bees.html", "text/html").text
    assert len(fallback.read) == 1

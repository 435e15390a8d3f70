"""The text source shipped beside a page is not another page."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.library.local import LocalLibrary
from pincite.testing.web import html

Open = Callable[..., LocalLibrary]

PAGE = html(
    "Tar pits", "Asphalt seeps through the ground and traps animals.", "Their bones last for thousands of years."
)
SOURCE = """.. _pits:

Tar pits
========

*Asphalt* seeps through the :term:`ground` and traps animals. Their bones last for thousands of years.
"""


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("pits.html", "pits.txt"),
        ("pits.htm", "pits.rst"),
        ("pits.html", "pits.rst.txt"),
        ("a/pits.html", "a/_sources/pits.rst.txt"),
        ("a/b/pits.html", "a/_sources/b/pits.md.txt"),
        ("pits.html", "pits.md.gz"),
    ],
)
def test_a_source_gives_way_to_its_page(tmp_path: Path, open_library: Open, page: str, source: str) -> None:
    root = tmp_path / "zoo"
    write(root / page, PAGE)
    write(root / source, gzip.compress(SOURCE.encode()) if source.endswith(".gz") else SOURCE)
    library = open_library(root)
    report = library.refresh()
    assert (report.pages, report.ignored) == (1, 1)
    assert library.urls() == (f"local:zoo/{page}",)


@pytest.mark.parametrize("other", ["notes.txt", "pits.txt", "x/pits.txt"])
def test_a_text_of_its_own_is_read(tmp_path: Path, open_library: Open, other: str) -> None:
    root = tmp_path / "zoo"
    write(root / "pits.html", PAGE)
    write(root / other, "Opening hours: every weekday from nine to five, closed during winter holidays.")
    library = open_library(root)
    assert library.refresh().pages == 2


def test_a_source_is_read_once_its_page_is_gone(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "zoo"
    write(root / "pits.html", PAGE)
    write(root / "pits.txt", SOURCE)
    library = open_library(root)
    library.refresh()
    assert library.refresh().unchanged == 1
    (root / "pits.html").unlink()
    library.refresh()
    assert library.urls() == ("local:zoo/pits.txt",)


def test_a_source_is_read_when_the_manifest_leaves_its_page_out(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "zoo"
    write(root / "pits.html", PAGE)
    write(root / "pits.txt", SOURCE)
    write(root / "pincite-library.toml", 'name = "zoo"\nexclude = ["*.html"]\n')
    library = open_library(root)
    library.refresh()
    assert library.urls() == ("local:zoo/pits.txt",)


def test_a_page_that_links_outside_is_no_reason_to_drop_a_text(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "zoo"
    write(tmp_path / "pits.html", PAGE)
    write(root / "pits.txt", SOURCE)
    (root / "pits.html").symlink_to(tmp_path / "pits.html")
    library = open_library(root)
    library.refresh()
    assert library.urls() == ("local:zoo/pits.txt",)


def test_a_folder_of_pages_that_links_outside_is_no_reason_to_drop_a_text(tmp_path: Path, open_library: Open) -> None:
    root = tmp_path / "zoo"
    write(tmp_path / "animals" / "pits.html", PAGE)
    write(root / "_sources" / "animals" / "pits.rst.txt", SOURCE)
    (root / "animals").symlink_to(tmp_path / "animals", target_is_directory=True)
    library = open_library(root)
    report = library.refresh()
    assert library.urls() == ("local:zoo/_sources/animals/pits.rst.txt",)
    assert [skipped.reason for skipped in report.skipped] == ["linked_folder"]

"""What is in a library, and where its files say that they come from."""

import gzip
from pathlib import Path

import pytest

from pincite.domain.search import ListedPage
from pincite.fetch.extractors import BytesExtractor
from pincite.library.local import LocalLibrary
from pincite.library.records import SourceLimits
from pincite.library.schema import stated_addresses
from pincite.testing.web import html, write_warc

URL = "https://www.wind-news.com/park"


@pytest.mark.parametrize(
    "head",
    [
        f'<html><head><link href="{URL}" rel="canonical"></head>',
        f"<meta property='og:url' content='{URL}'>",
        f"<!-- saved from url=(0030){URL} -->",
        f"<!--\n Page saved with SingleFile \n url: {URL} \n saved date: today -->",
        f"URL: {URL}\n\nThe park opened.",
        f"---\ntitle: Park\nsource_url: {URL}\n---\n",
        f"# Park\n\n**Source:** <{URL}>\n",
        f"{URL}\n\nThe park opened.",
    ],
)
def test_the_address_a_file_names_as_its_own(head: str) -> None:
    assert stated_addresses(head) == (URL,)


@pytest.mark.parametrize(
    "text",
    [
        f"The park opened. See {URL} for more.",
        f"The park opened.\n{URL}\n",
        "\n".join(["word"] * 9) + f"\nURL: {URL}",
        f'<link rel="stylesheet" href="{URL}"><a href="{URL}">canonical</a>',
        "",
    ],
)
def test_an_address_that_is_only_mentioned_is_not_its_own(text: str) -> None:
    assert stated_addresses(text) == ()


def test_a_library_lists_its_pages(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    words = "The Havel Wind Park opened in March 2019 and makes 398 MW."
    (folder / "park.md").write_text(f"# Park\n\nSource: {URL}\n\n{words}\n", encoding="utf-8")
    write_warc(folder / "pages.warc.gz", {"https://a.example/p": html("Page P", words)})
    with LocalLibrary(folder, index_dir=tmp_path / "index", extractor=BytesExtractor(), workers=0) as library:
        library.refresh()
        assert library.listing() == (
            ListedPage("https://a.example/p", "Page P"),
            ListedPage("local:given/park.md", "Park", "park.md", (URL,)),
        )
        (folder / "park.md").unlink()
        assert library.listing()[1].states == ()


def test_packed_files_are_read_as_what_they_hold(tmp_path: Path) -> None:
    """Systems keep long documents so: `README.gz`, `guide.html.gz`. What holds something else is named as ever."""
    folder = tmp_path / "given"
    folder.mkdir()
    words = "The Havel Wind Park opened in March 2019 and makes 398 MW."
    packed = gzip.compress(f"# Park\n\nSource: {URL}\n\n{words}\n".encode())
    (folder / "park.md.gz").write_bytes(packed)
    (folder / "page.html.gz").write_bytes(gzip.compress(html("Page P", words)))
    (folder / "README.gz").write_bytes(gzip.compress(words.encode()))
    (folder / "cut.txt.gz").write_bytes(packed[:-9])
    (folder / "plain.txt.gz").write_bytes(words.encode())
    (folder / "all.tar.gz").write_bytes(gzip.compress(b"\0" * 99))
    (folder / "data.gz").write_bytes(gzip.compress(b"\0" * 99))
    (folder / "bomb.txt.gz").write_bytes(gzip.compress(f"{words} ".encode() * 200_000))
    limits = SourceLimits(page_bytes=100_000)
    with LocalLibrary(
        folder, index_dir=tmp_path / "index", extractor=BytesExtractor(), workers=0, limits=limits
    ) as library:
        report = library.refresh()
        assert library.listing()[-1] == ListedPage("local:given/park.md.gz", "Park", "park.md.gz", (URL,))
        names = [page.url.removeprefix("local:given/") for page in library.listing()]
        assert names == ["README.gz", "page.html.gz", "park.md.gz"]
        skipped = {skipped.place: skipped.reason for skipped in report.skipped}
        assert skipped == {"cut.txt.gz": "bad_gzip", "plain.txt.gz": "bad_gzip", "bomb.txt.gz": "too_large"}

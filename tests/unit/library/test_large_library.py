"""Twenty thousand pages: indexed in bounded memory, found quickly, updated without reading them again."""

import time
from pathlib import Path

import pytest
from tests.fakes.extractor import TinyExtractor

from pincite.domain.search import Query
from pincite.library.local import LocalLibrary
from pincite.testing.web import html

PAGES = 20_000
WORDS = ("amber", "birch", "copper", "delta", "ember", "fjord", "granite", "harbour", "island", "juniper", "kestrel")


def text(number: int) -> str:
    picked = " ".join(WORDS[(number // 11**place) % 11] for place in range(5))
    return f"Station {number} stands by the {picked}. Its code is ST{number:05}."


@pytest.mark.long
def test_twenty_thousand_pages(tmp_path: Path) -> None:
    archive = tmp_path / "stations.warc"
    with archive.open("wb") as out:
        for number in range(PAGES):
            body = html(f"Station {number}", text(number), text(number + 1))
            head = (
                f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: https://stations.example/{number}\r\n"
                f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            out.write(head.encode() + body + b"\r\n\r\n")
    with LocalLibrary(archive, index_dir=tmp_path / "index", extractor=TinyExtractor(), workers=0) as library:
        assert library.refresh().pages == PAGES
        spent = []
        for number in (7, 4_321, 19_998):
            started = time.thread_time()
            (hit, *_) = library.search(Query(f"which station has the code ST{number:05} by the harbour?"))
            spent.append(time.thread_time() - started)
            assert hit.url in {f"https://stations.example/{n}" for n in (number, number - 1)}
        assert sorted(spent)[1] < 1.0
        started = time.thread_time()
        assert library.refresh().added == 0
        assert time.thread_time() - started < 1.0

"""Library pages as captures."""

import threading
from datetime import UTC, datetime

import pytest

from pincite.domain.errors import ArchiveCorrupt, NotFound, Timeout
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import LibraryPage
from pincite.fetch.backends.archive import ArchiveBackend

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Library:
    """A page source over a dict."""

    def __init__(self, **pages: bytes) -> None:
        self.pages = pages

    def page(self, url: str) -> LibraryPage:
        name = url.rsplit("/", 1)[-1]
        if name not in self.pages:
            raise NotFound(f"no page {url}")
        if self.pages[name] == b"broken":
            raise ArchiveCorrupt("damaged")
        return LibraryPage(url=f"https://zoo.example/{name}", body=self.pages[name], content_type="text/html",
                           captured_at=AT, note="from a box")  # fmt: skip


async def test_the_first_library_that_has_the_page_answers() -> None:
    backend = ArchiveBackend([Library(a=b"one"), Library(a=b"two", b=b"three")])
    first = await backend.fetch(FetchRequest("https://zoo.example/a"))
    second = await backend.fetch(FetchRequest("http://zoo.example/b"))
    assert (first.body, second.body) == (b"one", b"three")
    assert (second.url, second.final_url) == ("http://zoo.example/b", "https://zoo.example/b")
    assert (first.via, first.status, first.note, first.robots) == ("archive", 200, "from a box", "not_asked")
    assert first.fetched_at == AT
    assert first == await backend.fetch(FetchRequest("https://zoo.example/a"))


async def test_an_unknown_address_is_left_to_other_backends() -> None:
    with pytest.raises(NotFound) as error:
        await ArchiveBackend([Library()]).fetch(FetchRequest("https://zoo.example/a"))
    assert error.value.reason == "not_in_library"


async def test_damage_is_not_hidden_behind_another_library() -> None:
    with pytest.raises(ArchiveCorrupt):
        await ArchiveBackend([Library(a=b"broken"), Library(a=b"two")]).fetch(FetchRequest("https://zoo.example/a"))


async def test_a_file_system_that_hangs_is_left_at_the_deadline() -> None:
    gate = threading.Event()

    class Stuck(Library):
        def page(self, url: str) -> LibraryPage:
            gate.wait(5)
            raise NotFound(url)

    with pytest.raises(Timeout):
        await ArchiveBackend([Stuck()], deadline_s=0.01).fetch(FetchRequest("https://zoo.example/a"))
    gate.set()

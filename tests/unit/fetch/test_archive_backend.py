"""Library pages as captures."""

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pincite.audit.check import CheckStatus
from pincite.domain.errors import ArchiveCorrupt, NotFound, Timeout
from pincite.domain.fetch import FetchRequest
from pincite.domain.search import LibraryPage
from pincite.engine import Engine
from pincite.fetch.backends.archive import ArchiveBackend
from pincite.settings import load_settings
from pincite.testing.clock import FrozenClock
from pincite.wiring.checking import check_stored_report

AT, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, tzinfo=UTC)


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
    backend = ArchiveBackend([Library(a=b"one"), Library(a=b"two", b=b"three")], FrozenClock(NOW))
    first = await backend.fetch(FetchRequest("https://zoo.example/a"))
    second = await backend.fetch(FetchRequest("http://zoo.example/b"))
    assert (first.body, second.body) == (b"one", b"three")
    assert (second.url, second.final_url) == ("http://zoo.example/b", "https://zoo.example/b")
    assert (first.via, first.status, first.note, first.robots) == ("archive", 200, "from a box", "not_asked")
    assert first.fetched_at == AT
    assert first == await backend.fetch(FetchRequest("https://zoo.example/a"))


async def test_a_file_is_accessed_when_it_is_read_and_has_a_date_of_its_own(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text("# Varden\n\nThe Varden lighthouse is 41 metres tall.\n")
    os.utime(pages / "tower.md", (AT.timestamp(), AT.timestamp()))
    begun = datetime.now(UTC)
    asked: dict[str, object] = {"home": tmp_path / "home", "source": (f"local:{pages}",)}
    async with Engine(load_settings(asked, environ={}, files=())) as engine:
        report = await engine.research("How tall is the Varden lighthouse?")
        checked = check_stored_report(await engine.export(report, "json"), engine.settings)
    [reference] = report.references
    assert begun <= reference.accessed_at <= datetime.now(UTC)
    assert reference.note == "from file tower.md of library pages, dated 2026-01-01"
    assert checked.status is CheckStatus.PASSED, checked


async def test_an_unknown_address_is_left_to_other_backends() -> None:
    with pytest.raises(NotFound) as error:
        await ArchiveBackend([Library()], FrozenClock(NOW)).fetch(FetchRequest("https://zoo.example/a"))
    assert error.value.reason == "not_in_library"


async def test_damage_is_not_hidden_behind_another_library() -> None:
    libraries = [Library(a=b"broken"), Library(a=b"two")]
    with pytest.raises(ArchiveCorrupt):
        await ArchiveBackend(libraries, FrozenClock(NOW)).fetch(FetchRequest("https://zoo.example/a"))


async def test_a_file_system_that_hangs_is_left_at_the_deadline() -> None:
    gate = threading.Event()

    class Stuck(Library):
        def page(self, url: str) -> LibraryPage:
            gate.wait(5)
            raise NotFound(url)

    with pytest.raises(Timeout):
        await ArchiveBackend([Stuck()], FrozenClock(NOW), deadline_s=0.01).fetch(FetchRequest("https://zoo.example/a"))
    gate.set()

"""`examples/plugins`, one adapter of each kind: found by its row in `pyproject.toml` alone, and run."""

import asyncio
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from tests.fakes.plugins import installed_in
from tests.fakes.small_web import document_of
from tests.fakes.storage import MemoryCache

import pincite
from pincite.apis import ApiSettings
from pincite.domain.events import Json
from pincite.domain.evidence import EvidenceLine, JudgeCase, JudgementLabel
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Document
from pincite.domain.search import Query
from pincite.fetch import extractors
from pincite.fetch.hosted import HostedSurroundings
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import Admission
from pincite.ranking.ranker import Source
from pincite.runtime.concurrency import resource_pool
from pincite.runtime.readers import ReaderPool
from pincite.settings import Settings
from pincite.surfaces.cli.options import report_formats
from pincite.testing.clock import FrozenClock
from pincite.testing.reports import sample_report
from pincite.testing.web import StubRequest, StubResolver, StubWeb
from pincite.urls import UrlPolicy
from pincite.urls.policy import vet_parsed
from pincite.wiring.judging import Judges
from pincite.wiring.libraries import ranker_of, vectors_of
from pincite.wiring.registry import EXPORTERS, PROVIDERS, SCRAPERS, export_formats, load
from pincite.wiring.searching import build_search

# The place is folded over two lines (RFC 5545, section 3.1).
CALENDAR = b"BEGIN:VEVENT\r\nSUMMARY:Release party\r\nDTSTART:20261124T180000Z\r\nLOCATION:Bre\r\n st\r\n"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package on the path with its metadata, as an installer leaves it."""
    for folder in installed_in(tmp_path):
        monkeypatch.syspath_prepend(folder)
    extractors.installed.cache_clear()
    yield
    extractors.installed.cache_clear()
    for name in [name for name in sys.modules if name.startswith("pincite_example_plugins")]:
        del sys.modules[name]


async def test_a_search_engine(tmp_path: Path) -> None:
    clock, settings = FrozenClock(), Settings.model_validate({"home": tmp_path})
    async with resource_pool() as kept:
        search = await build_search(settings, clock, kept, libraries=(), providers=("rfcs",), cache=MemoryCache(clock))
        assert search is not None
        response = await search.search(Query("robots exclusion"))
    assert [hit.url for hit in response.results] == ["https://www.rfc-editor.org/rfc/rfc9309.html"]


async def test_a_hosted_scraper() -> None:
    class OpenGate:
        async def admit(self, url: str, _: object) -> Admission:
            return Admission(vet_parsed(url), "allowed")

    async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        assert json.loads(request.body) == {"url": "https://page.example/a"}
        body = json.dumps({"html": "<p>Scraped elsewhere.</p>"}).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)

    clock = FrozenClock()
    async with StubWeb() as web:
        web.raw("/scrape", answer)
        resolver = VettedResolver(StubResolver(default=("93.184.215.14",)), UrlPolicy(), clock)
        around = HostedSurroundings(OpenGate(), resolver, clock)
        scraper = load(SCRAPERS, "mirror", "hosted scraper")(ApiSettings(f"http://127.9.0.1:{web.port}"), around)
        snapshot = await scraper.fetch(FetchRequest("https://page.example/a"))
        await scraper.aclose()
    assert (snapshot.via, snapshot.body, scraper.page_usd) == (
        "mirror", b"<p>Scraped elsewhere.</p>", Decimal("0.001"),
    )  # fmt: skip


def test_an_extractor() -> None:
    document = pincite.extract(CALENDAR, "https://page.example/a.ics", "text/calendar; charset=utf-8")
    assert document.text.split("\n\n") == ["Release party", "Begins: 20261124T180000Z", "Place: Brest"]
    assert pincite.extract(b"Plain words.", "https://page.example/a", "text/plain").extractor != "calendar"
    told: dict[str, Json] = {"known": dict(extractors.installed())}
    with ReaderPool(Document, extractors.READER, lambda: told, size=1) as pool:
        assert pool.extract(CALENDAR, "https://page.example/a.ics", "text/calendar").text == document.text


def test_an_export_format() -> None:
    assert "txt" in report_formats()
    listed = {one.name: one for one in export_formats()}
    assert (listed["txt"].title, listed["txt"].media_type) == ("Plain text", "text/plain; charset=utf-8")
    assert all(one.title and one.about for one in listed.values()), "each is listed with what it is for"
    sample = sample_report()
    text = load(EXPORTERS, "txt", "format")().render(sample.report, sample.documents).decode()
    assert text.startswith(sample.report.question)
    assert all(reference.url in text for reference in sample.report.references)


async def test_a_judge(tmp_path: Path) -> None:
    async def nobody(settings: Settings) -> None:
        return None

    settings = Settings.model_validate({"home": tmp_path, "judge": "samewords"})
    async with resource_pool() as kept:
        (part,) = await Judges(kept, FrozenClock(), nobody, nobody).parts(settings)
        assert part.judge is not None
        assert part.name == "samewords"
        line = EvidenceLine("1", "Vacuum removes dead rows.")
        said = await part.judge.judge(
            [JudgeCase("a", "VACUUM removes rows", (line,)), JudgeCase("b", "It flies", (line,))]
        )
    assert [item.label for item in said] == [JudgementLabel.STATES, JudgementLabel.ABSENT]


def test_an_embedder(tmp_path: Path) -> None:
    vectors = vectors_of(Settings.model_validate({"home": tmp_path, "embeddings": "hashing"}))
    assert vectors is not None
    near, same, far = vectors.embed(["dead rows", "rows dead", "a ship"])
    assert sum(a * b for a, b in zip(near, same, strict=True)) == pytest.approx(1.0, abs=0.01)
    assert sum(a * b for a, b in zip(near, far, strict=True)) < 0.5


def test_no_package_takes_a_name_of_ours(tmp_path: Path) -> None:
    site = next((tmp_path / "site").iterdir())
    (site / "entry_points.txt").write_text("[pincite.search_providers]\ntavily = evil:Tavily\n", encoding="utf-8")
    assert PROVIDERS["tavily"] == "pincite.search.providers.tavily:Tavily"
    assert list(PROVIDERS).count("tavily") == 1


def test_a_reranker(tmp_path: Path) -> None:
    settings = Settings.model_validate({"home": tmp_path, "reranker": "phrases"})
    pages = ("# Keys\n\nA key is rotated. Rotate it, a key, each month.", "# More\n\nHow to rotate a key is told here.")
    sources = [Source(f"https://keys.test/{n}", document_of(text)) for n, text in enumerate(pages)]
    assert ranker_of(settings).rank("Who can rotate a key?", sources).passages[0].source is sources[1]

"""Near-copies, the representative rule and pages that could not be read."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import anyio
import anyio.lowlevel
import pytest
from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores, SmallWeb, document_of

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import PageBlocked
from pincite.domain.events import EventType
from pincite.domain.evidence import Claim, Evidence
from pincite.domain.fetch import FetchRequest, FetchResult, Hosted
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.plan import Progress, ReadPage, Task
from pincite.domain.records import Outcome
from pincite.domain.search import Constraints, SearchResult
from pincite.research.assembly import _reference as make_reference
from pincite.research.reader import PageReader, mark_duplicates
from pincite.research.state import Limits, weighed, within_quotable

LONG = " ".join(f"word{number} follows the one before it and says nothing new." for number in range(40))


async def pages_of(documents: dict[str, str], **dates: datetime) -> list[ReadPage]:
    web = SmallWeb({url: document_of(text, published_at=dates.get(url[-1])) for url, text in documents.items()})
    read = []
    for url in documents:
        page = await web.fetch(FetchRequest(url))
        read.append(ReadPage(url, page.snapshot, page.document))
    return read


async def test_a_near_copy_points_to_its_representative() -> None:
    pages = await pages_of(
        {"https://a.test/1": LONG, "https://b.test/2": LONG + " The end.", "https://c.test/3": "No."}
    )
    marked = mark_duplicates(pages, {})
    assert [page.duplicate_of for page in marked] == ["https://b.test/2", None, None]


async def test_domain_quality_then_date_decide() -> None:
    texts = {"https://a.test/1": LONG + " The end.", "https://b.test/2": LONG}
    better = mark_duplicates(await pages_of(texts), {"b.test": 1.0})
    assert [page.duplicate_of for page in better] == ["https://b.test/2", None]
    dates = {"1": datetime(2025, 1, 1, tzinfo=UTC), "2": datetime(2020, 1, 1, tzinfo=UTC)}
    older = mark_duplicates(await pages_of(texts, **dates), {})
    assert [page.duplicate_of for page in older] == ["https://b.test/2", None]


def reader(web: SmallWeb, ledger: ListLedger | None = None) -> PageReader:
    stores = MemoryStores()
    return PageReader(
        web, stores.snapshots, stores.documents, ledger or ListLedger(), ListEvents(), limits=Limits(keep_undated=False)
    )


def results(*urls: str) -> list[SearchResult]:
    return [SearchResult("", url, "seen in a search", "engine", n) for n, url in enumerate(urls, start=1)]


async def test_what_is_not_read_is_a_lead_with_its_reason() -> None:
    web = SmallWeb({"https://a.test/1": "Some text."})
    reading = await reader(web).read(Task("q"), results("https://a.test/1", "https://a.test/gone"), Progress())
    assert [page.url for page in reading.pages] == ["https://a.test/1"]
    assert [(lead.url, lead.reason) for lead in reading.leads] == [("https://a.test/gone", "dead_link")]


async def test_a_later_round_compares_pages_again_when_it_met_another_one() -> None:
    older = document_of(LONG, published_at=datetime(2020, 1, 1, tzinfo=UTC))
    texts = {
        "https://a.test/1": document_of(LONG),
        "https://b.test/2": document_of("Other."),
        "https://c.test/3": older,
    }
    asked = reader(SmallWeb(texts))
    first = await asked.read(Task("q"), results("https://a.test/1", "https://b.test/2"), Progress())
    same = await asked.read(Task("q"), results("https://a.test/1"), Progress(pages=first.pages))
    more = await asked.read(Task("q"), results("https://c.test/3"), Progress(pages=same.pages))
    assert same.pages == first.pages
    assert [page.duplicate_of for page in more.pages] == ["https://c.test/3", None, None]


class HeldBack(SmallWeb):
    """Gives the page called `slow` only when `given` is set."""

    given: anyio.Event

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if request.url.endswith("/slow"):
            await self.given.wait()
        return await super().fetch(request)


ENDS = (EventType.PAGE_FETCHED, EventType.PAGE_FAILED)


async def test_pages_are_told_as_they_come_in_the_order_of_the_results() -> None:
    web = HeldBack({f"https://a.test/{name}": f"Text of {name}." for name in ("1", "slow", "3")})
    web.given = anyio.Event()
    events, stores = ListEvents(), MemoryStores()
    slow = PageReader(web, stores.snapshots, stores.documents, ListLedger(), events, limits=Limits())
    wanted = results("https://a.test/1", "https://a.test/gone", "https://a.test/slow", "https://a.test/3")

    async def look() -> None:
        while [event.type for event in events.events if event.type in ENDS] != [*ENDS]:
            await anyio.lowlevel.checkpoint()
        web.given.set()

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        reading = await slow.read(Task("q"), wanted, Progress())
    assert [page.url for page in reading.pages] == ["https://a.test/1", "https://a.test/slow", "https://a.test/3"]
    urls = [result.url for result in wanted]
    assert [data["url"] for data in events.of(EventType.PAGE_REQUESTED)] == urls
    assert [event.data["url"] for event in events.events if event.type in ENDS] == urls
    assert [data["url"] for data in events.of(EventType.CHUNK_MADE)] == [page.url for page in reading.pages]
    calls = {"kind": "fetch", "calls": 4}
    assert events.of(EventType.BUDGET_RESERVED) == [calls]
    assert events.of(EventType.BUDGET_SETTLED) == [{**calls, "answered": 3}]


async def test_a_page_outside_the_period_is_not_used() -> None:
    since = Constraints(since=datetime(2026, 1, 1, tzinfo=UTC).date())
    web = SmallWeb({"https://a.test/1": document_of("Old.", published_at=datetime(2020, 1, 1, tzinfo=UTC))})
    reading = await reader(web).read(Task("q", since), results("https://a.test/1"), Progress())
    assert not reading.pages
    assert reading.leads[0].reason == "outside_period"


async def test_a_recorded_page_that_is_gone_from_the_store_is_a_lead() -> None:
    web, ledger = SmallWeb({"https://a.test/1": "Some text."}), ListLedger()

    async def recorded() -> Outcome:
        return Outcome({"snapshot_id": "snap_0", "document_id": "doc_0"}, Usage(pages=1))

    await ledger.call("fetch", {"url": "https://a.test/1"}, Usage(pages=1), recorded)
    reading = await reader(web, ledger).read(Task("q"), results("https://a.test/1"), Progress())
    assert [lead.reason for lead in reading.leads] == ["snapshot_missing"]
    assert not web.fetched


class Scraped(SmallWeb):
    """A web behind bot challenges that a paid scraper gets past, for 2 dollars a page."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self.asked: list[Hosted] = [*getattr(self, "asked", []), request.hosted]
        if request.hosted is Hosted.NEVER:
            raise PageBlocked("no", reason="challenge")
        page = await super().fetch(request)
        return replace(page, info=replace(page.info, via="firecrawl", cost_usd=Decimal(2)))


@pytest.mark.parametrize(("cap", "read", "cost"), [(None, 2, 4), ("5", 2, 4), ("3", 1, 2), ("1", 0, 0)])
async def test_a_scraper_is_paid_from_the_budget_of_the_run(cap: str | None, read: int, cost: int) -> None:
    web = Scraped({"https://a.test/1": "Some text.", "https://b.test/2": "Other words."})
    ledger = ListLedger(Budget(cost_usd=None if cap is None else Decimal(cap)))
    stores = MemoryStores()
    limits = Limits(scrape_usd=Decimal(2), concurrency=1)
    made = PageReader(web, stores.snapshots, stores.documents, ledger, ListEvents(), limits=limits)
    reading = await made.read(Task("q"), results("https://a.test/1", "https://b.test/2"), Progress())
    assert len(reading.pages) == read
    assert (await ledger.spent()).cost_usd == cost
    assert (await ledger.spent()).pages <= 2
    assert [(lead.reason, lead.code) for lead in reading.leads] == [("challenge", "PAGE_BLOCKED")] * (2 - read)
    assert web.asked.count(Hosted.ONLY) == read


async def test_a_quote_is_no_longer_than_its_page_allows() -> None:
    page = (await pages_of({"https://a.test/1": LONG}))[0]
    limited = replace(page, snapshot=replace(page.snapshot, usage_signals=("max-snippet:80",)))

    def claim(*lengths: int) -> Claim:
        quotes = (page.document.quote(0, length) for length in lengths)
        snapshot = page.snapshot
        return Claim(
            str(lengths), "c", "1",
            evidence=tuple(Evidence(q, snapshot.snapshot_id, snapshot.body_sha256, page.url) for q in quotes),
        )  # fmt: skip

    claims = (claim(80), claim(81), claim(81, 20), claim())
    kept = within_quotable(claims, [limited])
    assert [[len(item.quote.text) for item in found.evidence] for found in kept] == [[80], [20], []]
    assert within_quotable(claims, [page]) == claims


async def test_claims_from_folded_text_weigh_half() -> None:
    blocks = (Block(BlockKind.PARAGRAPH, "Seen by all."), Block(BlockKind.PARAGRAPH, "Folded away.", secondary=True))
    page = (await pages_of({"https://a.test/1": LONG}))[0]
    page = replace(page, document=Document("html", "3", blocks))

    def claim(*spans: tuple[int, int]) -> Claim:
        quotes = (page.document.quote(*span) for span in spans)
        return Claim("c", "c", "1", evidence=tuple(Evidence(q, "snap_1", "", page.url) for q in quotes))

    claims = (claim((0, 12)), claim((14, 26)), claim((0, 12), (14, 26)))
    assert [found.confidence for found in weighed(claims, [page])] == [0.5, 0.25, 0.5]


class Older(SmallWeb):
    """A web whose host fails: what it gives are older copies."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        page = await super().fetch(request)
        return replace(page, info=replace(page.info, stale=True))


async def test_an_older_copy_is_marked_in_the_reference_also_from_the_record() -> None:
    web, ledger, stores = Older({"https://a.test/1": "Some text of the page."}), ListLedger(), MemoryStores()
    await stores.keep(await web.fetch(FetchRequest("https://a.test/1")))
    for _ in range(2):
        made = PageReader(web, stores.snapshots, stores.documents, ledger, ListEvents(), limits=Limits())
        page = (await made.read(Task("q"), results("https://a.test/1"), Progress())).pages[0]
        assert page.stale
        quote = page.document.quote(0, 9)
        evidence = Evidence(quote, page.snapshot.snapshot_id, page.snapshot.body_sha256, page.url)
        reference = make_reference(1, page, evidence, is_shared=False)
        assert reference.note == "older copy, the site did not answer"
        assert reference.accessed_at == page.snapshot.fetched_at
    assert len(web.fetched) == 2


async def test_pages_that_share_a_title_are_told_apart_by_what_they_begin_with() -> None:
    fetched = await SmallWeb({"https://a.test/1": "A lamp."}).fetch(FetchRequest("https://a.test/1"))
    blocks = (Block(BlockKind.HEADING, "Lamps", level=1), Block(BlockKind.PARAGRAPH, "A lamp."))
    read = ReadPage("https://a.test/1", fetched.snapshot, Document("t", "1", blocks, title="Manual"))
    evidence = Evidence(read.document.quote(0, 5), fetched.snapshot.snapshot_id, "", read.url)
    assert make_reference(1, read, evidence, is_shared=False).title == "Manual"
    assert make_reference(1, read, evidence, is_shared=True).title == "Manual: Lamps"

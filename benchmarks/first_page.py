"""first_page.py: when the keyless default has its first page, and its report, on simulated time.

DuckDuckGo's adapter and rate limit (0.4 a second) over the shipped fake engine, which answers in 0.6 s; pages take
0.8 s. Questions of one, two and four parts, planned as the keyless default plans them and as others are.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import beside_tests  # noqa: F401  # its import is its effect
import httpx2
from simulated_time import SimulatedClock, run
from tests.fakes.engines import EngineTransport, FakeEngines, FakePage
from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores, SmallWeb

from pincite.apis import ApiSettings
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.plan import Task
from pincite.domain.search import Query, SearchResponse
from pincite.research.extractive.analyst import ExtractiveAnalyst
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.extractive.verifier import ExtractiveVerifier
from pincite.research.extractive.writer import ExtractiveWriter
from pincite.research.reader import PageReader
from pincite.research.searcher import QuerySearcher
from pincite.research.service import ResearchService, Roles
from pincite.research.state import Limits
from pincite.search.provider import Surroundings
from pincite.search.providers.duckduckgo import DuckDuckGo
from pincite.search.service import SearchService

SEARCH_S, PAGE_S = 0.6, 0.8
SUBJECTS = ("deadlock timeout", "autovacuum workers", "mail queue lifetime", "port of the console")
QUESTIONS = (
    "What is the default of the deadlock timeout?",
    "What is the default of the deadlock timeout, and how many autovacuum workers are there?",
    "Which defaults hold: the deadlock timeout, the autovacuum workers, the mail queue lifetime, the console's port?",
)


def pages() -> dict[str, str]:
    """Three pages on each subject."""
    return {
        f"https://site{n}.test/{subject.replace(' ', '-')}": (
            f"# The {subject}\n\nThe default of the {subject} is {n + 2} by the manual of site {n}. It can be changed."
        )
        for subject in SUBJECTS
        for n in range(3)
    }


class SlowPages(SmallWeb):
    """Pages that take their time; `first_s` is when the first one was there."""

    first_s: float | None = None

    def __init__(self, stores: MemoryStores) -> None:
        super().__init__(pages())
        self._stores = stores

    async def fetch(self, request: FetchRequest) -> FetchResult:
        await anyio.sleep(PAGE_S)
        page = await self._stores.keep(await super().fetch(request))
        if self.first_s is None:
            self.first_s = SimulatedClock().monotonic_s()
        return page


class Front:
    """`ports.Search` over the search service."""

    def __init__(self, service: SearchService) -> None:
        self._service = service

    async def search(self, query: Query) -> SearchResponse:
        return await self._service.search(query, queue_wait_s=300.0)


async def measured(question: str, *, sparing: bool) -> tuple[float, float, int]:
    """Seconds to the first page and to the report, and the searches sent."""
    clock = SimulatedClock()
    known = pages()

    def find(text: str, count: int) -> list[FakePage]:
        wanted = set(text.lower().split())
        ranked = sorted(known, key=lambda url: -len(wanted & set(known[url].lower().split())))
        return [FakePage(url, known[url].split("\n")[0][2:], known[url]) for url in ranked[:count]]

    engines = FakeEngines(find=find, now_s=clock.monotonic_s)

    async def delay(_: httpx2.Request) -> None:
        await anyio.sleep(SEARCH_S)

    around = Surroundings(clock, transport=EngineTransport(engines, delay))
    engine = DuckDuckGo(ApiSettings(engines.base_url("duckduckgo", "http://engines.test"), api_key=""), around)
    stores, limits = MemoryStores(), Limits()
    web, ledger, events = SlowPages(stores), ListLedger(limits.budget), ListEvents()
    async with SearchService([engine], clock=clock) as service:
        roles = Roles(
            ExtractivePlanner(sparing=sparing),
            QuerySearcher(Front(service), ledger, events, limits=limits),
            PageReader(web, stores.snapshots, stores.documents, ledger, events, limits=limits),
            ExtractiveAnalyst(),
            ExtractiveVerifier(),
            ExtractiveWriter(),
        )
        research = ResearchService(roles, ledger=ledger, events=events, clock=clock, limits=limits, run_id="run_first")
        report = await research.run(Task(question))
    if web.first_s is None:
        sys.exit(f"no page was read for {question!r}")
    return web.first_s, clock.monotonic_s(), report.metrics.searches


async def at_once(do: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    """Work for a thread, done here: simulated time can't wait for threads, and CPU time is not what is measured."""
    return do(*arguments)


def main() -> None:
    anyio.to_thread.run_sync = at_once  # type: ignore[assignment]  # it knows less of threads than theirs
    print("| parts | first page | report | searches | report when each part is asked twice | searches then |")
    print("| --- | --- | --- | --- | --- | --- |")
    for parts, question in zip((1, 2, 4), QUESTIONS, strict=True):
        first, done, searches = run(partial(measured, question, sparing=True))
        _, usual, more = run(partial(measured, question, sparing=False))
        print(f"| {parts} | {first:.1f} s | {done:.1f} s | {searches} | {usual:.1f} s | {more} |")


if __name__ == "__main__":
    main()

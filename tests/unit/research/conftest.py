"""A small web and a service over it."""

from collections.abc import Callable

import pytest
from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores, SmallWeb

from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.ports import Judge
from pincite.research.extractive.analyst import ExtractiveAnalyst
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.extractive.verifier import ExtractiveVerifier
from pincite.research.extractive.writer import ExtractiveWriter
from pincite.research.reader import PageReader
from pincite.research.searcher import QuerySearcher
from pincite.research.service import ResearchService, Roles
from pincite.research.state import Limits
from pincite.testing.clock import FrozenClock


class StoringFetch:
    """The fetch service over a small web: what is read is stored."""

    def __init__(self, web: SmallWeb, stores: MemoryStores) -> None:
        self._web = web
        self._stores = stores

    async def fetch(self, request: FetchRequest) -> FetchResult:
        return await self._stores.keep(await self._web.fetch(request))


class Bench:
    """Everything of one run at hand."""

    def __init__(self, web: SmallWeb, *, limits: Limits | None = None) -> None:
        self.web = web
        self.limits = limits or Limits()
        self.ledger = ListLedger(self.limits.budget)
        self.events = ListEvents()
        self.stores = MemoryStores()
        self.clock = FrozenClock()
        self.judge: Judge | None = None
        self.searches = True

    def service(self) -> ResearchService:
        """A fresh service on the same ledger and stores, as a resumed run makes it."""
        fetch = StoringFetch(self.web, self.stores)
        roles = Roles(
            ExtractivePlanner(results_per_query=self.limits.results_per_query),
            QuerySearcher(self.web if self.searches else None, self.ledger, self.events, limits=self.limits),
            PageReader(
                fetch, self.stores.snapshots, self.stores.documents, self.ledger, self.events, limits=self.limits
            ),
            ExtractiveAnalyst(),
            ExtractiveVerifier(self.judge),
            ExtractiveWriter(),
        )
        return ResearchService(
            roles, ledger=self.ledger, events=self.events, clock=self.clock, limits=self.limits, run_id="run_small"
        )


PAGES = {
    "https://db.test/locks.html": (
        "# Lock Management\n\nThis chapter is about locks.\n\n"
        "deadlock_timeout (integer) :: This is the amount of time to wait on a lock before checking to see if there "
        "is a deadlock condition. The default is one second.\n\n"
        "max_locks (integer) :: The shared lock table has room for this many locks. The default is 64."
    ),
    "https://db.test/vacuum.html": (
        "# Routine Vacuuming\n\nVACUUM removes dead row versions from tables and indexes. It marks the space "
        "available for reuse. A transaction sees only rows that were committed before its snapshot was taken.\n\n"
        "## Autovacuum\n\nThe autovacuum daemon starts three workers unless it is configured otherwise."
    ),
    "https://mail.test/queue.html": (
        "# Mail Queue\n\nThe queue manager retries deferred mail. A message that can't be delivered is returned to the "
        "sender after five days."
    ),
}


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Makes a bench over the small pages, or over given ones."""

    def make(pages: dict[str, str] | None = None, *, limits: Limits | None = None, **web: object) -> Bench:
        return Bench(SmallWeb(pages or PAGES, **web), limits=limits)  # type: ignore[arg-type]  # passed through

    return make

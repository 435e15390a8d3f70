"""A run over a few small pages in memory, with a fake model in the roles that wiring gives it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores, SmallWeb

from pincite.domain.events import Json
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.model import ModelRole
from pincite.domain.plan import Task
from pincite.domain.report import Report
from pincite.judges.model import ModelJudge
from pincite.ports import Fetch, Judge, LanguageModel
from pincite.research.service import ResearchService
from pincite.research.state import Limits
from pincite.settings import load_settings
from pincite.testing.clock import FrozenClock
from pincite.testing.models import Seen, composed, said
from pincite.wiring.roles import Run, build_roles

PAGES = {
    "https://tower.test/varden": (
        "# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was built by "
        "Anna Holm in 1897 on the northern cape of the island.\n\nThe lamp of the Varden lighthouse can be seen "
        "from 33 kilometres away in clear weather. The lighthouse keeper lived in the tower of the Varden "
        "lighthouse until 1968."
    ),
    "https://coast.test/lights": (
        "# Lighthouses of the coast\n\nThe Varden lighthouse on the northern cape is painted red and white. Most "
        "lighthouses of the coast may be visited in summer, the Varden lighthouse among them.\n\nThe council of "
        "Skarvik has owned the Varden lighthouse since 1972."
    ),
    "https://ferry.test/cape": (
        "# Ferries\n\nThe ferry to the northern cape takes 25 minutes and sails twice a day. The ferry does not sail "
        "when the wind is stronger than 20 metres per second."
    ),
}
QUESTION = "How tall is the Varden lighthouse and who built it?"


def at(seen: Seen, piece: str) -> str:
    """The id of the line that has these words; of none where it is not shown."""
    return next((name for name, text in seen.citable.items() if piece in text), "zz1")


def writes(*told: tuple[str, str], more: Mapping[str, Json] | None = None) -> Callable[[Seen], Any]:
    """A model that answers with these sentences, each naming the line with the words beside it."""

    def compose(seen: Seen) -> Json:
        return composed([said(text, at(seen, piece), **(more or {})) for text, piece in told])

    return compose


Ask = Callable[..., Awaitable[Report]]


class _Fetch:
    def __init__(self, web: SmallWeb, stores: MemoryStores) -> None:
        self._web, self._stores = web, stores

    async def fetch(self, request: FetchRequest) -> FetchResult:
        return await self._stores.keep(await self._web.fetch(request))


@dataclass
class Small:
    """One run that can be executed again on its own record."""

    pages: dict[str, str] = field(default_factory=lambda: dict(PAGES))
    events: ListEvents = field(default_factory=ListEvents)
    ledger: ListLedger = field(default_factory=ListLedger)
    stores: MemoryStores = field(default_factory=MemoryStores)
    fetch: Fetch | None = None
    judge: Judge | None = None
    judged: bool = True
    """Whether the model judges where no `judge` is given, as in an engine."""
    dead: dict[str, str] = field(default_factory=dict)
    """Snippets of pages that are gone, by URL."""

    async def run(
        self, model: LanguageModel | None, question: str = QUESTION, *, task: Task | None = None, **given: Any
    ) -> Report:
        settings = load_settings({"max_rounds": 1, **given}, environ={}, files=())
        limits = Limits(budget=settings.budget)
        self.ledger.budget = settings.budget
        web, clock = SmallWeb(self.pages, dead=tuple(self.dead), snippets=self.dead), FrozenClock()
        stores, fetch = self.stores, self.fetch or _Fetch(web, self.stores)
        run = Run(web, fetch, stores.snapshots, stores.documents, self.ledger, self.events, clock, limits)
        calls = None if model is None else run.calls(settings, model)
        judge = self.judge
        if judge is None and self.judged and model is not None and calls is not None and model.info(ModelRole.VERIFIER):
            judge = ModelJudge(calls, model.info(ModelRole.VERIFIER)[0].name)
        roles = build_roles(settings, replace(run, judge=judge), model, calls)
        service = ResearchService(
            roles, ledger=self.ledger, events=self.events, clock=clock, limits=limits, run_id="run_small"
        )
        return await service.run(task or Task(question))

    async def again(self, model: LanguageModel | None, **given: Any) -> Report:
        """The run executed anew from its record."""
        fresh = replace(self, events=ListEvents(), ledger=ListLedger(record=self.ledger.record))
        return await fresh.run(model, **given)

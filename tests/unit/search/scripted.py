"""Engines that say what they are told, and a service over them."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import anyio
from tests.fakes.storage import MemoryCache

from pincite.domain.errors import (
    PinciteError,
)
from pincite.domain.search import Constraints, Query, SearchInfo, SearchResponse, SearchResult
from pincite.ports import SearchProvider
from pincite.search.router import Engine
from pincite.search.service import SearchOptions, SearchService
from pincite.testing.clock import FrozenClock

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Step = PinciteError | tuple[str, ...]


class Scripted:
    """A provider that says what it is told, call by call; the last step repeats."""

    def __init__(self, name: str, *steps: Step, cost: str = "0", before: Callable[[], object] | None = None) -> None:
        self._name = name
        self._steps = list(steps) or [("connection pool guide",)]
        self._cost = Decimal(cost)
        self.queries: list[Query] = []

    def says(self, *steps: Step) -> None:
        """Say this from now on."""
        self._steps = list(steps)

    @property
    def name(self) -> str:
        return self._name

    async def search(self, query: Query) -> SearchResponse:
        self.queries.append(query)
        await anyio.lowlevel.checkpoint()
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, PinciteError):
            raise step
        results = tuple(
            SearchResult(title, f"https://{self._name}.example/{n}", f"About {title}, in short.", self._name, n + 1)
            for n, title in enumerate(step)
        )
        return SearchResponse(query.text, results, info=SearchInfo(cost_usd=self._cost))


def service(*providers: SearchProvider | Engine, cache: bool = False, **options: Any) -> SearchService:
    clock = FrozenClock(NOW)
    settings = SearchOptions(**{"hedge_after_s": None, **options})
    return SearchService(providers, clock=clock, cache=MemoryCache(clock) if cache else None, options=settings)


POOL = Query("connection pool")


def limited(**constraints: Any) -> Query:
    return Query("connection pool", constraints=Constraints(**constraints))

"""Queries that come at the same moment go to an engine that takes several as one call."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from pincite.domain.errors import PinciteError
from pincite.domain.search import Query, SearchResponse
from pincite.ports import BatchSearchProvider, Clock

# So long the first query waits for others of the same moment, as those of one task group are.
GATHER_S = 0.01


@dataclass(slots=True)
class _Waiting:
    query: Query
    done: anyio.Event = field(default_factory=anyio.Event)
    response: SearchResponse | None = None
    error: PinciteError | None = None


class Batched:
    """Implements `ports.SearchProvider` over a `BatchSearchProvider`.

    The first caller waits a moment for others and then asks for all of them. If it is cancelled meanwhile, one of
    the others does it.
    """

    def __init__(self, provider: BatchSearchProvider, clock: Clock, *, gather_s: float = GATHER_S) -> None:
        self._provider = provider
        self._clock = clock
        self._gather_s = gather_s
        self._waiting: list[_Waiting] = []
        self._leading = anyio.Lock()

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._provider.name

    async def aclose(self) -> None:
        """Close the engine."""
        close = getattr(self._provider, "aclose", None)
        if close is not None:
            await close()

    async def search(self, query: Query) -> SearchResponse:
        """The answer to this query. Errors: as the engine's."""
        mine = _Waiting(query)
        self._waiting.append(mine)
        try:
            await self._clock.sleep(self._gather_s)
            async with self._leading:
                if not mine.done.is_set():
                    await self._ask_for_all(mine)
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.response is not None
        return mine.response

    async def _ask_for_all(self, mine: _Waiting) -> None:
        others = [one for one in self._waiting if one is not mine and one.query.topic is mine.query.topic]
        batch = [mine, *others[: self._provider.batch_size - 1]]
        if len(batch) == 1:
            mine.response = await self._provider.search(mine.query)
            return
        try:
            responses: Sequence[SearchResponse] = await self._provider.search_many([one.query for one in batch])
        except PinciteError as error:
            for one in batch:
                one.error = error
                one.done.set()
            return
        for one, response in zip(batch, responses, strict=True):
            one.response = response
            one.done.set()
        self._waiting = [one for one in self._waiting if not one.done.is_set()]

"""Wake-ups within one process: a bounded heap, for a home that one worker serves."""

import heapq
import itertools
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from pincite.domain.records import Offer

# Hints only: a run that is not in the heap is found by the next sweep of the database.
_MAX_WAITING: Final = 10_000


class LocalDispatcher:
    """Implements `ports.Dispatcher`. What does not fit is dropped: the queue offers it again."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Offer]] = []
        self._known: set[tuple[str, str]] = set()
        self._numbers = itertools.count()
        self._news = anyio.Event()

    async def enqueue(self, offer: Offer) -> None:
        """Have this process look at the run; a second call while the first waits changes nothing."""
        place = (offer.scope, offer.run_id)
        if place in self._known or len(self._heap) >= _MAX_WAITING:
            return
        self._known.add(place)
        heapq.heappush(self._heap, (-offer.priority, next(self._numbers), offer))
        self._wake()

    async def serve(self, work: Callable[[Offer], Awaitable[None]], slots: int, stopping: anyio.Event) -> None:
        """Give offers to `work`, so many at a time, until `stopping`; returns when the last one is done."""
        async with anyio.create_task_group() as tasks:
            for _ in range(slots):
                tasks.start_soon(self._consume, work, stopping)
            await stopping.wait()
            self._wake()

    async def _consume(self, work: Callable[[Offer], Awaitable[None]], stopping: anyio.Event) -> None:
        while not stopping.is_set():
            news = self._news
            if not self._heap:
                await news.wait()
                continue
            _, _, offer = heapq.heappop(self._heap)
            self._known.discard((offer.scope, offer.run_id))
            await work(offer)

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()

"""Time that moves only when a test says so, or when everybody sleeps."""

import heapq
import itertools
from datetime import UTC, datetime, timedelta

import anyio

_START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
# How many turns of the event loop other tasks get before a sleeper moves the time by itself.
_TURNS = 8


class FrozenClock:
    """Implements `ports.Clock` without waiting.

    With `moves_by_itself` a sleep takes no real time: when every task had its turn, the clock jumps to the sleeper
    that is due first, so that sleepers wake in the order of their time. Without it only `advance` moves the clock.
    """

    def __init__(self, now: datetime = _START, *, moves_by_itself: bool = True) -> None:
        self._start = now
        self._elapsed_s = 0.0
        self._moves_by_itself = moves_by_itself
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._numbers = itertools.count()

    def now(self) -> datetime:
        """The frozen moment."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic_s(self) -> float:
        """Seconds the clock was moved so far."""
        return self._elapsed_s

    def advance(self, seconds: float) -> None:
        """Move the time and wake those who are due."""
        self._move_to(self._elapsed_s + seconds)

    def set_back(self, seconds: float) -> None:
        """Move the wall clock back, as an operator or a time server does; the monotonic one stays."""
        self._start -= timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        """Return when the clock says that `seconds` have passed."""
        sleeper = (self._elapsed_s + max(seconds, 0.0), next(self._numbers), anyio.Event())
        heapq.heappush(self._sleepers, sleeper)
        try:
            if not self._moves_by_itself:
                await sleeper[2].wait()
            while not sleeper[2].is_set():
                for _ in range(_TURNS):
                    await anyio.lowlevel.checkpoint()
                if not sleeper[2].is_set() and self._sleepers[0] is sleeper:
                    self._move_to(sleeper[0])
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    def _move_to(self, elapsed_s: float) -> None:
        self._elapsed_s = max(self._elapsed_s, elapsed_s)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed_s:
            heapq.heappop(self._sleepers)[2].set()

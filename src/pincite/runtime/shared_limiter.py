"""Token buckets that all workers share: each process lines up its own callers, the head asks the common bucket.

The buckets are behind `Buckets`: one atomic statement on a database, one short script on Redis. Only the head of a
line asks, and then sleeps for as long as it was told to, so that many waiters are no storm of questions.
"""

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import anyio

from pincite.domain.records import Reservation
from pincite.ports import Clock
from pincite.runtime.limiter import Rate
from pincite.runtime.telemetry.meter import LIMIT_SECONDS, METER

_MAX_LINES: Final = 20_000
_MAX_WAITERS: Final = 2_000
_SHORTEST_SLEEP_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call takes out of one bucket, in seconds of its rate, and how far into it its priority may reach."""

    cost_s: float
    room_s: float


class Buckets(Protocol):
    """Buckets by key, shared by processes."""

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """0 when all of it was taken at once from every bucket; else nothing was, and this many seconds are short."""
        ...

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`."""
        ...

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        ...


@dataclass(slots=True)
class _Line:
    waiting: list[tuple[int, int]] = field(default_factory=list)
    turns: dict[int, anyio.Event] = field(default_factory=dict)
    asking: anyio.Lock = field(default_factory=anyio.Lock)

    def wake_head(self) -> None:
        if self.waiting:
            self.turns[self.waiting[0][1]].set()


class SharedLimiter:
    """Implements `ports.Limiter` over buckets that other processes use too.

    Args:
        buckets: where the buckets are.
        clock: the time.
        limits: the rates of a key, four at most; all of them must have room. Every process must say the same.
        default: the rates of every key without an own row; none means no limit.
    """

    def __init__(
        self,
        buckets: Buckets,
        clock: Clock,
        limits: Mapping[str, tuple[Rate, ...]] | None = None,
        *,
        default: tuple[Rate, ...] = (),
    ) -> None:
        self._buckets = buckets
        self._clock = clock
        self._limits = dict(limits or {})
        self._default = default
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        self._numbers = itertools.count()

    def configure(self, key: str, *rates: Rate) -> None:
        """Set the rates of `key` from now on, for this process."""
        self._limits[key] = rates

    async def reserve(self, key: str, cost: float, priority: int, max_wait_s: float) -> Reservation | None:
        """A place whose time has come (`wait_s` 0), or None when it would not come within `max_wait_s`.

        Errors: those of the store.
        """
        started_s = self._clock.monotonic_s()
        place = await self._reserve(key, cost, priority, max_wait_s)
        waited_s = self._clock.monotonic_s() - started_s
        METER.add(LIMIT_SECONDS, waited_s, "refused" if place is None else "granted")
        return place

    async def _reserve(self, key: str, cost: float, priority: int, max_wait_s: float) -> Reservation | None:
        line = self._line(key)
        asks = self._asks(key, cost, priority)
        deadline = self._clock.monotonic_s() + max_wait_s
        async with line.asking:
            if not any(other <= priority for other, _ in line.waiting):
                wait_s = await self._buckets.take(key, asks)
                if wait_s <= 0:
                    return Reservation(key, 0.0, cost)
                if wait_s > max_wait_s:
                    return None
            if len(line.waiting) >= _MAX_WAITERS:
                return None
            entry = (priority, next(self._numbers))
            line.turns[entry[1]] = anyio.Event()
            heapq.heappush(line.waiting, entry)
        try:
            taken = await self._stand_in_line(key, line, entry, asks, deadline)
        finally:
            line.waiting.remove(entry)
            heapq.heapify(line.waiting)
            del line.turns[entry[1]]
            line.wake_head()
        return Reservation(key, 0.0, cost) if taken else None

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody, in any process, may call `key` for `wait_s`; never shortens a longer push-back."""
        await self._buckets.push_back(key, wait_s)

    async def release(self, reservation: Reservation) -> None:
        """Give an unused place back."""
        await self._buckets.give_back(reservation.key, self._asks(reservation.key, reservation.cost, 0))
        self._line(reservation.key).wake_head()

    async def _stand_in_line(
        self, key: str, line: _Line, entry: tuple[int, int], asks: Sequence[Ask], deadline: float
    ) -> bool:
        while (now := self._clock.monotonic_s()) <= deadline:
            if line.waiting[0] != entry:
                line.turns[entry[1]] = anyio.Event()
                with anyio.move_on_after(deadline - now):
                    await line.turns[entry[1]].wait()
                continue
            async with line.asking:
                if line.waiting[0] != entry:  # somebody more urgent came while we waited to ask
                    continue
                wait_s = await self._buckets.take(key, asks)
            if wait_s <= 0:
                return True
            if now + wait_s > deadline:
                return False
            await self._clock.sleep(max(wait_s, _SHORTEST_SLEEP_S))
        return False

    def _asks(self, key: str, cost: float, priority: int) -> tuple[Ask, ...]:
        asks = []
        for rate in self._limits.get(key, self._default):
            # A cost above the burst is let through when the bucket is full; it then pays the debt off.
            room = max(rate.usable_burst(priority), cost) if cost <= rate.burst else cost
            asks.append(Ask(cost * rate.seconds_per_unit, room * rate.seconds_per_unit))
        return tuple(asks)

    def _line(self, key: str) -> _Line:
        line = self._lines.setdefault(key, _Line())
        self._lines.move_to_end(key)
        if len(self._lines) > _MAX_LINES:
            oldest = next(iter(self._lines))
            if not self._lines[oldest].waiting:
                del self._lines[oldest]
        return line

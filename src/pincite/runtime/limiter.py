"""Token buckets: of one process, and those that all workers share.

Where buckets are shared, each process lines up its own callers, and the head of the line asks the common bucket.
"""

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol

import anyio

from pincite.domain.frozen import dataclass
from pincite.domain.records import Reservation
from pincite.ports import Clock
from pincite.runtime.telemetry.meter import LIMIT_SECONDS, METER

# Token buckets of one process. Buckets shared by several processes live in `storage` behind the same port.
#
# A bucket is a generic cell rate algorithm: one number a bucket, the time at which it would be full again. Waiters
# stand in a heap by priority, and only its head takes from the bucket, so a batch call never delays an interactive
# one that came later. A cancelled waiter has taken nothing.

CRITICAL, INTERACTIVE, BATCH = 0, 1, 2
# Priorities: a critical call may use all of the burst, a batch call none of the part that is kept back.
LANES = {"critical": CRITICAL, "interactive": INTERACTIVE, "batch": BATCH}

# Keys are hosts and accounts: a run meets hundreds, and memory must not grow with what pages link to.
_MAX_KEYS = 20_000
# Who would stand behind so many waits longer than any deadline; a refusal is the better answer.
_MAX_WAITERS_PER_KEY = 2_000
# Longer than any process lives.
_NEVER_S = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Rate:
    """`amount` units in `per_s` seconds on average, up to `burst` at once, `kept_back` of it not for batch calls."""

    amount: float
    per_s: float
    burst: float = 1.0
    kept_back: float = 0.0

    @property
    def seconds_per_unit(self) -> float:
        """How long one unit takes to come back."""
        return self.per_s / self.amount if self.amount > 0 else _NEVER_S

    def usable_burst(self, priority: int) -> float:
        """What this priority may take at once: all, half of the kept part less, or all of the kept part less."""
        share = min(max(priority, CRITICAL), BATCH) / BATCH
        # One unit at least, or a lane could never call at all where the burst is small.
        return max(self.burst - self.kept_back * share, min(self.burst, 1.0))


def within(calls: float, per_s: float, *, kept_back: float = 0.25) -> Rate:
    """A rate that never lets more than nine tenths of `calls` go out in any window of `per_s` seconds.

    A bucket lets out its burst and the flow of a window; together they must stay below the window limit of the
    other side, which counts arrivals and not departures: one tenth is left for jitter of the network.
    """
    # A third of the window at once, since runs ask in waves; the flow fills up to nine tenths, but a small window keeps
    # half of itself as flow. Chosen, not measured.
    burst = max(1.0, 0.3 * calls)
    flow = max(0.9 * calls - burst, 0.45 * calls)
    return Rate(amount=flow, per_s=per_s, burst=burst, kept_back=burst * kept_back)


@dataclass(slots=True)
class _Line:
    """The buckets of one key and who waits for them."""

    rates: tuple[Rate, ...]
    full_at: list[float]
    blocked_until: float = 0.0
    waiting: list[tuple[int, int, float]] = field(default_factory=list)
    turns: dict[int, anyio.Event] = field(default_factory=dict)

    def wait_s(self, now: float, cost: float, priority: int) -> float:
        """Seconds until `cost` may be taken by this priority, by the slowest of the buckets."""
        wait = max(self.blocked_until - now, 0.0)
        for rate, full_at in zip(self.rates, self.full_at, strict=True):
            step = rate.seconds_per_unit
            # A cost above the burst is let through when the bucket is full; it then pays the debt off.
            room = max(rate.usable_burst(priority), min(cost, rate.burst)) if cost <= rate.burst else cost
            wait = max(wait, max(full_at, now) + (cost - room) * step - now)
        return wait

    def take(self, now: float, cost: float) -> None:
        for i, rate in enumerate(self.rates):
            self.full_at[i] = max(self.full_at[i], now) + cost * rate.seconds_per_unit

    def give_back(self, cost: float) -> None:
        for i, rate in enumerate(self.rates):
            self.full_at[i] -= cost * rate.seconds_per_unit

    def ahead_s(self, priority: int) -> float:
        """Time that those take who go before a newcomer of this priority."""
        ahead = sum(cost for other, _, cost in self.waiting if other <= priority)
        return max((ahead * rate.seconds_per_unit for rate in self.rates), default=0.0)

    def wake_head(self) -> None:
        if self.waiting:
            self.turns[self.waiting[0][1]].set()


class MemoryLimiter:
    """Implements `ports.Limiter` for the tasks of one event loop.

    Args:
        clock: the time.
        limits: the rates of a key; all of them must have room.
        default: the rates of every key without an own row; none means no limit.
    """

    def __init__(
        self, clock: Clock, limits: Mapping[str, tuple[Rate, ...]] | None = None, *, default: tuple[Rate, ...] = ()
    ) -> None:
        self._clock = clock
        self._limits = dict(limits or {})
        self._default = default
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        self._numbers = itertools.count()

    def configure(self, key: str, *rates: Rate) -> None:
        """Set the rates of `key` from now on (a crawl delay of robots.txt, a plan read from an answer)."""
        self._limits[key] = rates
        line = self._line(key)
        now = self._clock.monotonic_s()
        line.rates = rates
        # Full: what was taken under the old rates says nothing about the new ones.
        line.full_at = [now] * len(rates)

    async def reserve(self, key: str, cost: float, priority: int, max_wait_s: float) -> Reservation | None:
        """A place whose time has come (`wait_s` 0), or None when it would not come within `max_wait_s`."""
        line = self._line(key)
        start = self._clock.monotonic_s()
        wait = line.wait_s(start, cost, priority)
        # Past the line only where it is empty.
        if not line.waiting and wait <= 0:
            line.take(start, cost)
            return Reservation(key, 0.0, cost)
        # Refused now and not at the end of the wait: the caller may ask another engine meanwhile.
        if wait + line.ahead_s(priority) > max_wait_s or len(line.waiting) >= _MAX_WAITERS_PER_KEY:
            return None
        ticket = next(self._numbers)
        entry = (priority, ticket, cost)
        line.turns[ticket] = anyio.Event()
        heapq.heappush(line.waiting, entry)
        try:
            taken = await self._stand_in_line(line, entry, start + max_wait_s)
        finally:
            line.waiting.remove(entry)
            heapq.heapify(line.waiting)
            del line.turns[ticket]
            line.wake_head()
        return Reservation(key, 0.0, cost) if taken else None

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody may call `key` for `wait_s`; a shorter push-back never shortens a longer one."""
        line = self._line(key)
        # Bounded: a `Retry-After` of centuries is arithmetic, not a time.
        line.blocked_until = max(line.blocked_until, self._clock.monotonic_s() + min(wait_s, _NEVER_S))

    async def release(self, reservation: Reservation) -> None:
        """Give an unused place back."""
        line = self._line(reservation.key)
        line.give_back(reservation.cost)
        line.wake_head()

    async def _stand_in_line(self, line: _Line, entry: tuple[int, int, float], deadline: float) -> bool:
        priority, ticket, cost = entry
        while (now := self._clock.monotonic_s()) <= deadline:
            if line.waiting[0] == entry:
                wait = line.wait_s(now, cost, priority)
                if wait <= 0:
                    line.take(now, cost)
                    return True
                if now + wait > deadline:
                    return False
                await self._clock.sleep(wait)
            else:
                line.turns[ticket] = anyio.Event()
                with anyio.move_on_after(deadline - now):
                    await line.turns[ticket].wait()
        return False

    def _line(self, key: str) -> _Line:
        line = self._lines.get(key)
        if line is None:
            rates = self._limits.get(key, self._default)
            line = self._lines[key] = _Line(rates, [self._clock.monotonic_s()] * len(rates))
            self._drop_idle()
        self._lines.move_to_end(key)
        return line

    def _drop_idle(self) -> None:
        if len(self._lines) <= _MAX_KEYS:
            return
        now = self._clock.monotonic_s()
        # Idle ones among the oldest tenth: looking at all of them would cost more than they hold.
        idle = [
            key
            for key, line in itertools.islice(self._lines.items(), _MAX_KEYS // 10)
            if not line.waiting and line.blocked_until <= now and all(full <= now for full in line.full_at)
        ]
        for key in idle or [next(iter(self._lines))]:
            del self._lines[key]


# Token buckets that all workers share: each process lines up its own callers, the head asks the common bucket.
#
# The buckets are behind `Buckets`: one atomic statement on a database, one short script on Redis. Only the head of a
# line asks, and then sleeps for as long as it was told to, so that many waiters are no storm of questions.

# Keys of sites and accounts that are remembered; forgetting an idle one costs nothing.
_MAX_LINES: Final = 20_000
# As for the limiter of one process.
_MAX_WAITERS: Final = 2_000
# Rounding may leave a wait of nothing at all, and the loop would spin.
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
class _SharedLine:
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
        self._lines: OrderedDict[str, _SharedLine] = OrderedDict()
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
            # A more urgent caller passes the line, as in the limiter of one process.
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
        self, key: str, line: _SharedLine, entry: tuple[int, int], asks: Sequence[Ask], deadline: float
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

    def _line(self, key: str) -> _SharedLine:
        line = self._lines.setdefault(key, _SharedLine())
        self._lines.move_to_end(key)
        if len(self._lines) > _MAX_LINES:
            oldest = next(iter(self._lines))
            if not self._lines[oldest].waiting:
                del self._lines[oldest]
        return line

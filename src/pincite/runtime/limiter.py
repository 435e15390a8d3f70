"""Token buckets: those of one process, and those that all workers share; callers stand in line before either.

And the circuit breakers of one process: stop calling what keeps failing, probe it after a pause.
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
from pincite.runtime.telemetry import BREAKERS, LIMIT_SECONDS, METER

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


# Of what may go out at once, so much is kept from batches for calls that somebody waits for. Chosen, not measured.
_KEPT_BACK: Final = 0.25


def within(calls: float, per_s: float) -> Rate:
    """A rate that never lets more than nine tenths of `calls` go out in any window of `per_s` seconds.

    A bucket lets out its burst and the flow of a window; together they must stay below the window limit of the
    other side, which counts arrivals and not departures: one tenth is left for jitter of the network.
    """
    # A third of the window at once, since runs ask in waves; the flow fills up to nine tenths, but a small window keeps
    # half of itself as flow. Chosen, not measured.
    burst = max(1.0, 0.3 * calls)
    flow = max(0.9 * calls - burst, 0.45 * calls)
    return Rate(amount=flow, per_s=per_s, burst=burst, kept_back=burst * _KEPT_BACK)


# Each process lines up its own callers in a heap by priority, so that a batch call never delays an interactive one that
# came later. Only the head of a line asks the bucket, and then sleeps for as long as it was told to, so that many
# waiters are no storm of questions. A cancelled waiter has taken nothing.
#
# The buckets are behind `Buckets`: in this process, a row of a database, one short script on Redis.

# What the arithmetic of floating-point times may be off by: those of a wall clock have ten digits before the point.
_SLACK_S: Final = 1e-6
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

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`."""

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""


@dataclass(slots=True)
class Bucket:
    """When the bucket of each rate of a key would be full again (a generic cell rate algorithm).

    Taking moves that time on, and nothing refills it: one number in place of a level and the time it was read at.
    """

    full_at: list[float] = field(default_factory=list)
    blocked_until: float = 0.0

    def take(self, asks: Sequence[Ask], now: float) -> float:
        """As `Buckets.take`."""
        self.full_at += [now] * (len(asks) - len(self.full_at))
        after = [max(full, now) + ask.cost_s for full, ask in zip(self.full_at, asks, strict=False)]
        short = [full - ask.room_s - now for full, ask in zip(after, asks, strict=True)]
        wait_s = max([self.blocked_until - now, *short])
        if wait_s > _SLACK_S:
            return wait_s
        self.full_at[: len(after)] = after
        return 0.0

    def push_back(self, until: float) -> None:
        """As `Buckets.push_back`; a shorter one never shortens a longer one."""
        self.blocked_until = max(self.blocked_until, until)

    def give_back(self, asks: Sequence[Ask]) -> None:
        """As `Buckets.give_back`."""
        back = [full - ask.cost_s for full, ask in zip(self.full_at, asks, strict=False)]
        self.full_at[: len(back)] = back


class MemoryBuckets:
    """Implements `Buckets` for the tasks of one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, Bucket] = OrderedDict()

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """As `Buckets.take`."""
        return self._bucket(key).take(asks, self._clock.monotonic_s())

    async def push_back(self, key: str, wait_s: float) -> None:
        """As `Buckets.push_back`."""
        # Bounded: a `Retry-After` of centuries is arithmetic, not a time.
        self._bucket(key).push_back(self._clock.monotonic_s() + min(wait_s, _NEVER_S))

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """As `Buckets.give_back`."""
        self._bucket(key).give_back(asks)

    def _bucket(self, key: str) -> Bucket:
        bucket = self._kept.setdefault(key, Bucket())
        self._kept.move_to_end(key)
        if len(self._kept) > _MAX_KEYS:
            now = self._clock.monotonic_s()
            # An idle one among the oldest tenth: looking at all of them would cost more than they hold.
            oldest = itertools.islice(self._kept.items(), _MAX_KEYS // 10)
            idle = (
                name
                for name, one in oldest
                if one.blocked_until <= now and all(full <= now for full in one.full_at)  # it holds nothing up
            )
            del self._kept[next(idle, next(iter(self._kept)))]
        return bucket


@dataclass(slots=True)
class _Line:
    """Who waits for a key: priority, number and cost in seconds of its slowest rate; and until when the head does."""

    waiting: list[tuple[int, int, float]] = field(default_factory=list)
    head_until_s: float = 0.0
    turns: dict[int, anyio.Event] = field(default_factory=dict)
    asking: anyio.Lock = field(default_factory=anyio.Lock)

    def wake_head(self) -> None:
        if self.waiting:
            self.turns[self.waiting[0][1]].set()


class SharedLimiter:
    """Implements `ports.Limiter` over buckets that other processes may use too.

    Args:
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
            ahead = [cost_s for other, _, cost_s in line.waiting if other <= priority]
            # A more urgent caller passes the line.
            if not ahead:
                wait_s = await self._buckets.take(key, asks)
                if wait_s <= 0:
                    return Reservation(key, 0.0, cost)
                if wait_s > max_wait_s:
                    return None
            # Refused now and not at the end of the wait: the caller may ask another engine meanwhile.
            head_s = max(line.head_until_s - self._clock.monotonic_s(), 0.0)
            if (ahead and head_s + sum(ahead) > max_wait_s) or len(line.waiting) >= _MAX_WAITERS_PER_KEY:
                return None
            entry = (priority, next(self._numbers), max((ask.cost_s for ask in asks), default=0.0))
            line.turns[entry[1]] = anyio.Event()
            heapq.heappush(line.waiting, entry)
        try:
            taken = await self._wait_in_queue(key, line, entry, asks, deadline)
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

    async def _wait_in_queue(
        self, key: str, line: _Line, entry: tuple[int, int, float], asks: Sequence[Ask], deadline: float
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
            line.head_until_s = now + wait_s
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
        if len(self._lines) > _MAX_KEYS:
            oldest = next(iter(self._lines))
            if not self._lines[oldest].waiting:
                del self._lines[oldest]
        return line


class MemoryLimiter(SharedLimiter):
    """The same over buckets of this process alone."""

    def __init__(
        self, clock: Clock, limits: Mapping[str, tuple[Rate, ...]] | None = None, *, default: tuple[Rate, ...] = ()
    ) -> None:
        super().__init__(MemoryBuckets(clock), clock, limits, default=default)


# Past this many doublings the longest pause is reached long since, and the power would overflow in the end.
_MOST_OPENED = 16


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When a breaker opens and for how long.

    `failures` within `within_s` open it for `cool_down_s`; each probe that fails doubles that, up to `max_cool_down_s`.
    """

    failures: int = 5
    within_s: float = 60.0
    cool_down_s: float = 30.0
    max_cool_down_s: float = 300.0

    def pause_s(self, opened: int) -> float:
        """How long it stays open that was opened so often before."""
        return min(self.cool_down_s * 2.0 ** min(opened, _MOST_OPENED), self.max_cool_down_s)


DEFAULT_RULES = BreakerRules()


@dataclass(slots=True)
class BreakerState:
    """What is counted of one key: `open_until` is, while it is closed, when the counting began."""

    failures: int = 0
    opened: int = 0
    open_until: float = 0.0
    probe_until: float = 0.0

    def allows(self, now: float, rules: BreakerRules) -> bool:
        """Whether a call may go out now; while open, one probe after each cool-down."""
        if not self.opened:
            return True
        if now < self.open_until or now < self.probe_until:
            return False
        self.probe_until = now + rules.cool_down_s  # a probe that never reports back is not waited for longer
        return True

    def failed(self, now: float, rules: BreakerRules) -> bool:
        """Count a failure; whether that opened it."""
        # Once it has been open, every failure counts until a probe succeeds.
        if not self.opened and (not self.failures or now - self.open_until > rules.within_s):
            self.failures, self.open_until = 0, now
        self.failures += 1
        if self.failures < rules.failures and not self.opened:
            return False
        self.open_until = now + rules.pause_s(self.opened)
        self.opened += 1
        self.probe_until = 0.0
        return True


class MemoryBreaker:
    """Implements `ports.Breaker`: closed, open for a cool-down that doubles up to a ceiling, then one probe."""

    def __init__(self, clock: Clock, rules: BreakerRules = DEFAULT_RULES) -> None:
        self._clock = clock
        self._rules = rules
        self._states: OrderedDict[str, BreakerState] = OrderedDict()

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe after each cool-down."""
        state = self._states.get(key)
        return state is None or state.allows(self._clock.monotonic_s(), self._rules)

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if ok:
            self._states.pop(key, None)
            return
        state = self._states.setdefault(key, BreakerState())
        self._states.move_to_end(key)
        if len(self._states) > _MAX_KEYS:
            self._states.popitem(last=False)
        if state.failed(self._clock.monotonic_s(), self._rules):
            METER.add(BREAKERS, 1)

"""Circuit breakers of one process: stop calling what keeps failing, probe it after a pause."""

from collections import OrderedDict

from pincite.domain.frozen import dataclass
from pincite.ports import Clock
from pincite.runtime.telemetry import BREAKERS, METER

# As many as the limiter keeps: both are kept by host.
_MAX_KEYS = 20_000
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

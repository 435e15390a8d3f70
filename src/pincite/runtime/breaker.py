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
class _State:
    failures: int = 0
    since: float = 0.0
    opened: int = 0
    open_until: float = 0.0
    probe_until: float = 0.0


class MemoryBreaker:
    """Implements `ports.Breaker`: closed, open for a cool-down that doubles up to a ceiling, then one probe."""

    def __init__(self, clock: Clock, rules: BreakerRules = DEFAULT_RULES) -> None:
        self._clock = clock
        self._rules = rules
        self._states: OrderedDict[str, _State] = OrderedDict()

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe after each cool-down."""
        state = self._states.get(key)
        if state is None or not state.opened:
            return True
        now = self._clock.monotonic_s()
        if now < state.open_until or now < state.probe_until:
            return False
        state.probe_until = now + self._rules.cool_down_s  # a probe that never reports back is not waited for longer
        return True

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if ok:
            self._states.pop(key, None)
            return
        state = self._states.setdefault(key, _State())
        self._states.move_to_end(key)
        if len(self._states) > _MAX_KEYS:
            self._states.popitem(last=False)
        now = self._clock.monotonic_s()
        # Once it has been open, every failure counts until a probe succeeds.
        if not state.opened and (not state.failures or now - state.since > self._rules.within_s):
            state.failures, state.since = 0, now
        state.failures += 1
        if state.failures >= self._rules.failures or state.opened:
            state.open_until = now + self._rules.pause_s(state.opened)
            state.opened += 1
            state.probe_until = 0.0
            METER.add(BREAKERS, 1)

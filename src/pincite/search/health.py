"""How each account at an engine has been doing, what is left of its quota, and whose turn it is."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import anyio

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.errors import DnsError, NetworkError, PinciteError, ProviderAuth, ProviderQuota
from pincite.domain.frozen import dataclass
from pincite.domain.records import Entry
from pincite.ports import Cache, Clock
from pincite.runtime.limiter import Buckets
from pincite.runtime.recovery import first_failure

# A window shorter than this is a rate, which the limiter keeps, and no quota.
_SHORTEST_S = 3_600.0
_PREFIXES = ("x-ratelimit-", "ratelimit-")


@dataclass(slots=True)
class Quota:
    """How much of an account's quota is left: written by its adapter, read by the router. Unknown until told."""

    left: float | None = None
    of: float = 0.0
    until: datetime | None = None

    def tell(self, left: float, of: float, until: datetime) -> None:
        """Take down what the engine said."""
        self.left, self.of, self.until = left, of, until

    def share(self, now: datetime) -> float | None:
        """What is left, 0 to 1; None when nobody said or the window is over."""
        if self.left is None or self.until is None or self.until <= now or self.of <= 0:
            return None
        return min(max(self.left / self.of, 0.0), 1.0)


def heed(quota: Quota, headers: Mapping[str, str], now: datetime) -> None:
    """Take down the longest window of the rate headers; one in seconds or minutes is a rate and says nothing here.

    Source: Brave's `X-RateLimit-Limit: 50, 20000`, `-Remaining: 49, 19001`, `-Reset: 1, 1419704`, and the same
        names with one value or without `X-`.
    """
    for prefix in _PREFIXES:
        left, of, reset = (numbers_in(headers.get(f"{prefix}{name}", "")) for name in ("remaining", "limit", "reset"))
        if left and len(left) == len(of) == len(reset):
            longest = max(range(len(reset)), key=lambda n: reset[n])
            if reset[longest] >= _SHORTEST_S and of[longest] > 0:
                quota.tell(left[longest], of[longest], now + timedelta(seconds=min(reset[longest], 400 * 86_400)))
            return


def numbers_in(text: str) -> list[float]:
    """The numbers of a rate header, one for each window; none where one of them is no number."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [float(part) for part in parts if part.isdigit()] if all(part.isdigit() for part in parts) else []


NAMESPACE: Final = "search/state"
# A month, as quotas run; what was longer ago says nothing about an engine of today.
_KEEP: Final = timedelta(days=31)
# Each look is a read of the shared cache; health of a second ago is good enough to choose by.
_RECALL_EVERY_S: Final = 1.0
# How long another process takes a refusal on trust: a key may be mended and an account topped up meanwhile.
_RETOLD_REST: Final = timedelta(minutes=10)
_REFUSALS: Final = {kind.code: kind for kind in (ProviderQuota, ProviderAuth)}
_NO_VALIDATORS: Final[dict[str, str]] = {}


@dataclass(slots=True)
class ProviderHealth:
    """Health from 0 to 1 when it was last told, turns taken, and until when it rests for which refusal."""

    health: float = 1.0
    told_at: datetime | None = None
    turn: float = 0.0
    resting_until: datetime | None = None
    error: PinciteError | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SharedHealth:
    """Where processes tell each other how the engines do (`cache`) and what was spent (`buckets`); None: nowhere."""

    cache: Cache | None = None
    buckets: Buckets | None = None


NOWHERE: Final = SharedHealth()


@dataclass(frozen=True, slots=True)
class Account:
    """Under what name an account is remembered, and what is known of its quota."""

    key: str
    quota: Quota


class ProviderHealthBook:
    """The health of all accounts; with a cache that all processes share they outlive this one."""

    def __init__(self, clock: Clock, cache: Cache | None = None) -> None:
        self._clock = clock
        self._cache = cache
        self._known: dict[str, ProviderHealth] = {}
        self._changed: dict[str, Account] = {}
        self._recalled_s: float | None = None

    def of(self, key: str) -> ProviderHealth:
        """The state of an account; a newcomer's is level with the others', or it would get every turn at first."""
        state = self._known.get(key)
        if state is None:
            turn = min((known.turn for known in self._known.values()), default=0.0)
            state = self._known[key] = ProviderHealth(turn=turn)
        return state

    def change(self, account: Account) -> ProviderHealth:
        """The state of an account that is about to change."""
        state = self.of(account.key)
        state.changed_at = self._clock.now()
        self._changed[account.key] = account
        return state

    async def recall(self, accounts: Sequence[Account]) -> None:
        """Read what other processes have noted since, once a second at most."""
        now_s = self._clock.monotonic_s()
        if self._cache is None or (self._recalled_s is not None and now_s - self._recalled_s < _RECALL_EVERY_S):
            return
        self._recalled_s = now_s
        for account in accounts:
            entry = await self._cache.get(NAMESPACE, account.key)
            if entry is not None:
                self._read(account, entry)
        for account in accounts:
            # After all were read: what a newcomer is level with are the others' turns.
            if account.key not in self._known:
                self.change(account)  # noted at once: a newcomer must not be one again in every process

    async def remember(self) -> None:
        """Write down what changed here."""
        changed, self._changed = self._changed, {}
        if self._cache is None:
            return
        now = self._clock.now()
        for key, account in changed.items():
            value = json.dumps(_plain(self._known[key], account.quota)).encode()
            await self._cache.put(NAMESPACE, key, Entry(value, now + _KEEP, now + _KEEP, now, _NO_VALIDATORS))

    def _read(self, account: Account, entry: Entry) -> None:
        known = self._known.get(account.key)
        # The last writer counts; two processes that noted one moment differ by a turn, which evens out.
        if known is not None and known.changed_at is not None and known.changed_at >= entry.stored_at:
            return
        try:
            self._known[account.key] = _health_of(json.loads(entry.value), account.quota)
        except (ValueError, TypeError, KeyError):
            return  # written by another version: begin anew


def _plain(state: ProviderHealth, quota: Quota) -> dict[str, object]:
    error = state.error
    return {
        "health": state.health,
        "told_at": _text(state.told_at),
        "turn": state.turn,
        "resting_until": _text(state.resting_until),
        "error": [error.code, error.message, error.reason, error.hint] if error else None,
        "changed_at": _text(state.changed_at),
        "quota": [quota.left, quota.of, _text(quota.until)],
    }


def _health_of(plain: dict[str, Any], quota: Quota) -> ProviderHealth:  # the JSON that `_plain` wrote, or any other
    changed_at, until = _moment(plain["changed_at"]), _moment(plain["resting_until"])
    error = None
    if plain["error"] and until and changed_at:
        code, message, reason, hint = plain["error"]
        # The hour of rest for a used-up quota is for the process that was refused itself.
        until = min(until, changed_at + _RETOLD_REST)
        error = _REFUSALS[code](message, reason=reason, hint=hint)
    left, of, full_at = plain["quota"]
    if left is not None:
        quota.left, quota.of, quota.until = float(left), float(of), _moment(full_at)
    return ProviderHealth(
        float(plain["health"]), _moment(plain["told_at"]), float(plain["turn"]), until, error, changed_at
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else utc_text(moment)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else utc_moment(text)


T = TypeVar("T")
# How long nobody tries again: longer than a wave of queries takes to be refused, shorter than a person waits.
_KNOWN_S: Final = 5.0


def is_offline(error: PinciteError | None) -> bool:
    """Whether nothing went out because there is no way to the host: asking again in a second does not help."""
    return isinstance(error, DnsError) or (isinstance(error, NetworkError) and error.reason == "no_network")


class Contacts:
    """What the last call to each engine came to, by the key of its limits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[float, PinciteError]] = {}
        self._told: dict[str, anyio.Event] = {}

    def tell(self, key: str, error: PinciteError | None) -> None:
        """Note how a call went; whoever waits for a turn at an engine that can't be reached is woken."""
        if error is None:
            self._failures.pop(key, None)
            return
        self._failures[key] = (self._clock.monotonic_s(), error)
        if is_offline(error):
            self._told.pop(key, anyio.Event()).set()

    def last(self, key: str) -> PinciteError | None:
        """What went wrong last, if that was the last that happened."""
        return self._failures[key][1] if key in self._failures else None

    async def while_reachable(self, key: str, wait: Callable[[], Awaitable[T]]) -> T:
        """What `wait` gives; the error of the engine as soon as it turns out to be out of reach.

        Errors: DnsError, NetworkError (`no_network`), each caller's own; what `wait` raises.
        """
        since_s, error = self._failures.get(key, (0.0, None))
        if not is_offline(error) or self._clock.monotonic_s() - since_s >= _KNOWN_S:
            told = self._told.setdefault(key, anyio.Event())
            with first_failure():
                for value in await _unless(told, wait):
                    return value
        # A copy: one exception raised in many tasks would collect the tracebacks of all of them.
        raise copy(self._failures[key][1])


async def _unless(told: anyio.Event, wait: Callable[[], Awaitable[T]]) -> list[T]:
    """What `wait` gives, as the only item; nothing when the event came first."""
    given: list[T] = []

    async def over() -> None:
        given.append(await wait())
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(over)
        await told.wait()
        tasks.cancel_scope.cancel()
    return given

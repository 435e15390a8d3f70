"""Engines that can't be reached at all: told to all who wait for a turn, so that nobody waits on a dead network."""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Final, TypeVar

import anyio

from pincite.domain.errors import DnsError, NetworkError, PinciteError
from pincite.ports import Clock
from pincite.runtime.recovery import first_failure

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

    async def unless_away(self, key: str, wait: Callable[[], Awaitable[T]]) -> T:
        """What `wait` gives; the error of the engine as soon as it turns out to be out of reach.

        Errors: DnsError, NetworkError (`no_network`), each caller's own; what `wait` raises.
        """
        since_s, error = self._failures.get(key, (0.0, None))
        if not is_offline(error) or self._clock.monotonic_s() - since_s >= _KNOWN_S:
            told = self._told.setdefault(key, anyio.Event())
            with first_failure():
                for value in await _unless(told, wait):
                    return value
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

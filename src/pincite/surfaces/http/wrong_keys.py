"""Whoever sends wrong keys waits longer for each answer; whoever has a right one never does."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

from pincite.domain.errors import RateLimited

_FREE: Final = 5
"""Wrong keys in a row that cost nothing: a person who pastes the wrong one, a program with an old one."""
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 8.0
_FORGOTTEN_S: Final = 60.0
_LINE_MAX: Final = 16
_ADDRESSES_MAX: Final = 10_000


@dataclass(slots=True)
class _Tries:
    count: int = 0
    last_s: float = 0.0
    waiting: int = 0
    line: anyio.Lock = field(default_factory=anyio.Lock)


class WrongKeys:
    """Counts wrong keys by the address they come from.

    Args:
        now_s: a clock that never runs backwards.
        sleep: waits.
    """

    def __init__(
        self, now_s: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._now_s = now_s
        self._sleep = sleep
        self._tries: OrderedDict[str, _Tries] = OrderedDict()

    async def slow_down(self, address: str) -> None:
        """Return when the answer to a wrong key may be given: one at a time for each address.

        Errors: RateLimited (too many of the address wait already).
        """
        tries = self._tries.setdefault(address, _Tries())
        self._tries.move_to_end(address)
        while len(self._tries) > _ADDRESSES_MAX:
            self._tries.popitem(last=False)
        if self._now_s() - tries.last_s > _FORGOTTEN_S:
            tries.count = 0
        tries.count, tries.last_s = tries.count + 1, self._now_s()
        pause_s = _pause_s(tries.count)
        if tries.waiting >= _LINE_MAX:
            raise RateLimited("too many wrong keys", reason="wrong_keys", retry_after_s=pause_s)
        if not pause_s:
            return
        tries.waiting += 1
        try:
            async with tries.line:  # side by side they would not be slower
                await self._sleep(pause_s)
        finally:
            tries.waiting -= 1


def _pause_s(count: int) -> float:
    above = count - _FREE
    return min(_FIRST_PAUSE_S * 2.0 ** min(above - 1, 16), _LONGEST_PAUSE_S) if above > 0 else 0.0

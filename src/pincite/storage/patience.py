"""Waiting for a database server that is not there for a moment: it starts, restarts, or was asleep."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from pincite.domain.errors import StorageUnavailable

T = TypeVar("T")

WAIT_S: Final = 10.0
"""So long a server may be away before what needs it fails."""
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_COMING_BACK: Final = frozenset({"connection_lost", "shut_down", "out_of_resources"})


class Patience:
    """Tries again what failed because the server was away. Used by several threads.

    After it waited in vain, everybody else fails at once for as long: a run that ends because its database is gone
    asks it more than once on the way.

    Args:
        wait_s: how long in all.
        now_s: a clock that never runs backwards.
        sleep: blocks for so many seconds.
    """

    def __init__(
        self,
        wait_s: float = WAIT_S,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wait_s = wait_s
        self._now_s = now_s
        self._sleep = sleep
        self._in_vain_until_s = float("-inf")

    def run(self, attempt: Callable[[], T], may_repeat: Callable[[], bool]) -> T:
        """What `attempt` returns. Where it fails and `may_repeat`, nothing of it has happened and it is tried again.

        Errors: what `attempt` raises, at the latest after the wait and one more try.
        """
        began_s, pause_s = self._now_s(), _FIRST_PAUSE_S
        until_s = began_s if began_s < self._in_vain_until_s else began_s + self._wait_s
        while True:
            try:
                return attempt()
            except StorageUnavailable as error:
                if error.reason not in _COMING_BACK or not may_repeat():
                    raise
                if self._now_s() + pause_s > until_s:
                    if self._now_s() >= self._in_vain_until_s:
                        self._in_vain_until_s = self._now_s() + self._wait_s
                    raise
            self._sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

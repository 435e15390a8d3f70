"""How often a key may come: a bucket of requests for each, in this process; `Service` asks the common one, too."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from pincite.domain.access import ApiKey
from pincite.domain.errors import RateLimited

MAX_KEYS = 10_000
BURST_SHARE = 0.25
"""Of the requests of a minute, how many may come at once."""


class Turns:
    """Counts requests by key; `now_s` is a clock that never runs backwards.

    One number a key, the moment at which its bucket would be full again (a generic cell rate algorithm).
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, key: ApiKey) -> None:
        """Count a request. Errors: RateLimited, with the seconds after which the next one is let through."""
        found = pace(key)
        if found is None:
            return
        step_s, room_s = found
        now = self._now_s()
        full_at = max(self._full_at.pop(key.name, now), now) + step_s
        wait_s = full_at - now - room_s
        if wait_s > 1e-9:
            self._keep(key.name, full_at - step_s)
            raise too_often(key, wait_s)
        self._keep(key.name, full_at)

    def _keep(self, name: str, full_at: float) -> None:
        self._full_at[name] = full_at
        while len(self._full_at) > MAX_KEYS:
            self._full_at.popitem(last=False)


def pace(key: ApiKey) -> tuple[float, float] | None:
    """Seconds that a request takes out of the bucket of a key, and how many are in it; None without a limit."""
    if key.rate_per_min is None:
        return None
    step_s = 60.0 / max(key.rate_per_min, 1)
    return step_s, max(1.0, key.rate_per_min * BURST_SHARE) * step_s


def too_often(key: ApiKey, wait_s: float) -> RateLimited:
    """The error for a request too many."""
    return RateLimited(
        f"the key {key.name!r} may make {key.rate_per_min} requests a minute",
        reason="key_rate",
        hint=f"Come back in {math.ceil(wait_s)} s.",
        retry_after_s=math.ceil(wait_s),
    )

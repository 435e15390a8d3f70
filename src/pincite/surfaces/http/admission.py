"""How often a key may come: a bucket of requests for each, in this process."""

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
        if key.rate_per_min is None:
            return
        step = 60.0 / max(key.rate_per_min, 1)
        room = max(1.0, key.rate_per_min * BURST_SHARE) * step
        now = self._now_s()
        full_at = max(self._full_at.pop(key.name, now), now) + step
        wait = full_at - now - room
        if wait > 1e-9:
            full_at -= step
            self._keep(key.name, full_at)
            raise RateLimited(
                f"the key {key.name!r} may make {key.rate_per_min} requests a minute",
                reason="key_rate",
                hint=f"Come back in {math.ceil(wait)} s.",
                retry_after_s=math.ceil(wait),
            )
        self._keep(key.name, full_at)

    def _keep(self, name: str, full_at: float) -> None:
        self._full_at[name] = full_at
        while len(self._full_at) > MAX_KEYS:
            self._full_at.popitem(last=False)

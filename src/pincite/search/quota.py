"""What is left of an account's quota, as far as its engine says: rate headers with a window of hours or more."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

_SHORTEST_S = 3_600.0
"""A window shorter than this is a rate, which the limiter keeps, and no quota."""
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
        left, of, reset = (_numbers(headers.get(f"{prefix}{name}", "")) for name in ("remaining", "limit", "reset"))
        if left and len(left) == len(of) == len(reset):
            longest = max(range(len(reset)), key=lambda n: reset[n])
            if reset[longest] >= _SHORTEST_S and of[longest] > 0:
                quota.tell(left[longest], of[longest], now + timedelta(seconds=min(reset[longest], 400 * 86_400)))
            return


def _numbers(text: str) -> list[float]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [float(part) for part in parts if part.isdigit()] if all(part.isdigit() for part in parts) else []

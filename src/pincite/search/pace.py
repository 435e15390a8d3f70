"""The month's money for searches, coming back evenly. Only orders the engines; a hard cap is the budget's matter."""

from decimal import Decimal
from typing import Final

from pincite.ports import Clock
from pincite.runtime.shared_limiter import Ask, Buckets

MONTH_S: Final = 30 * 86_400.0
KEY: Final = "search:pace"
_ANY_DEBT_S: Final = 1e12


class Pace:
    """Dollars that come back evenly over the month, up to what `burst_days` bring.

    Args:
        clock: the time.
        usd_per_month: how much comes back in 30 days.
        burst_days: how much of it may be there at once.
        buckets: where other processes take from the same money; None keeps it to this one.
    """

    def __init__(
        self, clock: Clock, usd_per_month: Decimal, *, burst_days: float = 1.0, buckets: Buckets | None = None
    ) -> None:
        self._clock = clock
        self._per_s = float(usd_per_month) / MONTH_S
        self._burst = self._per_s * 86_400 * burst_days
        self._level = self._burst
        self._at = clock.monotonic_s()
        self._buckets = buckets
        self._untold_usd = 0.0

    def allows(self, cost_usd: Decimal | None, *, leaving: float = 0.0) -> bool:
        """Whether the cost is there now, with the share `leaving` of the burst to spare; an unknown cost never is."""
        self._refill()
        return cost_usd is not None and (cost_usd == 0 or self._level >= float(cost_usd) + leaving * self._burst)

    def spend(self, cost_usd: Decimal) -> None:
        """Take what a call came to; below zero is a debt that time pays."""
        self._refill()
        self._level -= float(cost_usd)
        self._untold_usd += float(cost_usd)

    async def share(self) -> None:
        """Tell the other processes what was spent here, and learn what they spent. Errors: those of the store."""
        if self._buckets is None or self._per_s <= 0:
            return
        spent, self._untold_usd = self._untold_usd, 0.0
        if spent:
            await self._buckets.take(KEY, (Ask(spent / self._per_s, _ANY_DEBT_S),))
        # A question for nothing, with no room: the wait is how far the bucket is from full.
        short_s = await self._buckets.take(KEY, (Ask(0.0, 0.0),))
        self._level = self._burst - short_s * self._per_s - self._untold_usd
        self._at = self._clock.monotonic_s()

    def _refill(self) -> None:
        now = self._clock.monotonic_s()
        self._level = min(self._burst, self._level + (now - self._at) * self._per_s)
        self._at = now

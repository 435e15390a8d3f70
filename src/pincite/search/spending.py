"""Caps on the calls and dollars of searches, reserved before the call and settled after; and the month's pace."""

from decimal import Decimal
from typing import Final, Protocol

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Clock, Ledger
from pincite.runtime.limiter import INTERACTIVE, Ask, Buckets


class Spending(Protocol):
    """What a caller lets a search spend. A run's ledger can stand behind it."""

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted (nothing may be called)."""

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""

    def caps_money(self) -> bool:
        """Whether there is a cap on dollars, so that a call of unknown price must be refused."""


class BudgetSpending:
    """Implements `Spending` over a budget in memory, for a request or a process, perhaps within an `outer` one's."""

    def __init__(self, budget: Budget, outer: Spending | None = None) -> None:
        self._budget = budget
        self._outer = outer
        self.used = Usage()

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted with the name of the cap."""
        cap = self._budget.first_exceeded(self.used + estimate)
        if cap is not None:
            raise BudgetExhausted(f"the cap on {cap} does not allow this search", reason=cap)
        # Before the outer one is asked: searches side by side must not each see the same money.
        self.used = self.used + estimate
        if self._outer is not None:
            try:
                await self._outer.reserve(estimate)
            except BudgetExhausted:
                self.used = self.used - estimate  # the next, cheaper engine has the whole cap again
                raise

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""
        self.used = self.used - estimate + actual
        if self._outer is not None:
            await self._outer.settle(estimate, actual)

    def caps_money(self) -> bool:
        """Whether dollars are capped."""
        return self._budget.cost_usd is not None


def capped(spending: Spending, cap_usd: Decimal | None) -> Spending:
    """The same within so many dollars; as it is without such a cap."""
    return spending if cap_usd is None else BudgetSpending(Budget(cost_usd=cap_usd), spending)


class RunSpending:
    """Implements `Spending` for a run: what its ledger has settled, and what is under way here, against its caps.

    The ledger itself counts the search; here the dollars and the requests of every try are held back first.
    """

    def __init__(self, ledger: Ledger, budget: Budget) -> None:
        self._ledger = ledger
        self._caps = Budget(cost_usd=budget.cost_usd, web_requests=budget.web_requests)
        self._under_way = Usage()

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted with the name of the cap."""
        # What is under way counts as spent: searches side by side must not each see the same money.
        cap = self._caps.first_exceeded(await self._ledger.spent() + self._under_way + estimate)
        if cap is not None:
            raise BudgetExhausted(f"the run's cap on {cap} does not allow this search", reason=cap)
        self._under_way = self._under_way + estimate

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Let go of the estimate; the ledger writes down what the search came to."""
        self._under_way = self._under_way - estimate

    def caps_money(self) -> bool:
        """Whether the run caps dollars."""
        return self._caps.cost_usd is not None


class _SpendingSearch(Protocol):
    async def search(
        self, query: Query, *, priority: int = INTERACTIVE, spending: Spending | None = None, queue_wait_s: float = 0.0
    ) -> SearchResponse: ...


class BudgetedSearch:
    """Implements `ports.Search` for a run: every call stays within the run's caps, in the run's lane."""

    def __init__(
        self, search: _SpendingSearch, spending: Spending, *, priority: int = INTERACTIVE, queue_wait_s: float = 0.0
    ) -> None:
        self._search = search
        self._spending = spending
        self._priority = priority
        self._queue_wait_s = queue_wait_s

    async def search(self, query: Query) -> SearchResponse:
        """As the service's. Errors: also BudgetExhausted."""
        return await self._search.search(
            query, priority=self._priority, spending=self._spending, queue_wait_s=self._queue_wait_s
        )


def call_estimate(cost_usd: Decimal | None, spending: Spending | None, provider: str) -> Usage:
    """What one call is expected to use. Errors: BudgetExhausted (`price_unknown`) under a cap on dollars."""
    if cost_usd is None and spending is not None and spending.caps_money():
        raise BudgetExhausted(
            f"the price of {provider} is not known and dollars are capped",
            reason="price_unknown",
            hint="Leave this provider out, or take the cap on dollars away.",
        )
    return Usage(searches=1, web_requests=1, cost_usd=cost_usd or Decimal(0))


# The month's money for searches, coming back evenly. Only orders the engines; a hard cap is the budget's matter.

# A month of bills has 28 to 31 days.
MONTH_S: Final = 30 * 86_400.0
KEY: Final = "search:pace"
# Never refused: what was spent is spent, and the bucket only has to know it.
_ANY_DEBT_S: Final = 1e12


class Pace:
    """Dollars that come back evenly over the month, up to what `burst_days` bring.

    Args:
        usd_per_month: how much comes back in 30 days.
        burst_days: how much of it may be there at once.
        buckets: where other processes take from the same money; None keeps it to this one.
    """

    def __init__(
        self, clock: Clock, usd_per_month: Decimal, *, burst_days: float = 1.0, buckets: Buckets | None
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
        # What was spent here meanwhile is not in the bucket yet and stays owed.
        short_s = await self._buckets.take(KEY, (Ask(0.0, 0.0),))
        self._level = self._burst - short_s * self._per_s - self._untold_usd
        self._at = self._clock.monotonic_s()

    def _refill(self) -> None:
        now = self._clock.monotonic_s()
        self._level = min(self._burst, self._level + (now - self._at) * self._per_s)
        self._at = now

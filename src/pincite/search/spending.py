"""Caps on the calls and dollars of searches, reserved before the call and settled after."""

from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Ledger
from pincite.runtime.limiter import INTERACTIVE


class Spending(Protocol):
    """What a caller lets a search spend. A run's ledger can stand behind it."""

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted (nothing may be called)."""
        ...

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""
        ...

    def caps_money(self) -> bool:
        """Whether there is a cap on dollars, so that a call of unknown price must be refused."""
        ...


class Purse:
    """Implements `Spending` over a budget in memory, for one request or one process."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.used = Usage()

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted with the name of the cap."""
        cap = self._budget.first_exceeded(self.used + estimate)
        if cap is not None:
            raise BudgetExhausted(f"the cap on {cap} does not allow this search", reason=cap)
        self.used = self.used + estimate

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""
        self.used = self.used - estimate + actual

    def caps_money(self) -> bool:
        """Whether dollars are capped."""
        return self._budget.cost_usd is not None


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
        self, query: Query, *, priority: int = INTERACTIVE, spending: Spending | None = None, patience_s: float = 0.0
    ) -> SearchResponse: ...


class BudgetedSearch:
    """Implements `ports.Search` for a run: every call stays within the run's caps, in the run's lane."""

    def __init__(
        self, search: _SpendingSearch, spending: Spending, *, priority: int = INTERACTIVE, patience_s: float = 0.0
    ) -> None:
        self._search = search
        self._spending = spending
        self._priority = priority
        self._patience_s = patience_s

    async def search(self, query: Query) -> SearchResponse:
        """As the front door's. Errors: also BudgetExhausted."""
        return await self._search.search(
            query, priority=self._priority, spending=self._spending, patience_s=self._patience_s
        )


def call_estimate(cost_usd: Decimal | None, spending: Spending | None, provider: str) -> Usage:
    """What one call is expected to use. Errors: BudgetExhausted (`price_unknown`) under a cap on dollars."""
    if cost_usd is None and spending is not None and spending.caps_money():
        raise BudgetExhausted(
            f"the price of {provider} is not known and dollars are capped", reason="price_unknown",
            hint="Leave this provider out, or take the cap on dollars away.",
        )  # fmt: skip
    return Usage(searches=1, web_requests=1, cost_usd=cost_usd or Decimal(0))


def without_price(usage: Usage) -> Usage:
    """The same calls for free: what an engine that failed took."""
    return replace(usage, cost_usd=Decimal(0))

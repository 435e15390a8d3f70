"""A ledger for calls that belong to no run: within a budget, on no record."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted
from pincite.domain.events import Json
from pincite.domain.records import Outcome


class Purse(Protocol):
    """Whose money it is."""

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted."""
        ...

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""
        ...


class PassingLedger:
    """Implements `ports.Ledger` in memory: an estimate is reserved before each call and settled after it.

    The dollars come out of the `purse` as well, where there is one.
    """

    def __init__(self, budget: Budget, purse: Purse | None = None) -> None:
        self._budget = budget
        self._purse = purse
        self._spent = Usage()
        self._reserved = Usage()

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """What the call gives. Errors: BudgetExhausted (nothing was called), and what `do` raises."""
        exceeded = self._budget.first_exceeded(self._spent + self._reserved + estimate)
        if exceeded:
            raise BudgetExhausted(f"the cap on {exceeded} is reached", reason=exceeded)
        money = Usage(cost_usd=estimate.cost_usd)
        if self._purse is not None and money.cost_usd:
            await self._purse.reserve(money)
        self._reserved = self._reserved + estimate
        used = estimate
        try:
            outcome = await do()
            used = outcome.usage
        finally:
            if self._purse is not None and money.cost_usd:
                await self._purse.settle(money, Usage(cost_usd=used.cost_usd))
            self._reserved = self._reserved - estimate
            self._spent = self._spent + used
        return outcome.value

    async def spent(self) -> Usage:
        """What was settled so far."""
        return self._spent

    def cache_reads(self) -> tuple[int, int]:
        """None: nothing is counted here."""
        return 0, 0

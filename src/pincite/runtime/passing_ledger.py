"""A ledger for calls that belong to no run: within a budget, on no record."""

from collections.abc import Awaitable, Callable, Mapping

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted
from pincite.domain.events import Json
from pincite.domain.records import Outcome


class PassingLedger:
    """Implements `ports.Ledger` in memory: an estimate is reserved before each call and settled after it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._spent = Usage()
        self._reserved = Usage()

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """What the call gives. Errors: BudgetExhausted (nothing was called), and what `do` raises."""
        exceeded = self._budget.first_exceeded(self._spent + self._reserved + estimate)
        if exceeded:
            raise BudgetExhausted(f"the cap on {exceeded} is reached", reason=exceeded)
        self._reserved = self._reserved + estimate
        used = estimate
        try:
            outcome = await do()
            used = outcome.usage
        finally:
            self._reserved = self._reserved - estimate
            self._spent = self._spent + used
        return outcome.value

    async def spent(self) -> Usage:
        """What was settled so far."""
        return self._spent

    def cache_reads(self) -> tuple[int, int]:
        """None: nothing is counted here."""
        return 0, 0

"""What each user may have of a server process, and what a call may spend."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import anyio

from pincite.domain.frozen import dataclass
from pincite.engine import Engine
from pincite.settings import Settings
from pincite.wiring.server import DailyBudget


@dataclass(slots=True)
class Account:
    """Who a call is for: the owner that its runs and streams count as, and what they may spend today.

    Args:
        owner: a key, or a user where no key is asked for.
        budget: None without a cap on the day.
        reserved_usd: what of it was set aside for a run.
        spent_before_usd: what that run had spent before.
    """

    owner: str
    budget: DailyBudget | None = None
    reserved_usd: Decimal = Decimal(0)
    spent_before_usd: Decimal = Decimal(0)

    async def reserve(self, *caps: Decimal | None) -> Decimal | None:
        """The dollars set aside for a run within the least of these caps; None without a daily one.

        Errors: BudgetExhausted (`daily_usd`).
        """
        if self.budget is None:
            return None
        wanted = min((cap for cap in caps if cap is not None), default=None)
        self.reserved_usd = await self.budget.reserve_for_run(wanted)
        return self.reserved_usd

    async def release(self, usage_usd: Decimal | None = None) -> None:
        """Give back what the run, which has used so much since it was first made, did not spend."""
        if self.budget is not None:
            spent = Decimal(0) if usage_usd is None else usage_usd - self.spent_before_usd
            await self.budget.give_back(self.reserved_usd - spent)


@asynccontextmanager
async def charged(engine: Engine, target: str, budget: DailyBudget | None) -> AsyncIterator[None]:
    """Charge what the block has called for a run that has ended: the run's own caps bound it, its start paid for less.

    Of a target that is no run nothing is charged here.

    Errors: RunNotFound.
    """
    if budget is None or not (target == "last" or target.startswith("run_")):
        yield
        return
    before = (await engine.run(target)).usage.cost_usd
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await budget.charge((await engine.run(target)).usage.cost_usd - before)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How many runs are worked on side by side (`jobs`), and what one key, or user, may have of a server."""

    jobs: int = 4
    jobs_per_key: int = 32
    streams_per_key: int = 50

    @classmethod
    def of(cls, settings: Settings) -> "ServerLimits":
        """The limits in the settings."""
        return cls(settings.server_jobs, settings.server_jobs_per_key, settings.server_streams_per_key)

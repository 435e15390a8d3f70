"""What a server needs of an engine beside its front doors: its memory of requests, budgets of keys, webhooks."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from pincite.domain.budget import Usage
from pincite.domain.calls import Webhook
from pincite.domain.errors import BudgetExhausted
from pincite.ports import Clock

if TYPE_CHECKING:
    from pincite.runtime.shared_limiter import Buckets
    from pincite.storage.database import Database
    from pincite.storage.front_desk import SqlFrontDesk
    from pincite.wiring.webhook_door import WebhookDoor

HOLD_S: Final = 60.0
"""So long a webhook that was picked up is nobody else's: longer than one try may take."""


class FrontDesk:
    """Made by `Parts.front_desk` for one scope."""

    def __init__(
        self,
        memory: "SqlFrontDesk",
        hooks: "WebhookDoor",
        database: "Database",
        clock: Clock,
        buckets: "Buckets | None" = None,
    ) -> None:
        self.memory = memory
        self.hooks = hooks
        self._database = database
        self._clock = clock
        self._buckets = buckets

    async def add_webhook(self, run_id: str, url: str) -> None:
        """Have `url` told when the run has ended; it was vetted before."""
        await self.memory.add_webhook(f"msg_{token_hex(16)}", run_id, url)

    async def due_webhooks(self, limit: int = 20) -> Sequence[Webhook]:
        """Webhooks of every scope whose run has ended and whose time has come, held for a while."""
        from pincite.storage.front_desk import due_webhooks

        return await due_webhooks(self._database, self._clock, limit, HOLD_S)

    async def take_turn(self, key_name: str, step_s: float, room_s: float) -> float:
        """0 when a request of an API key is counted at all servers together, else the seconds it has to wait.

        Errors: StorageUnavailable, StorageFull, Locked.
        """
        from pincite.runtime.shared_limiter import Ask

        return 0.0 if self._buckets is None else await self._buckets.take(f"key:{key_name}", (Ask(step_s, room_s),))

    def purse(self, key_name: str, cap_usd: Decimal) -> "DailyPurse":
        """What an API key may spend today."""
        return DailyPurse(self.memory, self._clock, key_name, cap_usd)


class DailyPurse:
    """Implements `search.spending.Spending` over what an API key may spend in a day (UTC).

    What is set aside is on disk before anything is called, so that a key's requests at several servers that share a
    database, and a server that is killed, never spend more. What a killed server had set aside is lost until midnight.
    """

    def __init__(self, memory: "SqlFrontDesk", clock: Clock, key_name: str, cap_usd: Decimal) -> None:
        self._memory = memory
        self._clock = clock
        self._key_name = key_name
        self._cap_usd = cap_usd
        self._day = f"{clock.now():%Y-%m-%d}"

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted (`daily_usd`)."""
        if estimate.cost_usd and not await self._take(estimate.cost_usd):
            raise self._exhausted()

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Give back what was not spent."""
        left = estimate.cost_usd - actual.cost_usd
        if left:
            await self._memory.give_back(self._key_name, self._day, left)

    def caps_money(self) -> bool:
        """Always: that is what it is for."""
        return True

    async def set_aside_for_run(self, wanted: Decimal | None) -> Decimal:
        """The cap on the dollars of a new run: what it wants or a quarter of the day's, as far as there is so much.

        Errors: BudgetExhausted (`daily_usd`: nothing is left).
        """
        left = self._cap_usd - await self._memory.taken(self._key_name, self._day)
        if self._cap_usd > 0 >= left:
            raise self._exhausted()
        amount = min(left, self._cap_usd / 4 if wanted is None else wanted)
        if amount > 0 and not await self._take(amount):
            raise self._exhausted()
        return max(amount, Decimal(0))

    async def give_back(self, amount: Decimal) -> None:
        """Put back what a run was given and did not spend."""
        if amount:
            await self._memory.give_back(self._key_name, self._day, amount)

    async def _take(self, amount: Decimal) -> bool:
        return await self._memory.take(self._key_name, self._day, amount, self._cap_usd)

    def _exhausted(self) -> BudgetExhausted:
        now = self._clock.now()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return BudgetExhausted(
            f"the key {self._key_name!r} may spend ${self._cap_usd} a day, and has",
            reason="daily_usd",
            hint="Its budget is whole again at midnight UTC; the operator can make a key with a larger one.",
            retry_after_s=(midnight - now).total_seconds(),
        )

"""The open engines of a server process, one for each user and profile; and what each user may have of it."""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pincite.domain.errors import RateLimited
from pincite.domain.frozen import dataclass
from pincite.engine import Engine
from pincite.runtime.concurrency import ResourcePool
from pincite.settings import Settings
from pincite.wiring.server import DailyBudget
from pincite.wiring.stores import Shared, open_shared

# A new engine for a scope and a profile (None: the one in force).
OpenEngine = Callable[[str, str | None], Engine]

# Engines open at a time: about twenty users who try every profile, or as many users with one.
MAX_ENGINES: Final = 128
# An engine that nobody asked for so long may be closed: longer than a request takes. Runs hold theirs.
IDLE_S: Final = 180.0


@dataclass(slots=True)
class _Held:
    engine: Engine
    kept: ResourcePool
    used_at_s: float
    users: int = 0


class Engines:
    """Engines over what the process shares; opened when first needed.

    Args:
        open_engine: makes the engine of a scope and profile; all have one home and one database.
        base: keeps what the engines share; closes after them.
        hosts: where engines are kept open.
    """

    def __init__(
        self, open_engine: OpenEngine, base: ResourcePool, hosts: TaskGroup, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._open = open_engine
        self._base = base
        self._hosts = hosts
        self._now_s = now_s
        self._shared: Shared | None = None
        self._held: OrderedDict[tuple[str, str | None], _Held] = OrderedDict()
        self._opening = anyio.Lock()

    async def of(self, scope: str, profile: str | None = None) -> Engine:
        """The open engine of a scope. Errors: RateLimited (too many users at once), InvalidSetting."""
        key = (scope, profile)
        if key not in self._held:
            # Asked again inside: somebody else may have opened it while this one waited.
            async with self._opening:
                if key not in self._held:
                    self._make_room()
                    self._held[key] = await self._opened(scope, profile)
        held = self._held[key]
        held.used_at_s = self._now_s()
        self._held.move_to_end(key)
        return held.engine

    @contextmanager
    def in_use(self, engine: Engine) -> Iterator[None]:
        """Keeps an engine open while the block runs, however long that is."""
        held = next((held for held in self._held.values() if held.engine is engine), None)
        if held is not None:
            held.users += 1
        try:
            yield
        finally:
            if held is not None:
                held.users -= 1
                held.used_at_s = self._now_s()

    def close(self) -> None:
        """Let every engine close."""
        while self._held:
            self._held.popitem()[1].kept.close()

    async def _opened(self, scope: str, profile: str | None) -> _Held:
        engine = self._open(scope, profile)
        if self._shared is None:
            self._shared = await self._base.open(open_shared(engine.settings))
        engine = engine.over(self._shared)
        kept = ResourcePool(self._hosts)
        await kept.open(engine)
        return _Held(engine, kept, self._now_s())

    def _make_room(self) -> None:
        if len(self._held) < MAX_ENGINES:
            return
        unused_since_s = self._now_s() - IDLE_S
        for key, held in self._held.items():
            # The longest unused is in front (`move_to_end`), so the first that may go is the right one.
            if held.users == 0 and held.used_at_s <= unused_since_s:
                self._held.pop(key).kept.close()
                return
        raise RateLimited("too many users at once on this server", retry_after_s=IDLE_S / 3)


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

"""Which engine is asked first, second, ...: by fit, price, health and what is left of quota and money. Explainable."""

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import timedelta
from decimal import Decimal

from pincite.domain.errors import PinciteError, ProviderAuth, ProviderQuota
from pincite.domain.frozen import dataclass
from pincite.domain.search import Depth, Query
from pincite.ports import Clock, SearchProvider
from pincite.search.catalogue import ProviderCard, card_of
from pincite.search.health import Account, ProviderHealth, ProviderHealthBook, Quota
from pincite.search.intent import Intent
from pincite.search.spending import Pace

# Engines whose fit differs by no more than this count as equal, and the cheaper one goes first.
FIT_MARGIN = 0.05
# An engine that always fails loses about as much as fits differ between a good and a poor one. Chosen, not measured.
_HEALTH_WEIGHT = 0.3
# An exponential average: one failure takes a fifth of the health that an engine had, the next a fifth of the rest.
_MEMORY = 0.8
# After this time half of a bad record is forgotten, so that an engine that is not asked gets its chance again.
_FORGIVEN_S = 300.0
# A quota comes back by the day or month; one look an hour costs nothing.
_QUOTA_REST = timedelta(hours=1)
# A key that was refused may be mended by its owner meanwhile.
_AUTH_REST = timedelta(minutes=10)
# From this share of the quota down an engine loses fit, up to two margins when nothing is left.
_LOW_QUOTA = 0.1
# Not 0: an engine with nothing left by its own account still gets its turn, or it could never say that it has more.
_LEAST_SHARE = 0.02


def label_of(name: str, account: str = "") -> str:
    """What an account at an engine is called."""
    return f"{name}#{account}" if account else name


def limits_key(name: str, account: str) -> str:
    """Under which name the limiter and the breaker know an account at an engine."""
    return f"search:{label_of(name, account)}"


@dataclass(frozen=True, slots=True)
class Engine:
    """One account at one engine. Several keys of an engine are several of these with different `account`.

    `weight` is its share of the turns among equals; `mark` tells the keys of one account apart over time, so that a
    new key doesn't inherit what was said to the old one.
    """

    provider: SearchProvider
    card: ProviderCard
    account: str = ""
    weight: float = 1.0
    mark: str = ""
    quota: Quota = field(default_factory=Quota)

    @property
    def label(self) -> str:
        """The name, with the account where there are several."""
        return label_of(self.provider.name, self.account)

    @property
    def key(self) -> str:
        """Name of its limits and of its breaker."""
        return limits_key(self.provider.name, self.account)

    @property
    def remembered(self) -> Account:
        """Under what name its state is kept."""
        return Account(f"{self.key}/{self.mark}", self.quota)


def engine_of(provider: "SearchProvider | Engine") -> Engine:
    """The provider with its row of the catalogue."""
    return provider if isinstance(provider, Engine) else Engine(provider, card_of(provider.name))


@dataclass(frozen=True, slots=True)
class Route:
    """One step of the order: ask this engine at this depth; `why` is for people."""

    engine: Engine
    depth: Depth
    why: str

    @property
    def cost_usd(self) -> Decimal | None:
        """The list price of the step, or None when it isn't known."""
        return self.engine.card.cost(self.depth)


def _price(cost_usd: Decimal | None) -> Decimal:
    return Decimal("Infinity") if cost_usd is None else cost_usd


@dataclass(slots=True)
class Router:
    """Orders the engines for a query by what is known of each."""

    clock: Clock
    health: ProviderHealthBook
    pace: Pace | None = None

    async def recall(self, engines: Sequence[Engine]) -> None:
        """Learn what other processes have noted: refusals, turns, quotas, the month's money."""
        await self.health.recall([engine.remembered for engine in engines])
        if self.pace is not None:
            await self.pace.share()

    async def remember(self) -> None:
        """Note for other processes what changed here."""
        await self.health.remember()
        if self.pace is not None:
            await self.pace.share()

    def order(
        self, query: Query, intent: Intent, engines: Sequence[Engine], *, peek: bool = False
    ) -> tuple[Route, ...]:
        """The steps, best first. Engines that are out of credit or refused the key come last until they rested.

        With `peek` nobody's turn is used up.
        """
        # Bands from the top down: fit decides between them, price and turns within one. Sorting by price alone would
        # send an error message to the cheapest news engine.
        ranked = sorted(engines, key=lambda engine: -self._fit(engine, intent))
        ordered: list[Engine] = []
        while ranked:
            leader = self._fit(ranked[0], intent)
            # The 1e-9 is for sums of floats: two engines exactly one margin apart count as equal.
            equal = [engine for engine in ranked if leader - self._fit(engine, intent) <= FIT_MARGIN + 1e-9]
            # Cheapest first, unknown prices last; those that cost the same take turns.
            turns = {engine.label: self.health.of(engine.remembered.key).turn for engine in equal}
            ordered += sorted(equal, key=lambda one: (_price(one.card.cost(Depth.BASIC)), turns[one.label]))
            ranked = ranked[len(equal) :]
        # Last, not left out: where all rest, their own refusals are what the caller has to read.
        resting = [engine for engine in ordered if self.cooldown_error(engine) is not None]
        awake = [engine for engine in ordered if engine not in resting]
        routes = [self._route(engine, query, intent) for engine in awake]
        # Short money reorders and refuses nothing: a hard cap is the budget's matter.
        if self.pace is not None and routes and not self.pace.allows(routes[0].cost_usd):
            affordable = [route for route in routes if self.pace.allows(route.cost_usd)]
            dearer = sorted(
                (route for route in routes if route not in affordable), key=lambda route: _price(route.cost_usd)
            )
            routes = [replace(route, why=f"{route.why}; the month's money is short") for route in affordable + dearer]
        if not peek and routes:
            # Its next turn is the farther away, the less its weight and the less is left of its quota.
            share = routes[0].engine.quota.share(self.clock.now())
            # Weighted turns as in weighted fair queueing: each use moves an engine on by the inverse of its weight.
            worth = routes[0].engine.weight * max(1.0 if share is None else share, _LEAST_SHARE)
            self.health.change(routes[0].engine.remembered).turn += 1 / max(worth, 1e-6)
        return (*routes, *(self._route(engine, query, intent) for engine in resting))

    def cooldown_error(self, engine: Engine) -> PinciteError | None:
        """Why the engine isn't asked at present, or None."""
        state = self.health.of(engine.remembered.key)
        if state.resting_until is None or state.resting_until <= self.clock.now():
            return None
        return state.error

    def tell(self, engine: Engine, *, error: PinciteError | None, cost_usd: Decimal) -> None:
        """Take note of how a call went."""
        state = self.health.change(engine.remembered)
        # From the health as it has recovered by now, not as it was written down at the last call.
        state.health = _MEMORY * self._health(state) + (1 - _MEMORY) * (error is None)
        state.told_at = self.clock.now()
        if isinstance(error, ProviderQuota | ProviderAuth):
            rest = _QUOTA_REST if isinstance(error, ProviderQuota) else _AUTH_REST
            state.resting_until, state.error = self.clock.now() + rest, error
        elif error is None:
            state.resting_until = state.error = None
        if self.pace is not None:
            self.pace.spend(cost_usd)

    def _fit(self, engine: Engine, intent: Intent) -> float:
        state = self.health.of(engine.remembered.key)
        share = engine.quota.share(self.clock.now())
        short = 0.0 if share is None else max(1 - share / _LOW_QUOTA, 0.0)
        return engine.card.fit_for(intent) - _HEALTH_WEIGHT * (1 - self._health(state)) - 2 * FIT_MARGIN * short

    def _health(self, state: ProviderHealth) -> float:
        if state.told_at is None:
            return state.health
        since_s = max((self.clock.now() - state.told_at).total_seconds(), 0.0)
        return float(1 - (1 - state.health) * 0.5 ** (since_s / _FORGIVEN_S))

    def _route(self, engine: Engine, query: Query, intent: Intent) -> Route:
        fit = f"fit {self._fit(engine, intent):.2f} for {intent.value}"
        share = engine.quota.share(self.clock.now())
        if share is not None:
            fit += f"; {share:.0%} of its quota left"
        if query.depth is not None:
            return Route(engine, query.depth, fit)
        if "depth" not in engine.card.native:
            return Route(engine, Depth.BASIC, fit)
        advanced = engine.card.cost(Depth.ADVANCED)
        # Half of a day's money stays for searches that have no cheaper way. Chosen, not measured.
        if self.pace is None or self.pace.allows(advanced, leaving=0.5):
            return Route(engine, Depth.ADVANCED, fit)
        return Route(engine, Depth.BASIC, f"{fit}; depth lowered to basic to save money")

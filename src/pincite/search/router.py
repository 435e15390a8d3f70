"""Which engine is asked first, second, ...: by fit, price, health and what is left of quota and money. Explainable."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from pincite.domain.errors import PinciteError, ProviderAuth, ProviderQuota
from pincite.domain.search import Depth, Query
from pincite.ports import Clock, SearchProvider
from pincite.search.catalogue import ProviderCard, card_of
from pincite.search.intent import Intent

FIT_MARGIN = 0.05
"""Engines whose fit differs by no more than this count as equal, and the cheaper one goes first."""
_HEALTH_WEIGHT = 0.3
_MEMORY = 0.8
_FORGIVEN_S = 300.0
"""After this time half of a bad record is forgotten, so that an engine that is not asked gets its chance again."""
_QUOTA_REST = timedelta(hours=1)
_AUTH_REST = timedelta(minutes=10)
_MONTH_S = 30 * 86_400.0


def label_of(name: str, account: str = "") -> str:
    """What an account at an engine is called."""
    return f"{name}#{account}" if account else name


def limits_key(name: str, account: str = "") -> str:
    """Under which name the limiter and the breaker know an account at an engine."""
    return f"search:{label_of(name, account)}"


@dataclass(frozen=True, slots=True)
class Engine:
    """One account at one engine. Several keys of an engine are several of these with different `account`."""

    provider: SearchProvider
    card: ProviderCard
    account: str = ""
    weight: float = 1.0

    @property
    def label(self) -> str:
        """The name, with the account where there are several."""
        return label_of(self.provider.name, self.account)

    @property
    def key(self) -> str:
        """Name of its limits and of its breaker."""
        return limits_key(self.provider.name, self.account)


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


_UNKNOWN = Decimal("Infinity")


def _price(route: Route) -> Decimal:
    return _UNKNOWN if route.cost_usd is None else route.cost_usd


class Pace:
    """Dollars that come back evenly over the month. Only orders the engines; a hard cap is the budget's matter."""

    def __init__(self, clock: Clock, usd_per_month: Decimal, *, burst_days: float = 1.0) -> None:
        self._clock = clock
        self._per_s = float(usd_per_month) / _MONTH_S
        self._burst = self._per_s * 86_400 * burst_days
        self._level = self._burst
        self._at = clock.monotonic_s()

    def allows(self, cost_usd: Decimal | None, *, leaving: float = 0.0) -> bool:
        """Whether the cost is there now, with the share `leaving` of the burst to spare; an unknown cost never is."""
        self._refill()
        return cost_usd is not None and (cost_usd == 0 or self._level >= float(cost_usd) + leaving * self._burst)

    def spend(self, cost_usd: Decimal) -> None:
        """Take what a call came to; below zero is a debt that time pays."""
        self._refill()
        self._level -= float(cost_usd)

    def _refill(self) -> None:
        now = self._clock.monotonic_s()
        self._level = min(self._burst, self._level + (now - self._at) * self._per_s)
        self._at = now


@dataclass(slots=True)
class _Standing:
    health: float = 1.0
    told_at_s: float = 0.0
    turn: float = 0.0
    resting_until: datetime | None = None
    error: PinciteError | None = None


@dataclass(slots=True)
class Router:
    """Keeps how each engine has been doing, and orders them for a query."""

    clock: Clock
    pace: Pace | None = None
    _standings: dict[str, _Standing] = field(default_factory=dict)

    def order(
        self, query: Query, intent: Intent, engines: Sequence[Engine], *, peek: bool = False
    ) -> tuple[Route, ...]:
        """The steps, best first. Engines that are out of credit or refused the key come last until they rested.

        With `peek` nobody's turn is used up.
        """
        ranked = sorted(engines, key=lambda engine: -self._fit(engine, intent))
        ordered: list[Engine] = []
        while ranked:
            leader = self._fit(ranked[0], intent)
            equal = [engine for engine in ranked if leader - self._fit(engine, intent) <= FIT_MARGIN + 1e-9]
            ordered += self._by_price(equal)
            ranked = ranked[len(equal) :]
        resting = [engine for engine in ordered if self.resting(engine) is not None]
        awake = [engine for engine in ordered if engine not in resting]
        routes = [self._route(engine, query, intent) for engine in awake]
        if self.pace is not None and routes and not self.pace.allows(routes[0].cost_usd):
            affordable = [route for route in routes if self.pace.allows(route.cost_usd)]
            dearer = sorted((route for route in routes if route not in affordable), key=_price)
            routes = [replace(route, why=f"{route.why}; the month's money is short") for route in affordable + dearer]
        if not peek:
            self._take_turn(routes)
        return (*routes, *(self._route(engine, query, intent) for engine in resting))

    def resting(self, engine: Engine) -> PinciteError | None:
        """Why the engine isn't asked at present, or None."""
        standing = self._standings.get(engine.key)
        if standing is None or standing.resting_until is None or standing.resting_until <= self.clock.now():
            return None
        return standing.error

    def tell(self, engine: Engine, *, error: PinciteError | None, cost_usd: Decimal) -> None:
        """Take note of how a call went."""
        standing = self._standing(engine)
        standing.health = _MEMORY * self._health(standing) + (1 - _MEMORY) * (error is None)
        standing.told_at_s = self.clock.monotonic_s()
        if isinstance(error, ProviderQuota | ProviderAuth):
            rest = _QUOTA_REST if isinstance(error, ProviderQuota) else _AUTH_REST
            standing.resting_until, standing.error = self.clock.now() + rest, error
        elif error is None:
            standing.resting_until = None
        if self.pace is not None:
            self.pace.spend(cost_usd)

    def _fit(self, engine: Engine, intent: Intent) -> float:
        return engine.card.fit_for(intent) - _HEALTH_WEIGHT * (1 - self._health(self._standing(engine)))

    def _health(self, standing: _Standing) -> float:
        since_s = self.clock.monotonic_s() - standing.told_at_s
        return float(1 - (1 - standing.health) * 0.5 ** (since_s / _FORGIVEN_S))

    def _by_price(self, equal: list[Engine]) -> list[Engine]:
        """Cheapest first, unknown prices last; those that cost the same take turns by weight."""

        def rank(engine: Engine) -> tuple[Decimal, float]:
            cost = engine.card.cost(Depth.BASIC)
            return _UNKNOWN if cost is None else cost, self._standing(engine).turn / max(engine.weight, 1e-6)

        return sorted(equal, key=rank)

    def _take_turn(self, routes: Sequence[Route]) -> None:
        if routes:
            self._standing(routes[0].engine).turn += 1

    def _route(self, engine: Engine, query: Query, intent: Intent) -> Route:
        fit = f"fit {self._fit(engine, intent):.2f} for {intent.value}"
        if query.depth is not None:
            return Route(engine, query.depth, fit)
        if "depth" not in engine.card.native:
            return Route(engine, Depth.BASIC, fit)
        advanced = engine.card.cost(Depth.ADVANCED)
        if self.pace is None or self.pace.allows(advanced, leaving=0.5):
            return Route(engine, Depth.ADVANCED, fit)
        return Route(engine, Depth.BASIC, f"{fit}; depth lowered to basic to save money")

    def _standing(self, engine: Engine) -> _Standing:
        standing = self._standings.get(engine.key)
        if standing is None:
            # A newcomer starts level with the others, or it would get every turn until it has caught up.
            turn = min((known.turn for known in self._standings.values()), default=0.0)
            standing = self._standings[engine.key] = _Standing(turn=turn)
        return standing

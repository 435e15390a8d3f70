"""Builds the search service: engines with their keys, the answer cache, the operator's contracts."""

import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from pincite.domain.budget import DEADLINES_S, Budget
from pincite.domain.errors import InvalidInput, InvalidSetting
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.ports import BatchSearchProvider, Breaker, Cache, Clock, Ledger, Search, SearchProvider
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.limiter import BATCH, INTERACTIVE, LANES, MemoryLimiter, Rate, within
from pincite.settings import Settings
from pincite.wiring.fetching import url_policy
from pincite.wiring.observing import mask_of
from pincite.wiring.registry import PROVIDERS, load
from pincite.wiring.sources import AUTO, LOCAL

if TYPE_CHECKING:
    from pincite.library.local import LocalLibrary
    from pincite.runtime.limiter import SharedLimiter
    from pincite.search.catalogue import ProviderCard, Terms
    from pincite.search.health import SharedHealth
    from pincite.search.intent import Intent
    from pincite.search.provider import Surroundings
    from pincite.search.router import Engine
    from pincite.search.service import SearchOptions, SearchService
    from pincite.search.shared_answers import AnswerIntake
    from pincite.storage.service import ScopedStorage
    from pincite.wiring.common_redis import CommonRedis

CACHE_NAME: Final = "cache.sqlite"
LIMITS_NAME: Final = "limits.sqlite"
# Whose the health of the engines is: of no user.
COMMON_SCOPE: Final = "public"


LOCAL_DEADLINE_S: Final = DEADLINES_S["local_search"]


@dataclass(frozen=True, slots=True)
class Common:
    """What the searches of all processes of a home share: limits, breakers, the month's money, engines' health."""

    limiter: "SharedLimiter"
    notes: "SharedHealth"
    breaker: Breaker | None = None


def common_in_database(storage: "ScopedStorage", clock: Clock) -> Common | None:
    """That of the workers who share a database; None where it is the file of one home."""
    buckets, cache = storage.buckets(), storage.common_cache()
    if buckets is None or cache is None:
        return None
    from pincite.runtime.limiter import SharedLimiter
    from pincite.search.health import SharedHealth

    return Common(SharedLimiter(buckets, clock), SharedHealth(cache, buckets), storage.breaker())


def common_in_redis(redis: "CommonRedis", own: Common, clock: Clock) -> Common:
    """That of all workers with one Redis; `own` takes over while it is gone."""
    from pincite.runtime.limiter import MemoryBreaker, SharedLimiter

    if own.notes.buckets is None:
        return own
    limiter = SharedLimiter(redis.buckets(own.notes.buckets), clock)
    # Money and health stay where they were: they must outlive a Redis that may forget.
    return Common(limiter, own.notes, redis.breaker(own.breaker or MemoryBreaker(clock)))


async def common_in_home(home: Path, clock: Clock, kept: ResourcePool) -> Common:
    """That of the processes of one home. Errors: StorageUnavailable, Locked."""
    from pincite.runtime.limiter import SharedLimiter
    from pincite.search.health import SharedHealth
    from pincite.storage.cache import opened_cache
    from pincite.storage.limits import opened_buckets

    # A file each: a cache that is emptied or damaged must not set the limits back.
    buckets = await kept.open(opened_buckets(home / LIMITS_NAME, clock))
    cache = await kept.open(opened_cache(home / CACHE_NAME, COMMON_SCOPE, clock))
    return Common(SharedLimiter(buckets, clock), SharedHealth(cache, buckets))


async def build_search(
    settings: Settings,
    clock: Clock,
    kept: ResourcePool,
    *,
    libraries: "Sequence[LocalLibrary]",
    providers: Sequence[str],
    cache: Cache,
    common: Common | None = None,
    answers: "AnswerIntake | None" = None,
) -> "SearchService | None":
    """The service over these sources, or None when there are none. `answers` of peers are asked for before an engine.

    Errors: InvalidInput (an unknown provider), InvalidSetting (a retired one), ProviderAuth (its key is missing).
    """
    if not libraries and not providers:
        return None
    from pincite.search.health import NOWHERE
    from pincite.search.providers.local import LocalProvider
    from pincite.search.router import engine_of
    from pincite.search.service import SearchService

    common = common or Common(MemoryLimiter(clock), NOWHERE)
    engines = [engine_of(LocalProvider(library, deadline_s=LOCAL_DEADLINE_S)) for library in libraries]
    for name in providers:
        engines += accounts(name, settings, clock, cache, common.limiter)
    cached = bool(providers) and settings.search_cache  # a local index answers as it is now, and faster than a cache
    shared = await kept.open(team_cache(settings, clock)) if cached and settings.team_scope else None
    options = search_options(settings, tuple(dict.fromkeys(engine.provider.name for engine in engines)))
    service = SearchService(
        engines,
        clock=clock,
        limiter=common.limiter,
        breaker=common.breaker,
        cache=cache if cached else None,
        shared_cache=shared,
        notes=common.notes,
        answers=answers,
        options=options if providers else replace(options, call_deadline_s=LOCAL_DEADLINE_S, hedge_after_s=None),
    )
    return await kept.open(service)


def accounts(name: str, settings: Settings, clock: Clock, cache: Cache, limiter: "SharedLimiter") -> "list[Engine]":
    """The adapter of one search engine, once for each of its keys, with the limits and routes of the settings.

    Errors: InvalidInput (an unknown provider), InvalidSetting (a retired one, or no address), ProviderAuth (no key).
    """
    from pincite.search.health import Quota
    from pincite.search.provider import Surroundings
    from pincite.search.router import Engine, label_of, limits_key
    from pincite.search.store import RawAnswers

    card = _card(name)
    card = replace(card, rates=_rates(name, settings) or card.rates, fit={**card.fit, **_fit(name, settings)})
    secret = getattr(settings, f"{name}_api_key", None)
    keys = [part.strip() for part in secret.get_secret_value().split(",") if part.strip()] if secret else [None]
    weights = search_weights(settings)
    keep = RawAnswers(cache, clock, settings.scope, search_contracts(settings), mask=mask_of(settings)).keep
    engines = []
    for number, key in enumerate(keys, start=1):
        account = str(number) if len(keys) > 1 else ""
        limited = limits_key(name, account)
        limiter.configure(limited, *card.rates)
        slow_down = partial(limiter.push_back, limited)
        quota = Quota()
        around = Surroundings(clock, policy=url_policy(settings), keep=keep, slow_down=slow_down, quota=quota)
        made = provider(name, key, settings, around)
        weight = weights.get(label_of(name, account), weights.get(name, 1.0))
        # Tells one key from the next without saying anything about it.
        mark = sha256_hex(f"pincite account {key}".encode())[:8] if key else ""
        engines.append(Engine(made, card, account, weight, mark, quota))
    return engines


def _card(name: str) -> "ProviderCard":
    """The row of an engine: the one in the catalogue, or the `card` that an installed engine brings along."""
    from pincite.search.catalogue import card_of

    if name in PROVIDERS.rows or name not in PROVIDERS:
        return card_of(name)
    own: ProviderCard | None = getattr(load(PROVIDERS, name, "search provider"), "card", None)
    return own or card_of(name)


def search_weights(settings: Settings) -> dict[str, float]:
    """How often engines, or single keys (`tavily#2`), get their turn among equals. Errors: InvalidSetting."""
    for name, weight in settings.search_weights.items():
        # Turns are counted by shares: beyond a million to one the smaller would never come.
        if not 0 < weight < 1e6:
            raise InvalidSetting(
                f"search_weights of {name}: {weight} is not above 0", context={"setting": "search_weights"}
            )
    return settings.search_weights


def provider(name: str, key: str | None, settings: Settings, around: "Surroundings") -> SearchProvider:
    """The adapter of one search engine for one key. Errors: as `accounts`."""
    from pincite.apis import ApiSettings
    from pincite.search.provider import Batched

    card = _card(name)
    try:
        adapter = load(PROVIDERS, name, "search provider")
    except InvalidInput as error:
        error.hint += " Pages of your own: local:PATH. Those that come with Pincite: bundled."
        if not settings.is_server and Path(name).exists():  # whose folders are nobody's business
            error.hint = f"What is called so here is local:{name}. {error.hint}"
        raise
    # The search and reader APIs of one vendor may live at different places.
    own = getattr(settings, f"{name}_search_base_url", None) or getattr(settings, f"{name}_base_url", None)
    if not own and not card.base_url and name in PROVIDERS.rows:
        raise InvalidSetting(f"{name} needs an address", hint=f"Set {card.key_variable}.")
    made: SearchProvider = adapter(
        ApiSettings(
            own or card.base_url,
            api_key=key,
            deadline_s=settings.search_call_deadline_s,
            user_agent=settings.agent,
        ),
        around,
    )
    return Batched(cast("BatchSearchProvider", made), around.clock) if hasattr(made, "search_many") else made


def _rates(name: str, settings: Settings) -> tuple[Rate, ...]:
    """The limits of the operator's plan, or none. Errors: InvalidSetting."""
    rates = []
    for part in filter(None, settings.search_limits.get(name, "").split(",")):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)\s*", part)
        if found is None or not float(found[1]) or not float(found[2]):
            raise InvalidSetting(
                f"search_limits of {name}: {part!r} is not CALLS/SECONDS",
                hint='For instance "50/1,20000/2592000".',
                context={"setting": "search_limits"},
            )
        rates.append(within(float(found[1]), float(found[2])))
    return tuple(rates)


def _fit(name: str, settings: Settings) -> "dict[Intent, float]":
    """How well the engine suits the intents that the operator routes. Errors: InvalidSetting."""
    from pincite.search.intent import Intent

    unknown = set(settings.search_routes) - {intent.value for intent in Intent}
    if unknown:
        raise InvalidSetting(
            f"search_routes: there is no intent {sorted(unknown)[0]!r}",
            hint=f"Known: {', '.join(intent.value for intent in Intent)}.",
            context={"setting": "search_routes"},
        )
    return {
        # Never below 0.61: an engine that the operator named comes before those that the catalogue likes less than
        # that.
        Intent(intent): max(1.0 - 0.06 * names.index(name), 0.61)  # a step is wider than the margin of equal fit
        for intent, names in settings.search_routes.items()
        if name in names
    }


def within_budget(search: "SearchService | None", ledger: Ledger, budget: Budget, *, priority: int) -> Search | None:
    """The service for a run: what a search will cost is held back before each call, and turns are waited for."""
    if search is None:
        return None
    from pincite.research.state import QUEUE_WAIT_S
    from pincite.search.spending import BudgetedSearch, RunSpending

    queue_wait_s = budget.deadline_s or QUEUE_WAIT_S
    return BudgetedSearch(search, RunSpending(ledger, budget), priority=priority, queue_wait_s=queue_wait_s)


def lane_of(settings: Settings, *, run: bool = False) -> int:
    """The lane of this process at the limits; the runs of a server let the calls go first that somebody waits for."""
    if settings.lane is None:
        return BATCH if run and settings.is_server else INTERACTIVE
    return LANES[settings.lane]


def search_options(settings: Settings, names: tuple[str, ...]) -> "SearchOptions":
    """The settings of the service; engines that were named are fused, `auto` is routed."""
    from pincite.search.filters import QualityRules
    from pincite.search.intent import GateRules
    from pincite.search.service import AUTO as ROUTED
    from pincite.search.service import SearchOptions
    from pincite.search.store import Scopes

    return SearchOptions(
        sources=ROUTED if len(names) < 2 or (AUTO in settings.source and LOCAL not in names) else names,
        scopes=Scopes(settings.scope, shared=settings.team_scope),
        max_results=settings.most_results,
        deadline_s=settings.search_deadline_s,
        call_deadline_s=settings.search_call_deadline_s,
        hedge_after_s=settings.search_hedge_after_s,
        pace_usd_per_month=settings.search_pace_usd_per_month,
        near_duplicates=settings.search_near_duplicates,
        quality=QualityRules(
            deny_domains=settings.search_deny_domains,
            keep_undated=settings.keep_undated,
            domain_quality=settings.domain_quality,
        ),
        gate=GateRules(min_confidence=settings.search_gate_confidence),
        terms=search_contracts(settings),
        mask=mask_of(settings),
    )


def search_contracts(settings: Settings) -> "dict[str, Terms]":
    """What the operator's contracts with engines allow. Errors: InvalidSetting."""
    from pincite.search.catalogue import Terms, card_of

    try:
        return {
            card_of(name).name: Terms(**contract)  # type: ignore[arg-type]  # the call itself checks the names
            for name, contract in settings.search_contracts.items()
        }
    except TypeError:
        raise InvalidSetting(
            "search_contracts has an unknown member",
            hint="Known: longest_cache_s, storable, shareable, attribution.",
            context={"setting": "search_contracts"},
        ) from None


def team_cache(settings: Settings, clock: Clock) -> AbstractAsyncContextManager[Cache]:
    """Where the answers of the team are, closed at the end of the block."""
    from pincite.storage.cache import opened_cache

    return opened_cache(settings.home / CACHE_NAME, f"team/{settings.team_scope}", clock)

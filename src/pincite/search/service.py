"""The search service: gate, cache, routing, failover, fusion and filters around the engines."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import field, replace
from decimal import Decimal
from functools import partial
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from pincite.domain.budget import DEADLINES_S
from pincite.domain.errors import InvalidInput, PinciteError, SearchProviderUnavailable, Timeout
from pincite.domain.frozen import dataclass
from pincite.domain.search import Query, SearchInfo, SearchResponse
from pincite.ports import Breaker, Cache, Clock, Limiter, SearchProvider
from pincite.runtime.concurrency import SingleFlight
from pincite.runtime.limiter import INTERACTIVE, MemoryBreaker, MemoryLimiter
from pincite.runtime.system import SystemClock
from pincite.search.calls import Caller, Conditions, Trail
from pincite.search.catalogue import Terms, card_of
from pincite.search.filters import QualityRules
from pincite.search.fusion import Made, after_failure, assembled, from_cache, is_good
from pincite.search.health import NOWHERE, ProviderHealthBook, SharedHealth
from pincite.search.intent import GateRules, Intent, RetrievalContext, freshness_of, gate, intent_of
from pincite.search.request import MAX_RESULTS, checked, exact_key, with_room
from pincite.search.router import Engine, Router, engine_of
from pincite.search.shared_answers import AnswerIntake, terms_of
from pincite.search.spending import Pace, Spending
from pincite.search.store import AnswerStore, CacheCounts, Found, Mask, Scopes
from pincite.urls import mask_typed

AUTO = ("auto",)
# Longer than most engines take; one that takes longer is asked twice rather than waited for.
_OTHER_PROCESS_WAIT_S = 2.0
# A tenth of what an engine takes.
_POLL_S = 0.1
# Leases end by themselves within seconds; the bound is for a clock that stands still.
_MOST_LEASES = 10_000


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The settings of the service.

    `sources` is what a search without sources of its own asks; `terms` are the operator's contracts by engine name.
    A query that `mask` finds a secret in is not kept.
    """

    sources: tuple[str, ...] = AUTO
    scopes: Scopes = Scopes()
    max_results: int = MAX_RESULTS
    deadline_s: float = DEADLINES_S["search"]
    call_deadline_s: float = DEADLINES_S["search_call"]
    hedge_after_s: float | None = 4.0
    pace_usd_per_month: Decimal | None = Decimal(40)
    pace_burst_days: float = 1.0
    near_duplicates: bool = True
    quality: QualityRules = QualityRules()
    gate: GateRules = GateRules()
    terms: dict[str, Terms] = field(default_factory=dict)
    mask: Mask = mask_typed


DEFAULT_OPTIONS = SearchOptions()


@dataclass(frozen=True, slots=True)
class _Job:
    """One query on its way."""

    query: Query
    intent: Intent
    sources: tuple[str, ...]
    scopes: Scopes
    conditions: Conditions


class SearchService:
    """Implements `ports.Search` over any number of engines.

    Entered as a context manager it refreshes answers that are just past their time behind the caller's back, and
    closes the engines at the end; without that it works the same, but refreshes in front of the caller.

    Args:
        providers: engines, or accounts at engines.
        clock, limiter, breaker: those of one process when not given.
        cache: where answers are kept; None keeps none.
        shared_cache: where answers of a team are kept.
        notes: what other processes see of engines and money.
        answers: those that other installations share; None asks nobody for any.
    """

    def __init__(  # noqa: PLR0913  # one argument per part that the operator chooses
        self,
        providers: Sequence[SearchProvider | Engine],
        *,
        clock: Clock | None = None,
        limiter: Limiter | None = None,
        breaker: Breaker | None = None,
        cache: Cache | None = None,
        shared_cache: Cache | None = None,
        notes: SharedHealth = NOWHERE,
        answers: AnswerIntake | None = None,
        options: SearchOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._engines = tuple(engine_of(provider) for provider in providers)
        self._clock: Clock = clock or SystemClock()
        rates = {engine.key: engine.card.rates for engine in self._engines}
        self._limiter = limiter or MemoryLimiter(self._clock, rates)
        self._options = options
        self._answers = answers
        usd = options.pace_usd_per_month
        self._router = Router(
            self._clock,
            ProviderHealthBook(self._clock, notes.cache),
            None if usd is None else Pace(self._clock, usd, burst_days=options.pace_burst_days, buckets=notes.buckets),
        )
        self._caller = Caller(
            self._clock,
            self._limiter,
            breaker or MemoryBreaker(self._clock),
            self._router,
            call_deadline_s=options.call_deadline_s,
        )
        self._store = None
        if cache is not None:
            self._store = AnswerStore(
                cache, self._clock, near_duplicates=options.near_duplicates, shared=shared_cache, mask=options.mask
            )
        self._flights: SingleFlight[SearchResponse] = SingleFlight()
        self._own_leases: OrderedDict[str, float] = OrderedDict()
        self._behind: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self._counts = CacheCounts()

    async def __aenter__(self) -> "SearchService":
        for engine in self._engines:
            # `ports.SearchProvider` asks for no `aclose`: a library on this disk has nothing to close.
            close: Callable[[], object] | None = getattr(engine.provider, "aclose", None)
            if close is not None:
                self._stack.push_async_callback(close)  # type: ignore[arg-type]  # every aclose is async
        # Entered last, so left first: nothing refreshes through an engine that is closed already.
        self._behind = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._behind is not None:
            self._behind.cancel_scope.cancel()
            self._behind = None
        await self._stack.__aexit__(kind, error, trace)

    @property
    def counts(self) -> CacheCounts:
        """How cache lookups ended so far."""
        return self._store.counts if self._store is not None else self._counts

    async def search(
        self,
        query: Query,
        *,
        sources: tuple[str, ...] | None = None,
        priority: int = INTERACTIVE,
        spending: Spending | None = None,
        context: RetrievalContext | None = None,
        scopes: Scopes | None = None,
        queue_wait_s: float = 0.0,
    ) -> SearchResponse:
        """Results of the best engine, or of several named ones fused.

        Args:
            query: what to look for.
            sources: `auto`, or names of engines; more than one name fuses their results. None: as the options say.
            priority: lane of the limits (`runtime.limiter`: CRITICAL, INTERACTIVE, BATCH).
            spending: caps of the caller; None means none besides the settings.
            context: what the caller's own retrieval came to; the gate may then spare the web.
            scopes: whose cache; the settings decide when None.
            queue_wait_s: how much longer than its deadline it may take in all, waiting for its turn at an engine.

        Errors:
            InvalidTopic, InvalidInput, InvalidSetting: the request.
            BudgetExhausted: nothing may be spent.
            SearchProviderUnavailable: every engine failed and nothing is cached.
            Timeout: `search_total`.
        """
        start, options = self._clock.monotonic_s(), self._options
        sources = sources or options.sources
        clean = checked(query, max_results=options.max_results)
        # A second engine beside a slow one costs a second call; only where a person waits is that worth it.
        hedge = options.hedge_after_s if priority <= INTERACTIVE else None
        conditions = Conditions(priority, spending, options.deadline_s, hedge, queue_wait_s)
        # Only for its errors: an engine that isn't there is refused before the cache could hide it.
        self._chosen(sources)
        job = _Job(clean, intent_of(clean), sources, scopes or options.scopes, conditions)
        if context is not None:
            # Before the cache: what the caller knows already is the cheapest answer of all.
            verdict = gate(clean, context, options.gate)
            if not verdict.needs_web:
                found = await self._store.find(clean, sources, job.scopes) if self._store else None
                response = from_cache(found) if found else SearchResponse(clean.text, info=SearchInfo(cache="off"))
                return replace(response, info=replace(response.info, reason=f"no web needed: {verdict.reason}"))
        response = await self._answer(job)
        latency_ms = round((self._clock.monotonic_s() - start) * 1000, 1)
        return replace(response, info=replace(response.info, latency_ms=latency_ms))

    async def explain(self, query: Query) -> tuple[str, ...]:
        """The order in which the engines would be asked now, with the reasons, one line each. Calls nothing."""
        clean = checked(query, max_results=self._options.max_results)
        intent = intent_of(clean)
        chosen = self._fitting(self._options.sources, intent)
        # So that the order shown is the order that the next search would take, with what other processes have noted.
        await self._router.recall(chosen)
        lines = [f"intent: {intent.value}"]
        for n, route in enumerate(self._router.order(clean, intent, chosen, peek=True), start=1):
            price = "price unknown" if route.cost_usd is None else f"${route.cost_usd}"
            resting = self._router.cooldown_error(route.engine)
            rest = f"; resting: {resting.reason}" if resting else ""
            lines.append(f"{n}. {route.engine.provider.name} ({route.depth.value}, {price}): {route.why}{rest}")
        return tuple(lines)

    # ---- cache ---------------------------------------------------------------------------------------------

    async def _answer(self, job: _Job) -> SearchResponse:
        if self._store is None:
            return await self._fresh(job)
        counts = self._store.counts
        found = await self._store.find(job.query, job.sources, job.scopes)
        if found is not None and found.fresh:
            counts.hit += 1
            counts.near += found.level == "near"
            return from_cache(found)
        if found is not None and found.revalidate and self._behind is not None:
            counts.stale += 1
            self._behind.start_soon(self._refresh, job)
            return from_cache(found)
        try:
            # Callers of one process who ask the same at once share one call; those of other processes meet at the
            # lease.
            response, coalesced = await self._flights.run(self._flight_key(job), partial(self._fetch, job))
        except PinciteError as error:
            # A request that is wrong stays wrong: an old answer would hide that.
            if found is None or isinstance(error, InvalidInput):
                raise
            counts.stale += 1
            return after_failure(found, error)
        counts.coalesced += coalesced
        counts.miss += not coalesced
        if not coalesced:
            return response
        # The one who asked first is charged; charged twice, the sums of a run would not meet the bill.
        info = replace(response.info, cache="coalesced", cost_usd=Decimal(0))
        return replace(response, query=job.query.text, info=info)

    def _flight_key(self, job: _Job) -> str:
        return f"{job.scopes.private}\x1f{job.scopes.shared}\x1f{exact_key(job.query, job.sources)}"

    async def _refresh(self, job: _Job) -> None:
        try:
            await self._flights.run(self._flight_key(job), partial(self._fetch, job))
        except PinciteError:
            return  # the stale answer was given already; the next caller tries again

    async def _fetch(self, job: _Job) -> SearchResponse:
        """Ask the engines and store the answer, unless another process is doing just that."""
        if self._store is None:
            return await self._fresh(job)
        # Cheapest first: what another process is just being told, what a peer was told, then a paid call.
        elsewhere = await self._await_other_process(self._store, job)
        if elsewhere is not None:
            return from_cache(elsewhere)
        shared = await self._answer_of_peers(job)
        if shared is not None:
            return shared
        response = await self._fresh(job)
        timely = freshness_of(job.query, self._clock.now().date()) is not None
        kept_as = Intent.CURRENT_EVENT if timely else job.intent  # what is so now is not kept for a week
        terms = terms_of(response, self._options.terms)
        await self._store.keep(job.query, job.sources, job.scopes, response, kept_as, terms)
        return response

    async def _answer_of_peers(self, job: _Job) -> SearchResponse | None:
        """What a peer was told by the engines that would be asked now, or None. It costs nothing."""
        if self._answers is None or self._store is None:
            return None
        if (found := await self._answers.find(job.query, job.sources)) is None:
            return None
        asked = {tried.provider for tried in found.response.info.providers_tried}
        others = {engine.provider.name for engine in self._fitting(job.sources, job.intent)} - asked
        if others and not is_good(job.query, self._options.quality, found.response):
            return None  # an engine that was not asked there may know more
        terms = terms_of(found.response, self._options.terms)
        await self._store.keep(job.query, job.sources, job.scopes, found.response, found.kind, terms)
        self._store.counts.shared += 1
        return found.response

    async def _await_other_process(self, store: AnswerStore, job: _Job) -> Found | None:
        key, now = self._flight_key(job), self._clock.monotonic_s()
        # As long as one call may take: a process that dies in it holds the others up no longer than that.
        if await store.lease(job.query, job.sources, job.scopes, self._options.call_deadline_s):
            self._own_leases[key] = now + self._options.call_deadline_s
            while len(self._own_leases) > _MOST_LEASES:
                self._own_leases.popitem(last=False)
            return None
        if self._own_leases.get(key, 0.0) > now:
            return None  # our own call of a moment ago, which failed
        end = self._clock.monotonic_s() + _OTHER_PROCESS_WAIT_S
        while self._clock.monotonic_s() < end:
            await self._clock.sleep(_POLL_S)
            found = await store.find(job.query, job.sources, job.scopes)
            if found is not None and found.fresh:
                return found
        return None

    # ---- engines -------------------------------------------------------------------------------------------

    def _chosen(self, sources: tuple[str, ...]) -> tuple[Engine, ...]:
        """The engines that `sources` names. Errors: InvalidSetting, InvalidInput (`unknown_provider`)."""
        if sources == AUTO:
            # A library on this disk is asked where it is named or where there is nothing else: `auto` means the web.
            chosen = tuple(engine for engine in self._engines if engine.provider.name != "local") or self._engines
        else:
            for name in sources:
                card_of(name)  # a retired one says so
            chosen = tuple(engine for engine in self._engines if engine.provider.name in sources)
            known = {engine.provider.name for engine in self._engines}
            missing = [name for name in sources if name not in known]
            if missing:
                raise self._not_there(missing[0])
        return chosen

    def _fitting(self, sources: tuple[str, ...], intent: Intent) -> tuple[Engine, ...]:
        """As `_chosen`, for `auto` without those that are no use for the intent, unless there are no others."""
        engines = self._chosen(sources)
        if sources != AUTO:
            return engines
        return tuple(engine for engine in engines if engine.card.fit_for(intent) > 0) or engines

    def _not_there(self, name: str) -> InvalidInput:
        variable = card_of(name).key_variable
        there = ", ".join(dict.fromkeys(engine.provider.name for engine in self._engines)) or "none"
        return InvalidInput(
            f"there is no search provider {name!r} here; set up: {there}",
            reason="unknown_provider",
            hint=f"Set {variable} to use {name}." if variable else f"Use one of: {there}.",
        )

    async def _fresh(self, job: _Job) -> SearchResponse:
        trail = Trail()
        engines = self._fitting(job.sources, job.intent)
        if not engines:
            raise SearchProviderUnavailable(
                "no search provider is set up", hint="Set a key, or use --source local:PATH."
            )
        await self._router.recall(engines)
        routes = self._router.order(job.query, job.intent, engines)
        names = {engine.provider.name for engine in engines}
        # Two libraries are two sources, not two accounts of one.
        several = len(engines) > 1 and ((job.sources != AUTO and len(names) > 1) or names == {"local"})
        # Judged after the filters: ten results that will all be dropped are no answer.
        good = partial(is_good, job.query, self._options.quality)
        today = self._clock.now().date()
        fresh = freshness_of(job.query, today)
        asked = fresh.asked(job.query, today) if fresh else with_room(job.query)
        try:
            with anyio.fail_after(job.conditions.waits_s):
                if several:
                    answers = await self._caller.all_of(routes, asked, job.conditions, trail)
                else:
                    answers = await self._caller.first_good(routes, asked, job.conditions, trail, good)
                if (several or len(routes) == 1) and not any(good(answer) for answer in answers):
                    answers += await self._caller.wider(routes, answers, asked, job.query, job.conditions, trail)
        except TimeoutError:
            raise Timeout(
                f"the search took longer than {job.conditions.waits_s:g} s in all", reason="search_total"
            ) from None
        finally:
            # Also for a caller who went away: turns were used and money was spent, and the next process has to know.
            with anyio.CancelScope(shield=True):
                await self._router.remember()
        made = Made(job.query, job.intent, tuple(answers), trail, timely=fresh is not None)
        return assembled(made, self._options.quality, self._clock.now(), "off" if self._store is None else "miss")

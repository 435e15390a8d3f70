"""One call to one engine under its limits, and several engines one after the other or side by side."""

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from decimal import Decimal

import anyio

from pincite.domain.errors import (
    BudgetExhausted,
    InvalidInput,
    InvalidSetting,
    NetworkError,
    PinciteError,
    ProviderBadReply,
    RateLimited,
    SearchProviderUnavailable,
    Timeout,
    TlsError,
    TooManyOpenFiles,
)
from pincite.domain.frozen import dataclass
from pincite.domain.search import Depth, ProviderAttempt, Query, SearchResponse
from pincite.ports import Breaker, Clock, Limiter
from pincite.search.health import Contacts, is_offline
from pincite.search.request import in_words
from pincite.search.router import Engine, Route, Router
from pincite.search.spending import Spending, call_estimate

# As `runtime.recovery.BACKOFF_S`: in all 3.5 s, after which the next engine is the better bet.
RETRY_PAUSES_S = (0.5, 1.0, 2.0)
# For an engine that says "too many" and not how long. Chosen, not measured.
_DEFAULT_PUSH_BACK_S = 5.0
# With another engine at hand nobody waits long for a turn at this one.
_SHORT_WAIT_S = 2.0
# Refusals of this side: nothing left the machine, so nothing is counted as asked.
_NOT_SENT = frozenset({"own_limit", "breaker_open"})
# Where filters left too little, as many as a page of any engine costs the same for.
_SECOND_TRY_RESULTS = 10
# Signs of an engine that is down. A refused key or an empty account is up: the router rests those by the hour.
_BREAKING = (NetworkError, Timeout, TlsError, ProviderBadReply, SearchProviderUnavailable)
Judge = Callable[[SearchResponse], bool]


@dataclass(slots=True)
class Trail:
    """What was tried for one query, in order."""

    attempts: list[ProviderAttempt] = field(default_factory=list)
    causes: dict[str, PinciteError] = field(default_factory=dict)
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a query may be served: the lane, the account, and when all must be over.

    `queue_wait_s` is what the wait for a turn at an engine may take besides.
    """

    priority: int
    spending: Spending | None
    deadline_s: float
    hedge_after_s: float | None
    queue_wait_s: float = 0.0

    @property
    def waits_s(self) -> float:
        """How long a turn at an engine is waited for where there is nobody else to ask."""
        return self.deadline_s + self.queue_wait_s


class Caller:
    """Calls engines; keeps limits, breakers and budgets, and tells the router how it went."""

    def __init__(
        self, clock: Clock, limiter: Limiter, breaker: Breaker, router: Router, *, call_deadline_s: float
    ) -> None:
        self._clock = clock
        self._limiter = limiter
        self._breaker = breaker
        self._router = router
        self._call_deadline_s = call_deadline_s
        self._contacts = Contacts(clock)

    async def ask(
        self, route: Route, query: Query, conditions: Conditions, trail: Trail, max_wait_s: float
    ) -> SearchResponse:
        """The answer of one engine; at the lower depth when the higher one is over a cap and the caller set none.

        Errors: what a provider may raise, BudgetExhausted, RateLimited (`own_limit`).
        """
        try:
            return await self._ask_noted(route, query, conditions, trail, max_wait_s)
        except BudgetExhausted as error:
            if error.reason != "cost_usd" or query.depth is not None or route.depth is Depth.BASIC:
                raise
            # The dearer try was never sent: it would read as a call that failed.
            trail.attempts.pop()
            del trail.causes[route.engine.label]
            lower = replace(route, depth=Depth.BASIC, why=f"{route.why}; depth lowered to basic to stay within the cap")
            return await self._ask_noted(lower, query, conditions, trail, max_wait_s)

    async def _ask_noted(
        self, route: Route, query: Query, conditions: Conditions, trail: Trail, max_wait_s: float
    ) -> SearchResponse:
        """The answer of one engine; how it went is noted in the trail and told to breaker and router."""
        engine, start = route.engine, self._clock.monotonic_s()
        resting = self._router.cooldown_error(engine)
        if resting is not None:  # said before; not heard again, or the rest would never end
            self._note(trail, engine, resting.code.lower(), start, Decimal(0), _detail_of(resting), sent=False)
            trail.causes[engine.label] = resting
            raise resting
        try:
            response = await self._call(route, query, conditions, max_wait_s)
        except PinciteError as error:
            await self._handle_failure(engine, error)
            sent = error.reason not in _NOT_SENT and not isinstance(error, BudgetExhausted)
            self._note(trail, engine, error.code.lower(), start, Decimal(0), _detail_of(error), sent=sent)
            # That it is rested now says less than what it failed with in this very search.
            if error.reason != "breaker_open" or engine.label not in trail.causes:
                trail.causes[engine.label] = error
            raise
        except anyio.get_cancelled_exc_class():
            # Cut off, mostly because another engine was faster; it may have been charged all the same.
            charged = route.cost_usd or Decimal(0)
            self._note(trail, engine, "cancelled", start, charged, "another engine was faster")
            self._router.tell(engine, error=None, cost_usd=charged)
            raise
        info = response.info
        outcome = "ok" if response.results else "left_out" if info.left_out else "empty"
        self._note(trail, engine, outcome, start, info.cost_usd, route.why)
        # An empty answer is an answer: the engine is up.
        await self._breaker.record(engine.key, ok=True)
        self._router.tell(engine, error=None, cost_usd=info.cost_usd)
        return response

    async def _call(self, route: Route, query: Query, conditions: Conditions, max_wait_s: float) -> SearchResponse:
        """The answer of one engine within its limits and the caller's budget."""
        engine = route.engine
        # Breaker, price, limit, money, in this order: what is refused first has taken nothing that must be given back.
        if not await self._breaker.allow(engine.key):
            last = self._contacts.last(engine.key)
            said = f"{engine.provider.name} failed repeatedly and is rested"
            raise SearchProviderUnavailable(f"{said} ({last.message})" if last else said, reason="breaker_open")
        estimate = call_estimate(route.cost_usd, conditions.spending, engine.provider.name)
        place = await self._contacts.while_reachable(
            engine.key, lambda: self._limiter.reserve(engine.key, 1, conditions.priority, max_wait_s)
        )
        if place is None:
            raise RateLimited(
                f"the limit of {engine.provider.name} is used up for now",
                reason="own_limit",
                retry_after_s=max_wait_s or None,  # what is known of the wait: it is longer than that
            )
        if conditions.spending is not None:
            try:
                await conditions.spending.reserve(estimate)
            except BudgetExhausted:
                # A turn that nobody takes would slow the next caller down for nothing.
                await self._limiter.release(place)
                raise
        # A call that is cut off may have been charged all the same: the estimate stands then.
        actual = estimate
        try:
            await self._clock.sleep(place.wait_s) if place.wait_s > 0 else None
            # The clock starts after the wait for a turn: a queue of ours is no slowness of the engine.
            with anyio.fail_after(self._call_deadline_s):
                response = await engine.provider.search(in_words(replace(query, depth=route.depth), engine.card))
            self._contacts.tell(engine.key, None)
            actual = replace(estimate, cost_usd=response.info.cost_usd)
            return response
        except TimeoutError:
            message = f"{engine.provider.name} did not answer within {self._call_deadline_s:g} s"
            raise Timeout(message, reason="search_call") from None
        except PinciteError as error:
            self._contacts.tell(engine.key, error)
            # Engines charge for answers, not for errors; the request itself still counts.
            actual = replace(estimate, cost_usd=Decimal(0))
            raise
        finally:
            if conditions.spending is not None:
                await conditions.spending.settle(estimate, actual)

    async def _handle_failure(self, engine: Engine, error: PinciteError) -> None:
        if isinstance(error, RateLimited):
            if error.reason != "own_limit":
                wait = error.retry_after_s
                # Pushed back, not broken: the engine works and says when it wants to be asked again.
                await self._limiter.push_back(engine.key, _DEFAULT_PUSH_BACK_S if wait is None else wait)
            return
        if error.reason == "breaker_open" or isinstance(error, BudgetExhausted | InvalidInput | TooManyOpenFiles):
            return
        if isinstance(error, _BREAKING) and not is_offline(error):  # what is wrong there is on this side
            await self._breaker.record(engine.key, ok=False)
        if error.retry_after_s is not None:  # an outage may say when it is over
            await self._limiter.push_back(engine.key, error.retry_after_s)
        self._router.tell(engine, error=error, cost_usd=Decimal(0))

    def _note(
        self,
        trail: Trail,
        engine: Engine,
        outcome: str,
        start: float,
        cost_usd: Decimal,
        detail: str,
        *,
        sent: bool = True,
    ) -> None:
        latency_ms = round((self._clock.monotonic_s() - start) * 1000, 1)
        trail.attempts.append(ProviderAttempt(engine.provider.name, outcome, latency_ms, cost_usd, detail, sent))
        trail.cost_usd += cost_usd

    # ---- several engines -----------------------------------------------------------------------------------

    async def first_good(
        self, routes: Sequence[Route], query: Query, conditions: Conditions, trail: Trail, is_good: Judge
    ) -> list[SearchResponse]:
        """The answers up to the first good one; an answer that is not good comes along with the next.

        Every engine gets its turn; those with a passing failure get up to three more rounds inside the deadline.
        Errors:
            BudgetExhausted: no engine could be paid.
            SearchProviderUnavailable: every engine failed; `causes` says how.
        """
        end = self._clock.monotonic_s() + conditions.deadline_s
        # The first round waits at no limit where there are others to ask; later rounds do, since nobody else is left.
        answers = await self._race(routes, query, conditions, trail, is_good, patient=len(routes) == 1)
        for pause_s in RETRY_PAUSES_S:
            again = [
                route
                for route in routes
                if (error := trail.causes.get(route.engine.label)) is not None
                and error.retryable
                and error.reason != "breaker_open"
                and not is_offline(error)
            ]
            if answers or not again:
                break
            told = [trail.causes[route.engine.label].retry_after_s or 0.0 for route in again]
            # The earliest that any of them wants to be asked again; the others get their turn in the next round.
            wait_s = max(pause_s, min(told))
            if self._clock.monotonic_s() + wait_s >= end:
                break
            await self._clock.sleep(wait_s)
            answers = await self._race(again, query, conditions, trail, is_good, patient=True)
        if answers:
            return answers
        raise all_failed(trail)

    async def _race(
        self,
        routes: Sequence[Route],
        query: Query,
        conditions: Conditions,
        trail: Trail,
        is_good: Judge,
        *,
        patient: bool,
    ) -> list[SearchResponse]:
        """One engine after the other; a second one starts beside the first when that is slow (hedging)."""
        answers: list[SearchResponse] = []
        waiting, wider = list(routes), query  # after a miss the next engine is asked for more at the same price
        # One at most: two slow engines are a slow network, and a third call would only cost more.
        hedges = 1 if conditions.hedge_after_s is not None else 0
        send, receive = anyio.create_memory_object_stream[SearchResponse | None](max_buffer_size=len(routes) or 1)

        async def run(route: Route, max_wait_s: float) -> None:
            try:
                send.send_nowait(await self.ask(route, wider, conditions, trail, max_wait_s))
            except PinciteError:
                send.send_nowait(None)

        # Room for an answer of each engine: whoever answers after the winner must not wait for a reader.
        with send, receive:
            async with anyio.create_task_group() as tasks:
                running = 0
                while waiting or running:
                    if not running:
                        route = waiting.pop(0)
                        # Waiting long for a limit is worth it only where there is nobody else to ask.
                        max_wait_s = 0.0 if not patient else _SHORT_WAIT_S if waiting else conditions.waits_s
                        tasks.start_soon(run, route, max_wait_s)
                        running = 1
                    limit = conditions.hedge_after_s if hedges and waiting and conditions.hedge_after_s else math.inf
                    with anyio.move_on_after(limit) as limited:
                        answer = await receive.receive()
                    if limited.cancelled_caught:
                        hedges = 0
                        tasks.start_soon(run, waiting.pop(0), 0.0)
                        running += 1
                        continue
                    running -= 1
                    if answer is not None:
                        answers.append(answer)
                        wider = replace(query, max_results=max(query.max_results, _SECOND_TRY_RESULTS))
                        # Two answers are fused; a third adds little to what two engines agree on. Chosen, not measured.
                        if is_good(answer) or len(answers) >= 2:
                            tasks.cancel_scope.cancel()
                            break
        return answers

    async def all_of(
        self, routes: Sequence[Route], query: Query, conditions: Conditions, trail: Trail
    ) -> list[SearchResponse]:
        """The answers of all engines that gave one, asked side by side. Errors: as `first_good`, when none did."""
        answers: dict[int, SearchResponse] = {}

        async def run(index: int, route: Route) -> None:
            try:
                answers[index] = await self.ask(route, query, conditions, trail, conditions.waits_s)
            except PinciteError:
                return  # kept in the trail

        async with anyio.create_task_group() as tasks:
            for index, route in enumerate(routes):
                tasks.start_soon(run, index, route)
        if not answers:
            raise all_failed(trail)
        return [answers[index] for index in sorted(answers)]

    async def wider(
        self,
        routes: Sequence[Route],
        answers: Sequence[SearchResponse],
        asked: Query,
        query: Query,
        conditions: Conditions,
        trail: Trail,
    ) -> list[SearchResponse]:
        """One more answer, with more results, of the first engine that may have some; none when it fails.

        For misses with nobody left to ask. An engine that had fewer results than `asked` for has no more of them,
        unless it was asked for a shorter time than `query` wants.
        """
        # The window of time was ours and not the caller's: without it every engine may have more.
        if asked.constraints != query.constraints:
            full = {route.engine.provider.name for route in routes}
        else:
            full = {answer.results[0].provider for answer in answers if len(answer.results) >= asked.max_results}
        more = replace(query, max_results=_SECOND_TRY_RESULTS)
        for route in routes:
            name = route.engine.provider.name
            more_to_find = asked.constraints != query.constraints or asked.max_results < _SECOND_TRY_RESULTS
            # A library gave all that it has at the first time of asking.
            if name in full and name != "local" and more_to_find:
                try:
                    return [await self.ask(route, more, conditions, trail, _SHORT_WAIT_S)]
                except PinciteError:
                    return []
        return []


def _detail_of(error: PinciteError) -> str:
    return f"{error.reason}: {error.message}"


def all_failed(trail: Trail) -> PinciteError:
    """The error for a query that no engine answered: of the budget when that was the only reason, else of all.

    That this process may open nothing more is not blamed on an engine.
    """
    causes = trail.causes
    # The order is from what explains most: a limit of this process, no money, a bad request, all at their limits, the
    # rest.
    for error in causes.values():
        if isinstance(error, TooManyOpenFiles):
            return error
    budget = [error for error in causes.values() if isinstance(error, BudgetExhausted)]
    if budget and len(budget) == len(causes):
        return budget[0]
    if len(causes) == 1:
        only = next(iter(causes.values()))
        if isinstance(only, InvalidInput | InvalidSetting):
            return only
    said = "; ".join(f"{name}: {error.message} ({error.reason})" for name, error in causes.items())
    if causes and all(isinstance(error, RateLimited) for error in causes.values()):
        told = [error.retry_after_s for error in causes.values() if error.retry_after_s is not None]
        return RateLimited(
            f"every search provider is at its limit: {said}",
            reason=next(iter(causes.values())).reason,
            retry_after_s=min(told, default=None),
            hint="Come back after the time given, or set the key of another provider.",
        )
    hints = [error.hint for error in causes.values() if error.hint]
    waits = [error.retry_after_s for error in causes.values() if error.retry_after_s is not None]
    return SearchProviderUnavailable(
        f"no search provider could answer: {said}" if said else "there is no search provider to ask",
        causes=causes,
        reason=next(iter(causes.values())).reason if len(causes) == 1 else None,
        hint=hints[0] if hints else "Name another --source, set a key of a provider, or use --source local:PATH.",
        retryable=any(error.retryable for error in causes.values()),
        retry_after_s=min(waits, default=None),
    )

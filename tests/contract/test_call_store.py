"""What every store of calls must do: caps, fence, interrupted calls, and through it the ledger of a run."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import (
    BudgetExhausted,
    Conflict,
    DeadLink,
    Internal,
    NetworkError,
    PinciteError,
    RobotsDisallowed,
    RunFenced,
    SearchProviderUnavailable,
)
from pincite.domain.events import Json, RunStatus
from pincite.domain.records import Outcome, PlannedCall, RunRecord
from pincite.domain.search import ProviderAttempt
from pincite.runtime.lease import Lease
from pincite.runtime.ledger import RunLedger, call_key, open_ledger
from pincite.testing.clock import FrozenClock

READ = Usage(pages=1, web_requests=1)
PAGE = Usage(pages=1, web_requests=1, size_bytes=1000, cost_usd=Decimal("0.002"))


class Provider:
    """Counts what it was paid for."""

    def __init__(self, value: Json = "page", usage: Usage = PAGE) -> None:
        self.value, self.usage, self.paid = value, usage, 0
        self.error: PinciteError | None = None

    async def __call__(self) -> Outcome:
        self.paid += 1
        await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        return Outcome(self.value, self.usage, (ProviderAttempt("one", "ok", 3.0, Decimal("0.001")),))


def amount(dimension: str, n: int) -> Any:
    return {dimension: n}


async def owned(stores: Any, clock: FrozenClock, budget: Budget | None = None, run_id: str = "run_1") -> RunRecord:
    record = RunRecord(run_id, "alice", "Why?", RunStatus.QUEUED, clock.now(), clock.now(), {}, budget or Budget())
    await stores.runs.create(record)
    taken: RunRecord = await stores.runs.take(run_id, "w1", 30)
    return taken


async def test_a_finished_call_is_replayed_after_a_crash_and_never_paid_again(stores: Any, clock: FrozenClock) -> None:
    run, provider = await owned(stores, clock), Provider({"urls": ["a", "b"], "n": 1.5})
    ledger = await open_ledger(stores.calls(run), clock)
    first = await ledger.call("fetch", {"url": "a"}, PAGE, provider)
    assert first == {"urls": ["a", "b"], "n": 1.5}
    assert await ledger.call("fetch", {"url": "a"}, PAGE, provider) == first
    clock.advance(60)
    again = await stores.runs.take("run_1", "w2", 30)
    ledger = await open_ledger(stores.calls(again), clock)
    assert await ledger.call("fetch", {"url": "a"}, PAGE, provider) == first
    assert provider.paid == 1
    assert await ledger.spent() == PAGE == (await stores.runs.get("run_1")).usage


async def test_a_replayed_value_can_be_changed_by_its_reader_without_harm(stores: Any, clock: FrozenClock) -> None:
    ledger = await open_ledger(stores.calls(await owned(stores, clock)), clock)
    value: Any = await ledger.call("search", {"q": "a"}, PAGE, Provider(["x"]))
    value.append("y")
    assert await ledger.call("search", {"q": "a"}, PAGE, Provider()) == ["x"]


async def test_equal_calls_in_flight_are_one_call(stores: Any, clock: FrozenClock) -> None:
    ledger, provider = await open_ledger(stores.calls(await owned(stores, clock)), clock), Provider()
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ledger.call, "search", {"q": "same"}, PAGE, provider)
    assert provider.paid == 1


@pytest.mark.parametrize("dimension", ["searches", "pages", "web_requests", "size_bytes", "tokens_in", "tokens_out"])
async def test_parallel_reservations_stop_exactly_at_the_cap(stores: Any, clock: FrozenClock, dimension: str) -> None:
    each, all_ = replace(Usage(), **amount(dimension, 10)), replace(Usage(), **amount(dimension, 100))
    ledger = await open_ledger(
        stores.calls(await owned(stores, clock, replace(Budget(), **amount(dimension, 100)))), clock
    )
    provider, refused = Provider(usage=each), []

    async def one(n: int) -> None:
        try:
            await ledger.call("x", {"n": n}, each, provider)
        except BudgetExhausted as error:
            refused.append(error.reason)

    async with anyio.create_task_group() as tasks:
        for n in range(25):
            tasks.start_soon(one, n)
    assert provider.paid == 10
    assert refused == [dimension] * 15
    assert await ledger.spent() == all_


async def test_money_is_capped_to_the_nano_dollar(stores: Any, clock: FrozenClock) -> None:
    budget = Budget(cost_usd=Decimal("0.01"))
    ledger = await open_ledger(stores.calls(await owned(stores, clock, budget)), clock)
    most = Usage(cost_usd=Decimal("0.009999999"))
    await ledger.call("llm", {"n": 1}, most, Provider(usage=most))
    with pytest.raises(BudgetExhausted) as caught:
        await ledger.call("llm", {"n": 2}, Usage(cost_usd=Decimal("0.000000002")), Provider())
    assert caught.value.reason == "cost_usd"
    await ledger.call("llm", {"n": 3}, Usage(cost_usd=Decimal("0.000000001")), Provider(usage=Usage()))
    await ledger.call("search", {"n": 4}, Usage(searches=1), Provider(usage=Usage(searches=1)))


async def test_what_a_call_did_not_use_is_given_back(stores: Any, clock: FrozenClock) -> None:
    ledger = await open_ledger(stores.calls(await owned(stores, clock, Budget(size_bytes=1000))), clock)
    for n in range(5):
        await ledger.call("fetch", {"n": n}, Usage(size_bytes=600), Provider(usage=Usage(size_bytes=100)))
    with pytest.raises(BudgetExhausted):
        await ledger.call("fetch", {"n": 9}, Usage(size_bytes=600), Provider())


async def test_an_interrupted_call_is_charged_its_estimate_and_made_again(stores: Any, clock: FrozenClock) -> None:
    run = await owned(stores, clock, Budget(web_requests=3))
    ledger = await open_ledger(stores.calls(run), clock)
    planned = await reserved_only(stores, run)
    assert await ledger.spent() == Usage()
    clock.advance(60)
    again = await stores.runs.take("run_1", "w2", 30)
    ledger = await open_ledger(stores.calls(again), clock)
    assert await ledger.spent() == Usage(web_requests=1)
    provider = Provider(usage=READ)
    await ledger.call("fetch", planned, READ, provider)
    assert provider.paid == 1
    assert await ledger.spent() == Usage(pages=1, web_requests=2)
    await ledger.call("fetch", {"url": "other"}, READ, provider)
    with pytest.raises(BudgetExhausted):
        await ledger.call("fetch", {"url": "third"}, READ, provider)


async def test_a_call_whose_end_could_not_be_noted_is_charged_when_it_is_made_again(
    stores: Any, clock: FrozenClock
) -> None:
    run = await owned(stores, clock, Budget(web_requests=2))
    ledger = await open_ledger(stores.calls(run), clock)
    planned = await reserved_only(stores, run)
    await ledger.call("fetch", planned, READ, Provider(usage=READ))
    assert await ledger.spent() == Usage(pages=1, web_requests=2)
    with pytest.raises(BudgetExhausted):
        await ledger.call("fetch", {"url": "other"}, READ, Provider(usage=READ))


async def test_a_page_whose_reading_was_broken_off_is_no_page_read(stores: Any, clock: FrozenClock) -> None:
    """However often a run is killed or stopped, it ends with the pages that one reads which was not."""
    run = await owned(stores, clock, Budget(pages=2))
    for worker in ("w2", "w3", "w4"):
        await reserved_only(stores, run)
        clock.advance(60)
        run = await stores.runs.take("run_1", worker, 30)
        await open_ledger(stores.calls(run), clock)
    ledger, provider = await open_ledger(stores.calls(run), clock), Provider(usage=READ)
    for url in ("a", "b"):
        await ledger.call("fetch", {"url": url}, READ, provider)
    assert await ledger.spent() == Usage(pages=2, web_requests=5)
    with pytest.raises(BudgetExhausted):
        await ledger.call("fetch", {"url": "c"}, READ, provider)


async def reserved_only(stores: Any, run: RunRecord) -> dict[str, Json]:
    request: dict[str, Json] = {"url": "a"}
    key, canonical = call_key("fetch", request)
    await stores.calls(run).reserve(PlannedCall(key, "fetch", canonical, READ))
    return request


async def test_a_worker_that_lost_the_run_can_neither_pay_nor_settle(stores: Any, clock: FrozenClock) -> None:
    run, provider = await owned(stores, clock), Provider()
    old = await open_ledger(stores.calls(run), clock)

    async def overtaken() -> Outcome:
        clock.advance(60)
        await stores.runs.take("run_1", "w2", 30)
        return Outcome("late")

    with pytest.raises(RunFenced):
        await old.call("fetch", {"url": "a"}, PAGE, overtaken)
    with pytest.raises(RunFenced):
        await old.call("fetch", {"url": "b"}, PAGE, provider)
    with pytest.raises(RunFenced):
        await open_ledger(stores.calls(run), clock)
    assert provider.paid == 0


async def test_a_worker_that_stopped_before_it_sent_asks_whether_the_run_is_still_its_own(
    stores: Any, clock: FrozenClock
) -> None:
    run, provider = await owned(stores, clock), Provider()
    calls = stores.calls(run)
    reserve = calls.reserve

    async def frozen_after(call: PlannedCall) -> None:
        await reserve(call)
        clock.advance(60)
        await stores.runs.take("run_1", "w2", 30)

    calls.reserve = frozen_after
    ledger = await open_ledger(calls, clock, lease=Lease(clock, 30))
    with pytest.raises(RunFenced):
        await ledger.call("fetch", {"url": "a"}, PAGE, provider)
    assert provider.paid == 0


async def test_a_final_error_is_replayed_as_it_was_and_a_retryable_one_is_not(stores: Any, clock: FrozenClock) -> None:
    run, provider = await owned(stores, clock), Provider()
    ledger = await open_ledger(stores.calls(run), clock)
    provider.error = DeadLink("gone", reason="status_410", context={"status": 410, "url": "u"})
    with pytest.raises(DeadLink):
        await ledger.call("fetch", {"url": "dead"}, PAGE, provider)
    provider.error = NetworkError("reset")
    with pytest.raises(NetworkError):
        await ledger.call("fetch", {"url": "flaky"}, PAGE, provider)
    provider.error = None
    clock.advance(60)
    ledger = await open_ledger(stores.calls(await stores.runs.take("run_1", "w2", 30)), clock)
    with pytest.raises(DeadLink) as caught:
        await ledger.call("fetch", {"url": "dead"}, PAGE, provider)
    assert (caught.value.reason, caught.value.context, str(caught.value)) == (
        "status_410",
        {"status": 410, "url": "u"},
        "gone",
    )
    assert provider.paid == 2
    assert await ledger.call("fetch", {"url": "flaky"}, PAGE, provider) == "page"
    assert provider.paid == 3
    assert await ledger.spent() == PAGE + PAGE + PAGE


async def test_a_defect_of_ours_is_not_what_a_resumed_run_gets_again(stores: Any, clock: FrozenClock) -> None:
    run, provider = await owned(stores, clock), Provider()
    provider.error = Internal("a defect", reason="misuse")
    with pytest.raises(Internal):
        await (await open_ledger(stores.calls(run), clock)).call("fetch", {"url": "a"}, PAGE, provider)
    provider.error = None
    clock.advance(60)
    ledger = await open_ledger(stores.calls(await stores.runs.take("run_1", "w2", 30)), clock)
    assert await ledger.call("fetch", {"url": "a"}, PAGE, provider) == "page"


async def test_the_causes_of_a_failed_search_are_replayed(stores: Any, clock: FrozenClock) -> None:
    ledger, provider = await open_ledger(stores.calls(await owned(stores, clock)), clock), Provider()
    provider.error = SearchProviderUnavailable(
        "all failed", causes={"brave": NetworkError("x", retry_after_s=2.0)}, retryable=False
    )
    for _ in range(2):
        with pytest.raises(SearchProviderUnavailable) as caught:
            await ledger.call("search", {"q": "a"}, PAGE, provider)
    assert provider.paid == 1
    assert caught.value.causes["brave"].retry_after_s == 2.0


async def test_a_refused_call_costs_nothing(stores: Any, clock: FrozenClock) -> None:
    ledger, provider = await open_ledger(stores.calls(await owned(stores, clock)), clock), Provider()
    provider.error = RobotsDisallowed("no")
    with pytest.raises(RobotsDisallowed):
        await ledger.call("fetch", {"url": "a"}, PAGE, provider)
    assert await ledger.spent() == Usage()


async def test_a_cancelled_call_is_charged_and_made_again(stores: Any, clock: FrozenClock) -> None:
    ledger = await open_ledger(stores.calls(await owned(stores, clock)), clock)
    started = anyio.Event()

    async def hanging() -> Outcome:
        started.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ledger.call, "fetch", {"url": "a"}, PAGE, hanging)
        await started.wait()
        tasks.cancel_scope.cancel()
    assert await ledger.spent() == PAGE.perhaps_billed
    assert await ledger.call("fetch", {"url": "a"}, PAGE, Provider()) == "page"
    assert await ledger.spent() == PAGE.perhaps_billed + PAGE


async def test_a_defect_in_a_call_is_charged_and_not_kept(stores: Any, clock: FrozenClock) -> None:
    ledger = await open_ledger(stores.calls(await owned(stores, clock)), clock)

    async def broken() -> Outcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ledger.call("fetch", {"url": "a"}, PAGE, broken)
    assert await ledger.spent() == PAGE.perhaps_billed
    assert await ledger.call("fetch", {"url": "a"}, PAGE, Provider()) == "page"


async def test_strict_replay_makes_no_call(stores: Any, clock: FrozenClock) -> None:
    store, provider = stores.calls(await owned(stores, clock)), Provider()
    await (await open_ledger(store, clock)).call("fetch", {"url": "a"}, PAGE, provider)
    strict = await open_ledger(store, clock, strict=True)
    assert await strict.call("fetch", {"url": "a"}, PAGE, provider) == "page"
    with pytest.raises(Conflict) as caught:
        await strict.call("fetch", {"url": "new"}, PAGE, provider)
    assert caught.value.reason == "replay_miss"
    assert provider.paid == 1


def test_the_key_is_the_request_whatever_the_order_of_members() -> None:
    assert call_key("search", {"a": 1, "b": [1, {"c": "ü", "d": None}]}) == call_key(
        "search", {"b": [1, {"d": None, "c": "ü"}], "a": 1}
    )
    assert call_key("search", {"a": 1})[0] != call_key("fetch", {"a": 1})[0]
    assert call_key("search", {"a": 1})[0] != call_key("search", {"a": "1"})[0]
    # Fixed for ever: a record of an older Pincite must be found by a newer one.
    assert call_key("search", {"q": "é", "n": 3})[0] == "53f163cb7b2d1c6b3c279d5bea15539267f4ea5c"


usages = st.builds(
    Usage, pages=st.integers(0, 4), tokens_in=st.integers(0, 50), cost_usd=st.decimals(0, 1, places=6, allow_nan=False)
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(usages, usages), max_size=12), st.integers(0, 10), st.integers(0, 90))
async def test_no_order_of_calls_spends_above_a_cap(
    stores: Any, clock: FrozenClock, plan: list[tuple[Usage, Usage]], pages: int, tokens: int
) -> None:
    budget = Budget(pages=pages, tokens_in=tokens, cost_usd=Decimal("2.5"))
    run_id = f"run_{clock.monotonic_s()}"
    clock.advance(1)
    ledger: RunLedger = await open_ledger(stores.calls(await owned(stores, clock, budget, run_id)), clock)

    async def one(n: int, estimate: Usage, used: Usage) -> None:
        within = Usage(
            pages=min(estimate.pages, used.pages),
            tokens_in=min(estimate.tokens_in, used.tokens_in),
            cost_usd=min(estimate.cost_usd, used.cost_usd),
        )
        try:
            await ledger.call("x", {"n": n}, estimate, Provider(usage=within))
        except BudgetExhausted:
            return

    async with anyio.create_task_group() as tasks:
        for n, (estimate, used) in enumerate(plan):
            tasks.start_soon(one, n, estimate, used)
    assert budget.first_exceeded(await ledger.spent()) is None

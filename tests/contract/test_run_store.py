"""What every store of runs must do: ownership by lease and epoch, cancelling, reports, events, forgetting."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import anyio
import pytest

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import Conflict, Locked, RunCancelled, RunFenced, RunNotFound
from pincite.domain.events import EventType, RunStatus
from pincite.domain.records import PlannedCall, RunRecord, SettledCall
from pincite.domain.search import ProviderAttempt
from pincite.runtime.lease import Lease, with_lease
from pincite.testing.clock import FrozenClock


def record(clock: FrozenClock, run_id: str = "run_1") -> RunRecord:
    return RunRecord(
        run_id,
        "alice",
        "Wie groß?",
        RunStatus.QUEUED,
        clock.now(),
        clock.now(),
        {"seed": 1, "urls": ["a"]},
        Budget(pages=3, deadline_s=2.5),
    )


async def test_a_run_comes_back_as_it_was_stored(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    assert replace(await stores.runs.get("run_1"), scope="alice") == record(clock)
    with pytest.raises(Conflict):
        await stores.runs.create(record(clock))
    for ask in (stores.runs.get, stores.runs.cancel, stores.runs.delete, partial(stores.runs.queue, priority=0)):
        with pytest.raises(RunNotFound):
            await ask("run_2")
    with pytest.raises(RunNotFound):
        await stores.runs.take("run_2", "w", 1)


async def test_the_newest_runs_come_first(stores: Any, clock: FrozenClock) -> None:
    for n in range(4):
        await stores.runs.create(record(clock, f"run_{n}"))
        clock.advance(1)
    assert [run.run_id for run in await stores.runs.list(3)] == ["run_3", "run_2", "run_1"]


async def test_pages_of_runs_join_without_gap_or_repetition(stores: Any, clock: FrozenClock) -> None:
    for n in range(7):
        await stores.runs.create(record(clock, f"run_{n}"))
        clock.advance(n % 2)  # pairs made at the same moment
    seen: list[str] = []
    before = None
    while page := await stores.runs.list(2, before=before):
        seen += (run.run_id for run in page)
        before = (page[-1].created_at, page[-1].run_id)
        if page[-1].run_id == "run_3":
            await stores.runs.delete("run_3")  # a page may go on after a run that is gone
    assert seen == ["run_6", "run_5", "run_4", "run_3", "run_2", "run_1", "run_0"]


async def test_the_calls_of_a_run_tell_what_was_asked_used_and_tried(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)
    assert await stores.runs.calls("run_1") == ()
    calls = stores.calls(taken)
    search = PlannedCall("k1", "search", '{"text":"a"}', Usage(searches=1))
    await calls.reserve(search)
    tried = (ProviderAttempt("tavily", "ok", 12.5, Decimal("0.008"), "fine"),)
    await calls.settle(search, SettledCall('{"value":1}', Usage(searches=1), True, False, 14.0, tried))
    clock.advance(1)
    await calls.reserve(PlannedCall("k2", "fetch", '{"url":"b"}', Usage(pages=1)))
    clock.advance(1)
    await calls.refuse(PlannedCall("k3", "fetch", '{"url":"c"}', Usage(pages=9)), '{"error":{}}')
    found = await stores.runs.calls("run_1")
    assert [(call.key, call.kind, call.status, call.tries) for call in found] == [
        ("k1", "search", "ok", 1),
        ("k2", "fetch", "reserved", 1),
        ("k3", "fetch", "refused", 0),
    ]
    assert (found[0].request, found[0].latency_ms, found[0].used, found[0].attempts) == (
        {"text": "a"},
        14.0,
        Usage(searches=1),
        tried,
    )
    assert (found[1].estimate, found[1].settled_at, found[2].latency_ms) == (Usage(pages=1), None, None)
    latest = await stores.runs.latest_calls(2)
    assert [(run_id, call.key) for run_id, call in latest] == [("run_1", "k3"), ("run_1", "k2")]
    older = await stores.runs.latest_calls(9, before=(latest[-1][1].started_at, latest[-1][1].key))
    assert [call.key for _, call in older] == ["k1"]
    assert [call.key for _, call in await stores.runs.latest_calls(9, kind="search")] == ["k1"]


async def test_one_owner_at_a_time_until_the_lease_ends(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    first = await stores.runs.take("run_1", "w1", 30)
    assert (first.epoch, first.status) == (1, RunStatus.RUNNING)
    with pytest.raises(Locked):
        await stores.runs.take("run_1", "w2", 30)
    clock.advance(20)
    assert await stores.runs.renew("run_1", 1, 30) is False
    clock.advance(20)
    with pytest.raises(Locked):
        await stores.runs.take("run_1", "w2", 30)
    clock.advance(20)
    second = await stores.runs.take("run_1", "w2", 30)
    assert second.epoch == 2
    with pytest.raises(RunFenced):
        await stores.runs.renew("run_1", 1, 30)
    with pytest.raises(RunFenced):
        await stores.runs.finish("run_1", 1, RunStatus.COMPLETED)
    await stores.runs.finish("run_1", 2, RunStatus.PARTIAL, "pages")
    ended = await stores.runs.get("run_1")
    assert (ended.status, ended.reason) == (RunStatus.PARTIAL, "pages")
    with pytest.raises(RunFenced):
        await stores.runs.renew("run_1", 2, 30)
    assert (await stores.runs.take("run_1", "w3", 30)).epoch == 3


async def test_a_claim_takes_only_what_waits(stores: Any, clock: FrozenClock) -> None:
    assert await stores.runs.claim("run_1", "w1", 30, 4) is None
    await stores.runs.create(record(clock))
    first = await stores.runs.claim("run_1", "w1", 30, 4)
    assert (first.epoch, first.deaths) == (1, 0)
    assert await stores.runs.claim("run_1", "w2", 30, 4) is None
    await stores.runs.finish("run_1", 1, RunStatus.COMPLETED)
    assert await stores.runs.claim("run_1", "w2", 30, 4) is None


async def test_claims_count_the_owners_that_died(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    for deaths in range(3):
        assert (await stores.runs.claim("run_1", "lonely_1", 30, 4)).deaths == deaths
        clock.advance(31)
    assert (await stores.runs.take("run_1", "me", 30)).deaths == 0, "who asks by name starts anew"
    await stores.runs.hand_back("run_1", 4)
    handed = await stores.runs.claim("run_1", "lonely_2", 30, 4)
    assert (handed.epoch, handed.deaths, handed.for_workers) == (5, 0, True)
    with pytest.raises(RunFenced):
        await stores.runs.hand_back("run_1", 4)


async def test_a_death_in_company_counts_only_after_a_wait(stores: Any, clock: FrozenClock) -> None:
    """Three runs die with their worker again and again; what is held against each comes of its own tries alone."""
    runs, names = stores.runs, ("run_1", "run_2", "run_3")

    async def all_die() -> list[int]:
        taken = [await runs.claim(name, "w1", 30, 4) for name in names]
        clock.advance(31)
        return [record.deaths for record in taken]

    for name in names:
        await runs.create(record(clock, name))
    assert await all_die() == [0, 0, 0]
    assert await all_die() == [0, 0, 0], "the first death in company: taken over at once, and not counted"
    assert [await runs.claim(name, "w1", 30, 4) for name in names] == [None, None, None], "the second: each waits"
    assert (await runs.get("run_1")).status is RunStatus.QUEUED
    clock.advance(10.5)
    assert await all_die() == [0, 0, 0]
    assert await runs.claim("run_1", "w1", 30, 4) is None, "it waits again, longer"
    clock.advance(20.5)
    alone = await runs.claim("run_1", "w2", 30, 4)
    assert alone.deaths == 1, "that one came after a wait: it counts"
    clock.advance(31)
    for deaths in (2, 3):
        assert (await runs.claim("run_1", "w3", 30, 4)).deaths == deaths, "alone each death counts, and nobody waits"
        clock.advance(31)


async def test_runs_are_listed_by_status_and_tried_again(stores: Any, clock: FrozenClock) -> None:
    for name in ("run_1", "run_2"):
        await stores.runs.create(record(clock, name))
        taken = await stores.runs.take(name, "w1", 30)
    await stores.runs.finish("run_2", taken.epoch, RunStatus.DEAD_LETTER, "kills_workers")
    assert [run.run_id for run in await stores.runs.list(status=RunStatus.DEAD_LETTER)] == ["run_2"]
    assert await stores.runs.queue("run_2", 0)
    assert (await stores.runs.claim("run_2", "w2", 30, 4)).deaths == 0


async def test_a_scope_has_no_more_runs_in_work_than_it_may(stores: Any, clock: FrozenClock) -> None:
    for n in range(3):
        await stores.runs.create(record(clock, f"run_{n}"))
    claimed = [await stores.runs.claim(f"run_{n}", "w", 30, 2) for n in range(3)]
    assert [run is not None for run in claimed] == [True, True, False]
    await stores.runs.finish("run_0", 1, RunStatus.FAILED)
    assert await stores.runs.claim("run_2", "w", 30, 2) is not None


async def test_a_run_to_be_cancelled_whose_owner_died_is_cancelled(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    await stores.runs.take("run_1", "w1", 30)
    assert await stores.runs.cancel("run_1") is RunStatus.RUNNING
    clock.advance(31)
    assert await stores.runs.claim("run_1", "w2", 30, 4) is None
    assert (await stores.runs.get("run_1")).status is RunStatus.CANCELLED


async def test_a_run_is_queued_for_workers_also_after_its_end(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 30)
    assert not await stores.runs.queue("run_1", 5)
    await stores.runs.finish("run_1", taken.epoch, RunStatus.FAILED, "why")
    assert await stores.runs.queue("run_1", 5)
    queued = await stores.runs.get("run_1")
    assert (queued.status, queued.priority, queued.for_workers, queued.reason) == (RunStatus.QUEUED, 5, True, "")
    with pytest.raises(RunFenced):
        await stores.runs.renew("run_1", taken.epoch, 30)
    assert await stores.runs.claim("run_1", "w2", 30, 4) is not None


async def test_a_run_that_was_queued_and_never_begun_begins_at_the_first_epoch(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    assert await stores.runs.queue("run_1", 5)
    assert await stores.runs.queue("run_1", 6)
    claimed = await stores.runs.claim("run_1", "w1", 30, 4)
    assert (claimed.epoch, claimed.priority) == (1, 6), "or its first event would tell that it was resumed"


async def test_runs_are_listed_by_project(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(replace(record(clock, "run_a"), project="atlas"))
    await stores.runs.create(record(clock, "run_b"))
    assert [run.run_id for run in await stores.runs.list(project="atlas")] == ["run_a"]
    assert len(await stores.runs.list()) == 2


async def test_many_takers_one_owner(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    owners = []

    async def taker(name: str) -> None:
        try:
            owners.append((await stores.runs.take("run_1", name, 30)).epoch)
        except Locked:
            return

    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(taker, f"w{n}")
    assert owners == [1]


async def test_cancelling_asks_the_owner_or_ends_at_once(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    assert await stores.runs.cancel("run_1") is RunStatus.CANCELLED
    taken = await stores.runs.take("run_1", "w1", 30)
    assert await stores.runs.cancel("run_1") is RunStatus.RUNNING
    assert await stores.runs.renew("run_1", taken.epoch, 30) is True
    await stores.runs.finish("run_1", taken.epoch, RunStatus.CANCELLED)
    assert await stores.runs.cancel("run_1") is RunStatus.CANCELLED


async def test_work_under_a_lease_goes_on_as_long_as_it_takes(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)

    async def work() -> str:
        for _ in range(30):
            await clock.sleep(5)
        return "done"

    assert await with_lease(stores.runs, taken, clock, work, lease=Lease(clock, 20)) == "done"


async def test_a_lost_lease_ends_the_work(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)

    async def work() -> None:
        await stores.runs.finish("run_1", taken.epoch, RunStatus.FAILED)
        await anyio.sleep_forever()

    with pytest.raises(RunFenced):
        await with_lease(stores.runs, taken, clock, work, lease=Lease(clock, 20))


async def test_a_cancelled_run_stops_within_two_seconds(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)
    before = 0.0

    async def work() -> None:
        nonlocal before
        await clock.sleep(7)
        await stores.runs.cancel("run_1")
        before = clock.monotonic_s()
        await anyio.sleep_forever()

    with pytest.raises(RunCancelled):
        await with_lease(stores.runs, taken, clock, work, lease=Lease(clock, 20))
    assert clock.monotonic_s() - before <= 2.0


async def test_the_error_of_the_work_comes_out_as_it_is(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)

    async def work() -> None:
        raise Conflict("no")

    with pytest.raises(Conflict):
        await with_lease(stores.runs, taken, clock, work)


async def test_events_are_numbered_without_gaps_and_written_once(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)
    sink = await stores.events(taken)
    await sink.emit(EventType.RUN_STARTED, {"question": "Wie groß?"})
    await sink.emit(EventType.PAGE_FETCHED, {"url": "a"})
    await sink.emit(EventType.PAGE_FETCHED, {"url": "a"})
    clock.advance(60)
    again = await stores.runs.take("run_1", "w2", 20)
    resumed = await stores.events(again)
    await resumed.emit(EventType.RUN_RESUMED, {})
    assert (await resumed.emit(EventType.RUN_STARTED, {"question": "Wie groß?"})).seq == 1
    for url in ("b", "a", "a", "a"):  # another order after the crash, and one more than before
        await resumed.emit(EventType.PAGE_FETCHED, {"url": url})
    with pytest.raises(RunFenced):
        await sink.emit(EventType.PAGE_FETCHED, {"url": "c"})
    events = await stores.runs.events("run_1")
    assert [(event.seq, event.type.value, event.data.get("url")) for event in events] == [
        (1, "run.started", None),
        (2, "page.fetched", "a"),
        (3, "page.fetched", "a"),
        (4, "run.resumed", None),
        (5, "page.fetched", "b"),
        (6, "page.fetched", "a"),
    ]
    assert events[4].at - events[0].at == timedelta(seconds=60)
    assert [event.seq for event in await stores.runs.events("run_1", 4)] == [5, 6]
    assert [event.seq for event in await stores.runs.events("run_1", 2, 3)] == [3, 4, 5]


async def test_a_follower_sees_every_event_once_in_order(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    sink = await stores.events(await stores.runs.take("run_1", "w1", 20))
    seen: list[int] = []

    async def follow() -> None:
        async for event in sink.follow():
            seen.append(event.seq)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        for n in range(40):
            await sink.emit(EventType.CHUNK_MADE, {"n": n})
        sink.close()
    assert seen == list(range(1, 41))


async def test_parallel_events_all_get_a_number(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    sink = await stores.events(await stores.runs.take("run_1", "w1", 20))
    async with anyio.create_task_group() as tasks:
        for n in range(30):
            tasks.start_soon(sink.emit, EventType.CHUNK_MADE, {"n": n})
    events = await stores.runs.events("run_1")
    assert [event.seq for event in events] == list(range(1, 31))
    assert sorted(event.data["n"] for event in events) == list(range(30))


async def test_a_deleted_run_is_gone_and_a_running_one_stays(stores: Any, clock: FrozenClock) -> None:
    await stores.runs.create(record(clock))
    taken = await stores.runs.take("run_1", "w1", 20)
    with pytest.raises(Locked):
        await stores.runs.delete("run_1")
    await stores.runs.finish("run_1", taken.epoch, RunStatus.COMPLETED)
    await stores.runs.delete("run_1")
    with pytest.raises(RunNotFound):
        await stores.runs.get("run_1")
    assert await stores.runs.events("run_1") == ()
    assert await stores.runs.get_report("run_1") is None

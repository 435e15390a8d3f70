"""Which runs wait for a worker, over all scopes."""

from dataclasses import replace
from uuid import uuid4

import anyio
import pytest

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import RunFenced
from pincite.domain.events import EventType, RunStatus
from pincite.domain.records import Offer, Outcome, RunRecord
from pincite.runtime.lease import this_worker
from pincite.storage.server import ABANDONED_S, OFFERED_AGAIN_S, SqlRunQueue
from pincite.storage.service import Storage
from pincite.testing.clock import FrozenClock

ELSEWHERE = "elsewhere/boot/1/1"


async def put(storage: Storage, scope: str, run_id: str, *, priority: int = 0, for_workers: bool = True) -> None:
    clock = storage.clock
    made = RunRecord(run_id, scope, "?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget())
    await storage.scope(scope).runs.create(replace(made, priority=priority, for_workers=for_workers))


async def due(storage: Storage, scope: str, per_scope: int = 9) -> list[str]:
    return [offer.run_id for offer in await storage.queue.due(100, per_scope=per_scope, scope=scope)]


async def test_queued_runs_are_offered_once_and_again_after_a_while(storage: Storage, clock: FrozenClock) -> None:
    scope = f"s{uuid4()}"
    await put(storage, scope, "run_1", priority=3)
    assert tuple(await storage.queue.due(100, per_scope=4, scope=scope)) == (Offer(scope, "run_1", 3),)
    assert await due(storage, scope) == []
    clock.advance(OFFERED_AGAIN_S)
    assert await due(storage, scope) == ["run_1"]


async def test_the_urgent_then_the_old_come_first_within_the_places_of_a_scope(
    storage: Storage, clock: FrozenClock
) -> None:
    scope = f"s{uuid4()}"
    for n, priority in enumerate((0, 0, 10, 0)):
        await put(storage, scope, f"run_{n}", priority=priority)
        clock.advance(0.001)
    assert await due(storage, scope, 2) == ["run_2", "run_0"]
    await storage.scope(scope).runs.claim("run_2", ELSEWHERE, 20, 2)
    clock.advance(OFFERED_AGAIN_S)
    assert await due(storage, scope, 2) == ["run_0"], "one place is taken"


async def test_users_take_turns_however_many_runs_one_has(storage: Storage, clock: FrozenClock) -> None:
    flood, other = f"s{uuid4()}", f"s{uuid4()}"
    for n in range(3):
        await put(storage, flood, f"run_f{n}")
        clock.advance(0.001)
    await put(storage, other, "run_o")
    offers = [offer.run_id for offer in await storage.queue.due(10_000, per_scope=9) if offer.scope in (flood, other)]
    assert offers == ["run_f0", "run_o", "run_f1", "run_f2"]


async def test_a_run_whose_owner_died_is_offered(storage: Storage, clock: FrozenClock) -> None:
    scope = f"s{uuid4()}"
    await put(storage, scope, "run_1", for_workers=False)
    assert await due(storage, scope) == [], "its own process will take it"
    await storage.scope(scope).runs.take("run_1", ELSEWHERE, 20)
    clock.advance(19)
    assert await due(storage, scope) == []
    clock.advance(2)
    assert await due(storage, scope) == ["run_1"]


async def test_the_dead_owner_on_this_machine_is_known_at_once(storage: Storage) -> None:
    scope = f"s{uuid4()}"
    await put(storage, scope, "run_1")
    host, boot, _, _ = this_worker().split("/")
    await storage.scope(scope).runs.take("run_1", f"{host}/{boot}/4194304/1", 20)
    assert await due(storage, scope) == ["run_1"]


async def test_a_run_that_nobody_took_is_for_anybody_after_a_while(storage: Storage, clock: FrozenClock) -> None:
    scope = f"s{uuid4()}"
    await put(storage, scope, "run_1", for_workers=False)
    clock.advance(ABANDONED_S + 1)
    assert await due(storage, scope) == [], "who stored it may be about to take it"
    later = SqlRunQueue(storage.database, clock.now())
    assert [offer.run_id for offer in await later.due(9, per_scope=9, scope=scope)] == ["run_1"]


async def test_two_workers_that_look_at_once_offer_each_run_once(storage: Storage) -> None:
    scope = f"s{uuid4()}"
    for n in range(10):
        await put(storage, scope, f"run_{n}")
    found: list[str] = []

    async def look() -> None:
        found.extend(await due(storage, scope, 20))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(look)
    assert sorted(found) == [f"run_{n}" for n in range(10)]


async def test_an_owner_that_got_on_before_it_died_is_not_held_against_the_run(
    storage: Storage, clock: FrozenClock
) -> None:
    name = f"s{uuid4()}"
    scope = storage.scope(name)
    await put(storage, name, "run_1")
    for n in range(6):
        run = await scope.runs.claim("run_1", f"{ELSEWHERE}-{name}", 20, 2)
        assert run is not None
        assert run.deaths == min(n, 1)
        ledger = await scope.ledger(run)
        await ledger.call("fetch", {"url": f"https://a.example/{n}"}, Usage(), _answer)
        clock.advance(21)


async def test_a_frozen_owner_wakes_to_a_run_that_waits_and_says_nothing(storage: Storage, clock: FrozenClock) -> None:
    name = f"s{uuid4()}"
    scope = storage.scope(name)
    for run_id in ("run_1", "run_2"):
        await put(storage, name, run_id)
    for n in range(2):
        taken = [await scope.runs.claim(run_id, f"{ELSEWHERE}-{name}-{n}", 20, 2) for run_id in ("run_1", "run_2")]
        assert all(taken), "one death in company is forgiven"
        clock.advance(21)
    frozen = taken[0]
    assert frozen is not None
    events = await scope.events(frozen)
    await events.emit(EventType.RUN_STARTED, {})
    assert await scope.runs.claim("run_1", f"{ELSEWHERE}-{name}-2", 20, 2) is None, "it waits for a while"
    with pytest.raises(RunFenced):
        await events.emit(EventType.RUN_COMPLETED, {})


async def _answer() -> Outcome:
    return Outcome("x")


async def test_the_counts_see_every_scope(storage: Storage) -> None:
    before = await storage.queue.counts()
    for n in range(3):
        await put(storage, f"s{uuid4()}", f"run_{n}")
    after = await storage.queue.counts()
    assert (after.queued - before.queued, after.running - before.running) == (3, 0)

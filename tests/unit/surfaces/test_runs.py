"""Following runs: no event is lost whatever happens while somebody reads, and those who go leave nothing behind."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from pincite import jobs
from pincite.domain.budget import Budget
from pincite.domain.errors import RateLimited, StorageUnavailable
from pincite.domain.events import Event, EventType, RunStatus
from pincite.domain.records import RunRecord
from pincite.domain.requests import ResearchRequest
from pincite.engine import Engine
from pincite.surfaces import progress, runs
from pincite.surfaces.accounts import Account, ServerLimits
from pincite.surfaces.progress import EVENTS_AT_ONCE
from pincite.surfaces.runs import RunManager, TaskGroups, open_manager

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
RUN = "run_1"


class FakeEngine:
    """The part of an engine that a manager uses, over one run; `during_read` runs while a read is under way."""

    def __init__(self, scope: str = "local", *, leaves_runs_to_workers: bool = False) -> None:
        self.leaves_runs_to_workers = leaves_runs_to_workers
        self.settings = SimpleNamespace(scope=scope)
        self.stored: list[Event] = []
        self.status = RunStatus.QUEUED
        self.for_workers = False
        self.touched = 0
        self.largest_read = 0
        self.handed_on: bool | None = None
        self.queued = 0
        self.reads = 0
        self.away = 0
        self.on_event: Callable[[Event], None] = lambda _: None
        self.during_read: Callable[[], None] = lambda: None
        self.go = anyio.Event()
        self.begun = anyio.Event()

    def over(self, _: object) -> "FakeEngine":
        return self

    async def __aenter__(self) -> "FakeEngine":
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    def say(self, count: int = 1) -> None:
        for _ in range(count):
            event = Event(len(self.stored) + 1, EventType.CHUNK_MADE, RUN, START, {})
            self.stored.append(event)
            self.on_event(event)

    async def run(self, run_id: str) -> RunRecord:
        await anyio.lowlevel.checkpoint()
        if self.away:
            self.away -= 1
            raise StorageUnavailable("away")
        self.touched += self.status is RunStatus.RUNNING
        at = START + timedelta(seconds=self.touched)
        record = RunRecord(run_id, "local", "Why?", self.status, START, at, {}, Budget())
        return record if not self.for_workers else RunRecord(**{**_fields(record), "for_workers": True})

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Sequence[Event]:
        self.reads += 1
        page = self.stored[after:][:limit]
        self.largest_read = max(self.largest_read, len(page))
        await anyio.lowlevel.checkpoint()
        self.during_read()
        await anyio.lowlevel.checkpoint()
        return page

    async def resume(self, run_id: str, *, on_event: Callable[[Event], None], handoff: Callable[[], bool]) -> None:
        self.on_event = on_event
        self.begun.set()
        try:
            await self.go.wait()
        except anyio.get_cancelled_exc_class():
            self.handed_on = handoff()
            raise

    async def queue(self, run_id: str, *, priority: int = 0) -> bool:
        self.queued += 1
        self.status, self.for_workers = RunStatus.QUEUED, True
        return True

    async def cancel(self, run_id: str) -> None:
        self.status = RunStatus.CANCELLED


def _fields(record: RunRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in RunRecord.__dataclass_fields__}


class FakeBudget:
    """The part of a key's budget that a manager uses."""

    def __init__(self) -> None:
        self.given_back: list[Decimal] = []

    async def give_back(self, amount: Decimal) -> None:
        self.given_back.append(amount)


@asynccontextmanager
async def opened(*, handoff: bool = False, limits: ServerLimits | None = None) -> AsyncIterator[RunManager]:
    def make(groups: TaskGroups) -> RunManager:
        return RunManager(lambda *_: None, groups, limits=limits, hand_over=handoff)  # type: ignore[arg-type]  # nobody calls it

    async with open_manager(make) as manager:
        yield manager


async def all_of(manager: RunManager, engine: Any, after: int = 0) -> list[int]:
    with anyio.fail_after(30):
        async with aclosing(manager.follow(engine, RUN, after, 15, "key")) as events:
            return [event.seq async for event in events if event is not None]


async def settled() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_EVERY_S", 0.0)


@pytest.mark.parametrize("reads_before", range(4))
async def test_an_event_said_during_a_read_and_the_last_one_above_all_is_not_lost(reads_before: int) -> None:
    engine: Any = FakeEngine()
    async with opened() as manager:
        manager.work_on(engine, RUN, Account("key"))
        await engine.begun.wait()
        engine.say(3)

        def last_words() -> None:
            if engine.reads == reads_before + 1:
                engine.say()
                engine.go.set()  # and the run ends before the read is answered
            elif engine.reads <= reads_before:
                engine.say()

        engine.during_read = last_words
        assert await all_of(manager, engine) == [event.seq for event in engine.stored]
        assert not manager.busy_with(RUN)
        assert (manager._news, manager._watches, manager.followers) == ({}, {}, 0)


async def test_a_slow_reader_misses_nothing_and_nothing_piles_up_for_it() -> None:
    engine: Any = FakeEngine()
    async with opened() as manager:
        manager.work_on(engine, RUN, Account("key"))
        await engine.begun.wait()
        seen: list[int] = []
        async with aclosing(manager.follow(engine, RUN, 0, 15, "key")) as events:
            engine.say(1000)
            async for event in events:
                assert event is not None
                seen.append(event.seq)
                if len(seen) == 500:
                    engine.say(5 * EVENTS_AT_ONCE + 7)
                    engine.go.set()
                    await settled()  # the run ends while the reader is half way
        assert seen == list(range(1, len(engine.stored) + 1))
        assert engine.largest_read == EVENTS_AT_ONCE


async def test_a_run_that_others_work_on_is_followed_to_its_end() -> None:
    engine: Any = FakeEngine()
    engine.status = RunStatus.RUNNING
    async with opened() as manager:

        def elsewhere() -> None:
            if engine.reads < 40:
                engine.stored.append(Event(len(engine.stored) + 1, EventType.CHUNK_MADE, RUN, START, {}))
            else:
                engine.status = RunStatus.COMPLETED

        engine.during_read = elsewhere
        found: list[list[int]] = []

        async def reader() -> None:
            found.append(await all_of(manager, engine))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(reader)
        assert found == [[event.seq for event in engine.stored]] * 5
        assert (manager._news, manager._watches) == ({}, {})


async def test_a_run_that_a_worker_will_take_is_waited_for_and_one_that_nobody_will_is_not() -> None:
    engine: Any = FakeEngine()
    async with opened() as manager:
        await manager.ended(engine, RUN)
        assert await all_of(manager, engine) == []
        engine.for_workers = True
        with anyio.move_on_after(0.05) as waiting:
            await manager.ended(engine, RUN)
        assert waiting.cancelled_caught
        assert manager._watches == {}


async def test_a_dead_owner_s_run_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DEAD_AFTER_S", 0.0)
    engine: Any = FakeEngine()
    engine.status = RunStatus.RUNNING
    async with opened() as manager:
        with anyio.fail_after(30):
            await manager.ended(engine, RUN)


async def test_a_database_that_is_away_for_a_moment_ends_no_watch() -> None:
    engine: Any = FakeEngine()
    engine.status = RunStatus.RUNNING
    async with opened() as manager, manager.attending(engine, RUN):
        engine.away = 5
        with anyio.fail_after(30):
            while engine.away:
                await settled()
        await settled()
        assert manager.is_going(RUN)


async def test_a_listener_who_comes_when_the_last_one_goes_has_a_watch_of_its_own() -> None:
    engine: Any = FakeEngine()
    engine.status = RunStatus.RUNNING
    async with opened() as manager:
        async with manager.attending(engine, RUN):
            first = manager._watches[RUN]
        async with manager.attending(engine, RUN):  # the first watch has not noticed yet that it is over
            assert manager._watches[RUN] is not first
            await settled()
            assert manager.is_going(RUN)
        await settled()
        assert not manager.is_going(RUN)


async def test_a_reader_who_leaves_takes_the_watch_along_and_the_run_goes_on() -> None:
    engine: Any = FakeEngine()
    async with opened() as manager:
        manager.work_on(engine, RUN, Account("key"))
        await engine.begun.wait()
        engine.say(3)
        async with aclosing(manager.follow(engine, RUN, 0, 15, "key")) as events:
            first = await anext(events)
            assert first is not None
            assert first.seq == 1
            assert manager.followers == 1
        assert (manager.followers, manager.busy_with(RUN)) == (0, True)
        engine.go.set()
        assert await all_of(manager, engine, after=1) == [2, 3]


async def test_there_is_room_for_so_many_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_FOLLOWERS", 1)
    engine: Any = FakeEngine()
    engine.stored = [Event(1, EventType.CHUNK_MADE, RUN, START, {})]
    async with opened() as manager:
        manager.vet_follower("key")
        async with aclosing(manager.follow(engine, RUN, 0, 15, "key")) as events:
            await anext(events)
            with pytest.raises(RateLimited):
                manager.vet_follower("key")
        manager.vet_follower("key")


async def test_a_key_that_floods_does_not_hold_up_another() -> None:
    flood: list[Any] = [FakeEngine("flood") for _ in range(24)]
    other: Any = FakeEngine("other")
    async with opened(limits=ServerLimits(jobs=4, jobs_per_key=24)) as manager:
        for n, engine in enumerate(flood):
            manager.work_on(engine, f"run_f{n}", Account("flood"))
        await settled()
        manager.work_on(other, "run_o", Account("other"))
        await settled()
        assert [engine.begun.is_set() for engine in flood] == [True] * 4 + [False] * 20
        flood[2].go.set()
        await settled()
        assert other.begun.is_set(), "the next place is for whoever has none"
        assert sum(engine.begun.is_set() for engine in flood) == 4
        manager.vet_room("flood")
        manager.work_on(flood[2], "run_g", Account("flood"))
        with pytest.raises(RateLimited) as refusal:
            manager.vet_room("flood")
        assert refusal.value.reason == "runs_of_key"
        manager.vet_room("other")


async def test_a_key_has_so_many_streams() -> None:
    engine: Any = FakeEngine()
    engine.stored = [Event(1, EventType.CHUNK_MADE, RUN, START, {})]
    async with opened(limits=ServerLimits(streams_per_key=1)) as manager:
        async with aclosing(manager.follow(engine, RUN, 0, 15, "key")) as events:
            await anext(events)
            with pytest.raises(RateLimited) as refusal:
                manager.vet_follower("key")
            assert refusal.value.reason == "streams_of_key"
            manager.vet_follower("another")
        manager.vet_follower("key")


@pytest.mark.parametrize("handoff", [True, False])
async def test_what_is_broken_off_by_the_end_of_the_server_is_handed_on(handoff: bool) -> None:
    running, waiting = FakeEngine(), FakeEngine()
    others = [FakeEngine() for _ in range(ServerLimits().jobs - 1)]
    async with opened(handoff=handoff) as manager:
        one: Any = running
        last: Any = waiting
        manager.work_on(one, RUN, Account("key"))
        for n, other in enumerate(others):
            filler: Any = other
            manager.work_on(filler, f"run_f{n}", Account("key"))
        await settled()
        manager.work_on(last, "run_w", Account("key"))
        await settled()
        assert running.begun.is_set()
        assert not waiting.begun.is_set()
    assert running.handed_on is handoff
    assert waiting.queued == handoff


async def test_a_run_that_somebody_stops_is_not_handed_on() -> None:
    engine: Any = FakeEngine()
    async with opened(handoff=True) as manager:
        manager.work_on(engine, RUN, Account("key"))
        await engine.begun.wait()
        await manager.cancel(engine, RUN)
        assert engine.handed_on is False
        assert not manager.busy_with(RUN)


async def test_a_defect_ends_one_run_and_not_those_of_others(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeEngine):
        async def resume(self, run_id: str, **_: Any) -> None:
            raise KeyError("no such page")

    broken, sound = Broken(), FakeEngine()
    budget: Any = FakeBudget()
    async with opened() as manager:
        manager.work_on(sound, "run_2", Account("key"))  # type: ignore[arg-type]  # what of an engine is used
        await sound.begun.wait()
        manager.work_on(broken, RUN, Account("key", budget, Decimal(3)))  # type: ignore[arg-type]  # the same
        await manager.ended(broken, RUN)  # type: ignore[arg-type]  # the same
        await settled()
        assert not manager.busy_with(RUN)
        assert manager.busy_with("run_2")
        assert budget.given_back == [Decimal(3)]
    assert "KeyError: 'no such page'" in caplog.text


async def test_what_was_set_aside_for_a_run_comes_back_when_its_caller_goes_before_it_is_stored() -> None:
    class Slow(FakeEngine):
        async def start(self, *_: Any, **__: Any) -> str:
            self.begun.set()
            await anyio.sleep_forever()
            raise AssertionError

    class Reserving(FakeBudget):
        async def reserve_for_run(self, wanted: Decimal | None) -> Decimal:
            return wanted or Decimal(0)

    engine: Any = Slow()
    engine.settings.max_cost_usd = Decimal(2)
    budget: Any = Reserving()
    async with opened() as manager, anyio.create_task_group() as tasks:
        tasks.start_soon(manager.start, engine, ResearchRequest("Why?"), Account("key", budget))
        await engine.begun.wait()
        tasks.cancel_scope.cancel()
    assert budget.given_back == [Decimal(2)]


async def test_a_run_is_worked_on_once_however_often_it_is_asked_for() -> None:
    engine: Any = FakeEngine()
    budget: Any = FakeBudget()
    async with opened() as manager:
        assert manager.work_on(engine, RUN, Account("key", budget, Decimal(3), Decimal(2)))
        assert not manager.work_on(engine, RUN, Account("key", budget, Decimal(3), Decimal(2)))
        engine.go.set()
        await manager.ended(engine, RUN)
        await settled()
        assert budget.given_back == [Decimal(5)], "what was set aside, but for what was spent since, once"


async def test_the_engine_unused_for_longest_makes_room_and_one_in_use_never() -> None:
    now = 0.0
    closed: list[str] = []

    class Named(FakeEngine):
        def __init__(self, scope: str) -> None:
            super().__init__()
            self.scope = scope

        async def __aexit__(self, *_: object) -> None:
            closed.append(self.scope)

    async with anyio.create_task_group() as hosts:
        made = jobs.Engines(lambda scope, _: Named(scope), _NoBase(), hosts, now_s=lambda: now)  # type: ignore[arg-type, return-value]  # stand-ins with all that is used
        first = await made.of("user0")
        with made.in_use(first):
            for n in range(1, jobs.MAX_ENGINES):
                await made.of(f"user{n}")
            with pytest.raises(RateLimited):
                await made.of("late")
            now = jobs.IDLE_S + 1
            await made.of("user1")
            assert await made.of("late") is await made.of("late")
            await settled()
            assert closed == ["user2"]
        made.close()
    assert len(closed) == jobs.MAX_ENGINES + 1


class _NoBase:
    async def open(self, _: object) -> None:
        return None


class ClosingEngine(FakeEngine):
    """Notes that it was closed, and whether a run was still using it."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    async def __aexit__(self, *_: object) -> None:
        self.log.append("closed")

    async def resume(self, run_id: str, *, on_event: Callable[[Event], None], handoff: Callable[[], bool]) -> None:
        try:
            await super().resume(run_id, on_event=on_event, handoff=handoff)
        finally:
            with anyio.CancelScope(shield=True):
                await settled()
                self.log.append("unwound")


@pytest.fixture
def _nothing_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def shared(_: object) -> AsyncIterator[None]:
        yield None

    monkeypatch.setattr(jobs, "open_shared", shared)


@pytest.mark.parametrize("ending", ["cancelled", "a job failed", "the block failed", "left"])
@pytest.mark.usefixtures("_nothing_shared")
async def test_engines_close_after_the_runs_however_a_manager_ends(ending: str) -> None:
    engine: Any = ClosingEngine()

    async def fail() -> None:
        raise ZeroDivisionError

    async def serve(outside: anyio.CancelScope) -> None:
        async with open_manager(lambda groups: RunManager(lambda *_: engine, groups)) as manager:
            manager.work_on(await manager.engine("local"), RUN, Account("key"))
            await engine.begun.wait()
            match ending:
                case "cancelled":
                    outside.cancel()
                case "a job failed":
                    manager.tend(fail)
                case "the block failed":
                    raise ZeroDivisionError
                case _:
                    return
            await anyio.sleep_forever()

    with anyio.fail_after(30), anyio.CancelScope() as outside:
        try:
            await serve(outside)
        except* ZeroDivisionError:
            assert ending.endswith("failed")
        else:
            assert ending == "left"
    assert engine.log == ["unwound", "closed"]


async def test_events_of_a_run_are_those_that_are_stored(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "halden.md").write_text("# Halden\n\nThe Halden lighthouse is 31 metres tall.\n")
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{tmp_path / 'pages'}") as engine:
        seen = [event async for event in engine.research_events("How tall is the Halden lighthouse?")]
        run_id = seen[0].run_id
        report = await engine.report(run_id)
        stored = [*await engine.events(run_id)]
    assert seen == stored
    assert "31 metres" in report.markdown

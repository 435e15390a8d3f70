"""What every limiter must do, whatever keeps its buckets."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.contract.redis_links import redis_link

from pincite.ports import Limiter
from pincite.runtime.limiter import BATCH, CRITICAL, INTERACTIVE, MemoryLimiter, Rate, SharedLimiter, within
from pincite.storage.limits import PUBLIC, TableBuckets, opened_buckets
from pincite.storage.redis_store import RedisBuckets
from pincite.storage.schema import buckets
from pincite.storage.service import SharedTables, open_storage


class HandClock:
    """Time that moves only by sleeping."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.asleep = anyio.Event()
        self.stands_still = False

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_s(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        if self.stands_still:
            await anyio.sleep_forever()
        self.seconds += seconds
        await anyio.lowlevel.checkpoint()


Factory = Callable[[HandClock, Mapping[str, tuple[Rate, ...]]], Limiter]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "file", "sqlite", "postgresql", "resp", "upstash"])
async def make(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> AsyncIterator[Factory]:
    if request.param == "memory":
        yield MemoryLimiter
        return
    if request.param == "file":
        async with opened_buckets(tmp_path / "limits.sqlite", clock) as kept:
            yield lambda _, limits: SharedLimiter(kept, clock, limits)
        return
    if request.param in ("resp", "upstash"):
        async with redis_link(request.param, request.getfixturevalue("redis_url")) as link:
            await link.run(("FLUSHDB",))
            yield lambda _, limits: SharedLimiter(RedisBuckets(link, clock), clock, limits)
        return
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(place, clock) as storage:
        await storage.database.write("public", lambda tx: tx.change(tx.delete(buckets)))
        yield lambda _, limits: SharedLimiter(TableBuckets(SharedTables(storage.database, PUBLIC)), clock, limits)


async def test_the_burst_goes_at_once_and_the_rest_by_the_rate(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(2, 1, burst=3),)})
    start = clock.seconds
    for _ in range(3):
        assert await limiter.reserve("a", 1, INTERACTIVE, 0) is not None
    assert clock.seconds == start
    for _ in range(4):
        place = await limiter.reserve("a", 1, INTERACTIVE, 60)
        assert place is not None
        await clock.sleep(place.wait_s)
    assert clock.seconds - start == pytest.approx(2.0)


async def test_a_wait_beyond_the_maximum_gives_none_at_once(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 10),)})
    assert await limiter.reserve("a", 1, INTERACTIVE, 0) is not None
    before = clock.seconds
    assert await limiter.reserve("a", 1, INTERACTIVE, 9) is None
    assert clock.seconds == before


async def test_who_would_wait_behind_others_for_too_long_is_refused_at_once(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 10.0),)})
    assert await limiter.reserve("a", 1.0, INTERACTIVE, 0.0) is not None
    clock.stands_still = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.reserve, "a", 1.0, INTERACTIVE, 60.0)
        await clock.asleep.wait()
        with anyio.fail_after(5):  # it would come in 20 s
            assert await limiter.reserve("a", 1.0, INTERACTIVE, 9.0) is None
        tasks.cancel_scope.cancel()


async def test_who_would_wait_behind_a_push_back_is_refused_at_once(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(100, 1.0),)})
    await limiter.push_back("a", 50.0)
    clock.stands_still = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.reserve, "a", 1.0, INTERACTIVE, 60.0)
        await clock.asleep.wait()
        with anyio.fail_after(2):  # those ahead take no time themselves, but they wait for 50 s
            assert await limiter.reserve("a", 1.0, INTERACTIVE, 9.0) is None
        tasks.cancel_scope.cancel()


async def test_a_key_without_a_limit_is_free(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {})
    assert all([await limiter.reserve("free", 1, BATCH, 0) for _ in range(100)])


async def test_all_dimensions_must_have_room(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(100, 1, burst=100), Rate(2, 2_592_000, burst=2))})
    assert await limiter.reserve("a", 1, INTERACTIVE, 0)
    assert await limiter.reserve("a", 1, INTERACTIVE, 0)
    assert await limiter.reserve("a", 1, INTERACTIVE, 3600) is None


async def test_push_back_holds_everyone(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(100, 1, burst=100),)})
    await limiter.push_back("a", 30)
    await limiter.push_back("a", 5)
    assert await limiter.reserve("a", 1, CRITICAL, 29) is None
    await clock.sleep(30)
    assert await limiter.reserve("a", 1, BATCH, 0)


async def test_a_released_place_can_be_taken_again(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 3600),)})
    place = await limiter.reserve("a", 1, INTERACTIVE, 0)
    assert place is not None
    assert await limiter.reserve("a", 1, INTERACTIVE, 0) is None
    await limiter.release(place)
    assert await limiter.reserve("a", 1, INTERACTIVE, 0) is not None


async def test_part_of_the_burst_is_kept_for_higher_priorities(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 3600, burst=8, kept_back=4),)})
    taken = 0
    while await limiter.reserve("a", 1, BATCH, 0):
        taken += 1
    assert taken == 4
    while await limiter.reserve("a", 1, INTERACTIVE, 0):
        taken += 1
    assert taken == 6
    while await limiter.reserve("a", 1, CRITICAL, 0):
        taken += 1
    assert taken == 8


async def test_interactive_calls_overtake_waiting_batch_calls(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 1),)})
    assert await limiter.reserve("a", 1, INTERACTIVE, 0)
    order: list[str] = []

    async def call(name: str, priority: int) -> None:
        if await limiter.reserve("a", 1, priority, 100):
            order.append(name)

    async with anyio.create_task_group() as tasks:
        for i in range(3):
            tasks.start_soon(call, f"batch{i}", BATCH)
        for i in range(3):
            tasks.start_soon(call, f"now{i}", INTERACTIVE)
    assert order == ["now0", "now1", "now2", "batch0", "batch1", "batch2"]


async def test_a_cancelled_waiter_takes_nothing(make: Factory, clock: HandClock) -> None:
    limiter = make(clock, {"a": (Rate(1, 10),)})
    assert await limiter.reserve("a", 1, INTERACTIVE, 0)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await limiter.reserve("a", 1, INTERACTIVE, 100)
    clock.seconds += 10
    assert await limiter.reserve("a", 1, INTERACTIVE, 0)


@pytest.mark.parametrize(("calls", "per_s"), [(10, 1), (100, 60), (1, 1), (50, 1), (1000, 60)])
async def test_a_window_of_the_other_side_never_overflows(
    make: Factory, clock: HandClock, calls: int, per_s: float
) -> None:
    limiter = make(clock, {"a": (within(calls, per_s),)})
    times: list[float] = []
    most = 5000 if isinstance(limiter, MemoryLimiter) else 150
    while clock.seconds < 1000 + 4 * per_s and len(times) < most:
        assert await limiter.reserve("a", 1, INTERACTIVE, 1e6)
        times.append(clock.seconds)
    worst = max(sum(1 for t in times if start <= t < start + per_s) for start in times)
    assert worst <= max(calls, 1)

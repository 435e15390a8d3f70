"""What every breaker must do."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.contract.redis_links import redis_link

from pincite.ports import Breaker
from pincite.runtime.limiter import BreakerRules, MemoryBreaker
from pincite.storage.limits import PUBLIC, TableBreaker
from pincite.storage.redis_store import RedisBreaker
from pincite.storage.schema import breakers
from pincite.storage.service import SharedTables, open_storage


class HandClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_s(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


RULES = BreakerRules(failures=3, cool_down_s=30, max_cool_down_s=100)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "sqlite", "postgresql", "resp", "upstash"])
async def breaker(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> AsyncIterator[Breaker]:
    if request.param == "memory":
        yield MemoryBreaker(clock, RULES)
        return
    if request.param in ("resp", "upstash"):
        async with redis_link(request.param, request.getfixturevalue("redis_url")) as link:
            await link.run(("FLUSHDB",))
            yield RedisBreaker(link, clock, RULES)
        return
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(place, clock) as storage:
        await storage.database.write("public", lambda tx: tx.change(tx.delete(breakers)))
        yield TableBreaker(SharedTables(storage.database, PUBLIC), RULES)


async def _fail(breaker: Breaker, times: int = 3) -> None:
    for _ in range(times):
        await breaker.record("a", ok=False)


async def test_it_opens_after_failures_in_a_row(breaker: Breaker) -> None:
    await _fail(breaker, 2)
    assert await breaker.allow("a")
    await breaker.record("a", ok=True)
    await _fail(breaker, 2)
    assert await breaker.allow("a")
    await _fail(breaker, 1)
    assert not await breaker.allow("a")
    assert await breaker.allow("b")


async def test_failures_far_apart_do_not_open_it(breaker: Breaker, clock: HandClock) -> None:
    for _ in range(6):
        await _fail(breaker, 1)
        clock.seconds += 45
    assert await breaker.allow("a")
    await _fail(breaker, 3)
    assert not await breaker.allow("a")


async def test_one_probe_goes_out_after_the_cool_down(breaker: Breaker, clock: HandClock) -> None:
    await _fail(breaker)
    clock.seconds += 31
    assert await breaker.allow("a")
    assert not await breaker.allow("a")
    await breaker.record("a", ok=True)
    assert await breaker.allow("a")
    assert await breaker.allow("a")


async def test_a_failed_probe_doubles_the_pause_up_to_the_ceiling(breaker: Breaker, clock: HandClock) -> None:
    await _fail(breaker)
    for pause in (30, 60, 100, 100):
        clock.seconds += pause - 1
        assert not await breaker.allow("a")
        clock.seconds += 1
        assert await breaker.allow("a")
        await breaker.record("a", ok=False)


async def test_a_probe_that_never_reports_does_not_block_for_ever(breaker: Breaker, clock: HandClock) -> None:
    await _fail(breaker)
    clock.seconds += 30
    assert await breaker.allow("a")
    clock.seconds += 30
    assert await breaker.allow("a")

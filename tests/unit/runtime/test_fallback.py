"""While Redis is gone the process helps itself, says so once, and goes back when it answers again."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fakes.upstash import UpstashFake

from pincite.domain.errors import StorageUnavailable
from pincite.domain.records import Entry
from pincite.runtime.fallback import AGAIN_AFTER_S, FallbackBreaker, FallbackBuckets, FallbackCache, Switch
from pincite.runtime.limiter import INTERACTIVE, Ask, MemoryBreaker, MemoryBuckets, Rate, SharedLimiter
from pincite.storage.cache import opened_cache
from pincite.storage.redis_store import RedisBreaker, RedisCache, open_redis, open_upstash
from pincite.testing.clock import FrozenClock

NOBODY = "redis://:s3cret-p4ssword@127.0.0.1:1/0"


class Failing:
    """Buckets whose server is gone, or not."""

    def __init__(self) -> None:
        self.gone = True
        self.asked = 0

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        self.asked += 1
        if self.gone:
            raise StorageUnavailable("Redis does not answer", reason="redis_gone")
        return 0.0

    async def push_back(self, key: str, wait_s: float) -> None:
        await self.take(key, ())

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        await self.take(key, ())


async def test_it_says_so_once_and_tries_again_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = FrozenClock()
    shared = Failing()
    buckets = FallbackBuckets(Switch(clock, "redis://h:6379"), shared, MemoryBuckets(clock))
    limiter = SharedLimiter(buckets, clock, default=(Rate(1, 60),))
    with caplog.at_level(logging.WARNING):
        assert await limiter.reserve("a", 1, INTERACTIVE, 0) is not None
        assert await limiter.reserve("a", 1, INTERACTIVE, 0) is None, "its own limit holds meanwhile"
    assert shared.asked == 1
    assert [record.message.split(":")[0] for record in caplog.records] == ["redis"]
    shared.gone = False
    clock.advance(AGAIN_AFTER_S + 1)
    assert await limiter.reserve("a", 1, INTERACTIVE, 0) is not None
    assert "answers again" in caplog.text


async def test_a_push_back_outlives_the_switch() -> None:
    clock = FrozenClock()
    shared = Failing()
    shared.gone = False
    buckets = FallbackBuckets(Switch(clock, "r"), shared, MemoryBuckets(clock))
    limiter = SharedLimiter(buckets, clock, default=(Rate(100, 1, burst=100),))
    await limiter.push_back("a", 30)
    shared.gone = True
    assert await limiter.reserve("a", 1, INTERACTIVE, 1) is None


async def test_a_server_that_is_not_there_costs_nobody_an_error(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    clock = FrozenClock()
    switch = Switch(clock, "redis://127.0.0.1:1")
    async with open_redis(NOBODY) as link, opened_cache(tmp_path / "cache.sqlite", "alice", clock) as own:
        cache = FallbackCache(switch, RedisCache(link, "alice", clock), own)
        later = clock.now() + timedelta(hours=1)
        await cache.put("page", "k", Entry(b"v", later, later, clock.now(), {}))
        found = await cache.get("page", "k")
        assert found is not None
        assert found.value == b"v"
        breaker = FallbackBreaker(switch, RedisBreaker(link, clock), MemoryBreaker(clock))
        assert await breaker.allow("host")
        assert switch.is_gone
        with pytest.raises(StorageUnavailable) as caught:
            await link.run(("PING",))
    assert caught.value.reason == "redis_gone"
    assert "s3cret" not in caplog.text + str(caught.value)


async def test_a_wrong_token_of_upstash_is_told(redis_url: str) -> None:
    async with open_redis(redis_url) as behind:
        fake = UpstashFake(behind, "right")
        async with open_upstash("https://eu1.upstash.example/", "wrong", transport=fake.transport) as link:
            with pytest.raises(StorageUnavailable) as caught:
                await link.run(("PING",))
        assert caught.value.reason == "redis_refused"
        async with open_upstash("https://eu1.upstash.example/", "right", transport=fake.transport) as link:
            assert await link.run(("ECHO", "a"), ("ECHO", "ä")) == ["a", "ä"]
            with pytest.raises(StorageUnavailable):
                await link.run(("NONSENSE",))
        assert fake.requests == 3, "a pipeline is one request"


async def test_damaged_and_foreign_values_are_misses(redis_url: str) -> None:
    clock = FrozenClock()
    async with open_redis(redis_url) as link:
        cache = RedisCache(link, "damaged", clock)
        later = clock.now() + timedelta(hours=1)
        await cache.put("page", "k", Entry(b"v", later, later, clock.now(), {}))
        for text in ("", "{", "[]", '{"value": "dg=="}', '{"value": "dg==", "sha256": "0"}'):
            await link.run(("SET", cache._key("page", "k"), text))
            assert await cache.get("page", "k") is None
        assert await RedisCache(link, "dama*", clock).counts() == await RedisCache(link, "nobody", clock).counts()

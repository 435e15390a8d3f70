"""What every cache must do."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import cast
from uuid import uuid4

import anyio
import pytest
from tests.contract.redis_links import redis_link
from tests.fakes.storage import MemoryCache

from pincite.domain.records import Entry
from pincite.ports import Cache
from pincite.runtime.fallback import CountedCache
from pincite.storage.cache import TableCache, open_cache
from pincite.storage.redis_store import RedisCache
from pincite.storage.service import SharedTables, open_storage
from pincite.testing.clock import FrozenClock


@pytest.fixture(params=["memory", "file", "sqlite", "postgresql", "resp", "upstash"])
async def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Cache]:
    if request.param == "memory":
        yield MemoryCache(clock)
        return
    if request.param in ("resp", "upstash"):
        async with redis_link(request.param, request.getfixturevalue("redis_url")) as link:
            await link.run(("FLUSHDB",))
            yield RedisCache(link, f"alice-{uuid4()}", clock)
        return
    if request.param != "file":
        place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
        async with open_storage(place, clock) as storage:
            yield TableCache(SharedTables(storage.database, f"alice-{uuid4()}"), clock)
        return
    opened = await open_cache(tmp_path / "cache.sqlite", "alice", clock)
    yield opened
    await opened.close()


def entry(clock: FrozenClock, value: bytes = b"value", fresh_s: float = 60, stale_s: float = 600) -> Entry:
    now = clock.now()
    return Entry(
        value, now + timedelta(seconds=fresh_s), now + timedelta(seconds=stale_s), now, {"etag": '"1"', "date": "d"}
    )


async def test_an_entry_comes_back_until_its_stale_time(cache: Cache, clock: FrozenClock) -> None:
    stored = entry(clock)
    await cache.put("search", "k", stored)
    assert await cache.get("search", "k") == stored
    assert await cache.get("fetch", "k") is None
    clock.advance(300)
    assert await cache.get("search", "k") == stored
    clock.advance(300)
    assert await cache.get("search", "k") is None


async def test_the_last_value_stands(cache: Cache, clock: FrozenClock) -> None:
    await cache.put("search", "k", entry(clock, b"old"))
    await cache.put("search", "k", entry(clock, b"new"))
    found = await cache.get("search", "k")
    assert found is not None
    assert found.value == b"new"


async def test_one_entry_or_a_whole_namespace_is_removed(cache: Cache, clock: FrozenClock) -> None:
    for namespace, key in (("a", "1"), ("a", "2"), ("a", "3"), ("b", "1")):
        await cache.put(namespace, key, entry(clock))
    assert await cache.delete("a", "1") == 1
    assert await cache.delete("a", "1") == 0
    assert await cache.delete("a") == 2
    assert await cache.get("b", "1") is not None


async def test_one_caller_at_a_time_computes_a_key(cache: Cache, clock: FrozenClock) -> None:
    allowed: list[int] = []

    async def ask(n: int) -> None:
        if await cache.lease("search", "k", 10):
            allowed.append(n)

    async with anyio.create_task_group() as tasks:
        for n in range(10):
            tasks.start_soon(ask, n)
    assert len(allowed) == 1
    assert await cache.lease("search", "other", 10)
    clock.advance(10)
    assert await cache.lease("search", "k", 10)
    await cache.put("search", "k", entry(clock))
    assert await cache.lease("search", "k", 10)


async def test_the_keys_of_a_namespace_are_listed(cache: Cache, clock: FrozenClock) -> None:
    counted = cast("CountedCache", cache)
    for namespace, key in (("search/private/a", "k2"), ("search/private/a", "k1"), ("search/private/ab", "k3")):
        await cache.put(namespace, key, entry(clock))
    assert list(await counted.keys("search/private/a", 10)) == ["k1", "k2"]
    assert list(await counted.keys("search/private/a", 1)) == ["k1"]
    assert list(await counted.keys("search/private", 10)) == []

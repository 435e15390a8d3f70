"""A damaged row in a shared cache is a miss, and is written anew."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.contract.redis_links import redis_link

from pincite.domain.records import Entry
from pincite.storage.cache import TableCache
from pincite.storage.redis_store import RedisCache
from pincite.storage.schema import cache_entries
from pincite.storage.service import SharedTables, open_storage
from pincite.testing.clock import FrozenClock


def entry(clock: FrozenClock) -> Entry:
    now = clock.now()
    return Entry(b"value", now + timedelta(seconds=60), now + timedelta(seconds=600), now, {})


@pytest.mark.parametrize("place", ["sqlite", "postgresql"])
async def test_in_the_database(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    clock, scope = FrozenClock(), f"alice-{uuid4()}"
    where = tmp_path if place == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(where, clock) as storage:
        cache = TableCache(SharedTables(storage.database, scope), clock)
        await cache.put("pages", "a", entry(clock))
        await storage.database.write(scope, lambda tx: tx.change(tx.update(cache_entries).values(value=b"valuf")))
        assert await cache.get("pages", "a") is None
        await cache.put("pages", "a", entry(clock))
        assert await cache.get("pages", "a") == entry(clock)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"value": 5}', '{"value": "?"}'])
async def test_in_redis(damage: str, redis_url: str) -> None:
    clock = FrozenClock()
    async with redis_link("resp", redis_url) as link:
        cache = RedisCache(link, f"alice-{uuid4()}", clock)
        await link.run(("FLUSHDB",))
        await cache.put("pages", "a", entry(clock))
        (keys,) = await link.run(("KEYS", "*"))
        for key in keys:
            (kind,) = await link.run(("TYPE", key))
            if kind in ("string", b"string"):
                await link.run(("SET", key, damage))
        assert await cache.get("pages", "a") is None
        await cache.put("pages", "a", entry(clock))
        assert await cache.get("pages", "a") == entry(clock)

"""Ways to a Redis for the contract suites."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.fakes.upstash import UpstashFake

from pincite.storage.redis_store import Link, open_redis, open_upstash


@asynccontextmanager
async def redis_link(way: str, redis_url: str) -> AsyncIterator[Link]:
    """A link over Redis's own protocol, or over a fake of Upstash that executes on the same server."""
    async with open_redis(redis_url) as direct:
        if way == "resp":
            yield direct
            return
        transport = UpstashFake(direct, "t0ken").transport
        async with open_upstash("https://eu1.upstash.example", "t0ken", transport=transport) as found:
            yield found

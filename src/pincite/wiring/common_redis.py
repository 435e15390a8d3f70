"""Limits, breakers and cache in the Redis, Valkey or Upstash of the settings; our own serve while it is away."""

from urllib.parse import urlsplit

from pincite.domain.frozen import dataclass
from pincite.ports import Breaker, Clock
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.fallback import CountedCache, FallbackBreaker, FallbackBuckets, FallbackCache, Switch
from pincite.runtime.limiter import DEFAULT_RULES, BreakerRules, Buckets
from pincite.settings import Settings
from pincite.storage.redis_store import Link, RedisBreaker, RedisBuckets, RedisCache, open_redis, open_upstash


@dataclass(frozen=True, slots=True)
class CommonRedis:
    """What is kept in one Redis. Each thing is given the process's own, which takes over while Redis is gone."""

    link: Link
    switch: Switch
    clock: Clock

    def buckets(self, own: Buckets) -> Buckets:
        """Token buckets of all workers."""
        return FallbackBuckets(self.switch, RedisBuckets(self.link, self.clock), own)

    def breaker(self, own: Breaker, rules: BreakerRules = DEFAULT_RULES) -> Breaker:
        """Circuit breakers of all workers."""
        shared = RedisBreaker(self.link, self.clock, rules)
        return FallbackBreaker(self.switch, shared, own)

    def cache(self, scope: str, own: CountedCache) -> FallbackCache:
        """The cache of all workers, for one scope."""
        return FallbackCache(self.switch, RedisCache(self.link, scope, self.clock), own)


async def open_common_redis(settings: Settings, clock: Clock, kept: ResourcePool) -> CommonRedis | None:
    """The Redis of the settings, or None. `redis://` wins over Upstash when both are set.

    Errors: ExtraNotInstalled, InvalidSetting. A server that is gone is no error.
    """
    if settings.redis_url is not None:
        link = await kept.open(open_redis(settings.redis_url.get_secret_value()))
    elif settings.upstash_redis_rest_url and settings.upstash_redis_rest_token:
        token = settings.upstash_redis_rest_token.get_secret_value()
        link = await kept.open(open_upstash(settings.upstash_redis_rest_url, token))
    else:
        return None
    return CommonRedis(link, Switch(clock, redis_in_use(settings)), clock)


def redis_in_use(settings: Settings) -> str:
    """Which Redis the settings choose, as it may be shown: no user, no password."""
    if settings.redis_url is not None:
        parts = urlsplit(settings.redis_url.get_secret_value())
        return f"{parts.scheme}://{parts.hostname or parts.path}{f':{parts.port}' if parts.port else ''}"
    if settings.upstash_redis_rest_url and settings.upstash_redis_rest_token:
        return f"Upstash at {urlsplit(settings.upstash_redis_rest_url).hostname}"
    return "none"

"""Limits, breakers and the cache in Redis or Valkey, behind the same ports as in the database.

Reached by its own protocol, or by Upstash's REST API. Both run several commands in one trip, and everything sent is
text, so that both ways keep the same bytes.
"""

import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote

from pincite.domain.errors import InvalidSetting, PinciteError, StorageUnavailable
from pincite.domain.records import CacheCounts, Entry
from pincite.ports import Clock
from pincite.runtime.limiter import DEFAULT_RULES, Ask, BreakerRules
from pincite.runtime.system import SystemClock, needing
from pincite.runtime.telemetry import count_cache_read
from pincite.storage.cache import entry_of, plain_of

Command: TypeAlias = Sequence[str | int | float]

# Redis answers in a millisecond; without it the limits of the process itself take over.
TIMEOUT_S: Final = 2.0
# Over HTTPS and perhaps another continent.
REST_TIMEOUT_S: Final = 5.0
GONE: Final = "redis_gone"
REFUSED: Final = "redis_refused"


class Link(Protocol):
    """A connection that runs commands."""

    async def run(self, *commands: Command) -> list[Any]:
        """The results in order. Errors: StorageUnavailable (`redis_gone`, `redis_refused`)."""


class RespLink:
    """Over Redis's own protocol. Made by `open_redis`."""

    def __init__(self, client: Any) -> None:  # a redis.asyncio.Redis
        self._client = client

    async def run(self, *commands: Command) -> list[Any]:
        """The results in order. Errors: StorageUnavailable."""
        from redis.exceptions import RedisError, ResponseError

        try:
            # One trip; each script is whole by itself, and nothing else has to be.
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            found: list[Any] = await pipeline.execute()
        except ResponseError as error:
            raise refused(str(error)) from error
        except (RedisError, OSError) as error:
            raise gone(type(error).__name__) from error
        return found


class UpstashLink:
    """Over Upstash's REST API: `POST /pipeline` with the commands as JSON and the token as bearer.

    Source: Upstash Redis REST API, "Pipelining".
    """

    def __init__(self, client: Any) -> None:  # an httpx2.AsyncClient with base URL and token
        self._client = client

    async def run(self, *commands: Command) -> list[Any]:
        """The results in order. Errors: StorageUnavailable."""
        import httpx2

        try:
            answer = await self._client.post("/pipeline", json=[list(command) for command in commands])
            results = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise gone(type(error).__name__) from error
        # Refused and not gone: waiting for it will not help.
        if answer.status_code in (401, 403):
            raise refused("the token is not accepted")
        if answer.status_code != 200 or not isinstance(results, list) or len(results) != len(commands):
            raise gone(f"HTTP {answer.status_code}")
        for item in results:
            if "error" in item:
                raise refused(str(item["error"]))
        return [item.get("result") for item in results]


def gone(why: str) -> PinciteError:
    """That Redis does not answer."""
    return StorageUnavailable(f"Redis does not answer: {why}", reason=GONE, retryable=True)


def refused(why: str) -> PinciteError:
    """That Redis answers, but not as asked."""
    return StorageUnavailable(f"Redis refused: {why[:200]}", reason=REFUSED)


@asynccontextmanager
async def open_redis(url: str) -> AsyncIterator[Link]:
    """A link to `redis://`, `rediss://` or `unix://`; nothing is sent before the first command.

    Errors: ExtraNotInstalled. InvalidSetting (not such a URL).
    """
    with needing("redis", "Redis needs its client"):
        from redis.asyncio import Redis
    try:
        client = Redis.from_url(
            url, decode_responses=True, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, max_connections=16
        )
    except ValueError as error:  # its message repeats the URL, which may hold a password
        raise InvalidSetting("the Redis URL can't be parsed", reason="redis_url") from error
    try:
        yield RespLink(client)
    finally:
        await client.aclose()


@asynccontextmanager
async def open_upstash(url: str, token: str, *, transport: Any = None) -> AsyncIterator[Link]:
    """A link to an Upstash database over its REST API; nothing is sent before the first command."""
    import httpx2

    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        base_url=url.rstrip("/"), headers=headers, timeout=REST_TIMEOUT_S, transport=transport, follow_redirects=False
    ) as client:
        yield UpstashLink(client)


# Each change is one short script, so that no two workers take the same place. Redis's own clock counts.

PREFIX: Final = "pincite"
# A larger value is not kept: it would hold up everybody else's commands.
MAX_VALUE_BYTES: Final = 8_000_000
# Keys for one step: Redis serves nobody else meanwhile.
_SCAN: Final = 500

# ARGV[1] is the time, or empty for Redis's own.
_NOW: Final = """
local t = redis.call('TIME')
local now = ARGV[1] ~= '' and tonumber(ARGV[1]) or (tonumber(t[1]) + tonumber(t[2]) / 1000000)
"""
_TAKE: Final = (
    _NOW
    + """
local wait = tonumber(redis.call('HGET', KEYS[1], 'blocked') or '0') - now
local full, last = {}, now
for i = 1, (#ARGV - 1) / 2 do
  local f = math.max(tonumber(redis.call('HGET', KEYS[1], i) or '0'), now) + tonumber(ARGV[2 * i])
  full[i] = f
  last = math.max(last, f)
  wait = math.max(wait, f - tonumber(ARGV[2 * i + 1]) - now)
end
if wait > 0.000001 then return string.format('%.6f', wait) end
for i, f in ipairs(full) do redis.call('HSET', KEYS[1], i, string.format('%.6f', f)) end
redis.call('EXPIRE', KEYS[1], math.ceil(last - now) + 3600)
return '0'
"""
)
# A shorter push-back never shortens a longer one.
_PUSH_BACK: Final = (
    _NOW
    + """
local until_s = math.max(tonumber(redis.call('HGET', KEYS[1], 'blocked') or '0'), now + tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'blocked', string.format('%.6f', until_s))
redis.call('EXPIRE', KEYS[1], math.max(math.ceil(until_s - now), redis.call('TTL', KEYS[1])) + 3600)
return 1
"""
)
# While it is open, one probe of all workers after each cool-down.
_ALLOW: Final = (
    _NOW
    + """
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened') or '0')
if opened == 0 then return 1 end
if tonumber(redis.call('HGET', KEYS[1], 'open_until')) > now then return 0 end
if tonumber(redis.call('HGET', KEYS[1], 'probe_until') or '0') > now then return 0 end
redis.call('HSET', KEYS[1], 'probe_until', string.format('%.6f', now + tonumber(ARGV[2])))
return 1
"""
)
# The rules of `runtime.breaker.BreakerRules`, by one script: each cool-down is twice the one before.
_FAILED: Final = (
    _NOW
    + """
local most, within, pause, longest = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened') or '0')
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or '-1')
if opened == 0 and (since < 0 or since < now - within) then
  redis.call('HSET', KEYS[1], 'since', string.format('%.6f', now), 'failures', 0)
end
local failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
redis.call('EXPIRE', KEYS[1], math.ceil(longest * 2 + within) + 3600)
if failures < most and opened == 0 then return 0 end
local until_s = now + math.min(pause * 2 ^ opened, longest)
local more = math.min(opened + 1, 16)
redis.call('HSET', KEYS[1], 'opened', more, 'open_until', string.format('%.6f', until_s), 'probe_until', 0)
return 1
"""
)
# Held until its time or until the entry is put; the key itself goes with it.
_LEASE: Final = (
    _NOW
    + """
if tonumber(redis.call('GET', KEYS[1]) or '0') > now then return 0 end
local ttl = tonumber(ARGV[2])
redis.call('SET', KEYS[1], string.format('%.6f', now + ttl), 'PX', math.max(math.ceil(ttl * 1000), 1))
return 1
"""
)


class _Clocked:
    def __init__(self, link: Link, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    async def _script(self, script: str, key: str, *values: str | float) -> Any:
        # Redis goes by its own clock; a frozen one stays in charge.
        now = "" if isinstance(self._clock, SystemClock) else f"{self._clock.now().timestamp():.6f}"
        (found,) = await self._link.run(("EVAL", script, 1, key, now, *map(str, values)))
        return found


class RedisBuckets(_Clocked):
    """Implements `limiter.Buckets`. Errors of every method: StorageUnavailable."""

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """0 when all of it was taken at once from every bucket; else nothing was, and this many seconds are short."""
        flat = [f"{amount:.9f}" for ask in asks for amount in (ask.cost_s, ask.room_s)]
        return float(await self._script(_TAKE, f"{PREFIX}:bucket:{key}", *flat))

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody takes anything for `wait_s`; a shorter push-back never shortens a longer one."""
        await self._script(_PUSH_BACK, f"{PREFIX}:bucket:{key}", wait_s)

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """Put back what was taken and not used."""
        back = [("HINCRBYFLOAT", f"{PREFIX}:bucket:{key}", n, f"{-ask.cost_s:.9f}") for n, ask in enumerate(asks, 1)]
        if back:
            await self._link.run(*back)


class RedisBreaker(_Clocked):
    """Implements `ports.Breaker` for all workers, with the rules of the others. Errors: StorageUnavailable."""

    def __init__(self, link: Link, clock: Clock, rules: BreakerRules = DEFAULT_RULES) -> None:
        super().__init__(link, clock)
        self._rules = rules

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now; while open, one probe of all workers after each cool-down."""
        return bool(await self._script(_ALLOW, f"{PREFIX}:breaker:{key}", self._rules.cool_down_s))

    async def record(self, key: str, ok: bool) -> None:
        """Count a failure or close the breaker."""
        if ok:
            await self._link.run(("DEL", f"{PREFIX}:breaker:{key}"))
        else:
            await self._script(_FAILED, f"{PREFIX}:breaker:{key}", *astuple(self._rules))


class RedisCache(_Clocked):
    """Implements `ports.Cache` for one scope. Redis drops what is past its time, and by its own rule what is too much.

    Errors of every method: StorageUnavailable.
    """

    def __init__(self, link: Link, scope: str, clock: Clock) -> None:
        super().__init__(link, clock)
        self._place = f"{PREFIX}:cache:{quote(scope, safe='')}"

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None; one past its stale time, or damaged, is none."""
        (found,) = await self._link.run(("GET", self._key(namespace, key)))
        entry = None if found is None else _entry(found)
        if entry is not None and entry.stale_until <= self._clock.now():
            entry = None
        count_cache_read(namespace, hit=entry is not None)
        return entry

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it, and end the lease on its key."""
        left_ms = int((entry.stale_until - self._clock.now()).total_seconds() * 1000)
        place, lease = self._key(namespace, key), self._lease_key(namespace, key)
        # Deleted, not left as it was: an older value must not answer for a newer one.
        if left_ms <= 0 or len(entry.value) > MAX_VALUE_BYTES:
            await self._link.run(("DEL", place, lease))
            return
        await self._link.run(("SET", place, _text(entry), "PX", left_ms), ("DEL", lease))

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        if key is not None:
            (removed,) = await self._link.run(("DEL", self._key(namespace, key)))
            return int(removed)
        return await self._delete(await self._keys(f"{quote(namespace, safe='')}:"))

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now, among all workers."""
        return bool(await self._script(_LEASE, self._lease_key(namespace, key), ttl_s))

    async def counts(self) -> CacheCounts:
        """What it holds."""
        keys = await self._keys("")
        sizes = await self._link.run(*(("STRLEN", key) for key in keys)) if keys else []
        return CacheCounts(len(keys), sum(map(int, sizes)))

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""
        start = f"{quote(namespace, safe='')}:"
        found = await self._keys(start)
        return [key.removeprefix(f"{self._place}:{start}") for key in found[:limit]]

    async def clear(self) -> int:
        """Remove everything of the scope; the number of entries removed."""
        return await self._delete(await self._keys(""))

    async def _keys(self, start: str) -> list[str]:
        # A set: `SCAN` may give a key twice (Redis, "SCAN guarantees").
        found: set[str] = set()
        cursor = "0"
        pattern = f"{self._place}:{start}*".replace("[", "\\[").replace("?", "\\?")
        while True:
            ((cursor, keys),) = await self._link.run(("SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN))
            found.update(keys)
            if str(cursor) == "0":
                return sorted(found)

    async def _delete(self, keys: list[str]) -> int:
        batches = [keys[n : n + _SCAN] for n in range(0, len(keys), _SCAN)]
        return sum(map(int, await self._link.run(*(("DEL", *batch) for batch in batches)))) if batches else 0

    def _key(self, namespace: str, key: str) -> str:
        return f"{self._place}:{quote(namespace, safe='')}:{key}"

    def _lease_key(self, namespace: str, key: str) -> str:
        return f"{PREFIX}:lease:{self._place}:{quote(namespace, safe='')}:{key}"


def _text(entry: Entry) -> str:
    value = base64.b64encode(entry.value).decode()
    return json.dumps({"value": value, **plain_of(entry), "validators": dict(entry.validators)})


def _entry(text: str) -> Entry | None:
    """The entry, or None for what is damaged."""
    try:
        found = json.loads(text)
        return entry_of(**{**found, "value": base64.b64decode(found["value"])})
    except (ValueError, KeyError, TypeError):
        return None

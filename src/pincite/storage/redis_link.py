"""Ways to a Redis or Valkey: its own protocol, or Upstash's REST API. Both run several commands in one trip.

Everything sent is text, so that both ways keep the same bytes.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting, PinciteError, StorageUnavailable
from pincite.runtime.installing import install_extra

Command: TypeAlias = Sequence[str | int | float]

TIMEOUT_S: Final = 2.0
REST_TIMEOUT_S: Final = 5.0
GONE: Final = "redis_gone"
REFUSED: Final = "redis_refused"


class Link(Protocol):
    """A connection that runs commands."""

    async def run(self, *commands: Command) -> list[Any]:
        """The results in order. Errors: StorageUnavailable (`redis_gone`, `redis_refused`)."""
        ...


class RespLink:
    """Over Redis's own protocol. Made by `open_redis`."""

    def __init__(self, client: Any) -> None:  # a redis.asyncio.Redis
        self._client = client

    async def run(self, *commands: Command) -> list[Any]:
        """The results in order. Errors: StorageUnavailable."""
        from redis.exceptions import RedisError, ResponseError

        try:
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
            told = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise gone(type(error).__name__) from error
        if answer.status_code in (401, 403):
            raise refused("the token is not accepted")
        if answer.status_code != 200 or not isinstance(told, list) or len(told) != len(commands):
            raise gone(f"HTTP {answer.status_code}")
        for item in told:
            if "error" in item:
                raise refused(str(item["error"]))
        return [item.get("result") for item in told]


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
    try:
        from redis.asyncio import Redis
    except ModuleNotFoundError as error:
        hint = f"Run: {install_extra('redis')}"
        raise ExtraNotInstalled("Redis needs its client", hint=hint) from error
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

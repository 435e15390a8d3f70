"""Two of the same: the shared one, and the one that takes over while it is gone. Who falls back says so, once."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from anyio.lowlevel import checkpoint

from pincite.domain.errors import StorageUnavailable
from pincite.domain.records import CacheCounts, Entry
from pincite.ports import Breaker, Cache, Clock
from pincite.runtime.limiter import Ask, Buckets
from pincite.runtime.telemetry import FALLBACKS, METER

T = TypeVar("T")
Kind = TypeVar("Kind")

# While it is gone, the shared one is tried this often.
AGAIN_AFTER_S: Final = 15.0

log = logging.getLogger(__name__)


class Switch:
    """Which of two is used now, for everything that hangs on the same server.

    Args:
        what: the server, as logs name it (no secret).
    """

    def __init__(self, clock: Clock, what: str) -> None:
        self._clock = clock
        self._what = what
        self._again_at = 0.0
        self.is_gone = False

    async def either(self, shared: Callable[[], Awaitable[T]], own: Callable[[], Awaitable[T]]) -> T:
        """What the shared one gives, or while it is gone this process's own. Errors: those of the own one."""
        # While it is gone nobody waits for its timeout: one caller each 15 s does.
        if not self.is_gone or self._clock.monotonic_s() >= self._again_at:
            try:
                value = await shared()
            except StorageUnavailable as error:
                self._fell_back(error)
            else:
                if self.is_gone:
                    log.warning("%s answers again", self._what)
                self.is_gone = False
                return value
        return await own()

    def _fell_back(self, error: StorageUnavailable) -> None:
        self._again_at = self._clock.monotonic_s() + AGAIN_AFTER_S
        if not self.is_gone:
            log.warning(
                "%s: %s; limits, breakers and cache are this process's own meanwhile", self._what, error.message
            )
            METER.add(FALLBACKS, 1)
        self.is_gone = True


class _Fallback(Generic[Kind]):
    """The shared one of a kind, and the own one that takes over."""

    def __init__(self, switch: Switch, shared: Kind, own: Kind) -> None:
        self._switch, self._shared, self._own = switch, shared, own

    async def _either(self, ask: Callable[[Kind], Awaitable[T]]) -> T:
        return await self._switch.either(lambda: ask(self._shared), lambda: ask(self._own))


class FallbackBuckets(_Fallback[Buckets]):
    """Implements `limiter.Buckets`."""

    async def take(self, key: str, asks: Sequence[Ask]) -> float:
        """As `Buckets.take`."""
        return await self._either(lambda one: one.take(key, asks))

    async def push_back(self, key: str, wait_s: float) -> None:
        """As `Buckets.push_back`; both are told, so that a push-back outlives the switch."""
        await self._own.push_back(key, wait_s)
        await self._switch.either(lambda: self._shared.push_back(key, wait_s), checkpoint)

    async def give_back(self, key: str, asks: Sequence[Ask]) -> None:
        """As `Buckets.give_back`."""
        await self._either(lambda one: one.give_back(key, asks))


class FallbackBreaker(_Fallback[Breaker]):
    """Implements `ports.Breaker`."""

    async def allow(self, key: str) -> bool:
        """As `Breaker.allow`."""
        return await self._either(lambda one: one.allow(key))

    async def record(self, key: str, ok: bool) -> None:
        """As `Breaker.record`."""
        await self._either(lambda one: one.record(key, ok))


class CountedCache(Cache, Protocol):
    """A cache that can be listed, counted and emptied."""

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """The keys of the entries that are in the namespace, the first `limit` of them in order."""

    async def counts(self) -> CacheCounts:
        """What it holds."""

    async def clear(self) -> int:
        """Remove everything of the scope; the number of entries removed."""


class FallbackCache(_Fallback[CountedCache]):
    """Implements `ports.Cache`, with what an operator may ask of a cache."""

    async def get(self, namespace: str, key: str) -> Entry | None:
        """As `Cache.get`."""
        return await self._either(lambda one: one.get(namespace, key))

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """As `Cache.put`."""
        await self._either(lambda one: one.put(namespace, key, entry))

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """As `Cache.delete`, in both: what was deleted must not come back with the next switch."""
        removed = await self._own.delete(namespace, key)
        return removed + await self._switch.either(lambda: self._shared.delete(namespace, key), _none)

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """As `Cache.lease`."""
        return await self._either(lambda one: one.lease(namespace, key, ttl_s))

    async def keys(self, namespace: str, limit: int) -> Sequence[str]:
        """As `CountedCache.keys`."""
        return await self._either(lambda one: one.keys(namespace, limit))

    async def counts(self) -> CacheCounts:
        """What it holds now."""
        return await self._either(lambda one: one.counts())

    async def clear(self) -> int:
        """Remove everything of the scope from both; the number of entries removed."""
        removed = await self._own.clear()
        return removed + await self._switch.either(self._shared.clear, _none)


async def _none() -> int:
    return 0

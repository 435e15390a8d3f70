"""Turns at a host: at most two connections, one page a second, slower where asked, none while it keeps failing."""

import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from pincite.domain.errors import NetworkError, PinciteError, Timeout
from pincite.fetch.limits import RETRY_AFTER_MAX_S, FetchLimits
from pincite.ports import Breaker, Clock, Limiter
from pincite.runtime.recovery import recovery_of

# Between `CRITICAL` and batches, as in `runtime.limiter`.
INTERACTIVE = 1


@dataclass(slots=True)
class _Seats:
    seats: anyio.Semaphore
    users: int = field(default=0)


class HostTurns:
    """Hands out turns. One instance for all tasks of a process; across processes the limiter's adapter decides."""

    def __init__(self, limiter: Limiter, breaker: Breaker, limits: FetchLimits) -> None:
        self._limiter = limiter
        self._breaker = breaker
        self._limits = limits
        self._hosts: dict[str, _Seats] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay_s: float | None = None) -> AsyncIterator[None]:
        """Hold a place at `host`; how the block ends is told to the breaker.

        Errors:
            NetworkError: `breaker_open`.
            Timeout: `host_queue`, more visitors than the host can take in the queue's longest wait.
        """
        key = f"host:{host}"
        if not await self._breaker.allow(key):
            raise NetworkError(f"{host} keeps failing and is left alone for a while", reason="breaker_open")
        row = self._hosts.get(host)
        if row is None:
            seats = anyio.Semaphore(self._limits.per_host_concurrency, fast_acquire=True)
            row = self._hosts[host] = _Seats(seats)
        row.users += 1
        try:
            # A seat before the turn: whoever has a turn goes at once, or the rate of the host would be off by the wait
            # for a seat.
            async with row.seats:
                await self.wait(host, delay_s)
                try:
                    yield
                except PinciteError as error:
                    # A Retry-After holds back everybody who waits for this host, not this page alone.
                    if error.retry_after_s is not None:
                        await self._limiter.push_back(key, min(error.retry_after_s, RETRY_AFTER_MAX_S))
                    if recovery_of(error).counts:
                        await self._breaker.record(key, ok=False)
                    raise
                await self._breaker.record(key, ok=True)
        finally:
            row.users -= 1
            if not row.users:
                del self._hosts[host]

    async def wait(self, host: str, delay_s: float | None = None) -> None:
        """Return when the next request to `host` may go out. Errors: Timeout (`host_queue`)."""
        key = f"host:{host}"
        if await self._limiter.reserve(key, 1.0, INTERACTIVE, self._limits.queue_max_s) is None:
            raise Timeout(f"too many pages of {host} are waiting", reason="host_queue")
        # After the turn was taken: the site's own delay counts from this request to the next.
        if delay_s is not None and delay_s > 1.0 / self._limits.requests_per_s_per_host:
            await self._limiter.push_back(key, delay_s)


# Calls tried again by the recovery table, inside the time that is left (ADR 0017).

T = TypeVar("T")
_LOG = logging.getLogger("pincite.fetch")
# Half of the shortest pause: enough to spread clients that failed together, too little to matter to one who waits.
_JITTER_S = 0.25


async def retried(do: Callable[[], Awaitable[T]], clock: Clock, left_s: Callable[[], float]) -> T:
    """What `do` gives, after as many further attempts as the error's row allows and the time left is good for.

    Errors: the last one of `do`.
    """
    tries = 0
    while True:
        try:
            return await do()
        except PinciteError as error:
            delays = recovery_of(error).delays_s
            if tries >= len(delays):
                raise
            wait_s = max(delays[tries] + random.uniform(0, _JITTER_S), error.retry_after_s or 0.0)  # noqa: S311  # no secret
            if wait_s >= left_s():
                raise
            tries += 1
            _LOG.info("%s: attempt %d in %.1f s", error.code, tries + 1, wait_s)
        await clock.sleep(wait_s)

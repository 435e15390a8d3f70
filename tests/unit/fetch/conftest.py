"""A guarded fetcher over a loopback web. Time for politeness is frozen; deadlines are real and short."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Snapshot
from pincite.fetch.backends.direct import DirectBackend
from pincite.fetch.client import GuardedClient
from pincite.fetch.limits import FetchLimits
from pincite.fetch.politeness import HostTurns
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import RobotsGate, RobotsMode
from pincite.runtime.limiter import MemoryBreaker, MemoryLimiter, Rate
from pincite.runtime.system import SystemClock
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubResolver, StubWeb
from pincite.urls import UrlPolicy


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        yield running


@dataclass
class Fetcher:
    """The parts of a direct fetch, put together as wiring does."""

    web: StubWeb
    resolver: StubResolver
    policy: UrlPolicy
    clock: FrozenClock
    client: GuardedClient
    vetted: VettedResolver
    gate: RobotsGate
    backend: DirectBackend
    limiter: MemoryLimiter
    breaker: MemoryBreaker
    closers: list[GuardedClient] = field(default_factory=list)

    async def get(self, path: str = "/", host: str = "site.example", **fields: Any) -> Snapshot:
        url = path if "://" in path else self.web.url(host, path)
        return await self.backend.fetch(replace(FetchRequest(url, deadline_s=5.0), **fields))


@pytest.fixture
async def make_fetcher(web: StubWeb) -> AsyncIterator[Callable[..., Fetcher]]:
    clients: list[GuardedClient] = []

    def make(
        *,
        limits: FetchLimits | None = None,
        policy: UrlPolicy | None = None,
        mode: RobotsMode = RobotsMode.OFF,
        **gate_options: Any,
    ) -> Fetcher:
        limits = limits or FetchLimits()
        policy = policy or web.policy
        clock, resolver = FrozenClock(), StubResolver()
        vetted = VettedResolver(resolver, policy, clock)
        client = GuardedClient(policy, vetted, SystemClock(), limits=limits, **gate_options.pop("client", {}))
        clients.append(client)
        gate = RobotsGate(client, policy, clock, mode=mode, **gate_options)
        limiter = MemoryLimiter(clock, default=(Rate(limits.requests_per_s_per_host, 1.0),))
        breaker = MemoryBreaker(clock)
        turns = HostTurns(limiter, breaker, limits)
        backend = DirectBackend(client, gate, turns, clock, limits=limits)
        return Fetcher(web, resolver, policy, clock, client, vetted, gate, backend, limiter, breaker)

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
def fetcher(make_fetcher: Callable[..., Fetcher]) -> Fetcher:
    return make_fetcher()

"""The fakes in process, as an HTTP transport: for benchmarks on simulated time."""

from collections.abc import Awaitable, Callable

import httpx2
from tests.fakes.engines.fakes import FakeEngines

Delay = Callable[[httpx2.Request], Awaitable[None]]


class EngineTransport(httpx2.AsyncBaseTransport):
    """Answers requests from the fakes after `delay`, which may also raise an error of httpx2."""

    def __init__(self, engines: FakeEngines, delay: Delay | None = None) -> None:
        self._engines = engines
        self._delay = delay

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The fake's reply."""
        body = await request.aread()
        if self._delay is not None:
            await self._delay(request)
        target = request.url.raw_path.decode("ascii")
        reply = self._engines.handle(request.method, target, dict(request.headers.items()), body)
        return httpx2.Response(reply.status, headers=dict(reply.headers), content=reply.body)

"""An event loop on simulated time: a sleep takes none, so that a day of traffic runs in minutes.

Only for programs whose outside world is in process (the fake engines as an HTTP transport): when nothing is ready to
run, the clock jumps to the next timer.
"""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

START = datetime(2026, 11, 21, 6, tzinfo=UTC)


class _JumpingSelector(selectors.SelectSelector):
    loop: "SimulatedLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("deadlock: nothing is ready and no timer is set")
        if not ready and timeout:
            self.loop.simulated_s += timeout
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.simulated_s = 0.0
        selector = _JumpingSelector()
        super().__init__(selector)
        selector.loop = self

    def time(self) -> float:
        return self.simulated_s


class SimulatedClock:
    """Implements `ports.Clock` on the loop's time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic_s())

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0))


def run(do: Callable[[], Awaitable[Any]]) -> Any:
    """What `do` gives, run on simulated time."""

    async def main() -> Any:
        return await do()

    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main())

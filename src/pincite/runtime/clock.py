"""The machine's own time. Tests use `pincite.testing.FrozenClock` instead."""

import time
from datetime import UTC, datetime

import anyio


class SystemClock:
    """Implements `ports.Clock` on the operating system's clocks."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; other tasks run meanwhile."""
        await anyio.sleep(max(seconds, 0.0))

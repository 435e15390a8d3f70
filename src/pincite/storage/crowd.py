"""How many connections to a PostgreSQL stay open: those of a busy hour are closed when it is over."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool

from pincite.ports import Clock

KEPT_IDLE = 2
"""Connections to a PostgreSQL that a quiet process keeps; with the queue's two that makes four."""
CALM_S = 5.0
"""A process that needed no more than those for so long is quiet. Shorter, and each pause would cost new connections."""


class Crowd:
    """Counts the connections that are in use, and closes the others of a process that has become quiet."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._lock = threading.Lock()
        self._now = self._most = 0
        self._since_s = clock.monotonic_s()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """One connection is in use within the block."""
        with self._lock:
            self._now += 1
            self._most = max(self._most, self._now)
        try:
            yield
        finally:
            if self._left_quiet():
                self._engine.dispose()  # those in use stay; what is needed again is opened again

    def _left_quiet(self) -> bool:
        with self._lock:
            self._now -= 1
            now_s = self._clock.monotonic_s()
            if now_s - self._since_s < CALM_S:
                return False
            quiet, self._most, self._since_s = self._most <= KEPT_IDLE, self._now, now_s
        pool = self._engine.pool
        return quiet and isinstance(pool, QueuePool) and pool.checkedin() > KEPT_IDLE

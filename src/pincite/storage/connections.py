"""Connections to a database: how they are opened, how long a server is waited for, and how many stay open."""

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio
from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from pincite.domain.errors import InvalidSetting, StorageUnavailable
from pincite.ports import Clock
from pincite.storage import failures

# Connections to a PostgreSQL that a quiet process keeps; with the queue's two that makes four.
KEPT_IDLE = 2
# A process that needed no more than those for so long is quiet. Shorter, and each pause would cost new connections.
CALM_S = 5.0


class IdleConnections:
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
            with self._lock:
                self._now -= 1
                if self._is_quiet():
                    self._engine.dispose()  # what is needed again is opened again

    def _is_quiet(self) -> bool:
        # Only while none is in use: one that comes back to a pool thrown away is closed by nobody.
        now_s = self._clock.monotonic_s()
        if self._now or now_s - self._since_s < CALM_S:
            return False
        quiet, self._most, self._since_s = self._most <= KEPT_IDLE, 0, now_s
        pool = self._engine.pool
        return quiet and isinstance(pool, QueuePool) and pool.checkedin() > KEPT_IDLE


T = TypeVar("T")

# So long a server may be away before what needs it fails.
WAIT_S: Final = 10.0
# The first looks at a server that restarts are close together, later ones not.
_FIRST_PAUSE_S: Final = 0.05
# Nobody waits much longer than the server is away.
_LONGEST_PAUSE_S: Final = 1.0


class RetryPolicy:
    """Tries again what failed because the server was away. Used by several threads.

    After it waited in vain, everybody else fails at once for as long: a run that ends because its database is gone
    asks it more than once on the way.

    Args:
        wait_s: how long in all.
        now_s: a clock that never runs backwards.
        sleep: blocks for so many seconds.
    """

    def __init__(
        self,
        wait_s: float = WAIT_S,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wait_s = wait_s
        self._now_s = now_s
        self._sleep = sleep
        self._in_vain_until_s = float("-inf")

    def run(self, attempt: Callable[[], T], may_repeat: Callable[[], bool]) -> T:
        """What `attempt` returns. Where it fails and `may_repeat`, nothing of it has happened and it is tried again.

        Errors: what `attempt` raises, at the latest after the wait and one more try.
        """
        until_s, pause_s = self._until_s(), _FIRST_PAUSE_S
        while True:
            try:
                return self._answered(attempt())
            except StorageUnavailable as error:
                if not self._again(error, may_repeat(), pause_s, until_s):
                    raise
            self._sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def run_async(self, attempt: Callable[[], Awaitable[T]], may_repeat: Callable[[], bool]) -> T:
        """As `run`; a task that is cancelled while it waits stops waiting."""
        until_s, pause_s = self._until_s(), _FIRST_PAUSE_S
        while True:
            try:
                return self._answered(await attempt())
            except StorageUnavailable as error:
                if not self._again(error, may_repeat(), pause_s, until_s):
                    raise
            await anyio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _answered(self, value: T) -> T:
        self._in_vain_until_s = float("-inf")  # it is back: worth waiting for again
        return value

    def _until_s(self) -> float:
        """Until when somebody who begins to wait now may wait."""
        now_s = self._now_s()
        return now_s if now_s < self._in_vain_until_s else now_s + self._wait_s

    def _again(self, error: StorageUnavailable, may_repeat: bool, pause_s: float, until_s: float) -> bool:
        """Whether it is worth another try after such a pause, and that ends in time; that it does not is remembered."""
        if error.reason not in failures.AWAY or not may_repeat:
            return False
        now_s = self._now_s()
        if now_s + pause_s <= until_s:
            return True
        if now_s >= self._in_vain_until_s:
            self._in_vain_until_s = now_s + self._wait_s
        return False


def database_url(place: str | Path) -> URL:
    """The URL of a database at a path (SQLite) or URL. Errors: InvalidSetting (not such a URL)."""
    text = str(place)
    if "://" not in text:
        path = Path(text).absolute()
        with failures.translated():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return URL.create("sqlite", database=str(path))
    try:
        url = make_url(text)
    except ArgumentError as error:  # its message repeats the URL, which may hold a password
        raise InvalidSetting("the database URL can't be parsed", reason="database_url") from error
    if url.get_backend_name() == "postgresql" or url.drivername == "postgres":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        return url.set(drivername="sqlite")
    raise InvalidSetting(
        f"a database of the kind {url.get_backend_name()!r} can't be used",
        reason="database_url",
        hint="Give a path, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE.",
    )

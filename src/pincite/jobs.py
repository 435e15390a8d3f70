"""Work that goes on beside a caller: workers take runs that wait, of every scope, and hand back what they can't finish.

On PostgreSQL any number of them share the work; on SQLite one process does it. Runs whose owner died are found by
their leases, also those that nobody queued: what a killed `pincite research` left goes on here.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pincite.domain.errors import PinciteError, RateLimited
from pincite.domain.events import RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.records import Offer
from pincite.engine import Engine
from pincite.runtime.concurrency import ResourcePool, resource_pool
from pincite.settings import Settings, load_settings
from pincite.wiring.scopes import expire_every_scope
from pincite.wiring.stores import Shared, open_shared

# A new engine for a scope and a profile (None: the one in force).
OpenEngine = Callable[[str, str | None], Engine]

# Engines open at a time: about twenty users of a server who try every profile, or as many users with one.
MAX_ENGINES: Final = 128
# An engine that nobody asked for so long may be closed: longer than a request takes. Runs hold theirs.
IDLE_S: Final = 180.0
# The same in a worker, which has an engine for each user and holds the one it works with.
MAX_OF_WORKER: Final = 32


@dataclass(slots=True)
class _Held:
    engine: Engine
    kept: ResourcePool
    used_at_s: float
    users: int = 0


class Engines:
    """The engines of a process, one for each user and profile, over what the process shares; opened when first needed.

    Args:
        open_engine: makes the engine of a scope and profile; all have one home and one database.
        base: keeps what the engines share; closes after them.
        hosts: where engines are kept open.
        shared: what they share, where it is open already.
        at_most: engines open at a time.
        idle_s: an engine that nobody uses may be closed so long after it was asked for.
    """

    def __init__(
        self,
        open_engine: OpenEngine,
        base: ResourcePool,
        hosts: TaskGroup,
        *,
        shared: Shared | None = None,
        at_most: int = MAX_ENGINES,
        idle_s: float = IDLE_S,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_engine
        self._base = base
        self._hosts = hosts
        self._shared = shared
        self._at_most = at_most
        self._idle_s = idle_s
        self._now_s = now_s
        self._held: OrderedDict[tuple[str, str | None], _Held] = OrderedDict()
        self._opening = anyio.Lock()

    async def of(self, scope: str, profile: str | None = None) -> Engine:
        """The open engine of a scope. Errors: RateLimited (too many users at once), InvalidSetting."""
        key = (scope, profile)
        if key not in self._held:
            # Asked again inside: somebody else may have opened it while this one waited.
            async with self._opening:
                if key not in self._held:
                    self._make_room()
                    self._held[key] = await self._opened(scope, profile)
        held = self._held[key]
        held.used_at_s = self._now_s()
        self._held.move_to_end(key)
        return held.engine

    @contextmanager
    def in_use(self, engine: Engine) -> Iterator[None]:
        """Keeps an engine open while the block runs, however long that is."""
        held = next((held for held in self._held.values() if held.engine is engine), None)
        if held is not None:
            held.users += 1
        try:
            yield
        finally:
            if held is not None:
                held.users -= 1
                held.used_at_s = self._now_s()

    def close(self) -> None:
        """Let every engine close."""
        while self._held:
            self._held.popitem()[1].kept.close()

    async def _opened(self, scope: str, profile: str | None) -> _Held:
        engine = self._open(scope, profile)
        if self._shared is None:
            self._shared = await self._base.open(open_shared(engine.settings))
        engine = engine.over(self._shared)
        kept = ResourcePool(self._hosts)
        await kept.open(engine)
        return _Held(engine, kept, self._now_s())

    def _make_room(self) -> None:
        if len(self._held) < self._at_most:
            return
        unused_since_s = self._now_s() - self._idle_s
        for key, held in self._held.items():
            # The longest unused is in front (`move_to_end`), so the first that may go is the right one.
            if held.users == 0 and held.used_at_s <= unused_since_s:
                self._held.pop(key).kept.close()
                return
        raise RateLimited("too many users at once on this server", retry_after_s=self._idle_s / 3)


# How often a worker looks for runs that wait: with the lease, a dead worker's run is taken over within 30 s.
SWEEP_S: Final = 3.0
# The same on SQLite, where nothing else tells of a new run.
LOCAL_SWEEP_S: Final = 0.5

# Terms are counted in days: once an hour is exact enough and costs one statement a scope.
EXPIRE_EVERY_S: Final = 3600.0
# Only for workers that end when nothing waits; a person who watches them takes it for at once.
_LOOK_S: Final = 0.5

log = logging.getLogger(__name__)

# Told the id of a run that ended here and how; None for one that was handed on.
OnRun = Callable[[str, RunStatus | None], None]


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How much a worker does at a time (`slots`), and how long it lets runs end before it hands them on."""

    slots: int = 4
    drain_s: float = 20.0


class Worker:
    """One worker process, or the worker inside a server. Made by `open_worker`."""

    def __init__(
        self, settings: Settings, shared: Shared, engines: Engines, limits: WorkerLimits, on_run: OnRun | None = None
    ) -> None:
        self._settings = settings
        self._shared = shared
        self._engines = engines
        self._limits = limits
        self._on_run = on_run
        self._working: dict[str, anyio.CancelScope] = {}

    async def run(self, stopping: anyio.Event) -> None:
        """Work until `stopping`; then let runs end for a while, and hand on what has not ended.

        Errors: ExtraNotInstalled, StorageUnavailable (at the start; later ones are waited out).
        """
        dispatcher = await self._shared.dispatcher()
        self._shared.has_worker = True
        await self._shared.offer_runs()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._sweep, stopping)
            tasks.start_soon(self._drain, stopping)
            tasks.start_soon(self._delete_expired, stopping)
            await dispatcher.serve(self._work, self._limits.slots, stopping)
            tasks.cancel_scope.cancel()
        self._shared.has_worker = False
        await self._offer()  # what is handed on wakes the other workers now

    @property
    def working_on(self) -> tuple[str, ...]:
        """The runs in work here."""
        return tuple(self._working)

    async def stop_when_idle(self, stopping: anyio.Event) -> None:
        """Set `stopping` when no run waits and none is in work, here or elsewhere."""
        while not stopping.is_set():
            await anyio.sleep(_LOOK_S)
            counts = await self._shared.queue_counts()
            if not (self._working or counts.queued or counts.running):
                stopping.set()

    async def _work(self, offer: Offer) -> None:
        # A hint that came twice.
        if offer.run_id in self._working:
            return
        status: RunStatus | None = None
        with anyio.CancelScope() as scope:
            self._working[offer.run_id] = scope
            try:
                engine = await self._engines.of(offer.scope)
                with self._engines.in_use(engine):
                    status = await engine.work_on(offer.run_id, at_most=self._settings.runs_per_scope)
            except PinciteError as error:
                status = RunStatus.FAILED
                log.warning("run %s ended with %s (%s)", offer.run_id, error.code, error.reason)
            finally:
                self._working.pop(offer.run_id, None)
        if self._on_run is not None and (status is not None or scope.cancelled_caught):
            self._on_run(offer.run_id, status)
        if status is not None:
            await self._offer(offer.scope)

    async def _sweep(self, stopping: anyio.Event) -> None:
        while not stopping.is_set():
            with anyio.move_on_after(SWEEP_S if self._shared.is_on_server else LOCAL_SWEEP_S):
                await stopping.wait()
            await self._offer()

    async def _delete_expired(self, stopping: anyio.Event) -> None:
        while not stopping.is_set():
            try:
                await expire_every_scope(self._settings, self._shared)
            except PinciteError as error:
                log.warning("expired data could not be deleted: %s (%s)", error.code, error.reason)
            with anyio.move_on_after(EXPIRE_EVERY_S):
                await stopping.wait()

    async def _drain(self, stopping: anyio.Event) -> None:
        await stopping.wait()
        # What ends within this time ends here; the rest is handed on with all that was paid for.
        await anyio.sleep(self._limits.drain_s)
        for scope in self._working.values():
            scope.cancel()

    async def _offer(self, scope: str | None = None) -> None:
        try:
            await self._shared.offer_runs(scope)
        except PinciteError as error:  # the database may come back; the next turn tries again
            log.warning("waiting runs could not be looked for: %s (%s)", error.code, error.reason)


@asynccontextmanager
async def background_worker(settings: Settings, limits: WorkerLimits | None) -> AsyncIterator[Worker]:
    """A worker that works while the block runs, beside a server. It starts with what was interrupted."""
    stopping = anyio.Event()
    async with open_worker(settings, limits) as worker, anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run, stopping)
        try:
            yield worker
        finally:
            stopping.set()


@asynccontextmanager
async def open_worker(
    settings: Settings, limits: WorkerLimits | None = None, *, on_run: OnRun | None = None
) -> AsyncIterator[Worker]:
    """A worker with its database and engines; closed at the end. Errors: those of `open_shared`."""
    limits = limits or WorkerLimits()

    def open_engine(scope: str, _: str | None) -> Engine:
        return Engine(load_settings({**settings.model_dump(exclude_unset=True), "scope": scope}))

    async with open_shared(settings) as shared, resource_pool() as kept:
        # More than it works with at a time: there is always one that may go.
        at_most = max(MAX_OF_WORKER, limits.slots + 1)
        engines = Engines(open_engine, kept, kept.tasks, shared=shared, at_most=at_most, idle_s=0.0)
        try:
            yield Worker(settings, shared, engines, limits, on_run)
        finally:
            engines.close()

"""Work that goes on beside a caller: workers take runs that wait, of every scope, and hand back what they can't finish.

On PostgreSQL any number of them share the work; on SQLite one process does it. Runs whose owner died are found by
their leases, also those that nobody queued: what a killed `pincite research` left goes on here.
"""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pincite.domain.errors import PinciteError
from pincite.domain.events import RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.records import Offer
from pincite.engine import Engine
from pincite.runtime.concurrency import ResourcePool, resource_pool
from pincite.settings import Settings, load_settings
from pincite.wiring.scopes import expire_every_scope
from pincite.wiring.stores import Shared, open_shared

# Engines open at a time; those in use are never closed.
MAX_OPEN: Final = 32


@dataclass(slots=True)
class _Held:
    engine: Engine
    kept: ResourcePool
    users: int = 0


class Engines:
    """Made by `open_engines`."""

    def __init__(self, settings: Settings, shared: Shared, tasks: TaskGroup) -> None:
        self._settings = settings
        self._shared = shared
        self._tasks = tasks
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._opening = anyio.Lock()

    @asynccontextmanager
    async def of(self, scope: str) -> AsyncIterator[Engine]:
        """The engine of a scope, open while the block runs. Errors: those of opening one."""
        # One at a time: two tasks would open two engines of one scope.
        async with self._opening:
            if scope not in self._held:
                self._held[scope] = await self._open(scope)
            held = self._held[scope]
            # Counted before room is made, so that its own engine is never the one that goes.
            held.users += 1
            self._held.move_to_end(scope)
            self._close_unused()
        try:
            yield held.engine
        finally:
            held.users -= 1

    def close(self) -> None:
        """Let every engine close."""
        for held in self._held.values():
            held.kept.close()
        self._held.clear()

    def _close_unused(self) -> None:
        for scope, held in tuple(self._held.items()):
            if len(self._held) <= MAX_OPEN:
                return
            if held.users == 0:
                del self._held[scope]
                held.kept.close()

    async def _open(self, scope: str) -> _Held:
        settings = load_settings({**self._settings.model_dump(exclude_unset=True), "scope": scope})
        engine = Engine(settings, self._shared)
        kept = ResourcePool(self._tasks)
        await kept.open(engine)
        return _Held(engine, kept)


@asynccontextmanager
async def open_engines(settings: Settings, shared: Shared) -> AsyncIterator[Engines]:
    """Engines over one database; all are closed at the end."""
    async with resource_pool() as kept:
        engines = Engines(settings, shared, kept.tasks)
        try:
            yield engines
        finally:
            engines.close()


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
                async with self._engines.of(offer.scope) as engine:
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
    async with open_shared(settings) as shared, open_engines(settings, shared) as engines:
        yield Worker(settings, shared, engines, limits or WorkerLimits(), on_run)

"""Where a server works: one open engine for each user and profile, and the runs that are being worked on."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from pincite.domain.errors import PinciteError, RateLimited
from pincite.domain.events import Event, RunStatus
from pincite.engine import Engine

OpenEngine = Callable[[str, str | None], Engine]
After = Callable[[], Awaitable[None]]
"""A new engine for a scope and a profile (None: the one in force)."""

EXTRACTIVE = "extractive"
"""Asked for as a profile: the standard one, without a language model."""

MAX_ENGINES = 64
MAX_PARALLEL_RUNS = 4
MAX_WAITING_RUNS = 256
LOOK_AGAIN_S = 15.0
FOLLOW_EVERY_S = 0.4
"""How often a run that workers execute is looked at."""
INTERACTIVE = 10
"""Somebody waits for it: before every batch."""


def settings_of(profile: str | None) -> dict[str, str | None]:
    """The settings that a profile, or `EXTRACTIVE`, stands for."""
    return {"profile": "standard", "llm": "none"} if profile == EXTRACTIVE else {"profile": profile}


class Desk:
    """Open engines and running jobs. Made by `open_desk`.

    Args:
        open_engine: makes the engine of a scope and profile.
        hosts: where engines are kept open.
        jobs: where runs are worked on.
    """

    def __init__(self, open_engine: OpenEngine, hosts: TaskGroup, jobs: TaskGroup) -> None:
        self.closing = anyio.Event()
        self._open = open_engine
        self._hosts = hosts
        self._jobs = jobs
        self._engines: dict[tuple[str, str | None], Engine] = {}
        self._opening = anyio.Lock()
        self._slots = anyio.Semaphore(MAX_PARALLEL_RUNS)
        self._news: dict[str, anyio.Event] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._last: dict[str, Event] = {}

    async def engine(self, scope: str, profile: str | None = None) -> Engine:
        """The open engine of a scope. Errors: RateLimited (too many scopes at once), InvalidSetting."""
        key = (scope, profile)
        found = self._engines.get(key)
        if found is not None:
            return found
        async with self._opening:
            if key not in self._engines:
                if len(self._engines) >= MAX_ENGINES:
                    raise RateLimited("too many users at once on this server", retry_after_s=60)
                engine = self._open(scope, profile)
                await self._hosts.start(_host, engine, self.closing)
                self._engines[key] = engine
            return self._engines[key]

    def tend(self, do: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        """Have something done beside the runs until the end."""
        self._jobs.start_soon(do, *arguments)

    def work_on(self, engine: Engine, run_id: str, *, after: After | None = None) -> None:
        """Execute a stored run in the background, then call `after`. Errors: RateLimited (too many are waiting)."""
        if len(self._scopes) >= MAX_WAITING_RUNS:
            raise RateLimited("too many runs are waiting on this server", retry_after_s=30)
        self._scopes[run_id] = anyio.CancelScope()
        self._jobs.start_soon(self._work, engine, run_id, self._scopes[run_id], after)

    def stop(self, run_id: str) -> bool:
        """Stop a run that is worked on here; whether it was."""
        scope = self._scopes.get(run_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def cancel(self, engine: Engine, run_id: str) -> None:
        """Stop a run wherever it is worked on; what was paid for is kept. Errors: RunNotFound."""
        await engine.run(run_id)
        if engine.leaves_runs_to_workers or not self.stop(run_id):
            await engine.cancel(run_id)
            if not self.busy_with(run_id):
                return
        with anyio.move_on_after(5):
            await self.ended(run_id)

    def busy_with(self, run_id: str) -> bool:
        """Whether this process works on the run, or will."""
        return run_id in self._scopes

    def news(self, run_id: str) -> anyio.Event:
        """Set at the next event of a run that is worked on here. Ask for it before reading what is stored."""
        return self._news.setdefault(run_id, anyio.Event())

    def last_event(self, run_id: str) -> Event | None:
        """What a run that is worked on here said last."""
        return self._last.get(run_id)

    async def ended(self, run_id: str) -> None:
        """Return when nobody here works on the run (any more)."""
        while self.busy_with(run_id):
            news = self.news(run_id)
            with anyio.move_on_after(LOOK_AGAIN_S):
                await news.wait()

    def _tell(self, run_id: str) -> None:
        waiting = self._news.pop(run_id, None)
        if waiting is not None:
            waiting.set()

    async def _work(self, engine: Engine, run_id: str, scope: anyio.CancelScope, after: After | None) -> None:
        def told(event: Event) -> None:
            self._last[run_id] = event
            self._tell(run_id)

        try:
            with scope:
                if engine.leaves_runs_to_workers:
                    await _follow(engine, run_id, told)
                    return
                async with self._slots:
                    await engine.resume(run_id, on_event=told)
        except PinciteError:
            # The run's own record and its last event say why; nobody waits here for the exception.
            return
        finally:
            self._scopes.pop(run_id, None)
            self._last.pop(run_id, None)
            self._tell(run_id)
            if after is not None:
                with anyio.CancelScope(shield=True), suppress(PinciteError):
                    await after()


async def _follow(engine: Engine, run_id: str, told: Callable[[Event], None]) -> None:
    """Leave the run to workers and tell its events until it has ended. Errors: RunNotFound."""
    last = 0
    await engine.queue(run_id, priority=INTERACTIVE)
    while True:
        ended = (await engine.run(run_id)).status not in (RunStatus.QUEUED, RunStatus.RUNNING)
        for event in await engine.events(run_id, last):
            last = event.seq
            told(event)
        if ended:
            return
        await anyio.sleep(FOLLOW_EVERY_S)


D = TypeVar("D", bound=Desk)


@asynccontextmanager
async def open_desk(make: Callable[[TaskGroup, TaskGroup], D]) -> AsyncIterator[D]:
    """The desk of one server process; at the end running jobs are stopped, saved and resumable."""
    async with anyio.create_task_group() as hosts:
        async with anyio.create_task_group() as jobs:
            desk = make(hosts, jobs)
            yield desk
            jobs.cancel_scope.cancel()
        desk.closing.set()


async def _host(engine: Engine, closing: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    """Keeps an engine open: one task opens and closes it, whatever request needed it first."""
    async with engine:
        task_status.started()
        await closing.wait()

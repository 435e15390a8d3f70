"""What the routes share: one engine for each scope and profile, and the runs that are being worked on."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import Request

from pincite.domain.errors import PinciteError, RateLimited
from pincite.domain.events import Event
from pincite.engine import Engine
from pincite.surfaces.http.admission import Turns
from pincite.surfaces.http.identity import KeyRing

OpenEngine = Callable[[str, str | None], Engine]
"""A new engine for a scope and a profile (None: the one in force)."""

MAX_ENGINES = 64
MAX_PARALLEL_RUNS = 4
MAX_WAITING_RUNS = 256


class Service:
    """Open engines and running jobs. Made by `open_service`."""

    def __init__(self, open_engine: OpenEngine, keys: KeyRing, hosts: TaskGroup, jobs: TaskGroup) -> None:
        self.keys = keys
        self.turns = Turns()
        self.closing = anyio.Event()
        self._open = open_engine
        self._hosts = hosts
        self._jobs = jobs
        self._engines: dict[tuple[str, str | None], Engine] = {}
        self._opening = anyio.Lock()
        self._slots = anyio.Semaphore(MAX_PARALLEL_RUNS)
        self._news: dict[str, anyio.Event] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}

    def admit(self, request: Request, secret: str | None) -> str:
        """The scope that a key opens, its request counted. Errors: Unauthorized, RateLimited."""
        if not self.keys.needed or secret is None:
            return scope_of(request)
        key = self.keys.key_of(secret)
        self.turns.take(key)
        request.state.key = key
        return key.scope

    async def engine(self, scope: str, profile: str | None = None) -> Engine:
        """The open engine of a scope. Errors: RateLimited (too many scopes at once), InvalidSetting."""
        async with self._opening:
            key = (scope, profile)
            if key not in self._engines:
                if len(self._engines) >= MAX_ENGINES:
                    raise RateLimited("too many users at once on this server", retry_after_s=60)
                engine = self._open(scope, profile)
                await self._hosts.start(_host, engine, self.closing)
                self._engines[key] = engine
            return self._engines[key]

    def work_on(self, engine: Engine, run_id: str) -> None:
        """Execute a stored run in the background. Errors: RateLimited (too many are waiting)."""
        if len(self._scopes) >= MAX_WAITING_RUNS:
            raise RateLimited("too many runs are waiting on this server", retry_after_s=30)
        self._scopes[run_id] = anyio.CancelScope()
        self._jobs.start_soon(self._work, engine, run_id, self._scopes[run_id])

    def stop(self, run_id: str) -> bool:
        """Stop a run that is worked on here; whether it was."""
        scope = self._scopes.get(run_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    def busy_with(self, run_id: str) -> bool:
        """Whether this process works on the run, or will."""
        return run_id in self._scopes

    def news(self, run_id: str) -> anyio.Event:
        """Set at the next event of a run that is worked on here. Ask for it before reading what is stored."""
        return self._news.setdefault(run_id, anyio.Event())

    def _tell(self, run_id: str) -> None:
        waiting = self._news.pop(run_id, None)
        if waiting is not None:
            waiting.set()

    async def _work(self, engine: Engine, run_id: str, scope: anyio.CancelScope) -> None:
        def told(_: Event) -> None:
            self._tell(run_id)

        try:
            with scope:
                async with self._slots:
                    await engine.resume(run_id, on_event=told)
        except PinciteError:
            # The run's own record and its last event say why; nobody waits here for the exception.
            return
        finally:
            self._scopes.pop(run_id, None)
            self._tell(run_id)


@asynccontextmanager
async def open_service(open_engine: OpenEngine, keys: KeyRing) -> AsyncIterator[Service]:
    """The service of one server process; at the end running jobs are stopped, saved and resumable."""
    async with anyio.create_task_group() as hosts:
        async with anyio.create_task_group() as jobs:
            service = Service(open_engine, keys, hosts, jobs)
            yield service
            jobs.cancel_scope.cancel()
        service.closing.set()


async def _host(engine: Engine, closing: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    """Keeps an engine open: one task opens and closes it, whatever request needed it first."""
    async with engine:
        task_status.started()
        await closing.wait()


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


def secret_of(request: Request) -> str | None:
    """The API key that came with a request."""
    header = request.headers.get("authorization", "")
    return header[7:].strip() if header[:7].lower() == "bearer " else request.headers.get("x-api-key")


def scope_of(request: Request) -> str:
    """The scope of the caller. Errors: Unauthorized."""
    return service_of(request).keys.scope_of(secret_of(request))


async def admitted(request: Request) -> str:
    """The scope of the caller, whose request is counted. Errors: Unauthorized, RateLimited."""
    return service_of(request).admit(request, secret_of(request))

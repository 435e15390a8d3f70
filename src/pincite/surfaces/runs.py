"""Executes the runs of a server, or follows those that workers execute; at the end stops them or hands them on."""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import field, replace
from decimal import Decimal
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import TaskGroup

from pincite.domain.errors import Conflict, PinciteError, RateLimited
from pincite.domain.events import Event
from pincite.domain.frozen import dataclass
from pincite.domain.records import RunRecord
from pincite.domain.requests import ResearchRequest
from pincite.engine import DEFAULT_OPTIONS, INTERACTIVE_PRIORITY, Engine, RunOptions
from pincite.jobs import Engines, OpenEngine
from pincite.runtime.concurrency import FairSlots, ResourcePool, resource_pool
from pincite.surfaces.accounts import Account, ServerLimits
from pincite.surfaces.progress import EVENTS_AT_ONCE, Progress, follow_elsewhere, may_be_worked_on

# Asked for as a profile: the standard one, without a language model.
EXTRACTIVE: Final = "extractive"
# In this process; each holds its account's money set aside. More are for workers.
MAX_WAITING_RUNS: Final = 256
# Event streams open at a time.
MAX_FOLLOWERS: Final = 1000
# A stream that hears nothing looks itself whether the run has ended: its notice may have been lost.
LOOK_AGAIN_S: Final = 15.0

log = logging.getLogger(__name__)
D = TypeVar("D", bound="RunManager")


def settings_of(profile: str | None) -> dict[str, str | None]:
    """The settings that a profile, or `EXTRACTIVE`, stands for."""
    return {"profile": "standard", "llm": "none"} if profile == EXTRACTIVE else {"profile": profile}


@dataclass(frozen=True, slots=True)
class TaskGroups:
    """The tasks of a manager: `base` closes last, `hosts` keep engines open, `jobs` execute runs."""

    base: ResourcePool
    hosts: TaskGroup
    jobs: TaskGroup


@dataclass(slots=True)
class _Watch:
    """A run that others work on, followed for so many listeners here."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    listeners: int = 0


class RunManager:
    """Open engines and running jobs. Made by `open_manager`.

    Args:
        groups: where engines are open and runs are worked on.
        hand_over: whether a worker will go on with the runs that are broken off when this manager closes.
    """

    def __init__(
        self,
        open_engine: OpenEngine,
        groups: TaskGroups,
        *,
        limits: ServerLimits | None = None,
        hand_over: bool = False,
    ) -> None:
        self.closing = anyio.Event()
        self.limits = limits or ServerLimits()
        self._streams: Counter[str] = Counter()
        self._owners: dict[str, str] = {}
        self.engines = Engines(open_engine, groups.base, groups.hosts)
        self._jobs = groups.jobs
        self._hand_over = hand_over
        self._ends = False
        self._slots = FairSlots(self.limits.jobs)
        self._news: dict[str, anyio.Event] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._watches: dict[str, _Watch] = {}
        self._progress: dict[str, Progress] = {}

    async def engine(self, scope: str, profile: str | None = None) -> Engine:
        """The open engine of a scope. Errors: RateLimited (too many scopes at once), InvalidSetting."""
        return await self.engines.of(scope, profile)

    # ---- working on runs ----

    def tend(self, do: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        """Run a task beside the runs until the manager closes."""
        self._jobs.start_soon(do, *arguments)

    def vet_room(self, owner: str) -> None:
        """Return while `owner`, a key or a user, may start another run.

        Errors: RateLimited (`runs_of_key`: this one has too many; else too many are waiting).
        """
        # The server's own bound first: what one key may do is no answer where there is no room for anybody.
        if len(self._scopes) >= MAX_WAITING_RUNS:
            raise RateLimited("too many runs are waiting on this server", retry_after_s=30)
        if sum(one == owner for one in self._owners.values()) >= self.limits.jobs_per_key:
            raise RateLimited(
                f"{self.limits.jobs_per_key} runs of {owner!r} are in work or waiting",
                reason="runs_of_key",
                hint="Wait for one of them to end, or cancel one.",
                retry_after_s=30,
            )

    async def start(
        self, engine: Engine, request: ResearchRequest, account: Account, run_options: RunOptions = DEFAULT_OPTIONS
    ) -> str:
        """The id of a new run, stored and within what its account may spend; `work_on` executes it.

        Errors: those of `Engine.start`, BudgetExhausted (`daily_usd`), RateLimited.
        """
        self.vet_room(account.owner)
        cap = await account.reserve(request.cost_cap(), engine.settings.max_cost_usd)
        asked = request if cap is None else replace(request, max_cost_usd=float(cap))
        try:
            return await engine.start(asked, run_options=run_options)
        except BaseException:
            # Also for a caller who goes away meanwhile: what stays set aside is missing until tomorrow.
            with anyio.CancelScope(shield=True):
                await account.release()
            raise

    def work_on(self, engine: Engine, run_id: str, account: Account) -> bool:
        """Execute a stored run in the background; in the end its account gets back what was not spent.

        False, and nothing happens, where it is worked on already.
        """
        if run_id in self._scopes:
            return False
        self._owners[run_id] = account.owner
        self._scopes[run_id] = anyio.CancelScope()
        self._jobs.start_soon(self._work, engine, run_id, self._scopes[run_id], account)
        return True

    async def resume(self, engine: Engine, record: RunRecord, account: Account) -> None:
        """Go on with a run that was stopped or broken off, within what its account may spend.

        Errors: BudgetExhausted (`daily_usd`), RateLimited, Conflict (it is worked on).
        """
        self.vet_room(account.owner)
        cap = record.budget.cost_usd
        left = None if cap is None else max(cap - record.usage.cost_usd, Decimal(0))
        await account.reserve(left)
        account.spent_before_usd = record.usage.cost_usd
        if not self.work_on(engine, record.run_id, account):  # another request was faster
            await account.release()
            raise Conflict(f"{record.run_id} is running", reason="run_owned")

    def stop(self, run_id: str) -> bool:
        """Stop a run that is worked on here; whether it was."""
        scope = self._scopes.get(run_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def abandon(self, engine: Engine, run_id: str) -> None:
        """Stop a run whose only caller has gone, whoever works on it; returns without waiting for its end."""
        if engine.leaves_runs_to_workers:
            await engine.cancel(run_id)
        else:
            self.stop(run_id)

    async def cancel(self, engine: Engine, run_id: str) -> None:
        """Stop a run wherever it is worked on; what was paid for is kept. Errors: RunNotFound."""
        await engine.run(run_id)
        if engine.leaves_runs_to_workers or not self.stop(run_id):
            await engine.cancel(run_id)
        with anyio.move_on_after(5):
            await self.ended(engine, run_id)

    def busy_with(self, run_id: str) -> bool:
        """Whether this process works on the run, or will."""
        return run_id in self._scopes

    def has_workers(self, engine: Engine) -> bool:
        """Whether somebody takes runs that wait, so that those broken off go on by themselves."""
        return self._hand_over or engine.leaves_runs_to_workers

    # ---- following runs ----

    def is_going(self, run_id: str) -> bool:
        """Whether the run is worked on here, or, for those who attend to it, by others."""
        return run_id in self._scopes or run_id in self._watches

    def news(self, run_id: str) -> anyio.Event:
        """Set at the next event of a run that is going. Ask for it before reading what is stored."""
        return self._news.setdefault(run_id, anyio.Event())

    def progress(self, run_id: str) -> Progress | None:
        """How far a run is, by the events that arrived here; None when none did."""
        return self._progress.get(run_id)

    @asynccontextmanager
    async def attending(self, engine: Engine, run_id: str) -> AsyncIterator[None]:
        """Have `is_going` and `news` work while the block runs also for a run that others work on."""
        watch = await self._watched(engine, run_id)
        if watch is None:
            yield
            return
        watch.listeners += 1
        try:
            yield
        finally:
            watch.listeners -= 1
            if watch.listeners == 0:
                self._forget(run_id, watch)
                watch.scope.cancel()

    async def ended(self, engine: Engine, run_id: str) -> None:
        """Return when nobody works on the run (any more). Errors: RunNotFound."""
        async with self.attending(engine, run_id):
            while self.is_going(run_id):
                news = self.news(run_id)
                with anyio.move_on_after(LOOK_AGAIN_S):
                    await news.wait()

    @property
    def followers(self) -> int:
        """Streams that are open."""
        return self._streams.total()

    def vet_follower(self, owner: str) -> None:
        """Return while `owner`, a key or a user, may open another stream. Errors: RateLimited (`streams_of_key`)."""
        if self.followers >= MAX_FOLLOWERS:
            raise RateLimited("too many streams are open on this server", retry_after_s=30)
        if self._streams[owner] >= self.limits.streams_per_key:
            raise RateLimited(
                f"{self.limits.streams_per_key} streams of {owner!r} are open",
                reason="streams_of_key",
                hint="Close one of them.",
                retry_after_s=30,
            )

    @contextmanager
    def streaming(self, owner: str) -> Iterator[None]:
        """Count a stream of `owner` while the block runs."""
        self._streams[owner] += 1
        try:
            yield
        finally:
            self._streams[owner] -= 1
            if not self._streams[owner]:
                del self._streams[owner]

    async def follow(
        self, engine: Engine, run_id: str, after: int, every_s: float, owner: str
    ) -> AsyncGenerator[Event | None]:
        """The events of a run numbered above `after` until it has ended; None when nothing came for `every_s`.

        No more than `EVENTS_AT_ONCE` wait here for a reader, and none is lost by a slow one: they are in the database.

        Errors: RunNotFound, StorageUnavailable.
        """
        with self.streaming(owner):
            async with self.attending(engine, run_id):
                while True:
                    # Both before the read: what is said during it is read next time.
                    news = self.news(run_id) if self.is_going(run_id) else None
                    page = await engine.events(run_id, after, EVENTS_AT_ONCE)
                    for event in page:
                        after = event.seq
                        yield event
                    # A full page: there may be more, without waiting for news of it.
                    if len(page) == EVENTS_AT_ONCE:
                        continue
                    if news is None:
                        return
                    with anyio.move_on_after(every_s) as waiting:
                        await news.wait()
                    if waiting.cancelled_caught:
                        yield None

    async def _watched(self, engine: Engine, run_id: str) -> _Watch | None:
        """The watch over a run that others work on; None for one that is worked on here, or by nobody."""
        if run_id in self._scopes:
            return None
        if run_id not in self._watches:
            record = await engine.run(run_id)
            if run_id in self._scopes or not may_be_worked_on(record):
                return None
            if run_id not in self._watches:  # somebody else may have come during the read
                self._watches[run_id] = _Watch()
                self._jobs.start_soon(self._watch, engine, run_id, self._watches[run_id])
        return self._watches[run_id]

    async def _watch(self, engine: Engine, run_id: str, watch: _Watch) -> None:
        try:
            with watch.scope, self.engines.in_use(engine), suppress(PinciteError):  # the readers meet it themselves
                await follow_elsewhere(engine, run_id, self._on_event)
        finally:
            self._forget(run_id, watch)

    def _forget(self, run_id: str, watch: _Watch) -> None:
        if self._watches.get(run_id) is watch:
            del self._watches[run_id]
            self._progress.pop(run_id, None)
            self._notify(run_id)

    # ---- inside ----

    def close(self) -> None:
        """Close the engines and end the tasks of `tend`."""
        self.closing.set()
        self.engines.close()

    def will_close(self) -> None:
        """Hand runs over that are cancelled from now on: it is the process that ends, nobody stopped them."""
        self._ends = True

    def _hands_over_now(self) -> bool:
        return self._ends and self._hand_over

    def _on_event(self, event: Event) -> None:
        self._progress.setdefault(event.run_id, Progress()).take(event)
        self._notify(event.run_id)

    def _notify(self, run_id: str) -> None:
        if (waiting := self._news.pop(run_id, None)) is not None:
            waiting.set()

    async def _work(self, engine: Engine, run_id: str, scope: anyio.CancelScope, account: Account) -> None:
        try:
            with scope, self.engines.in_use(engine):
                if engine.leaves_runs_to_workers:
                    await engine.queue(run_id, priority=INTERACTIVE_PRIORITY)
                    await follow_elsewhere(engine, run_id, self._on_event)
                else:
                    await self._execute(engine, run_id)
        except PinciteError:
            # The run's own record and its last event say why; nobody waits here for the exception.
            return
        except Exception:  # the border of a run: a defect ends this one, not the server and the runs of others
            log.exception("run %s met a defect", run_id)
        finally:
            del self._scopes[run_id], self._owners[run_id]
            self._progress.pop(run_id, None)
            self._notify(run_id)
            with anyio.CancelScope(shield=True), suppress(PinciteError):
                if account.budget is not None:
                    await account.release((await engine.run(run_id)).usage.cost_usd)

    async def _execute(self, engine: Engine, run_id: str) -> None:
        user = engine.settings.scope
        try:
            await self._slots.acquire(user)
        except anyio.get_cancelled_exc_class():
            if self._hands_over_now():
                with anyio.CancelScope(shield=True), suppress(PinciteError):
                    await engine.queue(run_id, priority=INTERACTIVE_PRIORITY)
            raise
        try:
            await engine.resume(run_id, on_event=self._on_event, handoff=self._hands_over_now)
        finally:
            self._slots.release(user)


@asynccontextmanager
async def open_manager(make: Callable[[TaskGroups], D]) -> AsyncIterator[D]:
    """The manager of one server process; at the end running jobs are stopped, saved, and resumable or handed on."""
    async with resource_pool() as base, anyio.create_task_group() as hosts:
        manager: D | None = None
        try:
            async with anyio.create_task_group() as jobs:
                manager = make(TaskGroups(base, hosts, jobs))
                yield manager
                # Before the jobs are cancelled: what is cancelled from here on is handed over, not stopped.
                manager.will_close()
                jobs.cancel_scope.cancel()
        finally:  # whatever ended the jobs: engines stay open until `close`
            if manager is not None:
                manager.close()

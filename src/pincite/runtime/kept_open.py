"""Services that outlive the task that asked for them first."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

T = TypeVar("T")


class KeptOpen:
    """Holds services open until its owner closes.

    Each is entered and left in a task of its own: one with a task group inside must not be entered in one task and
    left in another.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self._closing = anyio.Event()
        self._callbacks: list[Callable[[], None]] = []

    async def open(self, service: AbstractAsyncContextManager[T]) -> T:
        """What entering `service` gave; errors of entering it are raised here."""
        opened: T | Exception = await self.tasks.start(self._keep, service)
        if isinstance(opened, Exception):
            raise opened
        return opened

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when all services are closed, newest first."""
        self._callbacks.append(callback)

    async def _keep(self, service: AbstractAsyncContextManager[T], *, task_status: TaskStatus[T | Exception]) -> None:
        try:
            value = await service.__aenter__()
        except Exception as error:  # the border of this task: the one who asked gets it, not the whole group
            task_status.started(error)
            return
        try:
            task_status.started(value)
            # A cancel from outside reaches the owner first: what unwinds there may still need this service.
            with anyio.CancelScope(shield=True):
                await self._closing.wait()
        finally:
            await service.__aexit__(None, None, None)

    def close(self) -> None:
        """Let every service close."""
        self._closing.set()

    def finish(self) -> None:
        """Call what was left with `on_close`."""
        while self._callbacks:
            self._callbacks.pop()()


@asynccontextmanager
async def keep_open() -> AsyncIterator[KeptOpen]:
    """A place for services; they close when the block ends. An error of the block is raised as it is."""
    failure: Exception | None = None
    kept: KeptOpen | None = None
    try:
        async with anyio.create_task_group() as tasks:
            kept = KeptOpen(tasks)
            try:
                yield kept
            except Exception as error:  # raised below: a task group would wrap it in a group
                failure = error
            finally:
                kept.close()
    finally:
        if kept is not None:
            kept.finish()
    if failure is not None:
        raise failure

"""Engines of many scopes in one process, over one database: opened when needed, the longest unused closed first."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pincite.engine import Engine
from pincite.runtime.concurrency import ResourcePool, resource_pool
from pincite.settings import Settings, load_settings
from pincite.wiring import Shared

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
        async with self._opening:
            if scope not in self._held:
                self._held[scope] = await self._open(scope)
            held = self._held[scope]
            held.users += 1
            self._held.move_to_end(scope)
            self._close_unused(MAX_OPEN)
        try:
            yield held.engine
        finally:
            held.users -= 1

    def close(self) -> None:
        """Let every engine close."""
        for held in self._held.values():
            held.kept.close()
        self._held.clear()

    def _close_unused(self, most: int) -> None:
        for scope, held in tuple(self._held.items()):
            if len(self._held) <= most:
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

"""What many callers of one process share: slots in turn, one flight for the same wish, services kept open."""

from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from pincite.domain.errors import PinciteError, StorageUnavailable


class FairSlots:
    """Places for work. A free one goes to the user who has fewest, and among those to who was served longest ago."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[anyio.Event]] = {}
        self._served: dict[str, int] = {}  # when users who are here got their last place
        self._turns = 0

    async def acquire(self, user: str) -> None:
        """Return when the user has one more place."""
        turn = anyio.Event()
        self._waiting.setdefault(user, deque()).append(turn)
        self._hand_out()
        try:
            await turn.wait()
        except anyio.get_cancelled_exc_class():
            # A place that was handed to somebody who is gone would be lost for ever.
            if turn.is_set():  # it came at the same moment
                self.release(user)
            else:
                self._leave(user, turn)
            raise

    def release(self, user: str) -> None:
        """Give back a place of the user."""
        self._held[user] -= 1
        self._free += 1
        self._hand_out()
        self._forget(user)

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            # Fewest places, then longest ago: a user with a hundred jobs and one with one get every other place.
            user = min(self._waiting, key=lambda name: (self._held[name], self._served.get(name, 0)))
            self._waiting[user].popleft().set()
            if not self._waiting[user]:
                del self._waiting[user]
            self._turns += 1
            self._served[user] = self._turns
            self._held[user] += 1
            self._free -= 1

    def _leave(self, user: str, turn: anyio.Event) -> None:
        turns = self._waiting[user]
        turns.remove(turn)
        if not turns:
            del self._waiting[user]
        self._forget(user)

    def _forget(self, user: str) -> None:
        """Keep nothing of a user who neither has nor wants a place."""
        if not self._held[user]:
            del self._held[user]
            if user not in self._waiting:
                self._served.pop(user, None)


T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    done: anyio.Event = field(default_factory=anyio.Event)
    value: tuple[T, ...] = ()
    error: PinciteError | None = None


class SingleFlight(Generic[T]):
    """Runs at most one call per key at a time; callers who come meanwhile get its outcome."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    async def run(self, key: str, do: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The value, and whether it came from another caller's call.

        When the caller that does the work is cancelled, one of those waiting takes over; nobody else is cancelled.

        Errors: what `do` raises; every caller gets it.
        """
        # In a loop: where the one in flight was cancelled without a value, one of those who waited flies.
        while (flight := self._flights.get(key)) is not None:
            await flight.done.wait()
            if flight.error is not None:
                raise flight.error
            if flight.value:
                return flight.value[0], True
        flight = self._flights[key] = _Flight()
        try:
            # Errors of ours are shared, as the value is; a cancellation is the caller's own and is not.
            value = await do()
            flight.value = (value,)
            return value, False
        except PinciteError as error:
            flight.error = error
            raise
        finally:
            # First gone, then done: whoever wakes must find either the outcome or an empty place.
            del self._flights[key]
            flight.done.set()

    def __len__(self) -> int:
        return len(self._flights)


Owner = TypeVar("Owner")


def once(make: Callable[[Owner], Awaitable[T]]) -> Callable[[Owner], Coroutine[Any, Any, T]]:
    """A method that works at its first call; who calls meanwhile waits, and all get what it gave.

    What it raises is not kept: the next call tries again.
    """
    kept = f"once {make.__name__}"

    @wraps(make)
    async def called(owner: Owner) -> T:
        making, made = vars(owner).setdefault(kept, (anyio.Lock(), []))
        async with making:
            if not made:
                made.append(await make(owner))
            found: T = made[0]
            return found

    return called


def made_once(owner: object, name: str) -> Any:  # what the method gives
    """What the method of that name, which is `once`, gave so far; None before its first call has ended."""
    _, made = vars(owner).get(f"once {name}", (None, ()))
    return made[0] if made else None


class _Wanted(Generic[T]):
    """A service on its way to the one who asked for it, and kept open then until it is let go."""

    def __init__(self, service: AbstractAsyncContextManager[T]) -> None:
        self._service = service
        self._scope = anyio.CancelScope()
        self._released = anyio.Event()
        self._value: T | None = None
        self.error: Exception | None = StorageUnavailable("it was closed while it was being opened", reason="closed")
        self.settled = anyio.Event()

    async def keep(self) -> None:
        """Enter the service, hold it until it is let go, and leave it."""
        with self._scope:
            try:
                self._value = await self._service.__aenter__()
                self.error = None
            except Exception as error:  # the border of this task: the one who asked gets it, not the whole group
                self.error = error
                return
            finally:
                self.settled.set()
            try:
                # A cancel from outside reaches the owner first: what unwinds there may still need this service.
                with anyio.CancelScope(shield=True):
                    await self._released.wait()
            finally:
                await self._service.__aexit__(None, None, None)

    def release(self) -> None:
        self._released.set()

    def give_up(self) -> None:
        """Have it closed, and not be waited for where it is not open yet: nobody will use it."""
        self._released.set()
        if not self.settled.is_set():
            self._scope.cancel()

    def outcome(self) -> T:
        """What entering gave. Errors: those of entering; StorageUnavailable (`closed`)."""
        if self.error is not None:
            raise self.error
        return cast("T", self._value)


class ResourcePool:
    """Holds services open until its owner closes.

    Each is entered and left in a task of its own: one with a task group inside must not be entered in one task and
    left in another.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self._wanted: list[_Wanted[Any]] = []
        self._is_closed = False
        self._callbacks: list[Callable[[], None]] = []

    async def open(self, service: AbstractAsyncContextManager[T]) -> T:
        """What entering `service` gave. One whose asker is cancelled meanwhile is closed again.

        Errors: those of entering it; StorageUnavailable (`closed`: this place closed meanwhile).
        """
        wanted = _Wanted(service)
        self._wanted.append(wanted)
        if self._is_closed:
            wanted.release()
        self.tasks.start_soon(wanted.keep)
        try:
            await wanted.settled.wait()
        except BaseException:  # cancelled
            wanted.give_up()
            raise
        if wanted.error is not None:
            self._wanted.remove(wanted)
        return wanted.outcome()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when all services are closed, newest first."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Let every service close."""
        self._is_closed = True
        for wanted in self._wanted:
            wanted.release()

    def finish(self) -> None:
        """Call what was left with `on_close`."""
        while self._callbacks:
            self._callbacks.pop()()


@asynccontextmanager
async def resource_pool() -> AsyncIterator[ResourcePool]:
    """A place for services; they close when the block ends. An error of the block is raised as it is."""
    failure: Exception | GeneratorExit | None = None
    kept: ResourcePool | None = None
    try:
        async with anyio.create_task_group() as tasks:
            kept = ResourcePool(tasks)
            try:
                yield kept
            # Services close while the error is on its way: they may be what it needs to be written down.
            except (Exception, GeneratorExit) as error:  # raised below: a task group would wrap it in a group
                failure = error
            finally:
                kept.close()
    finally:
        if kept is not None:
            kept.finish()
    if failure is not None:
        raise failure

"""One call for many callers who want the same thing at the same time, within one process."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from pincite.domain.errors import PinciteError

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
        while (flight := self._flights.get(key)) is not None:
            await flight.done.wait()
            if flight.error is not None:
                raise flight.error
            if flight.value:
                return flight.value[0], True
        flight = self._flights[key] = _Flight()
        try:
            value = await do()
            flight.value = (value,)
            return value, False
        except PinciteError as error:
            flight.error = error
            raise
        finally:
            del self._flights[key]
            flight.done.set()

    def __len__(self) -> int:
        return len(self._flights)

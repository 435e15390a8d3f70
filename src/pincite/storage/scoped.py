"""Stores of one scope whose methods are transactions."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from pincite.ports import Clock
from pincite.storage.database import Database, Transaction

T = TypeVar("T")
S = TypeVar("S", bound="Scoped")
P = ParamSpec("P")


class Scoped:
    """What one scope has in a database. Its methods are transactions: `reads` and `writes` make them of functions."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock


def reads(do: Callable[Concatenate[S, Transaction, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Makes a method one transaction that reads: it is awaited, and called without `tx`."""

    @wraps(do)
    async def transaction(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(self._scope, lambda tx: do(self, tx, *args, **kwargs))

    return transaction


def writes(do: Callable[Concatenate[S, Transaction, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """As `reads`, for one that writes; when it raises, nothing has changed."""

    @wraps(do)
    async def transaction(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(self._scope, lambda tx: do(self, tx, *args, **kwargs))

    return transaction

"""Calls tried again by the recovery table, inside the time that is left."""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pincite.domain.errors import Internal, PinciteError
from pincite.runtime.recovery import recovery_of

T = TypeVar("T")
_JITTER_S = 0.25
# Retries are told by the retry library at warning level; without a handler Python would print them on stderr.
logging.getLogger("stamina").addHandler(logging.NullHandler())


async def retried(do: Callable[[], Awaitable[T]], left_s: Callable[[], float]) -> T:
    """What `do` gives, after as many further attempts as the error's row allows and the time left is good for.

    Errors: the last one of `do`.
    """
    try:
        return await do()
    except PinciteError as error:
        if not recovery_of(error).delays_s:
            raise
        failed = error
    return await _again(do, left_s, failed)


async def _again(do: Callable[[], Awaitable[T]], left_s: Callable[[], float], failed: PinciteError) -> T:
    """The further attempts. Making the retry loop for pages that answer at once was a tenth of their cost."""
    import stamina

    first: PinciteError | None = failed
    async for attempt in stamina.retry_context(on=_Backoff(left_s), attempts=None, timeout=None):
        with attempt:
            if first is not None:
                error, first = first, None
                raise error
            return await do()
    raise Internal("a retry loop ended without an outcome")


class _Backoff:
    """The pause before the next attempt, or False when there is none."""

    def __init__(self, left_s: Callable[[], float]) -> None:
        self._left_s = left_s
        self._tries = 0

    def __call__(self, error: Exception) -> bool | float:
        if not isinstance(error, PinciteError):
            return False
        delays = recovery_of(error).delays_s
        if self._tries >= len(delays):
            return False
        wait = delays[self._tries] + random.uniform(0, _JITTER_S)  # noqa: S311  # spread, not secrecy
        wait = max(wait, error.retry_after_s or 0.0)
        self._tries += 1
        return wait if wait < self._left_s() else False

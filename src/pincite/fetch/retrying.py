"""Calls tried again by the recovery table, inside the time that is left (ADR 0017)."""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pincite.domain.errors import PinciteError
from pincite.ports import Clock
from pincite.runtime.recovery import recovery_of

T = TypeVar("T")
_LOG = logging.getLogger("pincite.fetch")
# Half of the shortest pause: enough to spread clients that failed together, too little to matter to one who waits.
_JITTER_S = 0.25


async def retried(do: Callable[[], Awaitable[T]], clock: Clock, left_s: Callable[[], float]) -> T:
    """What `do` gives, after as many further attempts as the error's row allows and the time left is good for.

    Errors: the last one of `do`.
    """
    tries = 0
    while True:
        try:
            return await do()
        except PinciteError as error:
            delays = recovery_of(error).delays_s
            if tries >= len(delays):
                raise
            wait_s = max(delays[tries] + random.uniform(0, _JITTER_S), error.retry_after_s or 0.0)  # noqa: S311  # no secret
            if wait_s >= left_s():
                raise
            tries += 1
            _LOG.info("%s: attempt %d in %.1f s", error.code, tries + 1, wait_s)
        await clock.sleep(wait_s)

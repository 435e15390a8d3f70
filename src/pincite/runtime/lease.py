"""Owning a run while it is worked on: the lease is renewed beside the work, and its loss ends the work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio

from pincite.domain.errors import Locked, PinciteError, RunCancelled, RunFenced, StorageUnavailable
from pincite.ports import Clock, RunRecord, RunStore

T = TypeVar("T")

LEASE_S: Final = 20.0
"""A dead worker's run is free after this; with the reconciler's turn it is taken over within 30 s."""
_LOOKS_PER_LEASE: Final = 3
_LOOK_AT_MOST_S: Final = 1.0
"""Cancelling stops a run within 2 s, so its owner looks at least this often."""


@dataclass(slots=True)
class _Work(Generic[T]):
    value: tuple[T, ...] = ()
    error: PinciteError | None = None
    lost: PinciteError | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


async def with_lease(
    runs: RunStore, record: RunRecord, clock: Clock, work: Callable[[], Awaitable[T]], *, lease_s: float = LEASE_S
) -> T:
    """What `work` returns, done while the run is ours.

    Errors: RunFenced (the lease was lost; the work was stopped), RunCancelled (somebody asked), and what `work`
        raises.
    """
    done: _Work[T] = _Work()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_keep, runs, record, clock, lease_s, done)
        with done.scope:
            try:
                done.value = (await work(),)
            except PinciteError as error:
                done.error = error
        tasks.cancel_scope.cancel()
    failure = done.lost or done.error
    if failure is not None:
        raise failure
    return done.value[0]


async def _keep(runs: RunStore, record: RunRecord, clock: Clock, lease_s: float, done: _Work[T]) -> None:
    owned_until = clock.monotonic_s() + lease_s
    pause_s = min(lease_s / _LOOKS_PER_LEASE, _LOOK_AT_MOST_S)
    while done.lost is None:
        await clock.sleep(pause_s)
        asked = clock.monotonic_s()
        try:
            if await runs.renew(record.run_id, record.epoch, lease_s):
                done.lost = RunCancelled(f"run {record.run_id} was cancelled; what was paid for is kept")
            owned_until = asked + lease_s
        except RunFenced as error:
            done.lost = error
        except (Locked, StorageUnavailable) as error:  # the database may come back before the lease ends
            if clock.monotonic_s() >= owned_until:
                done.lost = error
    done.scope.cancel()

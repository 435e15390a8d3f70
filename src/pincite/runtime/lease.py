"""Owning a run while it is worked on: the lease is renewed beside the work, and its loss ends the work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio

from pincite.domain.errors import Locked, PinciteError, RunCancelled, StorageFull, StorageUnavailable
from pincite.domain.records import RunRecord
from pincite.ports import Clock, RunStore

T = TypeVar("T")

LEASE_S: Final = 20.0
"""A dead worker's run is free after this; with the reconciler's turn it is taken over within 30 s."""
_LOOKS_PER_LEASE: Final = 3
_LOOK_AT_MOST_S: Final = 1.0
"""Cancelling stops a run within 2 s, so its owner looks at least this often."""


class Lease:
    """Until when a run is surely ours, by this process's own clock, and why it no longer is.

    A process that was stopped for a while finds out before it sends anything: the lease has ended meanwhile.
    """

    def __init__(self, clock: Clock, lease_s: float = LEASE_S) -> None:
        self._clock = clock
        self.lease_s = lease_s
        self.owned_until = clock.monotonic_s() + lease_s
        self.lost: PinciteError | None = None

    @property
    def is_sure(self) -> bool:
        """Whether nobody else can have taken the run yet."""
        return self.lost is None and self._clock.monotonic_s() < self.owned_until

    def renewed(self, asked_at_s: float) -> None:
        """Note that a renewal that was asked for at that time came through."""
        self.owned_until = asked_at_s + self.lease_s


@dataclass(slots=True)
class _Work(Generic[T]):
    value: tuple[T, ...] = ()
    error: PinciteError | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


async def with_lease(
    runs: RunStore, record: RunRecord, clock: Clock, work: Callable[[], Awaitable[T]], *, lease: Lease | None = None
) -> T:
    """What `work` returns, done while the run is ours. `lease` is that of the take just before; a new one by default.

    Errors: RunFenced (the lease was lost; the work was stopped), RunCancelled (somebody asked), and what `work`
        raises.
    """
    done: _Work[T] = _Work()
    held = lease or Lease(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_keep, runs, record, clock, held, done.scope)
        with done.scope:
            try:
                done.value = (await work(),)
            except PinciteError as error:
                done.error = error
        tasks.cancel_scope.cancel()
    failure = held.lost or done.error
    if failure is not None:
        raise failure
    return done.value[0]


async def _keep(runs: RunStore, record: RunRecord, clock: Clock, lease: Lease, work: anyio.CancelScope) -> None:
    pause_s = min(lease.lease_s / _LOOKS_PER_LEASE, _LOOK_AT_MOST_S)
    while lease.lost is None:
        await clock.sleep(pause_s)
        asked_at_s = clock.monotonic_s()
        try:
            if await runs.renew(record.run_id, record.epoch, lease.lease_s):
                lease.lost = RunCancelled(f"run {record.run_id} was cancelled; what was paid for is kept")
            lease.renewed(asked_at_s)
        except (Locked, StorageFull, StorageUnavailable) as error:  # it may come back before the lease ends
            if not lease.is_sure:
                lease.lost = error
        except PinciteError as error:  # fenced, or a database that is no longer ours to use
            lease.lost = error
    work.cancel()

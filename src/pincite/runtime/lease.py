"""Who works on a run: a name for this process, and a lease renewed beside the work, whose loss ends the work."""

import os
import platform
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import anyio

from pincite.domain.errors import Locked, PinciteError, RunCancelled, StorageFull, StorageUnavailable
from pincite.domain.records import RunRecord
from pincite.ports import Clock, RunStore
from pincite.runtime.system import process_fields

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_SPACE = Path("/proc/self/ns/pid")
# Source: proc(5), /proc/[pid]/stat: the time the process started after boot, in clock ticks.
_START_FIELD = 22


def this_worker() -> str:
    """A name of this process that no other process on any machine has: `host/boot/pid/start`."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def is_gone(worker: str) -> bool:
    """Whether the process so named has surely ended. False for another machine's, and whenever in doubt."""
    if not worker:
        return True
    machine, _, process = worker.partition("/")
    boot, _, process = process.partition("/")
    pid, _, started = process.partition("/")
    if f"{machine}/{boot}" != _machine() or boot == "-" or not pid.isdigit():
        return False
    # A number that was given to another process since has another start.
    return _started(int(pid)) != started


@cache
def _machine() -> str:
    # Process numbers mean the same only within one boot and one process namespace (a container has its own).
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()[:8] + "." + str(_PID_SPACE.stat().st_ino)
    except OSError:
        boot = "-"
    return f"{platform.node().replace('/', '_') or 'host'}/{boot}"


def _started(pid: int) -> str:
    fields = process_fields(pid)
    return "gone" if fields is None or fields[0] in "ZX" else fields[_START_FIELD - 3]


T = TypeVar("T")

# A dead worker's run is free after this; with the reconciler's turn it is taken over within 30 s.
LEASE_S: Final = 20.0
# Two renewals may fail before the lease is lost.
_LOOKS_PER_LEASE: Final = 3
# Cancelling stops a run within 2 s, so its owner looks at least this often.
_LOOK_AT_MOST_S: Final = 1.0


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


async def with_lease(
    runs: RunStore, record: RunRecord, clock: Clock, work: Callable[[], Awaitable[T]], *, lease: Lease | None = None
) -> T:
    """What `work` returns, done while the run is ours. `lease` is that of the take just before; a new one by default.

    Errors: RunFenced (the lease was lost; the work was stopped), RunCancelled (somebody asked), and what `work`
        raises.
    """
    made: tuple[T, ...] = ()
    failed: PinciteError | None = None
    held, scope = lease or Lease(clock), anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_renew_until_done, runs, record, clock, held, scope)
        with scope:
            try:
                made = (await work(),)
            except PinciteError as error:
                failed = error
        # The work is over: the lease need not be kept.
        tasks.cancel_scope.cancel()
    # A lost lease explains what the work then failed with.
    failure = held.lost or failed
    if failure is not None:
        raise failure
    return made[0]


async def _renew_until_done(
    runs: RunStore, record: RunRecord, clock: Clock, lease: Lease, work: anyio.CancelScope
) -> None:
    pause_s = min(lease.lease_s / _LOOKS_PER_LEASE, _LOOK_AT_MOST_S)
    while lease.lost is None:
        await clock.sleep(pause_s)
        # Counted from before the question: an answer that took long has used part of the lease up.
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

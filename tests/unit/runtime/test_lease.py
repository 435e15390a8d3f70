"""Whatever the renewal of a lease meets, the work under it ends or goes on, and its error is one of ours."""

from typing import Any, cast

import anyio
import pytest

from pincite.domain.budget import Budget
from pincite.domain.errors import (
    Internal,
    Locked,
    PinciteError,
    RunFenced,
    SchemaMismatch,
    StorageFull,
    StorageUnavailable,
)
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord
from pincite.ports import RunStore
from pincite.runtime.lease import Lease, with_lease
from pincite.testing.clock import FrozenClock

PASSING: tuple[PinciteError, ...] = (Locked(""), StorageFull(""), StorageUnavailable("", reason="connection_lost"))


class Renewals:
    """A store of runs whose renewals fail until some time."""

    def __init__(self, clock: FrozenClock, error: PinciteError, until_s: float) -> None:
        self._clock, self._error, self._until_s = clock, error, until_s

    async def renew(self, *_: Any) -> bool:
        if self._clock.monotonic_s() < self._until_s:
            raise self._error
        return False


async def worked(error: PinciteError, until_s: float, clock: FrozenClock) -> str:
    """What work of a minute gives under a lease of 20 s whose renewals fail for `until_s`."""
    record = RunRecord("run_1", "alice", "?", RunStatus.RUNNING, clock.now(), clock.now(), {}, Budget())

    async def work() -> str:
        await clock.sleep(60)
        return "done"

    runs = cast("RunStore", Renewals(clock, error, until_s))
    with anyio.fail_after(60):
        return await with_lease(runs, record, clock, work, lease=Lease(clock, 20))


@pytest.mark.parametrize("error", PASSING)
async def test_what_passes_before_the_lease_ends_does_not_end_the_work(error: PinciteError) -> None:
    assert await worked(error, 15, FrozenClock()) == "done"


@pytest.mark.parametrize("error", PASSING)
async def test_what_outlasts_the_lease_ends_the_work_with_its_own_error(error: PinciteError) -> None:
    clock = FrozenClock()
    with pytest.raises(type(error)):
        await worked(error, 1e9, clock)
    assert 20 <= clock.monotonic_s() < 60


@pytest.mark.parametrize("error", [RunFenced(""), Internal(""), SchemaMismatch("")])
async def test_what_does_not_pass_ends_the_work_at_once(error: PinciteError) -> None:
    clock = FrozenClock()
    with pytest.raises(type(error)):
        await worked(error, 1e9, clock)
    assert clock.monotonic_s() < 5


def test_a_renewal_counts_from_when_it_was_asked_for() -> None:
    clock = FrozenClock()
    lease, asked_at_s = Lease(clock, 20), clock.monotonic_s()
    clock.advance(15)  # the answer took long: another process may have taken the run 20 s after the question
    lease.renewed(asked_at_s)
    assert lease.is_sure
    clock.advance(5)
    assert not lease.is_sure

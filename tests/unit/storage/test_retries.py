"""A server that is away for a moment is waited for; what may have happened is never done twice."""

from collections.abc import Callable

import anyio
import pytest

from pincite.domain.errors import PinciteError, SchemaMismatch, StorageUnavailable
from pincite.storage.transactions import RetryPolicy


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.at_s = 100.0

    def now_s(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


def away(until_s: float, time: Time, reason: str = "connection_lost") -> Callable[[], str]:
    def attempt() -> str:
        if time.at_s < until_s:
            raise StorageUnavailable("not yet", reason=reason)
        return "there"

    return attempt


@pytest.mark.parametrize("reason", ["connection_lost", "shut_down", "out_of_resources"])
def test_a_server_that_starts_is_waited_for(reason: str) -> None:
    time = Time()
    retries = RetryPolicy(10, now_s=time.now_s, sleep=time.sleep)
    assert retries.run(away(105, time, reason), lambda: True) == "there"
    assert 105 <= time.at_s < 106.1


def test_the_wait_is_bounded_and_not_repeated_by_everybody() -> None:
    time = Time()
    retries = RetryPolicy(10, now_s=time.now_s, sleep=time.sleep)
    never = away(1e9, time)
    with pytest.raises(StorageUnavailable):
        retries.run(never, lambda: True)
    assert 108 < time.at_s <= 110
    at_s = time.at_s
    with pytest.raises(StorageUnavailable):
        retries.run(never, lambda: True)
    assert time.at_s == at_s, "somebody has just waited"
    time.at_s += 11
    with pytest.raises(StorageUnavailable):
        retries.run(never, lambda: True)
    assert time.at_s > at_s + 19, "after a while it is worth another wait"


def test_a_server_that_came_back_is_waited_for_anew() -> None:
    time = Time()
    retries = RetryPolicy(10, now_s=time.now_s, sleep=time.sleep)
    with pytest.raises(StorageUnavailable):
        retries.run(away(1e9, time), lambda: True)
    assert retries.run(lambda: "there", lambda: True) == "there"
    assert retries.run(away(time.at_s + 5, time), lambda: True) == "there"


async def test_a_cancelled_task_stops_waiting() -> None:
    tried = anyio.Event()

    async def attempt() -> None:
        tried.set()
        raise StorageUnavailable("not yet", reason="connection_lost")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(RetryPolicy(3600).run_async, attempt, lambda: True)
            await tried.wait()
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("error", "may_repeat"),
    [
        (StorageUnavailable("gone while it committed", reason="connection_lost"), False),
        (StorageUnavailable("no such user", reason="login_refused"), True),
        (StorageUnavailable("", reason="no_such_database"), True),
        (SchemaMismatch("", reason="newer_schema"), True),
    ],
)
def test_what_waiting_does_not_help_is_said_at_once(error: PinciteError, may_repeat: bool) -> None:
    time = Time()
    tries = 0

    def attempt() -> None:
        nonlocal tries
        tries += 1
        raise error

    with pytest.raises(type(error)):
        RetryPolicy(10, now_s=time.now_s, sleep=time.sleep).run(attempt, lambda: may_repeat)
    assert (tries, time.at_s) == (1, 100.0)

import anyio
import pytest

from pincite.domain.errors import NetworkError
from pincite.runtime.concurrency import SingleFlight


async def test_callers_at_the_same_time_share_one_call() -> None:
    flights: SingleFlight[int] = SingleFlight()
    gate, calls, got = anyio.Event(), 0, []

    async def work() -> int:
        nonlocal calls
        calls += 1
        await gate.wait()
        return 7

    async def caller() -> None:
        got.append(await flights.run("k", work))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(caller)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert calls == 1
    assert sorted(got) == [(7, False)] + [(7, True)] * 19
    assert len(flights) == 0


async def test_an_error_reaches_every_caller() -> None:
    flights: SingleFlight[int] = SingleFlight()
    gate, seen = anyio.Event(), 0

    async def work() -> int:
        await gate.wait()
        raise NetworkError("down")

    async def caller() -> None:
        nonlocal seen
        with pytest.raises(NetworkError):
            await flights.run("k", work)
        seen += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(caller)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert seen == 3


async def test_a_waiting_caller_takes_over_from_a_cancelled_one() -> None:
    flights: SingleFlight[int] = SingleFlight()
    calls, got = 0, []
    gate = anyio.Event()

    async def work() -> int:
        nonlocal calls
        calls += 1
        await gate.wait()
        return calls

    async def cancelled(scope: anyio.CancelScope) -> None:
        with scope:
            await flights.run("k", work)

    async def follower() -> None:
        got.append(await flights.run("k", work))

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancelled, scope)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(follower)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert calls == 2
    assert got == [(2, False)]


async def test_a_defect_in_the_work_lets_the_next_caller_try() -> None:
    flights: SingleFlight[int] = SingleFlight()

    async def broken() -> int:
        raise ZeroDivisionError

    async def works() -> int:
        return 1

    with pytest.raises(ZeroDivisionError):
        await flights.run("k", broken)
    assert await flights.run("k", works) == (1, False)

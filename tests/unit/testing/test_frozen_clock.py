from datetime import timedelta

import anyio

from pincite.testing.clock import FrozenClock


async def test_sleepers_wake_in_the_order_of_their_time_without_waiting() -> None:
    clock, woken = FrozenClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic_s()))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for seconds in (300.0, 0.5, 20.0):
                tasks.start_soon(sleeper, seconds)
    assert woken == [(0.5, 0.5), (20.0, 20.0), (300.0, 300.0)]


async def test_a_held_clock_moves_only_by_hand() -> None:
    clock = FrozenClock(moves_by_itself=False)
    start = clock.now()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 10.0)
        await anyio.wait_all_tasks_blocked()
        assert clock.monotonic_s() == 0.0
        clock.advance(10.0)
    assert clock.now() - start == timedelta(seconds=10)


async def test_a_cancelled_sleeper_leaves_nothing_behind() -> None:
    clock = FrozenClock(moves_by_itself=False)
    with anyio.move_on_after(0.01):
        await clock.sleep(5)
    clock.advance(10.0)
    assert clock.monotonic_s() == 10.0
    clock.set_back(3600)
    assert clock.monotonic_s() == 10.0

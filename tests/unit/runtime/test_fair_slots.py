"""Places are given to users in turn, also when those who wait give up."""

import anyio
import pytest

from pincite.runtime.concurrency import FairSlots


async def settled() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("aaaab", "abaaa"),  # b had none while a had one
        ("aaabbbccc", "abcabcabc"),
        ("abab", "abab"),
    ],
)
async def test_users_take_turns(asked: str, served: str) -> None:
    slots, order = FairSlots(1), ""

    async def work(user: str) -> None:
        nonlocal order
        await slots.acquire(user)
        order += user
        await settled()
        slots.release(user)

    async with anyio.create_task_group() as tasks:
        for user in asked:
            tasks.start_soon(work, user)
    assert order == served
    assert (slots._free, slots._held, slots._waiting, slots._served) == (1, {}, {}, {})


async def test_the_next_place_is_for_whoever_has_fewest() -> None:
    slots, held = FairSlots(3), []

    async def hold(user: str) -> None:
        await slots.acquire(user)
        held.append(user)

    async with anyio.create_task_group() as tasks:
        for user in "aaaaabb":
            tasks.start_soon(hold, user)
        await settled()
        assert held == ["a", "a", "a"], "nobody else was there"
        slots.release("a")
        slots.release("a")
        await settled()
        assert held == ["a", "a", "a", "b", "a"], "b had none; then each had one, and a had waited longer"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("when", ["waiting", "at the same moment"])
async def test_who_is_cancelled_keeps_no_place(when: str) -> None:
    slots = FairSlots(1)
    await slots.acquire("a")
    scope = anyio.CancelScope()

    async def wait() -> None:
        with scope:
            await slots.acquire("b")
            slots.release("b")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await settled()
        if when != "waiting":
            slots.release("a")  # b's turn has come, and b has not run since
        scope.cancel()
    if when == "waiting":
        slots.release("a")
    with anyio.fail_after(60):
        await slots.acquire("c")
    assert slots._held == {"c": 1}

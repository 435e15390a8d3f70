"""Methods that work at their first call, whoever calls them meanwhile."""

import anyio
import anyio.lowlevel
import pytest

from pincite.runtime.concurrency import made_once, once


class Opened:
    def __init__(self) -> None:
        self.opened = 0
        self.fails = False

    @once
    async def connection(self) -> int:
        """The number of the connection."""
        self.opened += 1
        await anyio.lowlevel.checkpoint()
        if self.fails:
            raise OSError("away")
        return self.opened


async def test_all_who_call_get_what_the_first_call_gave() -> None:
    mine, other = Opened(), Opened()
    assert made_once(mine, "connection") is None
    got: list[int] = []

    async def ask() -> None:
        got.append(await mine.connection())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
    assert got == [1, 1, 1]
    assert made_once(mine, "connection") == 1
    assert (other.opened, made_once(other, "connection")) == (0, None)


async def test_what_failed_is_tried_again() -> None:
    mine = Opened()
    mine.fails = True
    with pytest.raises(OSError, match="away"):
        await mine.connection()
    assert made_once(mine, "connection") is None
    mine.fails = False
    assert await mine.connection() == 2

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from pincite.domain.errors import InvalidInput, StorageUnavailable
from pincite.runtime.concurrency import ResourcePool, resource_pool


@asynccontextmanager
async def service(log: list[str], name: str) -> AsyncIterator[str]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        log.append(f"open {name}")
        yield name
        log.append(f"close {name}")
        tasks.cancel_scope.cancel()


async def test_a_service_with_a_task_group_may_be_opened_in_any_task() -> None:
    log: list[str] = []
    async with resource_pool() as kept:
        kept.on_close(lambda: log.append("callback"))
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                assert await kept.open(service(log, "a")) == "a"

            tasks.start_soon(ask)
        assert log == ["open a"]
    assert log == ["open a", "close a", "callback"]


async def test_an_error_of_the_block_is_raised_as_it_is() -> None:
    log: list[str] = []

    async def fail() -> None:
        async with resource_pool() as kept:
            await kept.open(service(log, "a"))
            raise InvalidInput("mine")

    with pytest.raises(InvalidInput, match="mine"):
        await fail()
    assert log == ["open a", "close a"]


async def test_a_service_that_fails_to_open_tells_the_one_who_asked() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[str]:
        if not kept_closed:
            raise InvalidInput("no")
        yield ""

    kept_closed = False

    async with resource_pool() as kept:
        with pytest.raises(InvalidInput, match="no"):
            await kept.open(broken())
        assert await kept.open(service([], "b")) == "b"


async def test_cancelling_the_owner_closes_the_services() -> None:
    log: list[str] = []
    with anyio.move_on_after(0.01) as scope:
        async with resource_pool() as kept:
            kept.on_close(lambda: log.append("callback"))
            await kept.open(service(log, "a"))
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert log == ["open a", "close a", "callback"]


async def test_a_cancel_from_outside_closes_services_after_what_unwinds() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def store() -> AsyncIterator[str]:
        try:
            yield "a"
        finally:
            log.append("closed")

    with anyio.CancelScope() as outside:
        async with resource_pool() as kept:
            await kept.open(store())
            try:
                outside.cancel()
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.wait_all_tasks_blocked()
                    log.append("unwound")
    assert log == ["unwound", "closed"]


@pytest.mark.parametrize("steps", range(8))
async def test_a_service_whose_asker_is_cancelled_while_it_opens_holds_up_nobody(steps: int) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def slow() -> AsyncIterator[str]:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        log.append("open")
        try:
            yield "a"
        finally:
            log.append("closed")

    with anyio.fail_after(30):
        async with resource_pool() as kept:
            async with anyio.create_task_group() as askers:
                askers.start_soon(kept.open, slow())
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                askers.cancel_scope.cancel()
            assert await kept.open(slow()) == "a"
    assert log.count("open") == log.count("closed")
    assert log[-1] == "closed"


async def test_a_place_that_is_cancelled_tells_those_who_still_wait() -> None:
    async def ask(kept: ResourcePool) -> None:
        with pytest.raises(StorageUnavailable) as error:
            await kept.open(service_that_never_opens())
        assert error.value.reason == "closed"

    @asynccontextmanager
    async def service_that_never_opens() -> AsyncIterator[str]:
        await anyio.sleep_forever()
        yield ""

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as outside:
                async with resource_pool() as kept:
                    tasks.start_soon(ask, kept)
                    await anyio.wait_all_tasks_blocked()
                    outside.cancel()
                    await anyio.sleep_forever()

import anyio
import pytest

from pincite.domain.errors import DeadLink, InvalidInput
from pincite.runtime.recovery import first_failure


async def _raise(error: BaseException) -> None:
    raise error


async def _fail_in_tasks(error: BaseException) -> None:
    with first_failure():
        async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
            outer.start_soon(anyio.sleep_forever)
            inner.start_soon(_raise, error)


async def test_an_error_of_a_task_is_raised_as_it_is() -> None:
    with pytest.raises(DeadLink):
        await _fail_in_tasks(DeadLink("gone"))


async def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(InvalidInput), first_failure():
        raise InvalidInput("plain")
    with pytest.raises(ExceptionGroup):
        await _fail_in_tasks(ZeroDivisionError())

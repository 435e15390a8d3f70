"""One error out of a task group: what failed first, as it was raised."""

from collections.abc import Iterator
from contextlib import contextmanager

from pincite.domain.errors import PinciteError


@contextmanager
def first_failure() -> Iterator[None]:
    """Raise the first `PinciteError` of an exception group as it is; anything else passes unchanged.

    A task group wraps what its tasks raise, and callers want to catch `DeadLink`, not a group that holds one.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        found = group.split(PinciteError)[0]
        if found is None:
            raise
        raise _leaf(found) from group


def _leaf(group: BaseExceptionGroup[PinciteError]) -> PinciteError:
    inner = group.exceptions[0]
    return _leaf(inner) if isinstance(inner, BaseExceptionGroup) else inner

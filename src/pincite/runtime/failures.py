"""One error out of a task group: what failed first, as it was raised."""

from collections.abc import Iterator
from contextlib import contextmanager

from pincite.domain.errors import PinciteError
from pincite.runtime.open_files import too_many_open_files


@contextmanager
def first_failure() -> Iterator[None]:
    """Raise the first `PinciteError` of an exception group as it is; anything else passes unchanged.

    A task group wraps what its tasks raise, and callers want to catch `DeadLink`, not a group that holds one. What
    came of a process that may open no more files is that, wherever it happened.
    """
    try:
        yield
    except OSError as error:
        if (full := too_many_open_files(error)) is not None:
            raise full from error
        raise
    except BaseExceptionGroup as group:
        found = group.split(PinciteError)[0]
        if found is None:
            if (full := too_many_open_files(group)) is not None:
                raise full from group
            raise
        raise _leaf(found) from group


def _leaf(group: BaseExceptionGroup[PinciteError]) -> PinciteError:
    inner = group.exceptions[0]
    return _leaf(inner) if isinstance(inner, BaseExceptionGroup) else inner

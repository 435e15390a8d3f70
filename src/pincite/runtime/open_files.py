"""Running out of file descriptors: found behind whatever a library made of it, and told by the limit's own name.

A process at its limit fails in every place that opens something: files, sockets, databases, child processes, imports.
"""

import errno
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Final

from pincite.domain.errors import TooManyOpenFiles

resource: ModuleType | None
try:  # now, for it could not be opened later
    import resource
except ImportError:  # Windows has no such limit
    resource = None

_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE})
_LINKS: Final = 20
"""Causes of causes that are looked at: more than any library chains."""
_NEEDED: Final = 6
"""What opening one thing takes at most: SQLite a database with its log, its index and a folder; a pipe has two ends."""


def too_many_open_files(error: BaseException, *, silent: bool = False) -> TooManyOpenFiles | None:
    """The error to raise when `error` came of a process that can't open anything more; None otherwise.

    Args:
        error: as a library raised it.
        silent: whether the library may have lost the system's own number, as SQLite and name lookups do; then it is
            tried whether something can be opened.
    """
    if any(isinstance(cause, OSError) and cause.errno in _ERRNOS for cause in _causes(error)):
        return _told()
    return _told() if silent and not _can_open(_NEEDED) else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    for _ in range(_LINKS):
        if not waiting:
            return
        cause = waiting.pop()
        yield cause
        inner = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
        waiting += [link for link in (cause.__cause__, cause.__context__, *inner) if link is not None]


def _can_open(number: int) -> bool:
    opened: list[int] = []
    try:
        for _ in range(number):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  # what was opened must be closed
    except OSError as error:
        return error.errno not in _ERRNOS
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _told() -> TooManyOpenFiles:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else None
    of = "" if limit is None else f" of {limit}"
    return TooManyOpenFiles(f"this process is at its limit{of} open files and connections", context={"limit": limit})

"""Files and their limits: files that only their owner may read, and running out of file descriptors."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Final

from pincite.domain.errors import TooManyOpenFiles

# Files that only their owner may read, whatever the folder and the umask say.

# Read and written by the owner alone.
_MODE = 0o600


def make_private(path: Path) -> None:
    """Make the file where it is missing, and take it from others where it is ours. SQLite gives its logs the same mode.

    One that a group may write is shared on purpose and stays so. Errors: OSError, when it can't be made.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), _MODE))
    except FileExistsError:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):  # of somebody else, on a read-only mount, or gone by now
                file = Path(f"{path}{ending}")
                mode = stat.S_IMODE(file.stat().st_mode)
                if mode & 0o077 and not mode & stat.S_IWGRP:
                    file.chmod(mode & ~0o077)


# Running out of file descriptors: found behind whatever a library made of it, and told by the limit's own name.
#
# A process at its limit fails in every place that opens something: files, sockets, databases, child processes, imports.

resource: ModuleType | None
try:  # now, for it could not be opened later
    import resource
except ImportError:  # Windows has no such limit
    resource = None

_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE})
# Causes of causes that are looked at: more than any library chains.
_LINKS: Final = 20
# What opening one thing takes at most: SQLite a database with its log, its index and a folder; a pipe has two ends.
_NEEDED: Final = 6


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

"""Files that only their owner may read, whatever the folder and the umask say."""

import os
import stat
from contextlib import suppress
from pathlib import Path

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
                _take_from_others(Path(f"{path}{ending}"))


def _take_from_others(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077 and not mode & stat.S_IWGRP:
        path.chmod(mode & ~0o077)

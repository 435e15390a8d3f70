"""One process at a time at a small file: the lock is the system's, so it ends with whoever holds it."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pincite.domain.errors import Locked
from pincite.storage import failures

WAIT_S: Final = 20.0
_PAUSE_S: Final = 0.02


@contextmanager
def one_at_a_time(path: Path, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """A block that no other process or thread is in for the same file. The lock is `PATH.lock` beside it. Blocking.

    Errors: Locked (`file_locked`: another one did not let go in time), StorageUnavailable, StorageFull.
    """
    with failures.translated():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until_s = time.monotonic() + wait_s
        while not _taken(handle):
            if time.monotonic() > until_s:
                raise Locked(f"another process is changing {path}", reason="file_locked")
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(handle)  # lets go of the lock


if sys.platform == "win32":
    import msvcrt

    def _taken(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

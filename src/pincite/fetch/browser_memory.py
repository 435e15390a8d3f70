"""Ends a browser that takes too much memory: found by a mark on its command line, its children by their group."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio

_PROC = Path("/proc")
# A page can take a gigabyte within seconds; looking costs a read of /proc for each process.
_PAUSE_S = 0.5


def group_of(mark: str) -> int | None:
    """The process group of the process that has `mark` on its command line, or None."""
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                group = os.getpgid(int(entry.name))
                return group if group != os.getpgrp() else None  # never our own
    return None


def private_mb(group: int) -> float:
    """The memory that the processes of a group share with nobody, in MB.

    Source: proc(5), `statm`: resident minus shared pages.
    """
    pages = 0
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if os.getpgid(int(entry.name)) == group:
                numbers = (entry / "statm").read_text(encoding="ascii").split()
                pages += int(numbers[1]) - int(numbers[2])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def end_above(mark: str, max_mb: float) -> bool:
    """Whether the browser marked `mark` had to be killed for taking more than `max_mb`; returns when it is gone."""
    group = group_of(mark)
    while group is not None:
        used = private_mb(group)
        if used > max_mb:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
            return True
        if used == 0:
            break
        await anyio.sleep(_PAUSE_S)
    return False

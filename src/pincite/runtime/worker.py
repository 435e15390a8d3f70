"""Who works on a run: a name for this process, and whether the bearer of such a name is surely gone."""

import os
import platform
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_SPACE = Path("/proc/self/ns/pid")
_START_FIELD = 22
"""Source: proc(5), /proc/[pid]/stat: the time the process started after boot, in clock ticks."""


def this_worker() -> str:
    """A name of this process that no other process on any machine has: `host/boot/pid/start`."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def is_gone(worker: str) -> bool:
    """Whether the process so named has surely ended. False for another machine's, and whenever in doubt."""
    if not worker:
        return True
    machine, _, process = worker.partition("/")
    boot, _, process = process.partition("/")
    pid, _, started = process.partition("/")
    if f"{machine}/{boot}" != _machine() or boot == "-" or not pid.isdigit():
        return False
    return _started(int(pid)) != started


@cache
def _machine() -> str:
    # Process numbers mean the same only within one boot and one process namespace (a container has its own).
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()[:8] + "." + str(_PID_SPACE.stat().st_ino)
    except OSError:
        boot = "-"
    return f"{platform.node().replace('/', '_') or 'host'}/{boot}"


def _started(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "gone"
    after_name = stat.rpartition(")")[2].split()  # the name may hold spaces; field 3, the state, comes first
    return "gone" if after_name[0] in "ZX" else after_name[_START_FIELD - 3]

"""The machine and this installation: its time, files for their owner alone, file descriptors, how an extra is added."""

import errno
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType, ModuleType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pincite.domain.errors import ExtraNotInstalled, TooManyOpenFiles


class SystemClock:
    """Implements `ports.Clock` on the operating system's clocks."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; other tasks run meanwhile."""
        from anyio import sleep  # every command loads this module, and few wait

        await sleep(max(seconds, 0.0))


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


def replace_file(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file whole: who reads it sees the old text or the new one, and a full disk leaves the old alone.

    Errors: OSError.
    """
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}.partial")
    try:
        if private:
            partial.touch(mode=_MODE)  # closed to others before there is anything in it
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)  # nothing finds it by its name again, and it may hold keys
        raise


def process_fields(pid: int) -> list[str] | None:
    """What proc(5) tells of a process, from its state (field 3 of `stat`) on; None where it tells of no such one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()  # the name may hold spaces


# Running out of file descriptors: found behind any library's error, and reported by the limit's name.
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
        return _limit_reached()
    return _limit_reached() if silent and not _can_open_more() else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    for _ in range(_LINKS):
        if not waiting:
            return
        cause = waiting.pop()
        yield cause
        inner = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
        waiting += [link for link in (cause.__cause__, cause.__context__, *inner) if link is not None]


def _can_open_more() -> bool:
    opened: list[int] = []
    try:
        for _ in range(_NEEDED):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  # what was opened must be closed
    except OSError as error:
        return error.errno not in _ERRNOS
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _limit_reached() -> TooManyOpenFiles:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else None
    of = "" if limit is None else f" of {limit}"
    return TooManyOpenFiles(f"this process is at its limit{of} open files and connections", context={"limit": limit})


def install_extra(*names: str) -> str:
    """The command that adds the extras, as it can be typed. Paths of this machine are not in it: errors travel."""
    return command(_origin(), ",".join(names))


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """What can't be imported within the block is reported as the extra that brings it. Errors: ExtraNotInstalled."""
    try:
        yield
    except ImportError as error:
        raise ExtraNotInstalled(what, hint=f"Run: {install_extra(extra)}") from error


def command(origin: str, extras: str) -> str:
    """The command for a package that came from `origin`, the address pip was given; empty means an index."""
    name = PurePosixPath(unquote(urlsplit(origin).path)).name
    if origin.startswith("file:"):
        if name.endswith((".whl", ".tar.gz")):
            return f'pip install "./{name}[{extras}]" in the folder of that file'
        return f'pip install ".[{extras}]" in the folder of Pincite\'s source'
    source = f" @ {origin}" if origin else ""
    return f'pip install "pincite[{extras}]{source}"'


@cache
def _origin() -> str:
    """The address pip was given for this package (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # its mail and archive readers: a fifth of --help

    try:
        found = json.loads(distribution("pincite").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError, OSError):
        return ""
    vcs = found.get("vcs_info", {}).get("vcs", "")
    url = str(found.get("url", ""))
    return f"{vcs}+{url}" if vcs else url


# Options of every connection to PostgreSQL, so that none waits for ever for a machine that is gone. One that the URL
# names counts instead.
#
# Source: PostgreSQL, "Parameter Key Words" of libpq; psycopg 3, `Connection.connect`.
CONNECTION: Final[Mapping[str, int | None]] = MappingProxyType(
    {
        "prepare_threshold": None,  # no server-side prepared statements: they break behind a transaction pooler
        "connect_timeout": 10,
        # A server that vanished without a word is noticed within about a minute, over TCP.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
)


def default_options(url: str) -> dict[str, Any]:  # for `psycopg.connect`, whose arguments are of many types
    """What to pass beside a `postgresql://` URL: each option that it does not name itself."""
    named = {part.partition("=")[0] for part in url.partition("?")[2].split("&")}
    return {name: value for name, value in CONNECTION.items() if name not in named}

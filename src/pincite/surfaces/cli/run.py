"""How every command runs: one event loop, one way to print an error, one exit code table."""

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import typer

from pincite.domain.errors import Internal, InvalidInput, PinciteError
from pincite.runtime.failures import first_failure
from pincite.surfaces.cli import secrecy
from pincite.surfaces.outcomes import EXIT_INTERRUPTED, exit_code
from pincite.surfaces.secrecy import masked

T = TypeVar("T")


def run_async(job: Callable[[], Awaitable[T]], *, as_json: bool, on_interrupt: Callable[[], None] | None = None) -> T:
    """What `job` returns; an error is printed and ends the process with its exit code, Ctrl-C with 130."""
    import anyio

    return guarded(lambda: anyio.run(_interruptible, job), as_json=as_json, on_interrupt=on_interrupt)


async def _interruptible(job: Callable[[], Awaitable[T]]) -> T:
    """What `job` returns. Ctrl-C cancels it until it ends; a second one leaves at once.

    The event loop itself cancels the main task a single time, which a task group that ends at that moment loses.

    Errors: KeyboardInterrupt, and what `job` raises.
    """
    import anyio

    if sys.platform == "win32":  # no signal receiver there
        return await job()
    done: list[T] = []
    failure: list[Exception] = []
    interrupted = False
    work = anyio.CancelScope()

    async def watch(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        nonlocal interrupted
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                if interrupted:
                    os._exit(EXIT_INTERRUPTED)
                interrupted = True
                work.cancel()

    async with anyio.create_task_group() as tasks:
        await tasks.start(watch)
        with work:
            try:
                done.append(await job())
            except Exception as error:  # raised below: the task group would wrap it
                failure.append(error)
        tasks.cancel_scope.cancel()
    if interrupted:
        raise KeyboardInterrupt
    if failure:
        raise failure[0]
    return done[0]


def guarded(job: Callable[[], T], *, as_json: bool, on_interrupt: Callable[[], None] | None = None) -> T:
    """What `job` returns, with errors printed as a front door does."""
    secrecy.guard_logs()
    try:
        with first_failure():
            return job()
    except PinciteError as error:
        fail(error, as_json=as_json)
    except KeyboardInterrupt:
        if on_interrupt is not None:
            on_interrupt()
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except typer.Exit:
        raise
    except BrokenPipeError:
        raise typer.Exit(0) from None
    except Exception as error:  # the border of the process: a defect becomes a typed error, its trace goes to stderr
        note(secrecy.traceback_of(error))
        fail(Internal(f"{type(error).__name__}: {error}"), as_json=as_json)


def fail(error: PinciteError, *, as_json: bool) -> NoReturn:
    """Print `error` for a person (stderr) or a program (stdout) and leave with its exit code."""
    if as_json:
        print_json({"error": masked(error.as_dict())})
    else:
        note(masked(f"Error: {error.message} [{error.code}]"))
        if error.hint:
            note(masked(f"Hint: {error.hint}"))
        if isinstance(error, Internal):
            note(f"Reason: {error.reason}")
    raise typer.Exit(exit_code(error))


def note(text: str) -> None:
    """A line on stderr, control characters of page text made harmless."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def print_text(text: str) -> None:
    """The result on stdout, ending in one line end."""
    sys.stdout.write(printable(text).rstrip("\n") + "\n")
    sys.stdout.flush()


def print_bytes(data: bytes) -> None:
    """A file on stdout: text made harmless and ending in one line end, anything else as it is."""
    try:
        print_text(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


def print_json(value: object) -> None:
    """The result on stdout as one JSON object."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")
    sys.stdout.flush()


def format_of(path: Path) -> str:
    """The export format that a file name asks for: its suffix, or both where the last alone says too little."""
    return "csl.json" if path.name.endswith(".csl.json") else path.suffix.lstrip(".") or "md"


def write_file(path: Path, data: bytes) -> None:
    """Write a result file and say so. Errors: InvalidInput (the place can't be written)."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}", hint="The run itself is kept.") from None
    note(f"Written: {path}")


def printable(text: str) -> str:
    """`text` without terminal control sequences: pages must not be able to move the cursor or set the title."""
    return "".join(c if c in "\n\t" or (c.isprintable() or c == "\xa0") else "�" for c in text)

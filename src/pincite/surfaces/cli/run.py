"""Runs commands: the event loop, Ctrl-C within a second, and what goes to stdout (results) and stderr (the rest)."""

import json
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO, TypeVar, cast

import typer
from typer.exceptions import TyperException

from pincite.domain.errors import Internal, InvalidInput, PinciteError, TooManyOpenFiles
from pincite.runtime.recovery import first_failure
from pincite.surfaces.errors import EXIT_INTERRUPTED, EXIT_OK, exit_code, masked

if TYPE_CHECKING:
    from pincite.engine import Engine

# For a cancelled run to store how far it came (a few milliseconds on an idle machine); a second is felt as hanging.
GRACE_S: Final = 0.7
_SHOW_CURSOR: Final = "\x1b[?25h"  # a live view has hidden it
# Makes the line that Ctrl-C prints.
Message = Callable[[], str]


class Interrupts:
    """Handles Ctrl-C in this process while `installed` is open."""

    def __init__(self) -> None:
        self.requested = False
        self._stop: Callable[[], None] | None = None
        self._message: Message = lambda: "Stopped."
        self._final_message = self._message
        self._printed = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle Ctrl-C while the block runs, unless the shell has this process ignore it (a job in the background)."""
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        if ignored or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stopping(self, stop: Callable[[], None], message: Message | None = None) -> Iterator[None]:
        """Call `stop` on Ctrl-C while the block runs, and print what `message` returns."""
        before = self._stop, self._message
        self._stop, self._message = stop, message or self._message
        try:
            yield
        finally:
            self._stop, self._message = before

    def print_message(self) -> None:
        """Print the line, once, past Python's buffers: the signal may come in the middle of a write to them."""
        if not self._printed:
            self._printed = True
            line = self._final_message() + "\n"
            os.write(2, (_SHOW_CURSOR + "\r" + line if os.isatty(2) else line).encode(errors="replace"))

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            self._leave()
        self._final_message = self._message
        if self._stop is None:
            self._leave()
        self.requested = True
        # A thread of its own: the main one may be in native code, where no signal reaches Python.
        grace = threading.Timer(GRACE_S, self._leave)
        grace.daemon = True
        grace.start()
        self._stop()

    def _leave(self) -> NoReturn:
        self.print_message()
        # Without clean-up: threads that hang would be waited for, and what was paid for is on record.
        os._exit(EXIT_INTERRUPTED)


def raise_interrupt() -> NoReturn:
    """Stop work that runs outside of an event loop. Errors: KeyboardInterrupt."""
    raise KeyboardInterrupt


def masked_traceback(error: BaseException) -> str:
    """The traceback of a defect, without secrets."""
    return str(masked("".join(traceback.format_exception(error)))).rstrip()


class _Masking(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The log line and its traceback, without secrets."""
        return str(masked(super().format(record)))


T = TypeVar("T")
INTERRUPTS = Interrupts()
# The process's stdout, while everybody else's prints are sent to stderr.
_STDOUT: ContextVar[TextIO | None] = ContextVar("stdout", default=None)


def run_async(job: Callable[[], Awaitable[T]], stopped: Message | None = None) -> T:
    """Run `job` on an event loop. `stopped` makes the line that Ctrl-C prints. Errors: of `job`, KeyboardInterrupt."""
    import anyio

    kept = _STDOUT.set(sys.stdout)
    try:
        # Libraries print what they like: on stdout there is the result alone, which a program reads.
        with INTERRUPTS.stopping(raise_interrupt, stopped), redirect_stdout(sys.stderr):
            done = anyio.run(_interruptible, job)
    finally:
        _STDOUT.reset(kept)
    if INTERRUPTS.requested:
        raise KeyboardInterrupt
    return done[0]


def with_engine(
    do: Callable[["Engine"], Awaitable[T]], settings: Mapping[str, object], stopped: Message | None = None
) -> T:
    """Open an engine with these settings and return what `do` makes of it; otherwise as `run_async`."""

    async def job() -> T:
        from pincite.engine import Engine

        async with Engine.from_settings(**settings) as engine:
            return await do(engine)

    return run_async(job, stopped)


class _OutputFailed(Exception):
    """stdout could not be written."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _ResultStream:
    """stdout with errors of its own, so that they can be told from those of files and networks."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> "_ResultStream":
        """The same for bytes."""
        return _ResultStream(self._stream.buffer)

    def write(self, data: Any) -> Any:
        """Errors: _Unprinted."""
        try:
            return self._stream.write(data)
        except OSError as error:
            raise _OutputFailed(error) from error

    def flush(self) -> None:
        """Errors: _Unprinted."""
        try:
            self._stream.flush()
        except OSError as error:
            raise _OutputFailed(error) from error


@contextmanager
def result_stream() -> Iterator[TextIO]:
    """Stdout for results. What libraries print while a command works goes to stderr.

    Ends the command with 0 when the reader of a pipe has gone, and as for bad input when stdout can't be written.
    """
    out = _ResultStream(_STDOUT.get() or sys.stdout)
    try:
        yield cast("TextIO", out)
        out.flush()
    except _OutputFailed as error:
        _discard_output(out)
        if isinstance(error.cause, BrokenPipeError):  # `pincite ... | head` has read enough
            raise typer.Exit(EXIT_OK) from None
        failure = InvalidInput(f"stdout can't be written: {error.cause.strerror}", hint="What was stored is kept.")
        print_error(failure)
        raise typer.Exit(exit_code(failure)) from None


def _discard_output(stream: Any) -> None:
    """Redirect the stream to nowhere: what is still in its buffer would fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


async def _interruptible(job: Callable[[], Awaitable[T]]) -> list[T]:
    """The result of `job` as a list; an empty one when Ctrl-C cancelled it. Errors: those of `job`, unless cancelled.

    A cancel scope, and not the task, is cancelled: that of a task happens a single time, which a task group that ends
    at that moment loses.
    """
    import asyncio

    import anyio

    loop = asyncio.get_running_loop()
    done: list[T] = []
    work = anyio.CancelScope()

    def stop() -> None:
        loop.call_soon_threadsafe(work.cancel)  # wakes the loop, too

    with work, INTERRUPTS.stopping(stop):
        try:
            done.append(await job())
        except Exception:
            if not INTERRUPTS.requested:
                raise
    return done


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """Print an error of the block, as text or JSON, and end the process with its exit code (130 after Ctrl-C)."""
    # Without logging set up Python prints the warnings of libraries itself.
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Masking())
    try:
        with INTERRUPTS.stopping(raise_interrupt), first_failure():
            yield
    except PinciteError as error:
        _exit_with(error, as_json=as_json)
    except KeyboardInterrupt:
        INTERRUPTS.print_message()
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except (typer.Exit, typer.Abort, TyperException, _OutputFailed):  # `result_stream` reports the last
        raise
    except Exception as error:  # the border of the process: a defect becomes a typed error, its trace goes to stderr
        print_note(masked_traceback(error))
        _exit_with(Internal(f"{type(error).__name__}: {error}"), as_json=as_json)


def _exit_with(error: PinciteError, *, as_json: bool) -> NoReturn:
    """Print `error` for a person (stderr) or a program (stdout) and leave with its exit code."""
    if as_json:
        print_json({"error": _masked_text(error.as_dict(), error)})
    else:
        print_error(error)
    raise typer.Exit(exit_code(error))


def print_error(error: PinciteError) -> None:
    """Print on stderr what failed and what to do about it."""
    print_note(_masked_text(f"Error: {error.message} [{error.code}]", error))
    if error.hint:
        print_note(_masked_text(f"Hint: {error.hint}", error))
    if isinstance(error, Internal):
        print_note(f"Reason: {error.reason}")


def _masked_text(value: T, error: PinciteError) -> T:
    """The value without secrets, unless no file can be opened any more: masking would have to open modules."""
    result: T = value if isinstance(error, TooManyOpenFiles) else masked(value)
    return result


def print_note(text: str) -> None:
    """Print a line on stderr, without control characters of page text. A stderr that can't be written is ignored."""
    try:
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()
    except OSError:  # a run that was paid for still prints its result
        _discard_output(sys.stderr)


def confirm(question: str) -> bool:
    """Ask for a yes on stderr; typer's own question leaves a space on stdout."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def read_stdin() -> str:
    """All of stdin as text: UTF-8 with or without a byte order mark, else in the terminal's encoding."""
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode(sys.stdin.encoding or "latin-1", "replace")


def print_text(text: str) -> None:
    """Print a result on stdout, ending in one line break."""
    with result_stream() as out:
        out.write(printable(text).rstrip("\n") + "\n")


def print_bytes(data: bytes) -> None:
    """Print a file on stdout: text without control characters, anything else as it is."""
    try:
        print_text(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        with result_stream() as out:
            out.buffer.write(data)


def print_json(value: object) -> None:
    """Print a result on stdout as one JSON object."""
    with result_stream() as out:
        out.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_value(value: object) -> None:
    """Print a value on stdout in the JSON shape that programs get."""
    from pincite.domain.codec import to_json

    print_json(to_json(value, outside=True))


def print_result(value: object, text: str, *, as_json: bool) -> None:
    """Print a result on stdout: the value as JSON, or the text."""
    if as_json:
        print_value(value)
    else:
        print_text(text)


def printable(text: str) -> str:
    """`text` without terminal control sequences: pages must not be able to move the cursor or set the title."""
    return "".join(c if c in "\n\t" or (c.isprintable() or c == "\xa0") else "�" for c in text)

"""How every command runs: one event loop, one way to print an error, one exit code table, Ctrl-C within a second."""

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
# The line to print.
Say = Callable[[], str]


class Interrupts:
    """What Ctrl-C does in this process, from `installed` on."""

    def __init__(self) -> None:
        self.asked = False
        self._stop: Callable[[], None] | None = None
        self._say: Say = _stopped
        self._last_word: Say = _stopped
        self._told = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have Ctrl-C handled here while the block runs, where that is this process's to decide."""
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in the background of a shell
        if ignored or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._asked)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stopping(self, stop: Callable[[], None], say: Say | None = None) -> Iterator[None]:
        """Have Ctrl-C call `stop` while the block runs, and `say` be what it prints."""
        before = self._stop, self._say
        self._stop, self._say = stop, say or self._say
        try:
            yield
        finally:
            self._stop, self._say = before

    def tell(self) -> None:
        """Print the line, once. Written past Python's buffers: a signal may come in the middle of a write to them."""
        if not self._told:
            self._told = True
            line = self._last_word() + "\n"
            os.write(2, (_SHOW_CURSOR + "\r" + line if os.isatty(2) else line).encode(errors="replace"))

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            self._leave()
        self._last_word = self._say
        if self._stop is None:
            self._leave()
        self.asked = True
        # A thread of its own: the main one may be in native code, where no signal reaches Python.
        grace = threading.Timer(GRACE_S, self._leave)
        grace.daemon = True
        grace.start()
        self._stop()

    def _leave(self) -> NoReturn:
        self.tell()
        # Without clean-up: threads that hang would be waited for, and what was paid for is on record.
        os._exit(EXIT_INTERRUPTED)


def _stopped() -> str:
    return "Stopped."


def give_up() -> NoReturn:
    """What stops work that is on no event loop. Errors: KeyboardInterrupt."""
    raise KeyboardInterrupt


def traceback_of(error: BaseException) -> str:
    """The trace of a defect, without secrets."""
    return str(masked("".join(traceback.format_exception(error)))).rstrip()


class _Masking(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The line, with its traceback."""
        return str(masked(super().format(record)))


T = TypeVar("T")
INTERRUPTS = Interrupts()
# The process's stdout, while everybody else's prints are sent to stderr.
_STDOUT: ContextVar[TextIO | None] = ContextVar("stdout", default=None)


def run_async(job: Callable[[], Awaitable[T]], stopped: Say | None = None) -> T:
    """What `job` returns; `stopped` gives the line that Ctrl-C prints. Errors: those of `job`, KeyboardInterrupt."""
    import anyio

    kept = _STDOUT.set(sys.stdout)
    try:
        # Libraries print what they like: on stdout there is the result alone, which a program reads.
        with INTERRUPTS.stopping(give_up, stopped), redirect_stdout(sys.stderr):
            done = anyio.run(_interruptible, job)
    finally:
        _STDOUT.reset(kept)
    if INTERRUPTS.asked:
        raise KeyboardInterrupt
    return done[0]


def of_engine(do: Callable[["Engine"], Awaitable[T]], settings: Mapping[str, object], stopped: Say | None = None) -> T:
    """What `do` makes of an engine that is open with these settings; the rest as for `run_async`."""

    async def job() -> T:
        from pincite.engine import Engine

        async with Engine.from_settings(**settings) as engine:
            return await do(engine)

    return run_async(job, stopped)


class _Unprinted(Exception):
    """What stdout said instead of taking something."""

    def __init__(self, said: OSError) -> None:
        super().__init__(str(said))
        self.said = said


class _Out:
    """A stream for results, whose own failures are told from those of files, networks and terminals."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> "_Out":
        """The same for bytes."""
        return _Out(self._stream.buffer)

    def write(self, data: Any) -> Any:
        """Errors: _Unprinted."""
        try:
            return self._stream.write(data)
        except OSError as error:
            raise _Unprinted(error) from error

    def flush(self) -> None:
        """Errors: _Unprinted."""
        try:
            self._stream.flush()
        except OSError as error:
            raise _Unprinted(error) from error


@contextmanager
def results() -> Iterator[TextIO]:
    """Where results go, and nothing else: what libraries print while a command works goes to stderr.

    The command ends with 0 when its reader has gone, with the code of bad input when what stdout is takes nothing.
    """
    out = _Out(_STDOUT.get() or sys.stdout)
    try:
        yield cast("TextIO", out)
        out.flush()
    except _Unprinted as error:
        _send_nowhere(out)
        if isinstance(error.said, BrokenPipeError):  # `pincite ... | head` has read enough
            raise typer.Exit(EXIT_OK) from None
        unprinted = InvalidInput(f"stdout can't be written: {error.said.strerror}", hint="What was stored is kept.")
        tell(unprinted)
        raise typer.Exit(exit_code(unprinted)) from None


def _send_nowhere(stream: Any) -> None:
    """Have the stream take all from now on: what is still held back would fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


async def _interruptible(job: Callable[[], Awaitable[T]]) -> list[T]:
    """What `job` returns, or nothing when Ctrl-C cancelled it. Errors: what `job` raises, unless it was cancelled.

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
            if not INTERRUPTS.asked:
                raise
    return done


@contextmanager
def reported(*, as_json: bool) -> Iterator[None]:
    """Have an error of the block printed, for a person or a program, and end the process with its code; Ctrl-C: 130."""
    # A process that has no logs of its own: Python prints warnings of libraries then.
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Masking())
    try:
        with INTERRUPTS.stopping(give_up), first_failure():
            yield
    except PinciteError as error:
        _fail(error, as_json=as_json)
    except KeyboardInterrupt:
        INTERRUPTS.tell()
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except (typer.Exit, typer.Abort, TyperException, _Unprinted):  # the last: of --help, told by `results` around it
        raise
    except Exception as error:  # the border of the process: a defect becomes a typed error, its trace goes to stderr
        note(traceback_of(error))
        _fail(Internal(f"{type(error).__name__}: {error}"), as_json=as_json)


def _fail(error: PinciteError, *, as_json: bool) -> NoReturn:
    """Print `error` for a person (stderr) or a program (stdout) and leave with its exit code."""
    if as_json:
        print_json({"error": _sayable(error.as_dict(), error)})
    else:
        tell(error)
    raise typer.Exit(exit_code(error))


def tell(error: PinciteError) -> None:
    """Say on stderr what failed and what to do."""
    note(_sayable(f"Error: {error.message} [{error.code}]", error))
    if error.hint:
        note(_sayable(f"Hint: {error.hint}", error))
    if isinstance(error, Internal):
        note(f"Reason: {error.reason}")


def _sayable(value: T, error: PinciteError) -> T:
    """The value without secrets. That no file can be opened holds none, and the mask would have to open its modules."""
    said: T = value if isinstance(error, TooManyOpenFiles) else masked(value)
    return said


def note(text: str) -> None:
    """A line on stderr, control characters of page text made harmless; nothing where stderr takes none."""
    try:
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()
    except OSError:  # a run that was paid for ends with its result, whether anybody reads how it went
        _send_nowhere(sys.stderr)


def confirmed(question: str) -> bool:
    """Whether a person says yes. Asked on stderr: typer's own question leaves a space on stdout."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def typed() -> str:
    """What came on stdin, as UTF-8 with or without its mark, else as the terminal's encoding has it."""
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode(sys.stdin.encoding or "latin-1", "replace")


def print_text(text: str) -> None:
    """The result on stdout, ending in one line end."""
    with results() as out:
        out.write(printable(text).rstrip("\n") + "\n")


def print_bytes(data: bytes) -> None:
    """A file on stdout: text made harmless and ending in one line end, anything else as it is."""
    try:
        print_text(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        with results() as out:
            out.buffer.write(data)


def print_json(value: object) -> None:
    """The result on stdout as one JSON object."""
    with results() as out:
        out.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_value(value: object) -> None:
    """A value of ours on stdout, in the JSON that other programs get."""
    from pincite.domain.codec import to_json

    print_json(to_json(value, outside=True))


def print_result(value: object, said: str, *, as_json: bool) -> None:
    """A result on stdout: as JSON the value, to people what is said of it."""
    if as_json:
        print_value(value)
    else:
        print_text(said)


def printable(text: str) -> str:
    """`text` without terminal control sequences: pages must not be able to move the cursor or set the title."""
    return "".join(c if c in "\n\t" or (c.isprintable() or c == "\xa0") else "�" for c in text)

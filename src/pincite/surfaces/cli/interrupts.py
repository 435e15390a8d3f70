"""Ctrl-C: one line on stderr and exit code 130, within a second, whatever the process is doing.

Three stages: before there is work the process leaves at once; work on an event loop is cancelled, other work gets a
KeyboardInterrupt; what has not ended `GRACE_S` later, or at a second Ctrl-C, is left as it is. That is safe at any
instant, as `kill -9` is: what was stored stays, and runs can be resumed.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from pincite.surfaces.outcomes import EXIT_INTERRUPTED

GRACE_S: Final = 0.7
"""For a cancelled run to store how far it came (a few milliseconds on an idle machine); a second is felt as hanging."""
_SHOW_CURSOR: Final = "\x1b[?25h"  # a live view has hidden it

Say = Callable[[], str]
"""The line to print."""


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
        patience = threading.Timer(GRACE_S, self._leave)
        patience.daemon = True
        patience.start()
        self._stop()

    def _leave(self) -> NoReturn:
        self.tell()
        os._exit(EXIT_INTERRUPTED)


def _stopped() -> str:
    return "Stopped."


def give_up() -> NoReturn:
    """What stops work that is on no event loop. Errors: KeyboardInterrupt."""
    raise KeyboardInterrupt

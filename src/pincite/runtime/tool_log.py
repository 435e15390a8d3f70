"""The log of calls: noted at once, written in batches by a thread, so that no call waits for a disk.

What is noted is on disk at most a second later, and when the log is closed. A killed process loses that second.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.errors import PinciteError
from pincite.domain.events import Json
from pincite.domain.records import LoggedCall

# Written in batches: a reader of the log sees a call within a second.
BEHIND_S: Final = 0.8
# A bound on memory while the disk is away; the oldest go first.
MAX_WAITING: Final = 20_000
# A log is for what was asked, not for pages that came along with it.
MAX_TEXT: Final = 2_000
# The last batch takes milliseconds; a disk that hangs must not keep a process from ending.
_CLOSE_S: Final = 10.0


class ToolLog:
    """Takes notes of calls. Closed by whoever made it.

    Args:
        write: stores a batch; called in a thread of the log's own. A batch that can't be written is given up, after an
            error that may pass it is tried again until the log is closed.
        behind_s: how long a note may wait for others.
    """

    def __init__(self, write: Callable[[Sequence[LoggedCall]], None], *, behind_s: float = BEHIND_S) -> None:
        self._write = write
        self._behind_s = behind_s
        self._waiting: deque[LoggedCall] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._noted = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = 0

    def note(self, call: LoggedCall) -> None:
        """Have the call written soon. Where notes come faster than they can be written, the oldest go."""
        self._waiting.append(replace(call, request=shortened(call.request)))
        self._noted.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="pincite-tool-log", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Write what is waiting, and end. Blocks for a moment."""
        self._closing.set()
        self._noted.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while True:
            self._noted.wait()
            if not self._closing.wait(self._behind_s):
                self._noted.clear()
            self._write_waiting()
            if self._closing.is_set() and not self._waiting:
                return

    def _write_waiting(self) -> None:
        """Write what is there; not kept beyond that, for the next call may be hours away."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not batch:
            return
        try:
            self._write(batch)
        except PinciteError as error:  # a log that can't be written must not stop the work it tells of
            self._give_up(batch, again=error.retryable and not self._closing.is_set())

    def _give_up(self, batch: Sequence[LoggedCall], *, again: bool) -> None:
        room = MAX_WAITING - len(self._waiting) if again else 0
        kept = batch[max(0, len(batch) - room) :] if room > 0 else ()
        self.lost += len(batch) - len(kept)
        self._waiting.extendleft(reversed(kept))
        if kept:
            self._noted.set()


def shortened(value: Json) -> Json:
    """Plain JSON whose texts are at most `MAX_TEXT` characters long."""
    match value:
        case str():
            return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value)} characters)"
        case list():
            return [shortened(item) for item in value]
        case dict():
            return {name: shortened(item) for name, item in value.items()}
        case _:
            return value

"""Reading in processes that can be killed: a hostile page costs one process, never the service.

Pages from outside and those of libraries are read here. Each worker has a memory limit and a deadline of processor time
per page, kept from outside, and is replaced after some hundred pages, since native parsers leak. Time on the wall does
not count, or a busy machine would call sound pages unreadable; only one that stands still is ended by it, much later.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self

from pincite.domain.errors import InvalidInput, ParseError, TooLarge
from pincite.domain.events import Json
from pincite.runtime.reader_process import HEADER, MAX_REPLY_BYTES, REPLY, T, exactly, unpack
from pincite.runtime.system import process_fields, too_many_open_files

_MODULE = "pincite.runtime.reader_process"
# Above every limit of fetching; the frame's length is checked before memory is taken.
_MAX_BODY_BYTES = 64_000_000
# So many times its deadline on the wall a page may take: as if six others wanted the same processor.
_STANDSTILL = 6.0
# A call waits so long for a free process: as one that stands still is ended by then.
_WAIT_S = 60.0
# CPU time is counted in hundredths of a second: looking sooner sees nothing new.
_SHORTEST_LOOK_S = 0.05
# Source: proc(5), /proc/[pid]/stat: utime and stime, fields 14 and 15; counted from the state, field 3.
_CPU_FIELDS = slice(11, 13)


@dataclass(slots=True, eq=False)
class _Worker:
    """One process and how many pages it has read."""

    process: subprocess.Popen[bytes]
    pages: int = 0

    def ask(self, meta: bytes, body: bytes) -> bytes | None:
        requests, replies = self.process.stdin, self.process.stdout
        if requests is None or replies is None:
            return None
        try:
            requests.write(HEADER.pack(len(meta), len(body)) + meta)
            requests.write(body)
            requests.flush()
            head = exactly(replies, REPLY.size)
            size = REPLY.unpack(head)[0] if head else 0
            return exactly(replies, size) if 0 < size <= MAX_REPLY_BYTES else None
        except (BrokenPipeError, ConnectionError, ValueError):
            return None

    def stop(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue  # Unsent bytes to a dead process.
        self.process.wait()


class ReaderPool(Generic[T]):
    """What a reader makes of bodies, in up to `size` processes. Thread-safe; each call blocks its own thread.

    Of documents it is an `Extractor`.

    Args:
        kind: what the reader makes; it crosses by the codec of the domain.
        reader: what the processes run on each body, its address and its type, as `module:function`.
        options: more arguments of the reader by name, read when a process is started.
        size: processes at most; started when first needed.
        revision: changes when `reader` reads differently.
        deadline_s: seconds of processor time that a page may take before its process is killed.
        pages_per_worker: pages after which a process is replaced.
    """

    def __init__(
        self,
        kind: type[T],
        reader: str,
        options: Callable[[], Mapping[str, Json]] = dict,
        *,
        size: int = 2,
        revision: str = "",
        deadline_s: float = 10.0,
        memory_bytes: int = 1_500_000_000,
        pages_per_worker: int = 500,
    ) -> None:
        if size < 1:
            raise InvalidInput("a pool needs at least one process")
        # Without `site`: start-up files of installed packages would run in every reader. The path is handed over.
        self._command = [sys.executable, "-S", "-m", _MODULE, reader, str(memory_bytes), str(int(deadline_s) + 1)]
        self._kind = kind
        self._options = options
        self.revision = revision
        self._deadline_s = deadline_s
        self._pages_per_worker = pages_per_worker
        # Last in, first out: the process that has just read has its modules in memory. None stands for one not started
        # yet.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._running: set[_Worker] = set()
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def extract(self, body: bytes, url: str, content_type: str | None) -> T:
        """What the reader makes of `body`.

        Errors:
            ParseError: also `parser_timeout`, `parser_died` and `readers_busy`. EmptyContent, TooLarge,
            UnsupportedContentType, ExtraNotInstalled as the reader gives them.
        """
        if len(body) > _MAX_BODY_BYTES:
            raise TooLarge(f"{len(body):,} bytes are more than a reader takes")
        meta = json.dumps({"url": url, "content_type": content_type}).encode()
        worker = self._take()
        self._running.add(worker)
        if self._closed.is_set():  # since it was taken
            worker.process.kill()
        try:
            reply, timed_out = self._ask(worker, meta, body)
        except BaseException:
            worker.stop()
            self._idle.put(None)
            raise
        finally:
            self._running.discard(worker)
        if reply is None:
            worker.stop()
            self._idle.put(None)
            if timed_out:
                message = f"reading the page took more than {self._deadline_s:g} s of processor time"
                raise ParseError(message, reason="parser_timeout", context={"url": url})
            raise ParseError("the page ended its reader", reason="parser_died", context={"url": url})
        self._give_back(worker)
        return unpack(self._kind, reply)

    def close(self) -> None:
        """End all processes at once; running calls fail with `parser_died`."""
        self._closed.set()
        for worker in tuple(self._running):
            worker.process.kill()
        self._end_idle()

    def _end_idle(self) -> None:
        while True:
            try:
                idle = self._idle.get_nowait()
            except queue.Empty:
                return
            if idle is not None:
                idle.stop()

    def _take(self) -> _Worker:
        if self._closed.is_set():
            raise InvalidInput("the pool is closed")
        try:
            worker = self._idle.get(timeout=_WAIT_S)
        except queue.Empty as error:
            raise ParseError("all readers are busy", reason="readers_busy", retryable=True) from error
        if worker is not None and worker.process.poll() is None:
            return worker
        if worker is not None:
            worker.stop()
        return self._started()

    def _started(self) -> _Worker:
        try:
            process = subprocess.Popen(
                [*self._command, json.dumps(dict(self._options()))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # No other variable: keys are in the environment, and hostile pages in the process.
                env={"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONUTF8": "1"},
                start_new_session=True,
            )
        except OSError as error:
            self._idle.put(None)
            if (full := too_many_open_files(error)) is not None:
                raise full from error
            raise
        return _Worker(process)

    def _ask(self, worker: _Worker, meta: bytes, body: bytes) -> tuple[bytes | None, bool]:
        """The reply, and whether the deadline passed first."""
        watch = _Watch(worker.process, self._deadline_s)
        try:
            return worker.ask(meta, body), watch.timed_out
        finally:
            watch.stop()

    def _give_back(self, worker: _Worker) -> None:
        worker.pages += 1
        if worker.pages >= self._pages_per_worker or self._closed.is_set():
            worker.stop()
            self._idle.put(None)
        else:
            self._idle.put(worker)
            if self._closed.is_set():  # since it was looked at: nobody else ends this one
                self._end_idle()


class _Watch:
    """Kills a process that uses more processor time than it may from now on, and one that stands still."""

    def __init__(self, process: subprocess.Popen[bytes], deadline_s: float) -> None:
        self.timed_out = False
        self._process = process
        self._deadline_s = deadline_s
        self._ends_at = time.monotonic() + deadline_s * _STANDSTILL
        self._used_before_s = _cpu_s(process.pid)
        self._ended = threading.Event()
        self._look_in(deadline_s)

    def stop(self) -> None:
        self._ended.set()
        self._timer.cancel()

    def _look_in(self, seconds: float) -> None:
        self._timer = threading.Timer(max(seconds, _SHORTEST_LOOK_S), self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        if self._ended.is_set():
            return
        used_s, wall_left_s = _cpu_s(self._process.pid), self._ends_at - time.monotonic()
        if used_s is None or self._used_before_s is None:  # where nobody can say, the clock on the wall counts
            left_s = 0.0
        else:
            left_s = self._deadline_s - (used_s - self._used_before_s)
        # Processor time, so that a busy machine makes no page unreadable; the wall clock for one that sleeps.
        if left_s > 0 and wall_left_s > 0:
            self._look_in(min(left_s, wall_left_s))
            return
        self.timed_out = True
        self._process.kill()


def _cpu_s(pid: int) -> float | None:
    """Seconds of processor time that a process has used, or None where the system does not say."""
    fields = process_fields(pid)
    return None if fields is None else sum(map(int, fields[_CPU_FIELDS])) / os.sysconf("SC_CLK_TCK")

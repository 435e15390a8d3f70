"""Reading in worker processes that can be killed: a hostile page costs one process, never the service.

`ExtractorPool` is an `Extractor`. Each worker has a memory and a CPU limit, a wall deadline per page kept from
outside, and is replaced after some hundred pages, since native parsers leak.
"""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from pincite.domain.errors import InvalidInput, ParseError, TooLarge
from pincite.domain.page import Document
from pincite.fetch.worker_process import HEADER, REPLY
from pincite.fetch.worker_wire import unpack_reply
from pincite.runtime.open_files import too_many_open_files

READER = "pincite.fetch.extractors:extract"
_MODULE = "pincite.fetch.worker_process"
_MAX_BODY_BYTES = 64_000_000


@dataclass(slots=True, eq=False)
class _Worker:
    """One process and how many pages it has read."""

    process: subprocess.Popen[bytes]
    pages: int = 0

    def ask(self, meta: bytes, body: bytes) -> bytes | None:
        """The reply, or None when the process ended instead."""
        requests, replies = self.process.stdin, self.process.stdout
        if requests is None or replies is None:
            return None
        try:
            requests.write(HEADER.pack(len(meta), len(body)) + meta)
            requests.write(body)
            requests.flush()
            head = _exactly(replies, REPLY.size)
            return _exactly(replies, REPLY.unpack(head)[0]) if head else None
        except (BrokenPipeError, ConnectionError, ValueError):
            return None

    def stop(self) -> None:
        """End the process and give its pipes back."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue  # Unsent bytes to a dead process.
        self.process.wait()


class ExtractorPool:
    """An `Extractor` whose work happens in up to `size` processes. Thread-safe; each call blocks its own thread.

    Args:
        size: processes at most; started when first needed.
        reader: what the processes run on each body, as `module:function`.
        revision: changes when `reader` reads differently.
        deadline_s: wall seconds a page may take before its process is killed; also its CPU limit.
        wait_s: seconds a call waits for a free process.
        memory_bytes: address space of a process.
        pages_per_worker: pages after which a process is replaced.
    """

    def __init__(
        self,
        size: int = 2,
        *,
        reader: str = READER,
        revision: str = "",
        deadline_s: float = 10.0,
        wait_s: float = 60.0,
        memory_bytes: int = 1_500_000_000,
        pages_per_worker: int = 500,
    ) -> None:
        if size < 1:
            raise InvalidInput("a pool needs at least one process")
        self._command = [sys.executable, "-m", _MODULE, reader, str(memory_bytes), str(int(deadline_s) + 1)]
        self.revision = revision
        self._deadline_s = deadline_s
        self._wait_s = wait_s
        self._pages_per_worker = pages_per_worker
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._running: set[_Worker] = set()
        self._closed = threading.Event()

    def __enter__(self) -> "ExtractorPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """The document in `body`, read in a worker.

        Errors:
            ParseError: also `parser_timeout`, `parser_died` and `readers_busy`. EmptyContent, TooLarge,
            UnsupportedContentType, ExtraNotInstalled as `extract` gives them.
        """
        if len(body) > _MAX_BODY_BYTES:
            raise TooLarge(f"{len(body):,} bytes are more than a reader takes")
        meta = json.dumps({"url": url, "content_type": content_type}).encode()
        worker = self._take()
        self._running.add(worker)
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
            reason = "parser_timeout" if timed_out else "parser_died"
            message = (
                f"reading the page took more than {self._deadline_s:g} s" if timed_out else "the page ended its reader"
            )
            raise ParseError(message, reason=reason, context={"url": url})
        self._give_back(worker)
        return unpack_reply(reply)

    def close(self) -> None:
        """End all processes at once; running calls fail with `parser_died`."""
        self._closed.set()
        for worker in tuple(self._running):
            worker.process.kill()
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
            worker = self._idle.get(timeout=self._wait_s)
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
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
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
        timed_out = threading.Event()
        timer = threading.Timer(self._deadline_s, _expire, (timed_out, worker.process.kill))
        timer.daemon = True
        timer.start()
        try:
            return worker.ask(meta, body), timed_out.is_set()
        finally:
            timer.cancel()

    def _give_back(self, worker: _Worker) -> None:
        worker.pages += 1
        if worker.pages >= self._pages_per_worker or self._closed.is_set():
            worker.stop()
            self._idle.put(None)
        else:
            self._idle.put(worker)


def _expire(timed_out: threading.Event, kill: Callable[[], None]) -> None:
    timed_out.set()
    kill()


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    data = stream.read(size)
    return data if len(data) == size else None

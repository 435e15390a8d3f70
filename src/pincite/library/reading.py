"""Pages read in child processes that can be killed: one page at a time each, with a deadline.

A page that hangs or kills its reader costs that page alone. The children run `serve`: they get the
extractor once and pages as frames (8 bytes of length, then a pickle) on standard input.
"""

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Internal, ParseError, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.library.records import RawPage
from pincite.library.spelling import page_words
from pincite.ranking.passages import CutPassage, cut_passages, passage_text, vector_key
from pincite.ranking.terms import index_terms

if TYPE_CHECKING:  # every reader process would pay for it
    from pincite.ports import Extractor

# Starting a reader costs about what reading fifty pages does: for so many pages one reader is as quick as two.
_ALONE_PAGES = 100
# Of zlib: a third of the time of its default for a sixth more bytes.
_FAST = 1
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """All that the index keeps of a page."""

    document_id: str
    title: str
    title_terms: str
    language: str
    published_at: datetime | None
    text: str = field(repr=False)
    passages: tuple[CutPassage, ...] = field(repr=False)
    vector_keys: tuple[bytes, ...] = field(repr=False)
    words: frozenset[str] = field(repr=False)
    reading: bytes = field(repr=False)
    """The document, as `stored_reading` reads it."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a page could not be read."""

    reason: str
    detail: str = ""


def prepare(extractor: "Extractor", page: RawPage) -> PreparedPage | Unread:
    """The page, read and cut into passages, or why it could not be."""
    try:
        document = extractor.extract(page.body, page.url, page.content_type or None)
    except PinciteError as error:
        return Unread(error.reason, error.message)
    if not document.text.strip():
        return Unread("empty_content", "the page holds no text")
    title = document.title or page.url.rsplit("/", 1)[-1]
    passages = cut_passages(document)
    text = document.standing(0, len(document.text))  # what is crossed out is shown in no list of pages
    embedded = [passage_text(title, p.draft.section, text[p.draft.start : p.draft.end]) for p in passages]
    return PreparedPage(
        document_id=document.document_id,
        title=title,
        title_terms=" ".join(index_terms(title)),
        language=document.language,
        published_at=document.published_at or document.modified_at,
        text=text,
        passages=passages,
        vector_keys=tuple(map(vector_key, embedded)),
        words=page_words(text),
        reading=_packed(document),
    )


def _packed(document: Document) -> bytes:
    data = json.dumps(to_json(document, sparse=True), ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(data.encode("utf-8", "surrogatepass"), _FAST)


def stored_reading(packed: bytes) -> Document | None:
    """The document in `PreparedPage.reading`; None when that is damaged: the page is there to be read again."""
    try:
        return from_json(Document, json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass")))
    except (ValueError, zlib.error, ParseError):
        return None


def serve() -> None:
    """Be a reader: get an extractor, then pages, and answer with what the index keeps of each, until the pipe ends."""
    answers = os.fdopen(os.dup(1), "wb")
    # What a native library prints must not get between the frames.
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    extractor = pickle.loads(_frame(questions.read(8)))  # noqa: S301  # the parent wrote it
    while head := questions.read(8):
        page = pickle.loads(_frame(head))  # noqa: S301  # the parent wrote it
        answer: PreparedPage | Unread
        try:
            answer = prepare(extractor, page)
        except Exception as error:  # border of the task: one page must not end the reader
            answer = Unread(Internal.default_reason, f"{type(error).__name__}: {error}"[:500])
        data = pickle.dumps(answer)
        answers.write(len(data).to_bytes(8, "big") + data)
        answers.flush()


def _frame(head: bytes) -> bytes:
    return sys.stdin.buffer.read(int.from_bytes(head, "big"))


class _Child:
    """One reader process; started on first use and again after it was killed."""

    def __init__(self, extractor: "Extractor", deadline_s: float) -> None:
        self._hello = pickle.dumps(extractor)
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, page: RawPage) -> PreparedPage | Unread:
        """The page as the child read it, or why it did not."""
        process = self._running()
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            process.kill()

        # Killed and not asked to stop: native code that hangs hears nothing.
        timer = threading.Timer(self._deadline_s, kill)
        timer.start()
        try:
            _write_frame(process, pickle.dumps(page))
            answer = _read_frame(process)
        finally:
            timer.cancel()
        if answer is not None:
            result: PreparedPage | Unread = pickle.loads(answer)  # noqa: S301  # our own child wrote it
            return result
        self.close()
        if killed.is_set():
            return Unread("reader_timeout", f"not read within {self._deadline_s:g} s")
        return Unread("reader_died", "the reader process ended while reading it")

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent: a page would count as unreadable
            )
            _write_frame(self._process, self._hello)
        return self._process


def _write_frame(process: subprocess.Popen[bytes], data: bytes) -> None:
    if process.stdin is None:
        return
    # A dead child is noticed when its answer is read.
    with suppress(OSError):
        process.stdin.write(len(data).to_bytes(8, "big") + data)
        process.stdin.flush()


def _read_frame(process: subprocess.Popen[bytes]) -> bytes | None:
    if process.stdout is None:
        return None
    head = process.stdout.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "big")
    data = process.stdout.read(size)
    return data if len(data) == size else None


def read_all(
    jobs: Iterable[tuple[K, RawPage]], extractor: "Extractor", workers: int, deadline_s: float
) -> Iterator[tuple[K, RawPage, PreparedPage | Unread]]:
    """Every job with its page as read, in order, at most `2 * workers` pages in memory at a time.

    Args:
        jobs: pages with a key each; taken one by one as readers become free.
        extractor: reads the pages; it must be picklable when `workers` is above 0.
        workers: child processes; 0 reads in this process, without deadline.
        deadline_s: seconds for one page.
    """
    if workers < 1:
        for key, page in jobs:
            yield key, page, prepare(extractor, page)
        return
    free: queue.SimpleQueue[_Child] = queue.SimpleQueue()
    children = [_Child(extractor, deadline_s) for _ in range(workers)]
    free.put(children[0])
    ending = threading.Event()

    def read(page: RawPage) -> PreparedPage | Unread:
        child = free.get()
        try:
            return Unread("stopped") if ending.is_set() else child.ask(page)
        finally:
            free.put(child)

    waiting: deque[tuple[K, RawPage, Future[PreparedPage | Unread]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for number, (key, page) in enumerate(jobs):
            if number == _ALONE_PAGES:
                for child in children[1:]:
                    free.put(child)
            waiting.append((key, page, pool.submit(read, page)))
            # One page in work and one at hand for each reader; more would only be memory.
            if len(waiting) >= 2 * workers:
                first_key, first_page, result = waiting.popleft()
                yield first_key, first_page, result.result()
        while waiting:
            first_key, first_page, result = waiting.popleft()
            yield first_key, first_page, result.result()
    finally:
        ending.set()
        for _, _, result in waiting:
            result.cancel()
        # Once to end a read that is under way, once more for a child that was just being started.
        for _ in range(2):
            for child in children:
                child.close()
            pool.shutdown(wait=True)

"""Pages read for the index, as those from outside in processes that can be killed (`runtime.readers`)."""

import json
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import EmptyContent, ParseError
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.library.records import RawPage
from pincite.library.spelling import page_words
from pincite.ranking.passages import KEY_BYTES, CutPassage, cut_passages, passage_text, vector_key
from pincite.runtime.reader_process import MAX_REPLY_BYTES, PAGE_ERRORS
from pincite.runtime.readers import ReaderPool
from pincite.text.tokens import index_terms

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
    words: tuple[str, ...] = field(repr=False)
    reading: bytes = field(repr=False)
    """The document, as `stored_reading` reads it."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a page could not be read."""

    reason: str
    detail: str = ""


def told_to_read(body: bytes, url: str, content_type: str | None, extractor: str, made_of: Json) -> PreparedPage:
    """As `prepare`, for processes that are told which extractor (`module:class`) of what."""
    module, _, name = extractor.partition(":")
    return prepare(from_json(getattr(import_module(module), name), made_of), body, url, content_type)


def prepare(extractor: "Extractor", body: bytes, url: str, content_type: str | None) -> PreparedPage:
    """The page, read and cut into passages. Errors: those of the extractor."""
    document = extractor.extract(body, url, content_type)
    if not document.text.strip():
        raise EmptyContent("the page holds no text")
    title = document.title or url.rsplit("/", 1)[-1]
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
        words=tuple(page_words(text)),
        reading=_packed(document),
    )


def _vetted(page: PreparedPage) -> PreparedPage:
    """The page as a process gave it, where an index can hold it. Errors: ParseError.

    A process that a page has taken over may answer what it likes, and is not to stop the reading of all others.
    """
    drafts = [passage.draft for passage in page.passages]
    try:
        (page.published_at or datetime.now(UTC)).astimezone(UTC)
        fits = [len(key) for key in page.vector_keys] == [KEY_BYTES] * len(drafts)
    except OverflowError:  # a moment of the year 1 that is in no year elsewhere
        fits = False
    if not fits or any(not 0 <= draft.start <= draft.end <= len(page.text) for draft in drafts):
        raise ParseError("the reader gave no sensible answer", reason="parser_failed")
    return page


def _packed(document: Document) -> bytes:
    data = json.dumps(to_json(document, sparse=True), ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(data.encode("utf-8", "surrogatepass"), _FAST)


def stored_reading(packed: bytes) -> Document | None:
    """The document in `PreparedPage.reading`; None when that is damaged: the page is there to be read again."""
    try:
        # No further than a page can be: a process that a page has taken over may have packed it.
        data = zlib.decompressobj().decompress(packed, MAX_REPLY_BYTES)
        return from_json(Document, json.loads(data.decode("utf-8", "surrogatepass")))
    except (ValueError, zlib.error, ParseError):
        return None


def read_all(
    jobs: Iterable[tuple[K, RawPage]], extractor: "Extractor", workers: int, deadline_s: float
) -> Iterator[tuple[K, RawPage, PreparedPage | Unread]]:
    """Every job with its page as read, in order, at most `2 * workers` pages in memory at a time.

    Args:
        jobs: pages with a key each; taken one by one as readers become free.
        extractor: reads the pages; a dataclass of JSON values when `workers` is above 0.
        workers: child processes; 0 reads in this process, without deadline.
        deadline_s: seconds of processor time for one page.
    """

    def read(page: RawPage, reader: Callable[[bytes, str, str | None], PreparedPage]) -> PreparedPage | Unread:
        try:
            return reader(page.body, page.url, page.content_type or None)
        except PAGE_ERRORS as error:
            return Unread(error.reason, error.message)

    if workers < 1:
        for key, page in jobs:
            yield key, page, read(page, partial(prepare, extractor))
        return
    kind = type(extractor)
    told = {"extractor": f"{kind.__module__}:{kind.__qualname__}", "made_of": to_json(extractor)}
    readers = ReaderPool(
        PreparedPage, f"{__name__}:{told_to_read.__name__}", lambda: told, size=workers, deadline_s=deadline_s
    )
    free = threading.Semaphore(1)

    def read_there(page: RawPage) -> PreparedPage | Unread:
        with free:
            return read(page, lambda body, url, kind: _vetted(readers.extract(body, url, kind)))

    waiting: deque[tuple[K, RawPage, Future[PreparedPage | Unread]]] = deque()
    threads = ThreadPoolExecutor(workers)
    try:
        for number, (key, page) in enumerate(jobs):
            if number == _ALONE_PAGES and workers > 1:
                free.release(workers - 1)
            waiting.append((key, page, threads.submit(read_there, page)))
            # One page in work and one at hand for each reader; more would only be memory.
            if len(waiting) >= 2 * workers:
                first_key, first_page, result = waiting.popleft()
                yield first_key, first_page, result.result()
        while waiting:
            first_key, first_page, result = waiting.popleft()
            yield first_key, first_page, result.result()
    finally:
        for _, _, result in waiting:
            result.cancel()
        # Once to end a read that is under way, once more for a process that was just given back.
        readers.close()
        threads.shutdown(wait=True)
        readers.close()

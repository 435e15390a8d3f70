"""`LocalLibrary`: one folder, WARC or WACZ with its index; what the search provider and the archive backend stand on.

All methods block; callers in async code run them in a worker thread. An instance may be shared by threads.
"""

import json
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType

from pincite.domain.errors import NotFound
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document
from pincite.domain.search import IndexReport, LibraryPage, ListedPage, PageHit, PassageKind, Query, Survey
from pincite.library.folder import open_source, read_again
from pincite.library.index import Progress, Reading, Update, indexed_key
from pincite.library.lookup import Lookup
from pincite.library.reading import stored_reading
from pincite.library.records import RawPage, SourceLimits
from pincite.library.schema import LAYOUT, listed, mapped, open_index, state, writer_lock
from pincite.library.spelling import survey
from pincite.library.vectors import VectorProgress, make_vectors
from pincite.ports import Extractor
from pincite.ranking.passages import CutPassage, Draft
from pincite.ranking.vectors import KnownVectors

# Another process may be indexing the same folder: thousands of pages take minutes, and its work is ours as well.
_LOCK_WAIT_S = 600.0


class LocalLibrary(AbstractContextManager["LocalLibrary"]):
    """A searchable library. Implements ports.PageIndex, ports.Vocabulary, ports.PageSource.

    Nothing is indexed before `refresh`.

    Args:
        path: a folder of HTML, Markdown, text and other pages, a WARC, or a WACZ.
        index_dir: where indexes are kept, one SQLite file for each library.
        extractor: reads pages; a dataclass of JSON values when `workers` is above 0.
        revision: changes when the extractor reads differently; all pages are then read again.
        readers: optional packages that are here to read with; when others are, what was skipped is tried again.
        workers: child processes that read pages; 0 reads in this process.
        limits: bounds of reading.
        embedder: ranks by meaning as well, and keeps the vectors it makes; None: words alone.

    Errors: LibraryNotFound, InvalidInput (manifest), StorageFull. Of every method: StorageUnavailable (the index is
        damaged).
    """

    def __init__(
        self,
        path: Path,
        *,
        index_dir: Path,
        extractor: Extractor,
        revision: str = "",
        readers: tuple[str, ...] = (),
        workers: int = 2,
        limits: SourceLimits | None = None,
        embedder: KnownVectors | None = None,
    ) -> None:
        self._source = open_source(path, limits or SourceLimits())
        self._reading = Reading(extractor, workers, readers)
        self._revision = revision
        identity = sha256_hex(str(self._source.location).encode())[:12]
        # 40 characters of the name, to know the file by; who it is says the hash.
        name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in self._source.manifest.name)
        self._file = index_dir / f"{name[:40] or 'library'}-{identity}-v{LAYOUT}.sqlite"
        self._connection = open_index(self._file)
        self._lock = threading.RLock()
        self._embedder = embedder
        self._lookup = Lookup(self._connection, embedder)
        self._is_refreshed = False

    @property
    def name(self) -> str:
        """The library's name: that of its manifest, folder or file."""
        return self._source.manifest.name

    def refresh(self, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date with the files; unchanged ones are not read.

        Errors: LibraryNotFound, ArchiveCorrupt, InvalidInput, Locked, StorageFull.
        """
        # The source is read again under the lock: it may have changed, and another process may have done the work.
        with writer_lock(self._file, _LOCK_WAIT_S), mapped(self._file):
            self._source = open_source(self._source.location, self._source.limits)
            # A connection of its own: searches go on over the other while pages are read.
            writer = open_index(self._file)
            try:
                report = Update(writer, self._file, self._source, self._reading).run(self._revision, progress)
            finally:
                writer.close()
        with self._lock:
            self._lookup.forget()
            self._is_refreshed = True
        return report

    def state(self) -> IndexReport:
        """What is in the index and what is not, as the last update left it; no file is looked at."""
        with self._lock, mapped(self._file):
            return state(self._connection, self._source.limits.skipped_kept)

    def make_vectors(self, progress: VectorProgress) -> int:
        """Make the vectors of passages that are missing, of heads first; how many. Search works before they are there.

        Args:
            progress: is told how many of how many are done; what it raises ends the work, and what was made stays.
        """
        if self._embedder is None:
            return 0
        with mapped(self._file):
            # Its own, too: vectors take minutes, and the lock would keep every search waiting.
            reader = open_index(self._file)
            try:
                made = make_vectors(reader, self._embedder, progress)
            finally:
                reader.close()
        with self._lock:
            self._lookup.forget()
        return made

    def search(self, query: Query) -> tuple[PageHit, ...]:
        """The best pages, best first, within the query's domain lists and dates."""
        with self._lock, mapped(self._file):
            return self._lookup.pages(query)

    def survey(self, text: str) -> Survey:
        """What the library knows of the words of a question: frequencies, words that are likely typos."""
        with self._lock, mapped(self._file):
            return survey(self._connection, text)

    def urls(self) -> tuple[str, ...]:
        """The addresses of all pages, sorted."""
        with self._lock, mapped(self._file):
            rows = self._connection.execute("SELECT url FROM pages WHERE is_current = 1 ORDER BY url").fetchall()
        return tuple(url for (url,) in rows)

    def listing(self) -> tuple[ListedPage, ...]:
        """All pages, by address: their titles, their files, and the addresses that files name as their own."""
        with self._lock, mapped(self._file):
            return listed(self._connection, self._source)

    def page(self, url: str) -> LibraryPage:
        """The page as stored in the folder or archive; another spelling of its address finds it too.

        Errors: NotFound (no page of the library has this address, or its file is gone), ArchiveCorrupt (it changed).
        """
        with self._lock, mapped(self._file):
            row = self._connection.execute(
                "SELECT url, path, member, at_byte, length, content_type, captured_at, note"
                " FROM pages JOIN files USING (file_id) WHERE (url = ? OR url_key = ?) AND is_current = 1"
                # The exact spelling first, then the same one each time.
                " ORDER BY url <> ?, url LIMIT 1",
                (url, indexed_key(url), url),
            ).fetchone()
        if row is None:
            raise NotFound(f"the library {self.name} has no page {url}", reason="not_in_library")
        stored, path, member, at_byte, length, content_type, captured_at, note = row
        wanted = RawPage(stored, b"", content_type, datetime.fromisoformat(captured_at), note, member, at_byte, length)
        found = read_again(self._source, path, wanted)
        return LibraryPage(
            url=stored,
            body=found.body,
            content_type=found.content_type,
            captured_at=found.captured_at if member else None,
            note=note if member else f"{note}, dated {found.captured_at:%Y-%m-%d}",
        )

    def reading(self, url: str, body_sha256: str) -> Document | None:
        """What was read out of these bytes when the page was indexed by the extractor in use, or None."""
        # Before a refresh nobody knows whether another extractor read the page.
        if not self._is_refreshed:
            return None
        with self._lock, mapped(self._file):
            row = self._connection.execute(
                "SELECT reading FROM pages WHERE url = ? AND body_sha256 = ? LIMIT 1", (url, body_sha256)
            ).fetchone()
        return None if row is None else stored_reading(row[0])

    def cut_passages(self, document_id: str) -> tuple[CutPassage, ...] | None:
        """The passages of a document that was read out of a page of this library, or None."""
        with self._lock, mapped(self._file):
            rows = self._connection.execute(
                'SELECT start, "end", kind, section, label, headings, body FROM passages WHERE page_id ='
                " (SELECT page_id FROM pages WHERE document_id = ? LIMIT 1) ORDER BY passage_id",
                (document_id,),
            ).fetchall()
        passages = (
            CutPassage(Draft(start, end, PassageKind(kind), tuple(json.loads(section)), label), headings, body)
            for start, end, kind, section, label, headings, body in rows
        )
        return tuple(passages) or None

    def passages_near(self, document_id: str, wanted: Sequence[float]) -> dict[int, float]:
        """How near the passages of a page are to a vector, by where they begin.

        Only those that open sections while the vectors of others are not made; none without theirs.
        """
        with self._lock, mapped(self._file):
            return self._lookup.passages_near(document_id, wanted)

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            self._connection.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the index."""
        self.close()

"""Bringing an index up to date: new and changed files are read, gone ones removed, the rest left alone.

A file counts as unchanged when size and time are the same, or when its bytes are. Work is committed in batches; a
file is marked done with its last page, so a killed run goes on where it was.
"""

import hashlib
import json
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pincite.domain.errors import PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.search import IndexReport, Skipped
from pincite.library.folder import FileEntry, Source, list_files, pages_of
from pincite.library.reading import PreparedPage, Unread, read_all
from pincite.library.records import Ignored, RawPage
from pincite.library.schema import mapped, noted, state
from pincite.library.spelling import page_words
from pincite.ports import Extractor
from pincite.urls.keys import url_key

# A commit costs a sync of the disk: one for each page would be most of the time.
_BATCH_PAGES = 100
# What is written is committed at least so often: nobody loses more when the process is stopped.
_BATCH_S = 1.0
# A file is hashed without being held in memory.
_HASH_CHUNK = 1 << 20

# Called with the number of pages read so far and the place of the last one; what it raises ends the update.
Progress = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """How pages are read: by what, in how many child processes, with which optional packages, by which deadline."""

    extractor: Extractor
    workers: int
    optional: tuple[str, ...] = ()
    deadline_s: float = 30.0


@dataclass(slots=True)
class _Tally:
    """What an update has done so far."""

    added: int = 0
    removed: int = 0
    ignored: int = 0
    unchanged: int = 0
    skipped: int = 0


class _Known(NamedTuple):
    """A file as the last update left it, in the order of the columns asked for."""

    file_id: int
    size_bytes: int
    mtime_ns: int
    sha256: str
    done: int
    pages: int


@dataclass(slots=True)
class _File:
    """A file being read: which of its pages stay, how many are out to be read, whether all were handed out."""

    file_id: int
    entry: FileEntry
    sha256: str
    keep: set[int] = field(default_factory=set)
    unread: int = 0
    is_listed: bool = False


class Update:
    """One pass over a library. The caller holds the writer lock."""

    def __init__(self, connection: sqlite3.Connection, file: Path, source: Source, reading: Reading) -> None:
        self._db = connection
        self._file = file
        self._source = source
        self._reading = reading
        self._tally = _Tally()
        self._files: list[_File] = []
        self._words: Counter[str] = Counter()
        self._committed_at_s = time.monotonic()

    def run(self, revision: str, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date and say what was done.

        Errors:
            ArchiveCorrupt: the library is one archive and it can't be read at all.
            StorageUnavailable, StorageFull: as said.
        """
        started = time.monotonic()
        with mapped(self._file):
            self._start_over_if_other(revision)
            self._retry_if_others_read()
            # What listing skips belongs to no file, and is found again below.
            self._db.execute("DELETE FROM skipped WHERE file = ''")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._read_changed(progress)
                self._finish_files()
                self._keep_words()
                self._mark_current()
                # An update that was stopped kept its pages only.
                is_counted = noted(self._db, "totals") is not None and noted(self._db, "uncounted") is None
                if self._tally.added or self._tally.removed or not is_counted:
                    self._count()
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            return self._report(time.monotonic() - started)

    def _count(self) -> None:
        """Count what scoring needs of the whole library; without it no page is found."""
        (passages,) = self._db.execute("SELECT count(*) FROM passages").fetchone()
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('totals', ?)", (json.dumps([passages]),))
        self._db.execute("DELETE FROM frequencies")
        self._db.execute("INSERT INTO frequencies SELECT term, doc FROM passage_vocabulary")
        self._db.execute("DELETE FROM meta WHERE key = 'uncounted'")

    # ---- what changed -------------------------------------------------------------------------------------

    def _start_over_if_other(self, revision: str) -> None:
        """Forget everything when the pages were read by another extractor revision or under another manifest."""
        manifest = self._source.manifest
        identity = json.dumps([revision, manifest.name, [str(f) for f in manifest.folders], manifest.exclude])
        # Another extractor cuts other passages: a mixed index would rank the two against each other.
        if noted(self._db, "identity") == identity:
            return
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')")
        for table in ("passages", "pages", "files", "skipped", "words"):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # names from the line above
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (identity,))
        self._db.execute("COMMIT")

    def _retry_if_others_read(self) -> None:
        """Count files with something skipped as changed when other optional packages are here than at the last update.

        Only then: trying a format that nothing here reads would cost a reader process at each question.
        """
        optional = json.dumps(self._reading.optional)
        if noted(self._db, "optional") == optional:
            return
        self._db.execute("UPDATE files SET done = 0 WHERE path IN (SELECT file FROM skipped WHERE is_ignored = 0)")
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('optional', ?)", (optional,))

    def _read_changed(self, progress: Progress | None) -> None:
        reading = self._reading
        read = read_all(self._jobs(), reading.extractor, reading.workers, reading.deadline_s)
        for written, (file, page, prepared) in enumerate(read, 1):
            file.unread -= 1
            if isinstance(prepared, Unread):
                self._skip(file.entry.path, Skipped(page.url, prepared.reason, prepared.detail))
            else:
                self._put(file, page, prepared)
                self._tally.added += 1
            if progress is not None:
                try:
                    progress(written, page.url)
                except BaseException:  # whoever stops the work keeps what was read
                    self._commit()
                    raise
            if written % _BATCH_PAGES == 0 or time.monotonic() - self._committed_at_s >= _BATCH_S:
                self._commit()

    def _commit(self) -> None:
        self._finish_files()
        self._keep_words()
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('uncounted', '')")
        self._db.execute("COMMIT")
        self._db.execute("BEGIN IMMEDIATE")
        self._committed_at_s = time.monotonic()

    def _jobs(self) -> Iterator[tuple[_File, RawPage]]:
        rows = self._db.execute(
            "SELECT path, file_id, size_bytes, mtime_ns, sha256, done,"
            " (SELECT count(*) FROM pages WHERE pages.file_id = files.file_id) FROM files"
        ).fetchall()
        known = {path: _Known(*kept) for path, *kept in rows}
        for found in list_files(self._source):
            if isinstance(found, Ignored):
                self._ignore("", found)
            elif isinstance(found, Skipped):
                self._skip("", found)
            else:
                yield from self._file_jobs(found, known.pop(found.path, None))
        # What is left of the known files is not there any more.
        for path, left in known.items():
            pages = self._db.execute("SELECT page_id FROM pages WHERE file_id = ?", (left.file_id,)).fetchall()
            for (page_id,) in pages:
                self._drop_page(page_id)
            self._db.execute("DELETE FROM skipped WHERE file = ?", (path,))
            self._db.execute("DELETE FROM files WHERE file_id = ?", (left.file_id,))

    def _file_jobs(self, entry: FileEntry, known: _Known | None) -> Iterator[tuple[_File, RawPage]]:
        # As rsync and make do: a change that keeps both size and time is not seen.
        if known and known.done and (known.size_bytes, known.mtime_ns) == (entry.size_bytes, entry.mtime_ns):
            self._tally.unchanged += known.pages
            return
        sha256 = _sha256_of(self._source.root, entry)
        # Touched or copied, with the same bytes: a checkout sets new times on every file.
        if known and known.done and sha256 and known.sha256 == sha256:
            self._db.execute("UPDATE files SET mtime_ns = ? WHERE file_id = ?", (entry.mtime_ns, known.file_id))
            self._tally.unchanged += known.pages
            return
        if known:
            file_id = known.file_id
        else:
            values = (entry.path, entry.size_bytes, entry.mtime_ns)
            added = self._db.execute("INSERT INTO files (path, size_bytes, mtime_ns) VALUES (?,?,?)", values)
            file_id = added.lastrowid or 0
        # Until its last page is in: a killed update reads this file again.
        self._db.execute("UPDATE files SET done = 0 WHERE file_id = ?", (file_id,))
        self._db.execute("DELETE FROM skipped WHERE file = ?", (entry.path,))
        file = _File(file_id, entry, sha256)
        self._files.append(file)
        for found in pages_of(self._source, entry):
            if isinstance(found, Ignored):
                self._ignore(entry.path, found)
            elif isinstance(found, Skipped):
                self._skip(entry.path, found)
            elif not self._has(found, file):
                file.unread += 1
                yield file, found
        file.is_listed = True

    def _has(self, page: RawPage, file: _File) -> bool:
        """Whether the index has the page as it is, or a newer capture of it: of several the newest counts."""
        row = self._db.execute(
            "SELECT page_id, body_sha256, captured_at FROM pages WHERE file_id = ? AND url = ?",
            (file.file_id, page.url),
        ).fetchone()
        if row is None:
            return False
        page_id, body_sha256, captured_at = row
        if page_id in file.keep and captured_at > _stamp(page.captured_at):  # seen in this pass already
            return True
        if body_sha256 != sha256_hex(page.body):
            return False
        file.keep.add(page_id)
        self._db.execute(
            "UPDATE pages SET member = ?, at_byte = ?, length = ?, captured_at = ?, note = ?, content_type = ?"
            " WHERE page_id = ?",
            (page.member, page.offset, page.length, _stamp(page.captured_at), page.note, page.content_type, page_id),
        )
        self._tally.unchanged += 1
        return True

    # ---- writing ------------------------------------------------------------------------------------------

    def _put(self, file: _File, page: RawPage, prepared: PreparedPage) -> None:
        old = self._db.execute(
            "SELECT page_id, captured_at FROM pages WHERE file_id = ? AND url = ?", (file.file_id, page.url)
        ).fetchone()
        if old is not None:
            if old[0] in file.keep and old[1] > _stamp(page.captured_at):
                return
            self._drop_page(old[0])
        published = _stamp(prepared.published_at) if prepared.published_at else None
        cursor = self._db.execute(
            "INSERT INTO pages (file_id, url, url_key, member, at_byte, length, content_type, captured_at, note,"
            " body_sha256, document_id, title, language, published_at, text, reading)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (file.file_id, page.url, indexed_key(page.url), page.member, page.offset, page.length, page.content_type,
             _stamp(page.captured_at), page.note, sha256_hex(page.body), prepared.document_id, prepared.title,
             prepared.language, published, zlib.compress(prepared.text.encode("utf-8", "surrogatepass"), 6),
             prepared.reading),
        )  # fmt: skip  # in the order of the columns
        page_id = cursor.lastrowid or 0
        file.keep.add(page_id)
        self._db.executemany(
            'INSERT INTO passages (page_id, start, "end", kind, section, label, title, headings, body, vector_key)'
            " VALUES (?,?,?,?,?,?,?,?,?,?)",
            ((page_id, passage.draft.start, passage.draft.end, passage.draft.kind.value,
              json.dumps(passage.draft.section, ensure_ascii=False), passage.draft.label, prepared.title_terms,
              passage.headings, passage.body, key)
             for passage, key in zip(prepared.passages, prepared.vector_keys, strict=True)),
        )  # fmt: skip  # in the order of the columns
        self._db.execute(
            "INSERT INTO passage_terms (rowid, title, headings, body)"
            " SELECT passage_id, title, headings, body FROM passages WHERE page_id = ?",
            (page_id,),
        )
        self._words.update(prepared.words)

    def _drop_page(self, page_id: int) -> None:
        row = self._db.execute("SELECT text FROM pages WHERE page_id = ?", (page_id,)).fetchone()
        self._words.subtract(page_words(zlib.decompress(row[0]).decode("utf-8", "surrogatepass")) if row else ())
        self._db.execute(
            "INSERT INTO passage_terms (passage_terms, rowid, title, headings, body)"
            " SELECT 'delete', passage_id, title, headings, body FROM passages WHERE page_id = ?",
            (page_id,),
        )
        for table in ("passages", "pages"):
            self._db.execute(f"DELETE FROM {table} WHERE page_id = ?", (page_id,))  # noqa: S608  # names from above
        self._tally.removed += 1

    def _keep_words(self) -> None:
        """Add what was counted since the last time to the number of pages that have each word."""
        self._db.executemany(
            "INSERT INTO words VALUES (?, ?) ON CONFLICT (word) DO UPDATE SET pages = pages + excluded.pages",
            ((word, pages) for word, pages in self._words.items() if pages),
        )
        if any(pages < 0 for pages in self._words.values()):
            self._db.execute("DELETE FROM words WHERE pages <= 0")
        self._words.clear()

    def _finish_files(self) -> None:
        """Mark files whose pages are all written, after removing the pages they no longer hold."""
        for done in [file for file in self._files if file.is_listed and not file.unread]:
            self._files.remove(done)
            rows = self._db.execute("SELECT page_id FROM pages WHERE file_id = ?", (done.file_id,)).fetchall()
            for (page_id,) in rows:
                if page_id not in done.keep:
                    self._drop_page(page_id)
            self._db.execute(
                "UPDATE files SET size_bytes = ?, mtime_ns = ?, sha256 = ?, done = 1 WHERE file_id = ?",
                (done.entry.size_bytes, done.entry.mtime_ns, done.sha256, done.file_id),
            )

    def _skip(self, file: str, skipped: Skipped) -> None:
        self._tally.skipped += 1
        detail = skipped.detail if self._tally.skipped <= self._source.limits.skipped_kept else ""
        self._db.execute(
            "INSERT INTO skipped (file, place, reason, detail) VALUES (?,?,?,?)",
            (file, skipped.place[:500], skipped.reason, detail[:500]),
        )

    def _ignore(self, file: str, ignored: Ignored) -> None:
        self._tally.ignored += 1
        if ignored.reason and self._tally.ignored <= self._source.limits.skipped_kept:
            self._db.execute(
                "INSERT INTO skipped (file, place, reason, detail, is_ignored) VALUES (?,?,?,'',1)",
                (file, ignored.place[:500], ignored.reason),
            )

    def _mark_current(self) -> None:
        """Of several captures of one address, in whatever files, the newest answers."""
        self._db.execute("UPDATE pages SET is_current = 1 WHERE is_current = 0")
        self._db.execute(
            "UPDATE pages SET is_current = 0 WHERE url IN (SELECT url FROM pages GROUP BY url HAVING count(*) > 1)"
            " AND page_id <> (SELECT p.page_id FROM pages p WHERE p.url = pages.url"
            " ORDER BY p.captured_at DESC, p.page_id LIMIT 1)"
        )

    def _report(self, seconds: float) -> IndexReport:
        tally, found = self._tally, state(self._db, self._source.limits.skipped_kept)
        return replace(
            found,
            added=tally.added,
            removed=tally.removed,
            unchanged=tally.unchanged,
            ignored=max(tally.ignored, found.ignored),
            seconds=seconds,
        )


def indexed_key(url: str) -> str:
    """What two spellings of one address have in common; the address itself where the URL policy knows none."""
    try:
        return url_key(url)
    except PinciteError:
        return url


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _sha256_of(root: Path, entry: FileEntry) -> str:
    """The hash of the file and of the page beside it, or nothing when one can't be read (reading it says why)."""
    digest = hashlib.sha256()
    try:
        for name in filter(None, (entry.path, entry.beside)):
            with (root / name).open("rb") as stream:
                while chunk := stream.read(_HASH_CHUNK):
                    digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()

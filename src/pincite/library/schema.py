"""The SQLite file of an index: its tables, how it is opened, the lock of the one process that writes, error mapping.

The index is derived data: a new version of the layout or of the extractor gets a new file or starts over.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pincite.domain.errors import Locked, PinciteError, StorageFull, StorageUnavailable
from pincite.runtime.files import make_private, too_many_open_files

# Counted up when tables or what fills them change: the file has it in its name and is made anew.
LAYOUT = 11

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    file_id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS skipped (
    file TEXT NOT NULL, place TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    is_ignored INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS skipped_file ON skipped (file);
CREATE TABLE IF NOT EXISTS pages (
    page_id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES files (file_id), url TEXT NOT NULL,
    url_key TEXT NOT NULL, is_current INTEGER NOT NULL DEFAULT 1, member TEXT NOT NULL,
    at_byte INTEGER NOT NULL, length INTEGER NOT NULL,
    content_type TEXT NOT NULL, captured_at TEXT NOT NULL, note TEXT NOT NULL, body_sha256 TEXT NOT NULL,
    document_id TEXT NOT NULL, title TEXT NOT NULL, language TEXT NOT NULL, published_at TEXT, text BLOB NOT NULL,
    reading BLOB NOT NULL,
    UNIQUE (file_id, url));
CREATE INDEX IF NOT EXISTS pages_url ON pages (url);
CREATE INDEX IF NOT EXISTS pages_key ON pages (url_key);
CREATE INDEX IF NOT EXISTS pages_document ON pages (document_id);
CREATE INDEX IF NOT EXISTS pages_replaced ON pages (page_id) WHERE is_current = 0;
CREATE TABLE IF NOT EXISTS passages (
    passage_id INTEGER PRIMARY KEY, page_id INTEGER NOT NULL REFERENCES pages (page_id), start INTEGER NOT NULL,
    "end" INTEGER NOT NULL, kind TEXT NOT NULL, section TEXT NOT NULL, label TEXT NOT NULL,
    title TEXT NOT NULL, headings TEXT NOT NULL, body TEXT NOT NULL, vector_key BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS passages_page ON passages (page_id);
CREATE VIRTUAL TABLE IF NOT EXISTS passage_terms USING fts5(
    title, headings, body, content='passages', content_rowid='passage_id',
    tokenize="unicode61 remove_diacritics 0 tokenchars '_.,'");
CREATE TABLE IF NOT EXISTS frequencies (term TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS passage_vocabulary USING fts5vocab('passage_terms', 'row');
CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, pages INTEGER NOT NULL) WITHOUT ROWID;
"""
# A writer commits every second at the latest (`library.index`); the rest is for a slow disk.
_BUSY_S = 30.0


def open_index(file: Path) -> sqlite3.Connection:
    """A connection to the index, its tables made if needed; usable from any one thread at a time.

    Errors:
        StorageUnavailable: the folder can't be written, or the file is no index.
        StorageFull: no space left.
    """
    with mapped(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(file)
        connection = sqlite3.connect(file, timeout=_BUSY_S, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA cache_size=-65536")
            connection.executescript(_TABLES)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def mapped(file: Path) -> Iterator[None]:
    """Errors of SQLite and the file system inside the block, raised as ours."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _ours(error, file) from error


def _ours(error: sqlite3.Error | OSError, file: Path) -> PinciteError:
    text = str(error)
    if (full := too_many_open_files(error, silent="unable to open" in text)) is not None:
        return full
    if "disk is full" in text or "No space left" in text:
        return StorageFull(f"no space left for the index {file}")
    if "locked" in text or "busy" in text:
        return Locked(f"another process holds the index {file}")
    if "malformed" in text or "not a database" in text:
        hint = f"Delete it and index again: {file}"
        return StorageUnavailable(f"the index {file} is damaged", reason="index_corrupt", hint=hint)
    return StorageUnavailable(f"the index {file} can't be used: {text}")


@contextmanager
def writer_lock(file: Path, wait_s: float) -> Iterator[None]:
    """Hold the right to bring the index up to date; it ends with the process, however that ends.

    It is a write lock on an empty database beside the index, so that readers and each batch stay free.

    Errors:
        Locked: another process is indexing the same library and did not finish within `wait_s`.
        StorageUnavailable: the folder can't be written.
    """
    beside = file.with_suffix(".lock")
    with mapped(beside):
        make_private(beside)
        holder = sqlite3.connect(beside, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        try:
            holder.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise _ours(error, beside) from error
            raise Locked(
                "another process is indexing this library", hint="Wait until it is done, then try again."
            ) from error
        yield
    finally:
        holder.close()

"""The SQLite file of an index: its tables, how it is opened, the lock of the one process that writes, error mapping.

The index is derived data: a new version of the layout or of the extractor gets a new file or starts over.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.errors import Locked, PinciteError, StorageFull, StorageUnavailable
from pincite.domain.search import IndexReport, ListedPage, Skipped
from pincite.library.records import head_of, is_archive
from pincite.runtime.system import make_private, too_many_open_files
from pincite.sqlite import open_sqlite

if TYPE_CHECKING:
    from pincite.library.folder import Source

# Counted up when tables or what fills them change: the file has it in its name and is made anew.
LAYOUT = 12

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
        connection = open_sqlite(file, _BUSY_S)
        try:
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


def noted(connection: sqlite3.Connection, key: str) -> str | None:
    """What an update noted about the index under this key, or None."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def passages_counted(connection: sqlite3.Connection) -> int:
    """How many passages the index had when they were counted last; 0 before."""
    totals = noted(connection, "totals")
    return int(json.loads(totals)[0]) if totals else 0


def frequencies(connection: sqlite3.Connection, terms: Collection[str]) -> dict[str, int]:
    """On how many passages each of the terms occurs."""
    rows = connection.execute(
        "SELECT term, passages FROM frequencies WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(terms)),),
    )
    return {**dict.fromkeys(terms, 0), **dict(rows.fetchall())}


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


# What is in a library and what is not, page by page, and where the pages of a folder say that they come from.

# Titles and front matter stand within the first lines, also below a long comment.
_HEAD_BYTES = 65_536
# A title stands above that; what follows is text.
_HEAD_LINES = 8
# Of so many files the head is read; those beyond are known by name and title alone.
_MOST_READ = 2_000
_TAG = re.compile(r"<(?:link|meta)\b[^<>]{0,2000}>", re.IGNORECASE)
_OWN = re.compile(r"\b(?:rel=[\"']?canonical\b|property=[\"']?og:url\b)", re.IGNORECASE)
_VALUE = re.compile(r"\b(?:href|content)=[\"']?(https?://[^\s\"'<>]+)", re.IGNORECASE)
# Browsers write the first into pages they save, SingleFile the second.
_SAVED = re.compile(
    r"<!--\s*(?:saved from url=\(\d+\)|Page saved with [^<>]{0,80}?url:\s*)(https?://\S+)", re.IGNORECASE
)
_LABELLED = re.compile(
    r"^[\s#>*_-]*(?:(?:source|original|page|canonical|archived)[ _-]?)?(?:url|link|source|permalink|retrieved from)"
    r"[*_]*\s*:[\s*_\"'<]*(https?://[^\s\"'<>]+)[\"'>\s]*$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"^\s*<?(https?://[^\s<>]+)>?\s*$")


def listed(connection: sqlite3.Connection, source: "Source") -> tuple[ListedPage, ...]:
    """The pages that answer, sorted by address."""
    rows = connection.execute(
        "SELECT url, title, path FROM pages JOIN files USING (file_id) WHERE is_current = 1 ORDER BY url"
    ).fetchall()
    pages: list[ListedPage] = []
    for number, (url, title, path) in enumerate(rows):
        single = bool(path) and not is_archive(path)
        states = stated_addresses(_head(source.root / path)) if single and number < _MOST_READ else ()
        pages.append(ListedPage(url, title, path if single else "", states))
    return tuple(pages)


def state(connection: sqlite3.Connection, limit: int) -> IndexReport:
    """What is in the index as it stands, and the first `limit` of what is not."""
    rows = "SELECT place, reason, detail FROM skipped WHERE is_ignored = ? ORDER BY rowid LIMIT ?"
    skipped = connection.execute(rows, (0, limit)).fetchall()
    ignored = connection.execute(rows, (1, limit)).fetchall()
    # Pages are counted in two indexes: the rows themselves hold whole texts.
    pages, passages, all_ignored, all_skipped = connection.execute(
        "SELECT (SELECT count(*) FROM pages) - (SELECT count(*) FROM pages WHERE is_current = 0),"
        " (SELECT count(*) FROM passages), (SELECT count(*) FROM skipped WHERE is_ignored = 1),"
        " (SELECT count(*) FROM skipped WHERE is_ignored = 0)"
    ).fetchone()
    return IndexReport(
        pages=pages,
        passages=passages,
        added=0,
        removed=0,
        unchanged=0,
        ignored=all_ignored,
        seconds=0.0,
        skipped_total=all_skipped,
        skipped=tuple(Skipped(*row) for row in skipped),
        ignored_files=tuple(Skipped(*row) for row in ignored),
    )


def stated_addresses(head: str) -> tuple[str, ...]:
    """The addresses that the beginning of a file gives as its own: in its HTML, or on one of its first lines.

    Source: HTML Living Standard, link type `canonical`; The Open Graph protocol, `og:url`.
    """
    found = [match[1] for match in _SAVED.finditer(head)]
    for tag in _TAG.finditer(head):
        value = _VALUE.search(tag.group()) if _OWN.search(tag.group()) else None
        found += [value[1]] if value else []
    lines = [line for line in head.splitlines() if line.strip()][:_HEAD_LINES]
    for number, line in enumerate(lines):
        match = _LABELLED.match(line) or (_ALONE.match(line) if not number else None)
        found += [match[1]] if match else []
    return tuple(dict.fromkeys(found))


def _head(path: Path) -> str:
    """The beginning of the file as text; nothing when it can't be read any more."""
    try:
        return head_of(path, _HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""

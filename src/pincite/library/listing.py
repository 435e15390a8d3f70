"""What is in a library and what is not, page by page, and where the pages of a folder say that they come from."""

import re
import sqlite3
from pathlib import Path

from pincite.domain.library import IndexReport, ListedPage, Skipped
from pincite.library.folder import Source
from pincite.library.records import is_archive

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


def listed(connection: sqlite3.Connection, source: Source) -> tuple[ListedPage, ...]:
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
    count = "SELECT count(*) FROM skipped WHERE is_ignored = ?"
    return IndexReport(
        # Counted in two indexes: the rows themselves hold whole texts.
        pages=int(
            connection.execute(
                "SELECT (SELECT count(*) FROM pages) - (SELECT count(*) FROM pages WHERE is_current = 0)"
            ).fetchone()[0]
        ),
        passages=int(connection.execute("SELECT count(*) FROM passages").fetchone()[0]),
        added=0,
        removed=0,
        unchanged=0,
        ignored=int(connection.execute(count, (1,)).fetchone()[0]),
        seconds=0.0,
        skipped_total=int(connection.execute(count, (0,)).fetchone()[0]),
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
        with path.open("rb") as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""

"""What a local library answers with: pages that match, passages that match, and how indexing went."""

import re
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from pincite.domain.frozen import dataclass


class PassageKind(StrEnum):
    """What a passage is made of."""

    PROSE = "prose"
    DEFINITION = "definition"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that matches a query, with its best passage cut to a snippet of at most 400 characters."""

    url: str
    title: str
    snippet: str
    score: float
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LibraryPage:
    """A page of a local library before it is read: where it is published and the bytes as stored.

    `captured_at` is the archive's; None for a file of a folder, which is captured when it is read.
    """

    url: str
    body: bytes = field(repr=False)
    content_type: str
    captured_at: datetime | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that is there to be read: its address, its title, its file, and the addresses it says it is from."""

    url: str
    title: str = ""
    path: str = ""
    states: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What the libraries of a run know of the words of its question.

    `frequencies` holds each content word as written (as corrected, where it was) with the number of passages that
    have it in any inflection, of `passages` in all, parts of identifiers apart; `spellings` pairs of a word that is on
    no page and the one it was read as.
    """

    passages: int = 0
    frequencies: tuple[tuple[str, int], ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    def corrected(self, text: str) -> str:
        """The text with each misspelt word replaced by the one it is read as; a capital stays one."""
        for written, read_as in self.spellings:
            put = read_as[:1].upper() + read_as[1:] if written[:1].isupper() else read_as
            text = re.sub(rf"(?<!\w){re.escape(written)}(?!\w)", put, text)
        return text


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or archive record that is not in the index: where it is and why (a code in lower case)."""

    place: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How bringing the index up to date went.

    `ignored` counts files and records that hold no page; `ignored_files` names the first of the files with a reason:
    `other_kind` (images, styles, programs), `no_text` (empty or binary, no suffix), `source_of_page` (of an HTML page
    beside it). `skipped` names the first of the `skipped_total` files and records that should have been pages and could
    not be read. Both include what earlier updates found. `vectors` counts those of passages that this update made.
    """

    pages: int
    passages: int
    added: int
    removed: int
    unchanged: int
    ignored: int
    seconds: float
    skipped_total: int = 0
    skipped: tuple[Skipped, ...] = field(default=())
    ignored_files: tuple[Skipped, ...] = field(default=())
    vectors: int = 0

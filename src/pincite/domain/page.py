r"""Captures of pages and what was read out of them.

A `Snapshot` is what came over the wire; a `Document` is the tuple of blocks an extractor read out of it. All offsets
are Unicode code points in `Document.text`, which is NFC with `\n` line ends. A `Quote` is made only by slicing.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from pincite.domain.errors import QuoteMismatch
from pincite.domain.frozen import dataclass
from pincite.domain.ids import document_id
from pincite.domain.items import Item
from pincite.domain.quotes import CONTEXT_CHARS, Quote, QuoteRecord, seal_quote, with_struck, without_struck

BLOCK_SEPARATOR = "\n\n"
# What `Snapshot.via` begins with where another installation shared the capture; its name follows.
PEER_VIA = "peer:"


class Kept(StrEnum):
    """What stays of a page once the run that used it has ended."""

    FULL = "full"  # body and text
    RUN = "run"  # hash of the body, and the text
    EXCERPTS = "excerpts"  # hashes, and the quotes with a small window around each


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One immutable capture of one URL.

    `url` is what was asked, `final_url` where the redirects ended, `canonical_url` what the page is known as.
    `headers` are lower-case names in wire order. `via` names the backend (`direct`, `archive`, `chromium`, ...).
    `note` says where packaged pages come from ("from Debian package P version V, file F, not fetched").
    `cost_usd` is what making it cost; known to who made it, not stored.
    `kept` other than full means that the body is gone, by the operator's setting or the page's wish: it is empty here.
    """

    snapshot_id: str
    url: str
    final_url: str
    canonical_url: str
    status: int
    content_type: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    body_sha256: str
    fetched_at: datetime
    via: str
    robots: str = "allowed"
    usage_signals: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    note: str = ""
    kept: Kept = Kept.FULL
    cost_usd: Decimal = Decimal(0)

    @property
    def shared_by(self) -> str:
        """The peer that the capture came from; empty where it was made here."""
        return self.via.removeprefix(PEER_VIA) if self.via.startswith(PEER_VIA) else ""

    @property
    def quotable_chars(self) -> int | None:
        """How many characters may be quoted by the page's own signals; None when it sets no limit.

        Source: `nosnippet` and `max-snippet` of X-Robots-Tag, where -1 means no limit.
        """
        limits = [0 for signal in self.usage_signals if signal == "nosnippet"]
        values = (signal.partition(":") for signal in self.usage_signals)
        limits += [int(value) for name, _, value in values if name == "max-snippet" and value.isdecimal()]
        return min(limits, default=None)

    def may_quote(self, text: str) -> bool:
        """Whether the page lets so long a text be quoted."""
        return self.quotable_chars is None or len(text) <= self.quotable_chars


class BlockKind(StrEnum):
    """The role of a block on its page."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TERM = "term"
    DEFINITION = "definition"
    CODE = "code"
    TABLE = "table"
    QUOTATION = "quotation"
    CAPTION = "caption"
    FOOTNOTE = "footnote"


# `Block.note` of what an earlier message says and this one only repeats: no statement of whoever wrote this one.
QUOTED_NOTE = "quoted"


class MarkKind(StrEnum):
    """Inline meaning inside a block."""

    LINK = "link"
    CODE = "code"
    STRONG = "strong"
    EMPHASIS = "emphasis"
    SUPERSCRIPT = "superscript"  # raised; an exponent is written with a caret in front ("10^6", the mark covers "6")
    SUBSCRIPT = "subscript"
    REFERENCE = "reference"  # the mark of a footnote ("[1]"), no part of the sentence
    ABBREVIATION = "abbreviation"  # `title` says what it stands for
    STRUCK = "struck"  # crossed out: what the page no longer says
    FORMULA = "formula"  # a formula in one line: its figures are not figures of the text
    JOINED = "joined"  # digits of two elements without a space between them: they may be two numbers


# Marks of words and numbers that no statement may rest on without a closer look.
UNSURE = frozenset({MarkKind.STRUCK, MarkKind.FORMULA, MarkKind.JOINED})


@dataclass(frozen=True, slots=True)
class Mark:
    """An inline span `[start, end)` of a block's own text; `href` for links, `title` for abbreviations."""

    start: int
    end: int
    kind: MarkKind
    href: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class CellSpan:
    """A table cell that covers more than one place: its top left place and how many rows and columns it covers.

    The text stands at the top left place; the others are empty in `Block.rows`.
    """

    row: int
    column: int
    rows: int = 1
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading, list item, table ... of a page.

    `text` is what quotes are sliced from. For a table it is one line per row with cells joined by " | ", and `rows`
    holds the cells (the first `header_rows` name the columns, the first `header_columns` of a row name it; where they
    stand is said by `page_markdown`). `level` is the heading level 1-6, or the list depth from 0. `language` is that of
    a code block. `page` is the page number in a PDF, from 1. `secondary` text shows only to who asks for it (a closed
    `<details>`).

    `parent` is the index in `Document.blocks` of what the block stands in: for all of a definition (paragraphs, code,
    lists, tables in it) the last of its terms, for all of a list item after its first words that item. `note` is the
    kind of box around it (`note`, `warning`, ...), in the page's own word.
    """

    kind: BlockKind
    text: str
    level: int = 0
    ordered: bool = False
    number: int | None = None
    language: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    has_header: bool = False
    marks: tuple[Mark, ...] = ()
    page: int | None = None
    secondary: bool = False
    parent: int | None = None
    note: str = ""
    header_rows: int = 0
    header_columns: int = 0
    spans: tuple[CellSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading and where it starts in `Document.text`."""

    level: int
    title: str
    start: int


@dataclass(frozen=True, slots=True)
class Link:
    """An outgoing link in page order; `rank` starts at 1."""

    url: str
    text: str
    rank: int


@dataclass(frozen=True, slots=True)
class Document:
    """What one version of one extractor read out of a snapshot. The same blocks always give the same `text` and id.

    `signals` are what the page itself says about its use (`<meta name="robots">`), in the words of X-Robots-Tag;
    `structure` is what it is made of: products, posts, answers, comments, entries.
    """

    extractor: str
    version: str
    blocks: tuple[Block, ...]
    title: str = ""
    byline: str = ""
    site_name: str = ""
    description: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    language: str = ""
    canonical_url: str = ""
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    structure: tuple[Item, ...] = ()
    text: str = field(init=False, repr=False)
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    document_id: str = field(init=False)

    def __post_init__(self) -> None:
        starts: list[int] = []
        position = 0
        for index, block in enumerate(self.blocks):
            # Parents first: that is what keeps every walk upwards finite.
            if block.parent is not None and not 0 <= block.parent < index:
                raise ValueError(f"block {index} stands in block {block.parent}, which is not before it")
            starts.append(position)
            position += len(block.text) + len(BLOCK_SEPARATOR)
        text = BLOCK_SEPARATOR.join(block.text for block in self.blocks)
        # Here and not in the extractors alone, since every quote and hash counts on it, and plug-ins make documents,
        # too.
        if not unicodedata.is_normalized("NFC", text) or "\r" in text:
            raise ValueError("block texts must be NFC with \\n line ends")
        if any(not 0 <= (item.start or 0) <= (item.end or 0) <= len(text) for item in self.structure):
            raise ValueError("an item stands outside of the text")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "starts", tuple(starts))
        object.__setattr__(self, "document_id", document_id(self.extractor, self.version, text))

    @property
    def outline(self) -> tuple[OutlineEntry, ...]:
        """The headings with their offsets, in order, titles of boxes among them."""
        return tuple(
            OutlineEntry(block.level, block.text, start)
            for block, start in zip(self.blocks, self.starts, strict=True)
            if block.kind is BlockKind.HEADING
        )

    def headings_above(self, index: int) -> tuple[int, ...]:
        """The headings that the block at `index` is under, outermost first; a heading is under itself.

        One inside a definition or a list item heads only what stands in the same one, the title of a box only its box.
        """
        found: list[int] = []
        around, box = self.ancestors(index), self.blocks[index].note
        level = level_in_box = 7  # below the lowest heading
        for before in range(index, -1, -1):
            block = self.blocks[before]
            box = box if block.note == box else ""
            if block.kind is not BlockKind.HEADING or not (block.parent is None or block.parent in around):
                continue
            if block.note and block.note == box and block.level < level_in_box:
                level_in_box = block.level
                found.append(before)
            elif not block.note and block.level < level:
                level = block.level
                found.append(before)
        return tuple(reversed(found))

    def block_at(self, offset: int) -> int:
        """The index of the block that holds `offset` (a separator counts to the block before it)."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def ancestors(self, index: int) -> tuple[int, ...]:
        """The blocks that the block at `index` stands in (terms, list items), outermost first."""
        found: list[int] = []
        parent = self.blocks[index].parent
        while parent is not None:
            found.insert(0, parent)
            parent = self.blocks[parent].parent
        return tuple(found)

    def marks_in(self, start: int, end: int, kinds: Collection[MarkKind] = UNSURE) -> tuple[Mark, ...]:
        """The marks of these kinds that touch `text[start:end]`, offsets in `text`."""
        return tuple(
            replace(mark, start=mark.start + begin, end=mark.end + begin)
            for index in range(self.block_at(start), self.block_at(max(end - 1, start)) + 1)
            for begin in (self.starts[index],)
            for mark in self.blocks[index].marks
            if mark.kind in kinds and mark.start + begin < end and mark.end + begin > start
        )

    def as_shown(self, start: int, end: int) -> str:
        """`text[start:end]` with what the page crosses out between "~~"."""
        return with_struck(self.text[start:end], self._struck(start, end))

    def standing(self, start: int, end: int) -> str:
        """`text[start:end]` with spaces in place of what the page crosses out, so that offsets stay."""
        return without_struck(self.text[start:end], self._struck(start, end))

    def _struck(self, start: int, end: int) -> list[tuple[int, int]]:
        found = self.marks_in(start, end, (MarkKind.STRUCK,)) if start < end else ()
        return [(max(mark.start, start) - start, min(mark.end, end) - start) for mark in found]

    def is_secondary(self, start: int, end: int) -> bool:
        """Whether all of `[start, end)` shows only to who asks for it."""
        return all(
            block.secondary for block in self.blocks[self.block_at(start) : self.block_at(max(end - 1, start)) + 1]
        )

    def section_path(self, offset: int) -> tuple[str, ...]:
        """The headings above `offset`, outermost first."""
        return tuple(self.blocks[index].text for index in self.headings_above(self.block_at(offset)))

    def quote(self, start: int, end: int) -> Quote:
        """The passage `[start, end)` as a Quote with its surroundings. The only way to make one.

        Errors: QuoteMismatch (the span is empty or outside the text).
        """
        if not 0 <= start < end <= len(self.text):
            raise QuoteMismatch(f"no passage at {start}-{end} in a text of {len(self.text)} characters")
        return seal_quote(
            QuoteRecord(
                document_id=self.document_id,
                start=start,
                end=end,
                text=self.text[start:end],
                prefix=self.text[max(0, start - CONTEXT_CHARS) : start],
                suffix=self.text[end : end + CONTEXT_CHARS],
            )
        )

    def verify(self, record: QuoteRecord) -> Quote:
        """The stored `record` as a Quote, after checking every field against this text.

        Errors: QuoteMismatch (another document, another text at that place, or other surroundings).
        """
        if record.document_id != self.document_id:
            raise QuoteMismatch(f"quote belongs to {record.document_id}, not to {self.document_id}")
        quote = self.quote(record.start, record.end)
        for name in ("text", "prefix", "suffix"):
            if getattr(quote, name) != getattr(record, name):
                raise QuoteMismatch(
                    f"the {name} of the quote at {record.start}-{record.end} is not what the stored document says",
                    context={"field": name, "document_id": self.document_id},
                )
        return quote

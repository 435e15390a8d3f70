"""Documents cut into passages and statements: what may be ranked, and what may be quoted.

A passage is a run of neighbouring blocks under one heading or one term, short enough to be about one thing. A
statement is a sentence, list item, table row or signature inside it, with the spans that say what it is about.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.domain.page import Block, BlockKind, Document
from pincite.research.extractive.words import key_terms
from pincite.text.sentences import sentences

MAX_PASSAGE_CHARS = 1_400
MAX_STATEMENT_CHARS = 600
MAX_HEAD_CHARS = 160
_FURNITURE = 3
_LEAST_OPENING = 3
_FURNITURE_CHARS = 60
_MAX_CODE_LINE_CHARS = 300
_LONG_ROW_CHARS = 240
_MAX_ROW_CHARS = 1_200
_MAX_STATEMENTS = 20_000
"""Statements taken from one document at most; what is behind is not ranked (a page of that size is data, not text)."""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open `[start, end)` in `Document.text`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One quotable unit. `terms` are its own stems; `lead` is the sentence that introduces a list it belongs to."""

    span: Span
    kind: BlockKind
    terms: tuple[str, ...] = field(repr=False)
    lead: Span | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """Statements about one thing. `head` is the term they define or None; `section` the headings above."""

    url: str
    document: Document = field(repr=False)
    title: str
    section: tuple[Span, ...]
    head: Span | None
    statements: tuple[Statement, ...] = field(repr=False)

    def text(self, span: Span) -> str:
        """The words of a span of this passage's document."""
        return self.document.text[span.start : span.end]


@dataclass(slots=True)
class _Cutter:
    """One walk over the blocks of a document."""

    url: str
    document: Document
    headings: list[tuple[int, Span]] = field(default_factory=list)
    head: Span | None = None
    head_open: bool = False
    lead: Span | None = None
    pending: list[Statement] = field(default_factory=list)
    size: int = 0
    count: int = 0
    done: list[Passage] = field(default_factory=list)

    def run(self) -> tuple[Passage, ...]:
        for block, start in zip(self.document.blocks, self.document.starts, strict=True):
            if self.count >= _MAX_STATEMENTS:
                break
            self._take(block, start)
        self._close()
        return tuple(self.done)

    def _take(self, block: Block, start: int) -> None:
        if block.kind is BlockKind.HEADING:
            self._heading(block, start)
        elif block.kind is BlockKind.TERM:
            self._term(block, start)
        else:
            self._body(block, start)

    def _heading(self, block: Block, start: int) -> None:
        self._close()
        self.head, self.head_open, self.lead = None, False, None
        while self.headings and self.headings[-1][0] >= block.level:
            self.headings.pop()
        self.headings.append((block.level, Span(start, start + len(block.text))))

    def _term(self, block: Block, start: int) -> None:
        """A term opens a passage; further terms right after it name the same thing and are statements of it."""
        if self.head is not None and self.head_open:
            self._add(block, start)
            return
        self._close()
        self.head, self.head_open, self.lead = (Span(start, start + len(block.text)), True, None)
        self._add(block, start)

    def _body(self, block: Block, start: int) -> None:
        in_definition = block.kind is BlockKind.DEFINITION
        if not in_definition and self.head is not None and block.kind is BlockKind.PARAGRAPH:
            self._close()
            self.head = None
        self.head_open = False
        if self.size + len(block.text) > MAX_PASSAGE_CHARS and self.pending:
            self._close()
        if block.kind is not BlockKind.LIST_ITEM and block.kind is not BlockKind.CODE:
            self.lead = None
        self._add(block, start)
        if block.text.rstrip().endswith(":") and self.pending:
            self.lead = self.pending[-1].span

    def _add(self, block: Block, start: int) -> None:
        row: Span | None = None
        for span, opens in _statement_spans(block):
            if self.size > MAX_PASSAGE_CHARS and self.pending and opens:
                self._close()
            placed = Span(start + span.start, start + span.end)
            text = self.document.text[placed.start : placed.end]
            lead = self.lead if block.kind is BlockKind.LIST_ITEM else None if opens else row
            row = placed if opens else row
            self.pending.append(Statement(placed, block.kind, key_terms(text), lead))
            self.size += len(text)
            self.count += 1

    def _close(self) -> None:
        if self.pending:
            section = tuple(span for _, span in self.headings)
            self.done.append(
                Passage(self.url, self.document, self.document.title, section, self.head, tuple(self.pending))
            )
        self.pending, self.size = [], 0


def cut(url: str, document: Document) -> tuple[Passage, ...]:
    """The passages of a document in page order."""
    return _Cutter(url, document).run()


def _statement_spans(block: Block) -> Iterator[tuple[Span, bool]]:
    """Sentences of prose, rows of tables, lines of code, a term as a whole. Over-long units are left out.

    Beside each stands whether it can be said alone: the further sentences of a long row belong to its first.
    """
    if block.kind is BlockKind.TABLE:
        for row in _lines(block):
            yield from _sentences_of(row, block.text)
    elif block.kind is BlockKind.CODE:
        yield from ((line, True) for line in _lines(block))
    elif block.kind is BlockKind.TERM:
        if block.text.strip() and len(block.text) <= MAX_STATEMENT_CHARS:
            yield Span(0, len(block.text)), True
    else:
        for span in sentences(block.text):
            if span.end - span.start <= MAX_STATEMENT_CHARS:
                yield Span(span.start, span.end), True


def _sentences_of(row: Span, text: str) -> Iterator[tuple[Span, bool]]:
    """A row, or where it is long its sentences, the first one with what names the row in front."""
    found = list(sentences(text[row.start : row.end])) if row.end - row.start > _LONG_ROW_CHARS else []
    if len(found) < 2:
        yield row, True
        return
    for place, span in enumerate(found):
        yield Span(row.start + span.start, row.start + span.end), place == 0


def _lines(block: Block) -> Iterator[Span]:
    position = 0
    first = True
    for line in block.text.split("\n"):
        start = position + len(line) - len(line.lstrip())
        end = position + len(line.rstrip())
        header = first and block.kind is BlockKind.TABLE and block.has_header
        if end > start and not header and end - start <= (_MAX_ROW_CHARS if block.rows else _MAX_CODE_LINE_CHARS):
            yield Span(start, end)
        first = first and not line.strip()
        position += len(line) + 1


def heading_text(passage: Passage) -> str:
    """The nearest heading above a passage, or the page's title."""
    return passage.text(passage.section[-1]) if passage.section else passage.title


HEADING_NUMBER = re.compile(
    r"\s*(?:(?:Appendix|Chapter|Part|Section)\s+[\dA-Z]+\.?|(?:\d+|[A-Z])(?:\.\d+)*\.)\s+(?=\S)"
)
"""The number of a heading, as in 13.3.4. or Appendix K."""
_NAMED = re.compile(r"(?<![\w.])-{0,2}[A-Za-z_][\w.]*(?:-\w+)*")
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>|=\S*")
_NAMES_KEPT = 6
_SUBJECT = re.compile(r"^\W*(?:[\d.]+\s+)?(?P<name>\S+(?:\s\S+)?)\s*(?:\s[—–-]\s|:\s|\(|\s\|\s)")


def subject_terms(passage: Passage) -> tuple[str, ...]:
    """Stems of what title and nearest heading name first: `tomllib` of "tomllib — Parse TOML files"."""
    found = (_SUBJECT.match(text) for text in (passage.title, heading_text(passage)))
    return tuple(term for match in found if match for term in key_terms(match.group("name")))


def opening_terms(passage: Passage) -> frozenset[str]:
    """Stems of the first sentence of a passage: of a page's first one, what the page is about. None of a bare label."""
    prose = (s for s in passage.statements if s.kind is BlockKind.PARAGRAPH and passage.head is None)
    first = next((s for s in prose if len(s.terms) >= _LEAST_OPENING), None)
    return frozenset(first.terms) if first else frozenset()


def things_named(passage: Passage) -> tuple[frozenset[str], ...]:
    """Stems of each thing a passage is said to be about: its term, the heading right above, the page's subject last.

    What is in brackets and a heading's number say nothing of it; of a title the part before a dash or bracket counts.
    """
    head = passage.text(passage.head)[:MAX_HEAD_CHARS] if passage.head else ""
    above = HEADING_NUMBER.sub("", passage.text(passage.section[-1]), count=1) if passage.section else ""
    title = HEADING_NUMBER.sub("", passage.title, count=1)
    match = _SUBJECT.match(title)
    texts = (_BRACKETED.sub(" ", head), _BRACKETED.sub(" ", above), match.group("name") if match else title)
    return tuple(terms for text in texts if (terms := frozenset(key_terms(text))))


def names_defined(passage: Passage) -> frozenset[str]:
    """The names that the term of a passage, or the heading right above it, introduces, in lower case.

    `work_mem` of "work_mem (integer)", `-m` and `--message` of "-m <msg>, --message=<msg>", `asyncio.shield` and
    `shield` of "awaitable asyncio.shield(aw)".
    """
    span = passage.head or (passage.section[-1] if passage.section else None)
    if span is None:
        return frozenset()
    terms = itertools.takewhile(lambda statement: statement.kind is BlockKind.TERM, passage.statements)
    spans = dict.fromkeys([span, *(term.span for term in terms)])
    found: list[str] = []
    for each in spans:
        # What is in brackets or after "=" is a type, a default or an argument, not the name.
        line = _BRACKETED.sub(" ", passage.text(each)[:MAX_HEAD_CHARS].lower())
        found += _NAMED.findall(line)[:_NAMES_KEPT]
    return frozenset(found) | {name.rsplit(".", 1)[-1] for name in found if not name.startswith("-")}


def section_terms(passage: Passage) -> tuple[str, ...]:
    """Stems of the headings above the passage."""
    return tuple(term for span in passage.section for term in key_terms(passage.text(span)))


def repeated_furniture(passages: Sequence[Passage], copies: Mapping[str, str], wanted: Sequence[str]) -> frozenset[str]:
    """Statement texts that stand on three pages or more: navigation and licence lines, never an answer.

    A long one that a page says three times, of one thing after another, tells nothing about any of them either, unless
    it has half of the `wanted` terms. `copies` names the page that a near-copy repeats, and so for versions of a page:
    together they count once.
    """
    pages: dict[str, set[str]] = {}
    times: Counter[tuple[str, str]] = Counter()
    for passage in {id(passage): passage for passage in passages}.values():
        url = copies.get(passage.url, passage.url)
        for text in {passage.text(statement.span) for statement in passage.statements}:
            pages.setdefault(text, set()).add(url)
            times[text, passage.url] += 1
    everywhere = {text for text, urls in pages.items() if len(urls) >= _FURNITURE}
    repeated = {
        text
        for (text, _), count in times.items()
        if count >= _FURNITURE
        and len(text) >= _FURNITURE_CHARS
        and 2 * len(set(key_terms(text)).intersection(wanted)) < len(wanted)
    }
    return frozenset(everywhere | repeated)

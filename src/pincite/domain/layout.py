"""How the sentences of a report stand together: sections of paragraphs, lists, tables and excerpts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import groupby, pairwise
from typing import TypeAlias

from pincite.domain.evidence import Proof
from pincite.domain.frozen import dataclass


class SentenceKind(StrEnum):
    """A claim sentence states facts and is cited; a connective one states none."""

    CLAIM = "claim"
    CONNECTIVE = "connective"


class SectionKind(StrEnum):
    """What a section is for: findings first, then what closes a report."""

    FINDINGS = "findings"
    KEY_NUMBERS = "key_numbers"
    RISKS = "risks"
    CONCLUSION = "conclusion"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as printed, without its `[n]`; `references` are the numbers printed after it.

    `label` is printed before it and says of which version of a page it holds. `opens` starts a new paragraph.
    `proof` says how it earned its place (None: a connective, or a report of schema 1), `judgement` names the entry of
    `Report.judgements` behind it. A derived sentence names its premises in `claim_ids`. `marked` are the spans of
    `text` that tell most, `code` those that are set as code (names of settings, commands, files); the first `lead`
    characters say what it is about and are set apart; `struck` are those that its page crosses out, each with the "~~"
    around it. Of code the text may have several lines.
    """

    text: str
    kind: SentenceKind
    claim_ids: tuple[str, ...] = ()
    references: tuple[int, ...] = ()
    label: str = ""
    opens: bool = False
    proof: Proof | None = None
    judgement: str = ""
    marked: tuple[tuple[int, int], ...] = ()
    code: tuple[tuple[int, int], ...] = ()
    lead: int = 0
    struck: tuple[tuple[int, int], ...] = ()


class BlockForm(StrEnum):
    """How sentences are laid out."""

    PARAGRAPH = "paragraph"
    LIST = "list"
    STEPS = "steps"
    TABLE = "table"
    CODE = "code"
    EXCERPT = "excerpt"


class ExcerptKind(StrEnum):
    """What a piece printed as it stands on its page is made of."""

    PROSE = "prose"
    LIST = "list"
    STEPS = "steps"
    DEFINITION = "definition"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where a block that is printed word for word comes from.

    `path` are the headings above it, outermost first, `term` the term it belongs to; `language` is that of code.
    """

    kind: ExcerptKind
    reference_n: int
    path: tuple[str, ...] = ()
    term: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class ReportBlock:
    """How some sentences of a section stand together. `items` hold indexes into the `sentences` of the section.

    paragraph: one item · list, steps: an item for each entry · code: one item, put together by a model · table: an
    item for each cell, row by row; `header` names the columns and `rows`, where given, each row in a column of its own
    in front · excerpt: an item for each paragraph, entry of a list or step, of a table for each row (cells joined by
    " | ", `header` names the columns).
    `code` are names in header and rows that are set as code; of code, those that are examples. With `marks_by_row`
    the numbers of all its cells stand behind the name of a row. Steps that are `continued` are counted on from those
    before them in the section.
    """

    form: BlockForm
    items: tuple[tuple[int, ...], ...]
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    excerpt: Excerpt | None = None
    code: tuple[str, ...] = ()
    marks_by_row: bool = False
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A headed part; `citations` are the reference numbers its sentences use, in order, once each.

    `blocks` lay its sentences out, each sentence in one block and in order; without blocks they are paragraphs, each of
    which starts with a sentence that `opens`.
    """

    heading: str
    sentences: tuple[Sentence, ...]
    citations: tuple[int, ...] = ()
    kind: SectionKind = SectionKind.FINDINGS
    blocks: tuple[ReportBlock, ...] = ()


def code_in(blocks: Iterable[ReportBlock]) -> frozenset[int]:
    """The indexes of the sentences that are printed as code."""
    return frozenset(
        index
        for block in blocks
        if block.form is BlockForm.CODE or (block.excerpt is not None and block.excerpt.kind is ExcerptKind.CODE)
        for item in block.items
        for index in item
    )


def paragraphs(sentences: Iterable[Sentence]) -> tuple[tuple[Sentence, ...], ...]:
    """The sentences of a section by paragraph: one that `opens` starts a new one."""
    found: list[list[Sentence]] = []
    for sentence in sentences:
        if sentence.opens or not found:
            found.append([])
        found[-1].append(sentence)
    return tuple(map(tuple, found))


def broken_layout(section: Section, references: int) -> Iterator[str]:
    """What is wrong with the blocks of a section: each sentence stands in one of them, in order."""
    if not section.blocks:
        return
    laid_out = [index for block in section.blocks for item in block.items for index in item]
    if laid_out != list(range(len(section.sentences))):
        yield f"the blocks of {section.heading!r} hold the sentences {laid_out} of {len(section.sentences)}"
    for block in section.blocks:
        columns = len(block.header) - bool(block.rows)
        if block.form is BlockForm.TABLE and (columns < 1 or len(block.items) % columns):
            yield f"a table of {section.heading!r} has {len(block.items)} cells for {columns} columns"
        elif block.form is BlockForm.TABLE and block.rows and len(block.rows) * columns != len(block.items):
            yield f"a table of {section.heading!r} has {len(block.rows)} rows for {len(block.items)} cells"
        if (block.form is BlockForm.EXCERPT) is not (block.excerpt is not None):
            yield f"a block of {section.heading!r} is an excerpt of nothing"
        if block.excerpt is not None and not 1 <= block.excerpt.reference_n <= references:
            yield f"an excerpt of {section.heading!r} is of the unknown reference [{block.excerpt.reference_n}]"


MADE_CODE = "composed, not run"
"""Stands below code that a model put together, behind its marks."""
EXAMPLE_NAMES = "some names are examples"
"""Stands behind that where the code has names that no page has; the report's JSON lists them."""


# ---- what a section is made of when it is printed: one walk for every format ----


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or the part of it that stands in one cell of a table."""

    sentence: Sentence
    span: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return self.sentence.text if self.span is None else self.sentence.text[slice(*self.span)]

    @property
    def ends(self) -> bool:
        """Whether the sentence ends with it, so that its marks follow."""
        return self.span is None or self.span[1] == len(self.sentence.text)


Run: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """Paragraphs, one below the other."""

    entries: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a list, or numbered steps, the first with the number `start`."""

    entries: tuple[Run, ...]
    numbered: bool = False
    start: int = 1


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the names of its columns and of its rows, where they have any, and a cell for each of both."""

    header: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[Run, ...], ...]
    width: int
    code: tuple[str, ...] = ()
    marks_by_row: bool = False

    def cited(self, row: int) -> tuple[Sentence, ...]:
        """The sentences of a row whose numbers stand together; none where each cell has its own."""
        if not self.marks_by_row:
            return ()
        return tuple(piece.sentence for cell in self.rows[row] for piece in cell if piece.sentence.references)


@dataclass(frozen=True, slots=True)
class Code:
    """Code, several pieces of it: of a page, its lines as they are, or `made` from what pages say, with marks.

    `examples` are names in it that its maker chose.
    """

    entries: tuple[Run, ...]
    language: str = ""
    made: bool = False
    examples: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What stands behind its marks; nothing of rows that a page has as they are."""
        if all(piece.sentence.proof is Proof.QUOTED for entry in self.entries for piece in entry):
            return ""
        return f"{MADE_CODE}; {EXAMPLE_NAMES}" if self.examples else MADE_CODE


@dataclass(frozen=True, slots=True)
class Quotation:
    """Pieces of one place of a page word for word, in order; their sentences carry no marks of their own."""

    excerpt: Excerpt
    contents: tuple["Paragraphs | Listing | Grid | Code", ...]

    @property
    def path(self) -> tuple[str, ...]:
        """The headings above it, and the term that it belongs to."""
        return (*self.excerpt.path, self.excerpt.term) if self.excerpt.term else self.excerpt.path

    @property
    def references(self) -> tuple[int, ...]:
        """The number of its page, then those of others that say a sentence of it in the same words."""
        runs = [
            run
            for laid in self.contents
            for run in (laid.entries if not isinstance(laid, Grid) else (cell for row in laid.rows for cell in row))
        ]
        numbers = {n for run in runs for piece in run for n in piece.sentence.references}
        return (self.excerpt.reference_n, *sorted(numbers - {self.excerpt.reference_n}))


Laid: TypeAlias = Paragraphs | Listing | Grid | Code | Quotation


def laid_out(section: Section) -> Iterator[Laid]:
    """What a section prints, in order. Paragraphs that nothing lays out are a list: each is about another thing."""
    steps = 0
    for place, blocks in groupby(section.blocks, key=_place_of):
        if place is not None:
            quoted = list(blocks)
            excerpts = [block.excerpt for block in quoted if block.excerpt is not None]
            yield Quotation(
                excerpts[0], tuple(_quoted(b, e, _entries(section, b)) for b, e in zip(quoted, excerpts, strict=True))
            )
            continue
        for block in blocks:
            for laid in _own_words(section, block):
                if isinstance(laid, Listing) and laid.numbered:
                    before = steps if block.continued else 0
                    steps = before + len(laid.entries)
                    yield replace(laid, start=before + 1)
                else:
                    yield laid
    if not section.blocks:
        found = tuple(tuple(map(Piece, sentences)) for sentences in paragraphs(section.sentences))
        yield Paragraphs(found) if len(found) == 1 else Listing(found)


def _place_of(block: ReportBlock) -> object:
    """Where an excerpt stands: those of one place that follow each other are printed under it once."""
    excerpt = block.excerpt
    if excerpt is None:
        return None
    return (excerpt.reference_n, excerpt.path, excerpt.term) if excerpt.path or excerpt.term else block


def _entries(section: Section, block: ReportBlock) -> tuple[Run, ...]:
    return tuple(tuple(Piece(section.sentences[index]) for index in item) for item in block.items)


def _own_words(section: Section, block: ReportBlock) -> Iterator[Laid]:
    entries = _entries(section, block)
    match block.form:
        case BlockForm.PARAGRAPH:
            yield Paragraphs(entries)
        case BlockForm.LIST | BlockForm.STEPS:
            yield Listing(entries, numbered=block.form is BlockForm.STEPS)
        case BlockForm.CODE:
            yield Code(entries, made=True, examples=block.code)
        case BlockForm.TABLE:
            columns = len(block.header) - bool(block.rows)
            rows = tuple(entries[at : at + columns] for at in range(0, len(entries), columns))
            yield Grid(
                block.header,
                block.rows,
                rows,
                len(block.header),
                block.code,
                block.marks_by_row and bool(block.rows),
            )


def _quoted(block: ReportBlock, excerpt: Excerpt, entries: tuple[Run, ...]) -> Paragraphs | Listing | Grid | Code:
    match excerpt.kind:
        case ExcerptKind.CODE:
            return Code(entries, "".join(c for c in excerpt.language if c.isalnum() or c in "+-#"))
        case ExcerptKind.TABLE:
            whole = [piece.sentence for entry in entries for piece in entry]
            rows = tuple(tuple((Piece(row, span),) for span in cells_of(row.text)) for row in whole)
            return Grid(block.header, (), rows, max(len(block.header), *map(len, rows), 1))
        case ExcerptKind.LIST | ExcerptKind.STEPS:
            return Listing(entries, numbered=excerpt.kind is ExcerptKind.STEPS)
        case ExcerptKind.PROSE | ExcerptKind.DEFINITION:
            return Paragraphs(entries)


@dataclass(frozen=True, slots=True)
class Styled:
    """Words of a sentence that look alike."""

    text: str
    tells: bool = False
    is_code: bool = False
    leads: bool = False
    is_struck: bool = False


def styled(sentence: Sentence, printed: str, span: tuple[int, int] | None = None) -> Iterator[Styled]:
    """`printed`, which ends with the text of the sentence, or a part of it, in runs that look alike."""
    shift = len(printed) - len(sentence.text)  # labels are printed in front: spans keep their distance to the end
    first, last = span or (0, len(printed))
    marked = [(start + shift, end + shift) for start, end in sentence.marked]
    code = [(start + shift, end + shift) for start, end in sentence.code]
    struck = [(start + shift, end + shift) for start, end in sentence.struck]
    lead = sentence.lead if not shift else 0
    cuts = {first, last, lead, *(at for pair in (*marked, *code, *struck) for at in pair)}
    edges = sorted(at for at in cuts if first <= at <= last)
    for start, end in pairwise(edges):
        tells, is_code, gone = (
            any(low <= start and end <= high for low, high in spans) for spans in (marked, code, struck)
        )
        yield Styled(printed[start:end], tells, is_code, end <= lead, gone)


def names_in(text: str, names: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Where the names stand in the text as whole words, the longest first: what is set as code."""
    ordered = sorted(filter(None, names), key=len, reverse=True)
    if not ordered:
        return ()
    either = "|".join(map(re.escape, ordered))
    return tuple(match.span() for match in re.finditer(rf"(?<![\w-])(?:{either})(?![\w-])", text))


def apart(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The spans in order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def cells_of(text: str) -> tuple[tuple[int, int], ...]:
    """Where the cells of a row stand in its text, which joins them by " | "."""
    found, at = [], 0
    for cell in text.split(" | "):
        found.append((at, at + len(cell)))
        at += len(cell) + len(" | ")
    return tuple(found)

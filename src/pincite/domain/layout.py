"""How the sentences of a report stand together: sections of paragraphs, lists, tables and excerpts."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

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
    `text` that tell most. In an excerpt of code the text may have several lines.
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


class BlockForm(StrEnum):
    """How sentences are laid out."""

    PARAGRAPH = "paragraph"
    LIST = "list"
    STEPS = "steps"
    TABLE = "table"
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

    paragraph: one item · list, steps: an item for each entry · table: an item for each cell, row by row; `header` names
    the columns and `rows`, where given, each row in a column of its own in front · excerpt: one item; of a list or
    steps an item for each entry, of a table an item for each row (cells joined by " | ", `header` names the columns).
    """

    form: BlockForm
    items: tuple[tuple[int, ...], ...]
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    excerpt: Excerpt | None = None


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
    """The indexes of the sentences that are printed as code of a page."""
    return frozenset(
        index
        for block in blocks
        if block.excerpt is not None and block.excerpt.kind is ExcerptKind.CODE
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

"""The blocks of a section in a Word file: lists, numbered steps, tables, excerpts under the place they come from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock, Section, Sentence
from pincite.domain.markdown import one_line
from pincite.domain.signs import cells_of

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.text.paragraph import Paragraph

_CODE_FONT = "DejaVu Sans Mono"


class WordSentences(Protocol):
    """Writes sentences into paragraphs."""

    def write(
        self, paragraph: "Paragraph", sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False
    ) -> None:
        """A sentence or a part of it; unless `bare`, with its numbers."""
        ...

    def source(self, paragraph: "Paragraph", path: Sequence[str], n: int) -> None:
        """Where an excerpt comes from."""
        ...


def write_blocks(section: Section, word: "WordDocument", to: WordSentences) -> None:
    """The sentences of a section as they are laid out."""
    for block in section.blocks:
        items = [[section.sentences[index] for index in item] for item in block.items]
        match block.form:
            case BlockForm.PARAGRAPH:
                _paragraphs(items, word, to)
            case BlockForm.LIST:
                _paragraphs(items, word, to, style="List Bullet")
            case BlockForm.STEPS:
                _steps(items, word, to)
            case BlockForm.TABLE:
                _table(block, items, word, to)
            case BlockForm.EXCERPT:
                if block.excerpt is not None:
                    _excerpt(block, block.excerpt, items, word, to)


def _paragraphs(
    items: Sequence[Sequence[Sentence]],
    word: "WordDocument",
    to: WordSentences,
    style: str | None = None,
    *,
    bare: bool = False,
) -> None:
    for item in items:
        paragraph = word.add_paragraph(style=style)
        for sentence in item:
            to.write(paragraph, sentence, bare=bare)


def _steps(items: Sequence[Sequence[Sentence]], word: "WordDocument", to: WordSentences, *, bare: bool = False) -> None:
    """Numbers as text: those that Word makes itself go on from one list to the next."""
    from docx.shared import Cm

    for n, item in enumerate(items, start=1):
        paragraph = word.add_paragraph(f"{n}.\t")
        paragraph.paragraph_format.left_indent = Cm(0.8)
        paragraph.paragraph_format.first_line_indent = Cm(-0.8)
        paragraph.paragraph_format.tab_stops.add_tab_stop(Cm(0.8))
        for sentence in item:
            to.write(paragraph, sentence, bare=bare)


def _table(block: ReportBlock, items: Sequence[Sequence[Sentence]], word: "WordDocument", to: WordSentences) -> None:
    columns = len(block.header) - bool(block.rows)
    table = _grid(word, block.header, len(items) // columns, len(block.header))
    for place, item in enumerate(items):
        row, column = divmod(place, columns)
        if block.rows and not column:
            table.cell(row + 1, 0).paragraphs[0].add_run(one_line(block.rows[row])).bold = True
        for sentence in item:
            to.write(table.cell(row + 1, column + bool(block.rows)).paragraphs[0], sentence)


def _grid(word: "WordDocument", header: Sequence[str], rows: int, width: int) -> Any:
    """An empty table under its header, which Word repeats on each page."""
    table: Any = word.add_table(rows + bool(header), width, style="Table Grid")
    for cell, name in zip(table.rows[0].cells, header, strict=False):
        cell.paragraphs[0].add_run(one_line(name)).bold = True
    if header:
        mark = table.rows[0]._tr.get_or_add_trPr()  # noqa: SLF001  # the library has no call for it
        mark.append(mark.makeelement(f"{{{mark.nsmap['w']}}}tblHeader"))
    return table


def _excerpt(
    block: ReportBlock,
    excerpt: Excerpt,
    items: Sequence[Sequence[Sentence]],
    word: "WordDocument",
    to: WordSentences,
) -> None:
    path = (*excerpt.path, excerpt.term) if excerpt.term else excerpt.path
    head = word.add_paragraph(style="Source")
    head.paragraph_format.keep_with_next = True
    to.source(head, path, excerpt.reference_n)
    match excerpt.kind:
        case ExcerptKind.CODE:
            for item in items:
                paragraph = word.add_paragraph()
                for sentence in item:
                    to.write(paragraph, sentence, bare=True)
                for run in [*paragraph.runs, *(run for link in paragraph.hyperlinks for run in link.runs)]:
                    run.font.name = _CODE_FONT
        case ExcerptKind.TABLE:
            rows = [row for item in items for row in item]
            width = max(len(block.header), *(len(cells_of(row.text)) for row in rows), 1)
            table = _grid(word, block.header, len(rows), width)
            for at, row in enumerate(rows, start=bool(block.header)):
                for cell, span in zip(table.rows[at].cells, cells_of(row.text), strict=False):
                    to.write(cell.paragraphs[0], row, span, bare=True)
        case ExcerptKind.LIST:
            _paragraphs(items, word, to, style="List Bullet", bare=True)
        case ExcerptKind.STEPS:
            _steps(items, word, to, bare=True)
        case ExcerptKind.PROSE | ExcerptKind.DEFINITION:
            _paragraphs(items, word, to, style="Quote", bare=True)

"""The blocks of a section in a Word file: lists, numbered steps, tables, excerpts under the place they come from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pincite.domain.layout import (
    Code,
    Grid,
    Laid,
    Listing,
    Paragraphs,
    Quotation,
    Run,
    Section,
    Sentence,
    SentenceKind,
    laid_out,
    names_in,
)
from pincite.domain.markdown import one_line
from pincite.domain.signs import styled_pieces

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.text.paragraph import Paragraph

CODE_FONT = "DejaVu Sans Mono"


class WordSentences(Protocol):
    """Writes sentences into paragraphs."""

    def write(
        self, paragraph: "Paragraph", sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False
    ) -> None:
        """A sentence or a part of it; unless `bare`, with its numbers."""

    def numbers(self, paragraph: "Paragraph", sentences: Sequence[Sentence]) -> None:
        """The numbers of several sentences, each once."""

    def source(self, paragraph: "Paragraph", path: Sequence[str], n: int) -> None:
        """Where an excerpt comes from."""


def write_section(section: Section, word: "WordDocument", to: WordSentences) -> None:
    """The sentences of a section as they are laid out."""
    for laid in laid_out(section):
        _write(laid, word, to)


def _write(laid: Laid, word: "WordDocument", to: WordSentences, *, bare: bool = False) -> None:
    match laid:
        case Quotation():
            head = word.add_paragraph(style="Source")
            head.paragraph_format.keep_with_next = True
            to.source(head, laid.path, laid.excerpt.reference_n)
            for content in laid.contents:
                _write(content, word, to, bare=True)
        case Code():
            for entry in laid.entries:
                paragraph = word.add_paragraph()
                _run(paragraph, entry, to, bare=bare or laid.made)
                for run in [*paragraph.runs, *(run for link in paragraph.hyperlinks for run in link.runs)]:
                    run.font.name = CODE_FONT
            if laid.made:
                below = word.add_paragraph()
                to.numbers(below, [piece.sentence for entry in laid.entries for piece in entry])
                below.add_run(f" {laid.note}")
        case Grid():
            _table(laid, word, to, bare=bare)
        case Listing(numbered=True):
            _steps(laid.entries, word, to, bare=bare)
        case Listing() | Paragraphs():
            style = "List Bullet" if isinstance(laid, Listing) else "Quote" if bare else None
            for entry in laid.entries:
                _run(word.add_paragraph(style=style), entry, to, bare=bare)


def _run(paragraph: "Paragraph", pieces: Run, to: WordSentences, *, bare: bool) -> None:
    for piece in pieces:
        to.write(paragraph, piece.sentence, piece.span, bare=bare)


def _steps(entries: Sequence[Run], word: "WordDocument", to: WordSentences, *, bare: bool) -> None:
    """Numbers as text: those that Word makes itself go on from one list to the next."""
    from docx.shared import Cm

    for n, entry in enumerate(entries, start=1):
        paragraph = word.add_paragraph(f"{n}.\t")
        paragraph.paragraph_format.left_indent = Cm(0.8)
        paragraph.paragraph_format.first_line_indent = Cm(-0.8)
        paragraph.paragraph_format.tab_stops.add_tab_stop(Cm(0.8))
        _run(paragraph, entry, to, bare=bare)


def _table(grid: Grid, word: "WordDocument", to: WordSentences, *, bare: bool) -> None:
    """A table under its header, which Word repeats on each page."""
    table: Any = word.add_table(len(grid.rows) + bool(grid.header), grid.width, style="Table Grid")
    for cell, name in zip(table.rows[0].cells, grid.header, strict=False):
        _name(cell.paragraphs[0], name, grid.code)
    if grid.header:
        mark = table.rows[0]._tr.get_or_add_trPr()  # noqa: SLF001  # the library has no call for it
        mark.append(mark.makeelement(f"{{{mark.nsmap['w']}}}tblHeader"))
    for at, row in enumerate(grid.rows, start=bool(grid.header)):
        if grid.names:
            place, first = at - bool(grid.header), table.cell(at, 0).paragraphs[0]
            _name(first, grid.names[place], grid.code)
            to.numbers(first, grid.cited(place))
        cells = table.rows[at].cells[bool(grid.names) :]
        for cell, pieces in zip(cells, row, strict=False):
            _run(cell.paragraphs[0], pieces, to, bare=bare or grid.marks_by_row)


def _name(paragraph: "Paragraph", text: str, code: Sequence[str]) -> None:
    """The name of a row or a column."""
    line = one_line(text)
    for piece in styled_pieces(Sentence(line, SentenceKind.CONNECTIVE, code=names_in(line, code))):
        run = paragraph.add_run(piece.text)
        run.bold = True
        if piece.is_code:
            run.font.name = CODE_FONT

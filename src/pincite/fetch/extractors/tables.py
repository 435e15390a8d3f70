"""HTML tables: which hold data, and their cells as a grid with the places that spans cover."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind, CellSpan, Mark
from pincite.domain.page_markdown import CELL_SEPARATOR

# A wider table is a layout or a matrix, which nobody reads as text.
MAX_COLUMNS = 200
# Places of a grid; a page of 5 MB has fewer cells, spans could claim any number.
MAX_CELLS = 400_000
# Source: WHATWG HTML §4.9.11, colspan and rowspan are clamped to these.
_HTML_MAX_COLSPAN, _HTML_MAX_ROWSPAN = 1_000, 65_534
_BLOCKY = "h1 h2 h3 h4 h5 h6 article section form".split()
# A cell of a page of text: the table only lays the page out.
_MAX_CELL_WORDS = 400
# Two cells side by side are a caption and its picture, or a number and its line.
_RECORD_CELLS = 3
_CHARS = etree.XPath("string-length(.)")
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s]*[^\w]*\Z")
_DIGITS = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell with its marks, offsets in its own text."""

    text: str
    marks: tuple[Mark, ...]


NOTHING = Cell("", ())


def holds_data(table: HtmlElement) -> bool:
    """Whether the table is one for a reader, not a way to lay out a page."""
    if (table.get("role") or "").lower() in {"presentation", "none"}:
        return False
    if next(table.iter(*_BLOCKY), None) is not None or next(table.iterdescendants("table"), None) is not None:
        return False
    rows = rows_of(table)
    if not rows:
        return False
    labelled = any(cell.tag == "th" for row in rows for cell in row) or table.find("caption") is not None
    widest = max(len(row) for row in rows)
    if widest > MAX_COLUMNS or (len(rows) < 2 and not labelled and not _is_record(rows)):
        return False
    if widest < 2 and not labelled:
        return False
    return labelled or _fits_cell(table) or not any(_long(cell) for row in rows for cell in row)


def _is_record(rows: list[list[HtmlElement]]) -> bool:
    """Whether one row is an entry of a reference (name, type, default) set as a table: plain short words, no links."""
    cells = [cell for row in rows for cell in row]
    fits = _fits_cell(cells[0].getparent())
    return len(cells) >= _RECORD_CELLS and not any(
        (not fits and _long(cell))
        or next(cell.iter("a", "div", "p", "img", "ul", "ol", "input", "br"), None) is not None
        for cell in cells
    )


def rows_of(table: HtmlElement) -> list[list[HtmlElement]]:
    """The cells of each row in page order, foot last."""
    body: list[list[HtmlElement]] = []
    foot: list[list[HtmlElement]] = []
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in {"td", "th"}]
        if cells:
            parent = row.getparent()
            (foot if parent is not None and parent.tag == "tfoot" else body).append(cells)
    return body + foot


def table_block(table: HtmlElement, read: Callable[[HtmlElement], Cell]) -> Block | None:
    """The table as a block; None when it holds no text. `read` gives the text of a cell.

    Text stands once, at the top left place of its cell; what a span covers besides is empty and named in `spans`.
    """
    elements = rows_of(table)
    grid: list[list[Cell]] = []
    heads: list[list[bool]] = []
    spans: list[CellSpan] = []
    covered: dict[int, int] = {}  # column: rows still to be covered by a cell above
    places = 0
    for number, row in enumerate(elements):
        cells: list[Cell] = []
        head: list[bool] = []
        for element in row:
            _skip_covered(cells, head, covered)
            width = height = 1
            if element.keys():
                width = min(_span_of(element, "colspan", _HTML_MAX_COLSPAN), max(MAX_COLUMNS - len(cells), 1))
                height = min(_span_of(element, "rowspan", _HTML_MAX_ROWSPAN), len(elements) - number)
            if width > 1 or height > 1:
                spans.append(CellSpan(number, len(cells), height, width))
            if height > 1:
                covered.update((len(cells) + place, height) for place in range(width))
            cells += [read(element), *[NOTHING] * (width - 1)]
            head += [element.tag == "th"] * width
        _skip_covered(cells, head, covered)
        covered = {column: left - 1 for column, left in covered.items() if left > 1}
        places += len(cells)
        if places > MAX_CELLS:
            break
        grid.append(cells)
        heads.append(head)
    shown = [number for number, cells in enumerate(grid) if any(cell.text for cell in cells)]
    rows = [grid[number] for number in shown]
    text, marks = join_rows(rows)
    if not text.strip():
        return None
    header_rows = _header_rows(elements, [heads[number] for number in shown], shown)
    return Block(
        kind=BlockKind.TABLE,
        text=text,
        rows=tuple(tuple(cell.text for cell in row) for row in rows),
        has_header=header_rows > 0,
        marks=marks,
        header_rows=header_rows,
        header_columns=_header_columns([heads[number] for number in shown[header_rows:]]),
        spans=_renumbered(spans, shown),
    )


def _skip_covered(cells: list[Cell], head: list[bool], covered: dict[int, int]) -> None:
    """Leave the places empty that a cell of an earlier row reaches down into."""
    while covered.get(len(cells), 0) > 0 and len(cells) < MAX_COLUMNS:
        cells.append(NOTHING)
        head.append(True)


def _span_of(cell: HtmlElement, attribute: str, most: int) -> int:
    """How many columns or rows the cell covers. A `rowspan` of 0 means all that follow."""
    value = (cell.get(attribute) or "").strip()
    if not value or not _DIGITS.fullmatch(value):
        return 1
    number = int(value)
    return most if number == 0 and attribute == "rowspan" else min(max(number, 1), most)


def _header_rows(elements: list[list[HtmlElement]], heads: list[list[bool]], shown: list[int]) -> int:
    """How many of the rows at the top name the columns: those of the head, else those made of header cells alone."""
    count = 0
    for head, number in zip(heads, shown, strict=True):
        parent = elements[number][0].getparent()
        section = parent.getparent() if parent is not None else None
        in_head = section is not None and section.tag == "thead"
        across = len(elements[number]) == 1 and count > 0  # a label of the rows below
        if not in_head and (across or not all(head)):
            break
        count += 1
    return count if count < len(heads) else min(count, 1)


def _header_columns(heads: list[list[bool]]) -> int:
    """How many columns at the left are header cells in every row but those that are one cell across."""
    rows = [head for head in heads if len(head) > 1 and not all(head)]
    if not rows:
        return 0
    count = 0
    while all(count < len(head) and head[count] for head in rows):
        count += 1
    return count


def _renumbered(spans: list[CellSpan], shown: list[int]) -> tuple[CellSpan, ...]:
    """The spans in the rows that are shown: rows without any text are left out."""
    places = {number: place for place, number in enumerate(shown)}
    found: list[CellSpan] = []
    for span in spans:
        height = bisect_left(shown, span.row + span.rows) - bisect_left(shown, span.row)
        if span.row in places and (height > 1 or span.columns > 1):
            found.append(replace(span, row=places[span.row], rows=height))
    return tuple(found)


def names_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has words above numbers: in a table that marks no header it names the columns."""
    if len(rows) < 2:
        return False
    for head, *column in zip(*rows, strict=False):
        numbers = sum(bool(_NUMBER.match(cell)) for cell in column)
        named = any(char.isalpha() for char in head) and not any(char.isdigit() for char in head)
        if named and 2 * numbers > len(column):
            return True
    return False


def with_header(block: Block) -> Block:
    """The block; a table that marks no header has its first row as one where that names the columns."""
    if block.kind is not BlockKind.TABLE or block.has_header or not names_columns(block.rows):
        return block
    return replace(block, has_header=True, header_rows=1)


def join_rows(rows: list[list[Cell]]) -> tuple[str, tuple[Mark, ...]]:
    """One line per row, cells joined by ` | `, marks moved to their place in the whole."""
    lines: list[str] = []
    marks: list[Mark] = []
    position = 0
    for row in rows:
        start = position
        for index, cell in enumerate(row):
            start += len(CELL_SEPARATOR) if index else 0
            marks += [
                Mark(mark.start + start, mark.end + start, mark.kind, mark.href, mark.title) for mark in cell.marks
            ]
            start += len(cell.text)
        lines.append(CELL_SEPARATOR.join(cell.text for cell in row))
        position += len(lines[-1]) + 1
    return "\n".join(lines), tuple(marks)


def _fits_cell(element: HtmlElement) -> bool:
    """Whether all that the element holds is no more than a cell may: seen without counting words."""
    return bool(_CHARS(element) <= 2 * _MAX_CELL_WORDS)


def _long(cell: HtmlElement) -> bool:
    return not _fits_cell(cell) and sum(len(piece.split()) for piece in cell.itertext()) > _MAX_CELL_WORDS

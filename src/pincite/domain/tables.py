"""Where the cells of a table block stand in its text, and what names their rows and columns."""

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, CellSpan

CELL_SEPARATOR = " | "


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell with its place in the grid and its offsets `[start, end)` in the text of its block."""

    row: int
    column: int
    rows: int
    columns: int
    start: int
    end: int
    text: str


def header_row_count(block: Block) -> int:
    """How many rows at the top name the columns."""
    return max(block.header_rows, int(block.has_header))


def table_cells(block: Block) -> tuple[TableCell, ...]:
    """The cells that hold text, row by row. Empty where the text of the block is not that of its rows."""
    spans = {(span.row, span.column): span for span in block.spans}
    found: list[TableCell] = []
    at = 0
    for row, cells in enumerate(block.rows):
        for column, text in enumerate(cells):
            if block.text[at : at + len(text)] != text:
                return ()
            if text:
                span = spans.get((row, column), CellSpan(row, column))
                found.append(TableCell(row, column, span.rows, span.columns, at, at + len(text), text))
            at += len(text) + len(CELL_SEPARATOR)
        at += 1 - len(CELL_SEPARATOR)  # a line ends with one character
    return tuple(found)


def row_headers(block: Block, row: int) -> tuple[TableCell, ...]:
    """What names `row`: the last row above that is one cell across all columns, cells that reach down, its own head."""
    cells = [cell for cell in table_cells(block) if header_row_count(block) <= cell.row <= row]
    width = max(map(len, block.rows), default=0)
    across = [cell for cell in cells if cell.row < row and cell.columns >= width > 1]
    reaching = [cell for cell in cells if cell.row < row < cell.row + cell.rows and cell not in across]
    own = [cell for cell in cells if cell.row == row and cell.column < block.header_columns]
    return (*across[-1:], *reaching, *own)

"""Cells by their place: headers that span, cells that reach down, texts of earlier versions."""

from pincite.domain.page import Block, BlockKind, CellSpan
from pincite.domain.tables import row_headers, table_cells

ROWS = (("", "2019", ""), ("", "Q1", "Q2"), ("North", "10", "11"), ("", "20", "21"))
TABLE = Block(
    BlockKind.TABLE,
    "\n".join(" | ".join(row) for row in ROWS),
    rows=ROWS,
    has_header=True,
    header_rows=2,
    header_columns=1,
    spans=(CellSpan(0, 1, 1, 2), CellSpan(2, 0, 2, 1)),
)


def test_offsets_and_headers_of_a_cell() -> None:
    cells = {(cell.row, cell.column): cell for cell in table_cells(TABLE)}
    assert all(TABLE.text[cell.start : cell.end] == cell.text for cell in cells.values())
    assert [cell.text for cell in row_headers(TABLE, 3)] == ["North"]


def test_rows_that_are_not_the_text_have_no_cells() -> None:
    assert table_cells(Block(BlockKind.TABLE, "a | b", rows=(("a", "c"),))) == ()
    assert row_headers(Block(BlockKind.TABLE, "a | b"), 0) == ()

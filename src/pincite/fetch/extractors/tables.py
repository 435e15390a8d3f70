"""HTML tables: which hold data, and their rows as text with marks."""

import re
from dataclasses import dataclass

from lxml.html import HtmlElement

from pincite.domain.page import Mark

CELL_SEPARATOR = " | "
MAX_COLUMNS = 200
_BLOCKY = "h1 h2 h3 h4 h5 h6 table article section form".split()
_MAX_CELL_WORDS = 400
_DIGITS = re.compile(r"\d{1,4}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell with its marks, offsets in its own text."""

    text: str
    marks: tuple[Mark, ...]


def holds_data(table: HtmlElement) -> bool:
    """Whether the table is one for a reader, not a way to lay out a page."""
    if (table.get("role") or "").lower() in {"presentation", "none"}:
        return False
    if next(table.iter(*_BLOCKY[:6], *_BLOCKY[7:]), None) is not None:
        return False
    if sum(1 for _ in table.iter("table")) > 1:
        return False
    rows = rows_of(table)
    if not rows:
        return False
    labelled = any(cell.tag == "th" for row in rows for cell in row) or table.find("caption") is not None
    widest = max(len(row) for row in rows)
    if (len(rows) < 2 and not labelled) or widest > MAX_COLUMNS:
        return False
    if widest < 2 and not labelled:
        return False
    return labelled or not any(_long(cell) for row in rows for cell in row)


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


def is_header(row: list[HtmlElement]) -> bool:
    """Whether a first row names the columns."""
    parent = row[0].getparent()
    section = parent.getparent() if parent is not None else None
    return (section is not None and section.tag == "thead") or all(cell.tag == "th" for cell in row)


def span_of(cell: HtmlElement, attribute: str = "colspan") -> int:
    """How many columns (or rows, by `rowspan`) the cell covers, bounded."""
    value = (cell.get(attribute) or "1").strip()
    return min(max(int(value), 1), 50) if _DIGITS.fullmatch(value) else 1


def join_rows(rows: list[list[Cell]]) -> tuple[str, tuple[Mark, ...]]:
    """One line per row, cells joined by ` | `, marks moved to their place in the whole."""
    lines: list[str] = []
    marks: list[Mark] = []
    position = 0
    for row in rows:
        start = position
        for index, cell in enumerate(row):
            start += len(CELL_SEPARATOR) if index else 0
            marks += [Mark(m.start + start, m.end + start, m.kind, m.href) for m in cell.marks]
            start += len(cell.text)
        lines.append(CELL_SEPARATOR.join(cell.text for cell in row))
        position += len(lines[-1]) + 1
    return "\n".join(lines), tuple(marks)


def _long(cell: HtmlElement) -> bool:
    return sum(len(piece.split()) for piece in cell.itertext()) > _MAX_CELL_WORDS

"""A document as Markdown, rendered from the same blocks as its text; where the cells of its tables stand in that."""

import re
from collections.abc import Iterator

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind, CellSpan, Document, Mark, MarkKind

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


# The sign first and then what has to stand around it: a search that begins with a set of signs takes a sixth of the
# time.
_SPECIAL = re.compile(
    r"[\\`*<(_](?:(?<=[\\`*])|(?<=<)(?=[a-zA-Z/!?])|(?<=\]\()(?=\S)|(?<=_)(?:(?<![A-Za-z0-9]_)|(?![A-Za-z0-9])))"
)
_LINE_START = re.compile(
    r"^(\s*\d{0,9})((?<!\d)#{1,6}(?=\s)|(?<!\d)[-+>](?=\s|$)|(?<=\d)[.)](?=\s)|=+$|-+$)", re.MULTILINE
)
# Marks in marks: bold in a link in a quotation is three. Deeper ones come from broken or hostile pages.
_MAX_DEPTH = 6
_FENCE = re.compile(r"`{3,}")
_LISTS = frozenset({BlockKind.LIST_ITEM, BlockKind.TERM, BlockKind.DEFINITION})


def document_markdown(document: Document) -> str:
    """The blocks as CommonMark with pipe tables; page numbers of a PDF stand as HTML comments before their page."""
    pieces: list[str] = []
    previous: Block | None = None
    for block in document.blocks:
        if previous is not None:
            tight = block.kind in _LISTS and previous.kind in _LISTS and block.kind is not BlockKind.TERM
            pieces.append("\n" if tight else "\n\n")
        if block.page is not None and (previous is None or previous.page != block.page):
            pieces.append(f"<!-- page {block.page} -->\n\n")
        pieces.append(block_markdown(block))
        previous = block
    return "".join(pieces)


def block_markdown(block: Block) -> str:
    """One block as Markdown."""
    match block.kind:
        case BlockKind.HEADING:
            return f"{'#' * min(max(block.level, 1), 6)} {_inline(block, one_line=True)}"
        case BlockKind.LIST_ITEM:
            marker = f"{block.number or 1}." if block.ordered else "-"
            indent = "  " * block.level + " " * (block.level if block.ordered else 0)
            return f"{indent}{marker} {_inline(block)}".replace("\n", f"\n{indent}  ")
        case BlockKind.TERM:
            return f"**{_inline(block, one_line=True, plain=True)}**"
        case BlockKind.DEFINITION:
            return f": {_inline(block)}".replace("\n", "\n  ")
        case BlockKind.CODE:
            longest = max((len(run) for run in _FENCE.findall(block.text)), default=2)
            fence = "`" * (longest + 1)
            return f"{fence}{block.language}\n{block.text}\n{fence}"
        case BlockKind.TABLE if block.rows:
            return "\n".join(_table(block))
        case BlockKind.QUOTATION:
            return "> " + _inline(block).replace("\n", "\n> ")
        case BlockKind.CAPTION:
            return f"*{_inline(block, one_line=True, plain=True)}*"
        case _:
            return _inline(block)


def _table(block: Block) -> Iterator[str]:
    width = max(len(row) for row in block.rows)
    rows = [tuple(row) + ("",) * (width - len(row)) for row in _cells(block)]
    header, body = (rows[0], rows[1:]) if header_row_count(block) else (("",) * width, rows)
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * width}"
    for row in body:
        yield f"| {' | '.join(row)} |"


def _cells(block: Block) -> Iterator[list[str]]:
    """The cells with their marks. `text` is the rows' cells joined by ` | `, and marks are offsets in it."""
    marks = sorted(block.marks, key=lambda mark: (mark.start, -mark.end))
    at = index = 0
    for row in block.rows:
        shown = []
        for cell in row:
            end = at + len(cell)
            first = index
            while index < len(marks) and marks[index].start < end:
                index += 1
            inside = tuple(mark for mark in marks[first:index] if mark.start >= at)
            known = block.text[at:end] == cell
            shown.append(_cell(_marked(block.text, at, end, inside) if known else _escaped(cell)))
            at = end + len(CELL_SEPARATOR)
        at += 1 - len(CELL_SEPARATOR)  # a line ends with one character
        yield shown


def _cell(markdown: str) -> str:
    return " ".join(markdown.split()).replace("|", "\\|")


def _inline(block: Block, *, one_line: bool = False, plain: bool = False) -> str:
    marks = () if plain else tuple(mark for mark in block.marks if 0 <= mark.start < mark.end <= len(block.text))
    text = _marked(block.text, 0, len(block.text), tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end))))
    if block.kind is not BlockKind.HEADING:  # it does not begin its line
        text = _LINE_START.sub(r"\1\\\2", text)
    return " ".join(text.split()) if one_line else text


def _marked(text: str, start: int, end: int, marks: tuple[Mark, ...], depth: int = 0) -> str:
    """The slice with its marks, outermost first; one that crosses another's border or lies too deep is left out."""
    if not marks:
        return _escaped(text[start:end])
    pieces: list[str] = []
    at, index = start, 0
    while index < len(marks):
        mark = marks[index]
        index += 1
        if mark.start < at or mark.end > end:
            continue
        first = index
        while index < len(marks) and marks[index].start < mark.end:  # they are in the order of their starts
            index += 1
        inner = tuple(other for other in marks[first:index] if other.end <= mark.end) if depth < _MAX_DEPTH else ()
        pieces.append(_escaped(text[at : mark.start]))
        pieces.append(_wrapped(text, mark, inner, depth + 1))
        at = mark.end
    pieces.append(_escaped(text[at:end]))
    return "".join(pieces)


def _wrapped(text: str, mark: Mark, inner: tuple[Mark, ...], depth: int) -> str:
    content = text[mark.start : mark.end]
    if mark.kind is MarkKind.CODE:
        if "`" not in content:
            return f"`{content}`"
        ticks = "`" * (max(len(run) for run in re.findall("`+", content)) + 1)
        pad = " " if content.startswith("`") or content.endswith("`") else ""
        return f"{ticks}{pad}{content}{pad}{ticks}"
    body = _marked(text, mark.start, mark.end, inner, depth)
    if not body.strip():
        return body
    lead, trail = body[: len(body) - len(body.lstrip())], body[len(body.rstrip()) :]
    match mark.kind:
        case MarkKind.STRONG:
            return f"{lead}**{body.strip()}**{trail}"
        case MarkKind.EMPHASIS:
            return f"{lead}*{body.strip()}*{trail}"
        case MarkKind.STRUCK:
            return f"{lead}~~{body.strip()}~~{trail}"
        case MarkKind.LINK:
            target = mark.href.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
            return f"{lead}[{body.strip()}]({target}){trail}" if target else body
        case _:
            return body


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)

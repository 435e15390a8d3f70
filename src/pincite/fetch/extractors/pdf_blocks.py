"""Lines of PDF pages to blocks: headings by size, tables by alignment, code by its font, contents, lists."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors.pdf_lines import Line
from pincite.fetch.extractors.tables import names_columns

# Longer lines in large type are quotations and leads.
HEADING_CHARS = 120
# Of the body's size. Faces set larger for emphasis or by another font are within a tenth of it.
_HEADING_SIZE = 1.15
# Sizes within a twelfth are one level of heading: programs scale them.
_SAME_SIZE = 1.08
_BULLET = re.compile(r"^\s*[•‣◦▪●–—·*-]\s+")
_BULLET_ALONE = re.compile(r"(?:[•‣◦▪●–—·*-]|\(?\w{1,3}[.)])\Z")
_NUMBERED = re.compile(r"^\s*(\d{1,3})[.)]\s+(?=\S)")
_LEADERS = re.compile(r"^(.*?\w.*?)(?:\s?[.·…]){4,}\s*(\d{1,4}|[ivxlc]{1,7})\Z", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
# Of a full line: a paragraph ended there.
_SHORT = 0.75
# Of the width of the column: the line ran to its end, so the next may go on with it.
_FULL_SHARE = 0.8
# Of the usual distance of lines on the page.
_PARAGRAPH_GAP = 1.5
# A millimetre: what a reader sees as one edge.
_ALIGNED_POINTS = 3.0
# Two lines with a gap at the same place are chance, or a head with its one line.
_FEWEST_ROWS = 3
# Of the letters of a file: where more is bold, bold marks nothing.
_BOLD_SHARE = 0.2
# On average at most: columns of prose have eight words a line and more.
_CELL_WORDS = 6


@dataclass(slots=True)
class PageReader:
    """Reads the pages of one document.

    Args:
        pages: the lines of each page, running heads left out.
        titles: bookmarks, as levels by page number and `key_of` their title.
        key_of: what titles and lines are compared by.
    """

    pages: Sequence[Sequence[Line]]
    titles: Mapping[tuple[int, str], int]
    blocks: list[Block] = field(default_factory=list)
    _sizes: list[tuple[float, int]] = field(default_factory=list)
    _bold_titles: bool = False
    _page: int = 0
    _pitch: float = 0.0
    _right: float = 0.0
    _full: int = 0
    _pending: list[Line] = field(default_factory=list)

    def read(self) -> list[Block]:
        """The blocks of all pages."""
        self._sizes = self._heading_sizes()
        letters = [(len(line.text), line.bold) for lines in self.pages for line in lines]
        self._bold_titles = sum(size for size, bold in letters if bold) < _BOLD_SHARE * sum(size for size, _ in letters)
        for number, lines in enumerate(self.pages, start=1):
            self._page = number
            self._measure(lines)
            place = 0
            while place < len(lines):
                place += self._take(lines, place)
            self._flush()
        return self.blocks

    def _heading_sizes(self) -> list[tuple[float, int]]:
        """Least size and level of each kind of heading, the largest first."""
        weights: Counter[float] = Counter()
        for lines in self.pages:
            for line in lines:
                weights[line.size] += len(line.text)
        body = weights.most_common(1)[0][0] if weights else 0.0
        if body <= 0:
            return []
        marked: dict[float, int] = {}
        for number, lines in enumerate(self.pages, start=1):
            for line in lines:
                level = self.titles.get((number, key_of(line.text)))
                if level is not None:
                    marked[line.size] = min(level + 1, marked.get(line.size, 6))
        larger = {
            line.size
            for lines in self.pages
            for line in lines
            if line.size >= _HEADING_SIZE * body and not _LEADERS.match(line.text)
        }
        kinds: list[list[float]] = []
        for size in sorted(larger, reverse=True):
            if kinds and kinds[-1][0] <= _SAME_SIZE * size:
                kinds[-1].append(size)
            else:
                kinds.append([size])
        found: list[tuple[float, int]] = []
        level = 0
        for kind in kinds:
            level = min((marked[size] for size in kind if size in marked), default=min(level + 1, 6))
            found.append((kind[-1], level))
        return found

    def _measure(self, lines: Sequence[Line]) -> None:
        widths = sorted(len(line.text) for line in lines)
        self._full = widths[int(len(widths) * 0.8)] if widths else 0
        self._right = max((line.right for line in lines), default=0.0)
        steps = [above.bottom - below.bottom for above, below in pairwise(lines)]
        self._pitch = median(down) if (down := [step for step in steps if step > 1]) else 0.0

    def _take(self, lines: Sequence[Line], place: int) -> int:
        """Read what begins at this line; how many lines it has."""
        line = lines[place]
        if entry := _LEADERS.match(line.text):
            self._add(Block(BlockKind.LIST_ITEM, f"{entry.group(1).strip()} … {entry.group(2)}", note="contents"))
            return 1
        if (level := self._level(line)) is not None:
            return self._heading(lines, place, level)
        if line.fixed_width and not self._is_amid_sentence(lines, place):
            return self._code(lines, place)
        if line.is_placed and (rows := table_rows(lines, place)) is not None:
            used, cells, has_header = rows
            text = "\n".join(" | ".join(row) for row in cells)
            self._add(
                Block(BlockKind.TABLE, text, rows=cells, has_header=has_header, header_rows=1 if has_header else 0)
            )
            return used
        if line.bold and self._bold_titles and (used := self._bold_lines(lines, place)):
            text = line.text
            for last, more in pairwise(lines[place : place + used]):
                text = _put(text, last, more.text)
            self._add(Block(BlockKind.HEADING, text, level=min(max((at for _, at in self._sizes), default=1) + 1, 6)))
            return used
        if self._pending and self._begins(self._pending[-1], line):
            self._flush()
        self._pending.append(line)
        return 1

    def _is_amid_sentence(self, lines: Sequence[Line], place: int) -> bool:
        """Whether one line of fixed width goes on with the sentence above: names in a sentence may fill a line."""
        line, above = lines[place], self._pending[-1] if self._pending else None
        after = lines[place + 1] if place + 1 < len(lines) else None
        if above is None or not line.is_placed or (after is not None and after.fixed_width):
            return False
        ran_on = above.right >= _FULL_SHARE * self._right and not _SENTENCE_END.search(above.text)
        return ran_on and line.left <= self._pending[0].left + 0.5 * line.size and not self._is_far(above, line)

    def _is_far(self, above: Line, line: Line) -> bool:
        """Whether more than the usual distance lies between two lines."""
        return bool(self._pitch) and above.bottom - line.bottom > _PARAGRAPH_GAP * self._pitch

    def _bold_lines(self, lines: Sequence[Line], place: int) -> int:
        """How many bold lines stand there as the title of the text below, in the text's own size."""
        used = 1
        while used < 3 and place + used < len(lines) and lines[place + used].bold:
            used += 1
        first, last = lines[place], lines[place + used - 1]
        if place + used == len(lines) or not first.is_placed or first.fixed_width or lines[place + used].bold:
            return 0
        text, above = " ".join(line.text for line in lines[place : place + used]), self._pending[-1:]
        ends = not above or _SENTENCE_END.search(above[0].text) or self._is_far(above[0], first)
        if not ends or len(text) > HEADING_CHARS or not any(char.isalpha() for char in text):
            return 0
        paged = len(first.pieces) > 1 and first.pieces[-1].text.isdigit()  # an entry of contents
        if _SENTENCE_END.search(text) or _BULLET.match(text) or len(first.pieces) > 2 or paged:
            return 0
        below = lines[place + used]
        return used if below.is_placed and below.top < last.top and not _is_row(below) else 0

    def _level(self, line: Line) -> int | None:
        """The level of a heading, or None."""
        if len(line.text) > HEADING_CHARS:
            return None
        if (marked := self.titles.get((self._page, key_of(line.text)))) is not None:
            return min(marked + 1, 6)
        if line.fixed_width or not any(char.isalpha() for char in line.text):
            return None
        return next((level for least, level in self._sizes if line.size >= least), None)

    def _heading(self, lines: Sequence[Line], place: int, level: int) -> int:
        """A heading goes on in the next line of its size where the first one was full."""
        text, last, used = lines[place].text, lines[place], 1
        for line in lines[place + 1 :]:
            joined = _put(text, last, line.text)
            if (
                not line.is_placed
                or abs(line.size - last.size) > 1
                or last.right < _FULL_SHARE * self._right
                or self._level(line) != level
                or len(joined) > HEADING_CHARS
            ):
                break
            text, last, used = joined, line, used + 1
        self._add(Block(BlockKind.HEADING, text, level=level))
        return used

    def _code(self, lines: Sequence[Line], place: int) -> int:
        run = [lines[place]]
        for line in lines[place + 1 :]:
            if not line.fixed_width or self._level(line) is not None:
                break
            run.append(line)
        self._add(Block(BlockKind.CODE, set_in_columns(run)))
        return len(run)

    def _begins(self, last: Line, line: Line) -> bool:
        """Whether a paragraph or an item begins with `line`."""
        if last.goes_on:
            return False
        if _BULLET.match(line.text):
            return True
        if line.is_placed and self._pitch:
            if self._is_far(last, line):
                return True
            indented = line.left > self._pending[-1].left + 0.5 * line.size
            if indented and _SENTENCE_END.search(last.text) and not _BULLET.match(self._pending[0].text):
                return True
        short = len(last.text) < _SHORT * self._full
        if _SENTENCE_END.search(last.text):
            return short or bool(_NUMBERED.match(line.text))
        return short and not line.text[:1].islower() and (line.text[:1].isupper() or line.text[:1].isdigit())

    def _add(self, block: Block) -> None:
        self._flush()
        self.blocks.append(replace(block, page=self._page))

    def _flush(self) -> None:
        if not self._pending:
            return
        text = self._pending[0].text
        for last, line in pairwise(self._pending):
            text = _put(text, last, line.text)
        self._pending.clear()
        match = _BULLET.match(text)
        kind = BlockKind.LIST_ITEM if match and text[match.end() :].strip() else BlockKind.PARAGRAPH
        said = text[match.end() :].strip() if match and kind is BlockKind.LIST_ITEM else text
        self.blocks.append(Block(kind, said, page=self._page))


def key_of(text: str) -> str:
    """What titles and lines are compared by: letters and digits alone."""
    return re.sub(r"[\W_]+", "", text).casefold()


def _put(text: str, last: Line, more: str) -> str:
    return text + ("" if last.goes_on else " ") + more


def set_in_columns(lines: Sequence[Line]) -> str:
    """Lines of a font of fixed width with their indents, gaps and blank lines."""
    longest = max((piece for line in lines for piece in line.pieces), key=lambda piece: len(piece.text))
    width = (longest.right - longest.left) / len(longest.text)
    if width <= 0:
        return "\n".join(line.text for line in lines)
    start = min(line.left for line in lines)
    steps = [above.bottom - below.bottom for above, below in pairwise(lines)]
    pitch = min((step for step in steps if step > 1), default=0.0)
    rows: list[str] = []
    for step, line in zip([0.0, *steps], lines, strict=True):
        if rows and pitch and step > _PARAGRAPH_GAP * pitch:
            rows.append("")
        row = ""
        for piece in line.pieces:
            row = row.ljust(round((piece.left - start) / width)) if row else " " * round((piece.left - start) / width)
            row += ("" if not row.strip() or row.endswith(" ") else " ") + piece.text
        rows.append(row)
    return "\n".join(rows)


def table_rows(lines: Sequence[Line], place: int) -> tuple[int, tuple[tuple[str, ...], ...], bool] | None:
    """The table that begins at a line: how many lines it has, its cells, whether its first row is a header."""
    first = lines[place]
    if not _is_row(first):
        return None
    rows: list[list[Line]] = [[first]]
    used = 1
    for line in lines[place + 1 :]:
        above = rows[-1][0]
        if _is_row(line) and _is_aligned(above, line):
            rows.append([line])
        elif len(rows) > 1 and _goes_on(rows[-1], line):
            rows[-1].append(line)
        else:
            break
        used += 1
    if len(rows) < _FEWEST_ROWS:
        return None
    columns = _columns([row[0] for row in rows])
    cells = tuple(_cells(row, columns) for row in rows)
    filled = [cell for row in cells for cell in row if cell]
    if len(columns) < 2 or sum(len(cell.split()) for cell in filled) > _CELL_WORDS * len(filled):
        return None
    # The first row names the columns: it alone is bold, or it has words where the others have numbers.
    bold = [row[0].bold for row in rows]
    return used, cells, (bold[0] and not all(bold)) or names_columns(cells)


def _is_row(line: Line) -> bool:
    if not line.is_placed or len(line.pieces) < 2 or _LEADERS.match(line.text):
        return False
    return not (len(line.pieces) == 2 and _BULLET_ALONE.match(line.pieces[0].text))


def _is_aligned(above: Line, line: Line) -> bool:
    """Whether two pieces of the lines begin, end or stand at the same place, and most of them do."""
    met = sum(
        any(
            abs(piece.left - other.left) <= _ALIGNED_POINTS
            or abs(piece.right - other.right) <= _ALIGNED_POINTS
            or abs(piece.left + piece.right - other.left - other.right) <= 2 * _ALIGNED_POINTS
            for other in above.pieces
        )
        for piece in line.pieces
    )
    return met >= 2 and 2 * met > min(len(above.pieces), len(line.pieces))


def _goes_on(row: Sequence[Line], line: Line) -> bool:
    """Whether a line is more of the cells above it: it begins where they do, and ends before the next column."""
    last, heads = row[-1], row[0].pieces
    if not line.is_placed or last.bottom - line.bottom > _PARAGRAPH_GAP * max(line.size, last.size):
        return False
    for piece in line.pieces:
        column = next((i for i, head in enumerate(heads) if abs(head.left - piece.left) <= _ALIGNED_POINTS), None)
        if column is None or (column + 1 < len(heads) and piece.right >= heads[column + 1].left):
            return False
    return True


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Left and right end of each column, by the rows that have as many cells as most."""
    usual = Counter(len(line.pieces) for line in lines).most_common(1)[0][0]
    full = [line.pieces for line in lines if len(line.pieces) == usual]
    return [
        (min(piece.left for piece in column), max(piece.right for piece in column))
        for column in zip(*full, strict=True)
    ]


def _cells(row: Sequence[Line], columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    cells = [""] * len(columns)
    for line in row:
        for piece in line.pieces:
            overlaps = [min(piece.right, right) - max(piece.left, left) for left, right in columns]
            column = overlaps.index(max(overlaps))
            cells[column] = f"{cells[column]} {piece.text}".strip()
    return tuple(cells)

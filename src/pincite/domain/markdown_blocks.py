"""Blocks of a page to Markdown, a pure function. CommonMark with tables; images and raw HTML never come out.

Definition lists become a bold term and a paragraph after a colon; footnotes and captions are paragraphs of their own.
"""

import re
from collections.abc import Iterable

from pincite.domain.page import Block, BlockKind, Mark, MarkKind

_SPECIAL = re.compile(r"([\\`*_\[\]<>])")
_LINE_START = re.compile(r"^(#{1,6}(?=\s)|[-+](?=\s)|=+$|-+$|~~~)", re.MULTILINE)
_NUMBERED_START = re.compile(r"^(\d{1,9})([.)])(?=\s)", re.MULTILINE)
_URL_UNSAFE = re.compile(r"[\s<>()\\]")
_INDENT = "  "
_NESTING = (MarkKind.LINK, MarkKind.STRONG, MarkKind.EMPHASIS, MarkKind.CODE)
_DELIMITERS = {MarkKind.STRONG: "**", MarkKind.EMPHASIS: "*"}


def blocks_to_markdown(blocks: Iterable[Block], *, links: bool = True) -> str:
    """The Markdown of `blocks`; `links=False` keeps the words of links and drops their targets."""
    parts: list[str] = []
    previous: Block | None = None
    for block in blocks:
        tight = previous is not None and previous.kind is block.kind is BlockKind.LIST_ITEM
        if parts:
            parts.append("\n" if tight else "\n\n")
        parts.append(_render(block, links=links))
        previous = block
    return "".join(parts)


def _render(block: Block, *, links: bool) -> str:
    match block.kind:
        case BlockKind.HEADING:
            text = _inline(block, links=links).replace("\n", " ")
            return f"{'#' * min(max(block.level, 1), 6)} {text}"
        case BlockKind.LIST_ITEM:
            marker = f"{block.number}. " if block.ordered and block.number is not None else "- "
            return _indented(_inline(block, links=links), _INDENT * block.level, marker)
        case BlockKind.TERM:
            return _indented(f"**{_escaped(block.text.replace(chr(10), ' '))}**", _INDENT * block.level)
        case BlockKind.DEFINITION:
            return _indented(_inline(block, links=links), _INDENT * block.level, ": ")
        case BlockKind.CODE:
            return _indented(_code(block), _INDENT * block.level)
        case BlockKind.TABLE:
            return _indented(_table(block), _INDENT * block.level)
        case BlockKind.QUOTATION:
            return _indented("> " + _inline(block, links=links).replace("\n", "\n> "), _INDENT * block.level)
        case BlockKind.CAPTION:
            return f"*{_escaped(block.text.replace(chr(10), ' '))}*"
        case BlockKind.PARAGRAPH | BlockKind.FOOTNOTE:
            return _indented(_inline(block, links=links), _INDENT * block.level)


def _indented(text: str, indent: str, marker: str = "") -> str:
    first, *rest = text.split("\n")
    deeper = indent + " " * len(marker)
    return "\n".join([indent + marker + first, *(deeper + line if line else line for line in rest)])


def _code(block: Block) -> str:
    longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{block.language}\n{block.text}\n{fence}"


def _table(block: Block) -> str:
    rows = block.rows or tuple((line,) for line in block.text.split("\n"))
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join(_cell(cell) for cell in (*row, *[""] * (width - len(row)))) + " |" for row in rows]
    rule = "|" + " --- |" * width
    if block.has_header:
        return "\n".join([lines[0], rule, *lines[1:]])
    return "\n".join(["|" + "  |" * width, rule, *lines])


def _cell(text: str) -> str:
    return _escaped(text.replace("\n", " ")).replace("|", "\\|")


def _inline(block: Block, *, links: bool) -> str:
    """The text with its marks as Markdown, everything else escaped."""
    marks = [mark for mark in block.marks if links or mark.kind is not MarkKind.LINK]
    kept = [mark for mark in marks if not any(_conflict(mark, other) for other in marks)]
    opening: dict[int, list[Mark]] = {}
    closing: dict[int, list[Mark]] = {}
    for mark in sorted(_outermost_of_kind(kept), key=_nesting_order):
        opening.setdefault(mark.start, []).append(mark)
        closing.setdefault(mark.end, []).insert(0, mark)
    borders = sorted({0, len(block.text), *opening, *closing})
    parts: list[str] = []
    in_code: Mark | None = None
    for start, end in zip(borders, [*borders[1:], len(block.text)], strict=True):
        for mark in closing.get(start, ()):
            parts.append(_delimiter(mark, block.text, opens=False))
            in_code = None if mark is in_code else in_code
        for mark in opening.get(start, ()):
            parts.append(_delimiter(mark, block.text, opens=True))
            in_code = mark if mark.kind is MarkKind.CODE else in_code
        piece = block.text[start:end]
        parts.append(piece if in_code else _SPECIAL.sub(r"\\\1", piece))
    text = _NUMBERED_START.sub(r"\1\\\2", _LINE_START.sub(r"\\\1", "".join(parts)))
    return text.replace("\n", "  \n")


def _nesting_order(mark: Mark) -> tuple[int, int, int]:
    return mark.start, -mark.end, _NESTING.index(mark.kind)


def _conflict(mark: Mark, other: Mark) -> bool:
    """Whether `mark` lies inside other code, or overlaps `other` without nesting."""
    inside = other.start <= mark.start and mark.end <= other.end
    smaller = mark.end - mark.start < other.end - other.start
    if other.kind is MarkKind.CODE and inside and smaller:
        return True
    return other.start < mark.start < other.end < mark.end


def _outermost_of_kind(marks: list[Mark]) -> list[Mark]:
    """Marks without those that lie in another of the same kind."""
    return [
        mark
        for index, mark in enumerate(marks)
        if not any(
            other.kind is mark.kind
            and other.start <= mark.start
            and mark.end <= other.end
            and ((other.start, other.end) != (mark.start, mark.end) or place < index)
            for place, other in enumerate(marks)
            if place != index
        )
    ]


def _delimiter(mark: Mark, text: str, *, opens: bool) -> str:
    if mark.kind is MarkKind.CODE:
        inside = text[mark.start : mark.end]
        longest = max((len(run) for run in re.findall(r"`+", inside)), default=0)
        ticks = "`" * (longest + 1)
        pad = " " if inside.startswith("`") or inside.endswith("`") else ""
        return ticks + pad if opens else pad + ticks
    if mark.kind is MarkKind.LINK:
        if not mark.href:
            return ""
        return "[" if opens else f"]({_URL_UNSAFE.sub(lambda match: f'%{ord(match.group()):02X}', mark.href)})"
    return _DELIMITERS[mark.kind]


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)

"""Lines of a PDF page with where they stand: position, size, fixed width, and the pieces between wide gaps.

PDFium gives characters in the order they are drawn, with its own spaces and line breaks between them, and a box for
each; only the first and last of each word is asked for. Text that nobody sees (invisible, transparent, tiny, in the
colour of what is behind it) is found here too. An invisible layer over a picture of the page is what text recognition
writes: it stays where the page has no other text.
"""

import ctypes
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

from pincite.domain.frozen import dataclass
from pincite.fetch.extractors.characters import clean

_WORD_OR_BREAK = re.compile(r"[^\s]+|[\r\n]+")
_SOFT_HYPHEN = re.compile("[\x02\ufffe]")
# Of a line's height: no justified line has such gaps between all its words, and hardly any table narrower ones.
_WIDE_GAP = 1.0
# Of a line's height: how far the middles of two pieces of one row may be apart.
_SAME_ROW = 0.4
_FIXED_PITCH = 1  # font descriptor flags, bit 1. Source: ISO 32000-2 §9.8.2, table 121
_FIXED_NAMES = re.compile(r"mono|courier|consol|typewriter|menlo|cm(?:sl)?tt|[^a-z]tt\d*$", re.IGNORECASE)
# Also those of TeX: Computer Modern's (CMBX12, SFBX1000), and the Times and Helvetica of URW (NimbusRomNo9L-Medi).
_BOLD_NAMES = re.compile(r"bold|black|heavy|demi|(?:cm|sf|ec)\w{0,2}bx|-medi(?![au])", re.IGNORECASE)
# Of a line's words: code has signs of other fonts in it, a sentence that begins and ends with code has more.
_FIXED_SHARE = 0.75
# TeX draws an underscore as a rule: wider than high, of a letter's width, in the lower part of the line, with no space
# beside it. In heights of the line.
_RULE_WIDTHS = (0.2, 0.8)
_RULE_LEVEL = 0.45
_RULE_SPACE = 0.25
# PDF names have 127 bytes at most (ISO 32000-1, annex C).
_MAX_NAME_BYTES = 128


Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a line with no wide gap between them."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page; lengths in points, `top` and `bottom` from the page's lower edge.

    `size` is the usual height of its words; `goes_on`: it ends at a soft hyphen.
    """

    pieces: tuple[Piece, ...]
    top: float
    bottom: float
    size: float = 0.0
    fixed_width: bool = False
    bold: bool = False
    goes_on: bool = False

    @property
    def text(self) -> str:
        """The words of the line."""
        return " ".join(piece.text for piece in self.pieces)

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.pieces[0].left

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.pieces[-1].right

    @property
    def is_placed(self) -> bool:
        """Whether it is known where the line stands."""
        return self.top > self.bottom


def plain_lines(text: str) -> tuple[Line, ...]:
    """The lines of a page of which only the text is known."""
    text = clean(re.sub("[\x02\ufffe]\\s*", "", text))
    shown = (" ".join(line.split()) for line in text.split("\n"))
    return tuple(Line((Piece(line, 0, 0),), 0, 0) for line in shown if line)


def placed_lines(text_page: Any, rules: Sequence[Box] = ()) -> tuple[Line, ...]:
    """The lines of a text page of pypdfium2, pieces of one row that were drawn one after the other put together.

    `rules` are the boxes of short strokes on the page, as `remove_unseen` gives them: some are underscores.
    """
    count = text_page.count_chars()
    text = text_page.get_text_range(0, count) if count > 0 else ""
    sideways = text_page.page.get_rotation() in {90, 270}  # lines run up or down there
    if len(text) != count or sideways:  # characters beyond the basic plane, or left out: places can't be told
        return plain_lines(text_page.get_text_bounded())
    shown = text_page.page.get_bbox()
    found: list[Line] = []
    for words in _rows(text_page, text, shown):
        line = _line(text_page, text, words, rules)
        if line is None:
            continue
        if found and _is_same_row(found[-1], line):
            line = _joined(found.pop(), line)
        found.append(line)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Word:
    """Where a word begins and ends in the text, and on the page."""

    first: int
    last: int
    left: float
    right: float
    top: float
    bottom: float


def _rows(text_page: Any, text: str, shown: tuple[float, float, float, float]) -> Iterator[list[_Word]]:
    """The words of each line that stand on the page, whose box is given.

    PDFium leaves out some line breaks, so a word far below the last begins a line too.
    """
    page_left, page_bottom, page_right, page_top = shown
    words: list[_Word] = []
    for match in _WORD_OR_BREAK.finditer(text):
        if match.group()[0] in "\r\n":
            if words:
                yield words
            words = []
            continue
        word = _Word(match.start(), match.end(), *_reach(text_page, match.start(), match.end()))
        middle, height = (word.left + word.right) / 2, (word.top + word.bottom) / 2
        if not (page_left <= middle <= page_right and page_bottom <= height <= page_top):
            continue
        if words and word.left < words[-1].left and word.top < words[-1].bottom + 0.5 * (word.top - word.bottom):
            yield words
            words = []
        words.append(word)
    if words:
        yield words


def _line(text_page: Any, text: str, words: list[_Word], rules: Sequence[Box]) -> Line | None:
    top, bottom = max(word.top for word in words), min(word.bottom for word in words)
    strokes = _underscores(rules, words, top, bottom)
    size = round(2 * median(word.top - word.bottom for word in words)) / 2
    groups: list[list[_Word]] = []
    for word in words:
        if groups and word.left - groups[-1][-1].right <= _WIDE_GAP * max(size, 1.0):
            groups[-1].append(word)
        else:
            groups.append([word])
    pieces = []
    for group in groups:
        said = "".join(strokes.get(word.first, " ") + text[word.first : word.last] for word in group)
        said = clean(_SOFT_HYPHEN.sub("", said))
        if said := " ".join(said.split()):
            pieces.append(Piece(said, group[0].left, group[-1].right))
    if not pieces:
        return None
    ends = [_font(text_page, words[0].first), _font(text_page, words[-1].last - 1)]
    goes_on = _SOFT_HYPHEN.match(text, words[-1].last - 1) is not None
    is_fixed, is_bold = (all(font[kind] for font in ends) for kind in (0, 1))
    if is_fixed or is_bold:
        fonts = [_font(text_page, word.first) for word in words]
        is_fixed = is_fixed and sum(fixed for fixed, _ in fonts) >= _FIXED_SHARE * len(fonts)
        is_bold = is_bold and all(bold for _, bold in fonts)
    return Line(tuple(pieces), top, bottom, size, is_fixed, is_bold, goes_on)


def _underscores(rules: Sequence[Box], words: list[_Word], top: float, bottom: float) -> dict[int, str]:
    """By the first character of a word the underscores that are drawn between it and the word before."""
    height = top - bottom
    low = [box for box in rules if bottom <= box[1] and box[3] <= bottom + _RULE_LEVEL * height]
    found: dict[int, str] = {}
    for before, word in pairwise(words) if low else ():
        between = [box for box in low if before.right <= (box[0] + box[2]) / 2 <= word.left]
        space = word.left - before.right - sum(right - left for left, _, right, _ in between)
        least, most = (share * height for share in _RULE_WIDTHS)
        if between and space <= _RULE_SPACE * height and all(least <= box[2] - box[0] <= most for box in between):
            found[word.first] = "_" * len(between)
    return found


def _reach(text_page: Any, first: int, last: int) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a word; a soft hyphen at its end has no place of its own."""
    left, bottom, right, top = text_page.get_charbox(first, loose=True)
    end = last - 1
    if end > first:
        _, low, far, high = text_page.get_charbox(end, loose=True)
        if far > right:
            right, top, bottom = far, max(top, high), min(bottom, low)
    return left, right, top, bottom


def _font(text_page: Any, index: int) -> tuple[bool, bool]:
    """Whether a character's font has a fixed width, and whether it is bold."""
    name = ctypes.create_string_buffer(_MAX_NAME_BYTES)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, index, name, _MAX_NAME_BYTES, flags)
    said = name.value.decode("utf-8", "replace")
    return bool(flags.value & _FIXED_PITCH) or bool(_FIXED_NAMES.search(said)), bool(_BOLD_NAMES.search(said))


def _is_same_row(line: Line, more: Line) -> bool:
    """Whether `more` goes on to the right of `line`."""
    middles = abs((line.top + line.bottom) - (more.top + more.bottom)) / 2
    return more.left >= line.right and middles <= _SAME_ROW * min(line.top - line.bottom, more.top - more.bottom)


def _joined(line: Line, more: Line) -> Line:
    return Line(
        (*line.pieces, *more.pieces), max(line.top, more.top), min(line.bottom, more.bottom), max(line.size, more.size),
        line.fixed_width and more.fixed_width, line.bold and more.bold, more.goes_on,
    )  # fmt: skip


# A letter of the largest headings: longer ones are lines of tables.
_LONGEST_STROKE = 30.0
# Half a millimetre: nobody reads that, and nothing is printed so.
TINY_POINTS = 1.5
_INVISIBLE = frozenset({3, 7})  # neither filled nor stroked; clipping only. Source: ISO 32000-2 §9.3.6
_STROKED = frozenset({1, 2, 5, 6})
_TEXT, _PATH, _IMAGE, _SHADING, _FORM = 1, 2, 3, 4, 5  # object types of PDFium
_NEAR = 12  # of 255: nobody tells such colours apart
# The page itself, where nothing is drawn behind.
_WHITE = (255, 255, 255)
# Of the page: a scan with its recognised words laid over it invisibly.
_PICTURE_SHARE = 0.5
# Forms in forms of a PDF may refer to themselves.
_MAX_DEPTH = 5
# Maps and drawings have as many; a bound on the time for a page.
_MAX_OBJECTS = 200_000
# Each text is compared with what was drawn last before it.
_MAX_GROUNDS = 500

Colour = tuple[int, int, int]


@dataclass(slots=True)
class _Drawn:
    """Something on the page: its kind, place, and colour where it has one; `parent` is the form it belongs to."""

    raw: Any
    kind: int
    box: Box
    parent: Any
    colour: Colour | None = None
    hidden: bool = False
    layer: bool = False


def remove_unseen(page: Any) -> tuple[Box, ...]:
    """Take the unseen text off a page of pypdfium2; the boxes of short strokes on it, much wider than high."""
    drawn = list(_objects(page))
    _remove_texts(page, drawn)
    paths = (item.box for item in drawn if item.kind == _PATH)
    return tuple(box for box in paths if 0 < 2 * (box[3] - box[1]) < box[2] - box[0] < _LONGEST_STROKE)


def _remove_texts(page: Any, drawn: list[_Drawn]) -> None:
    texts = [item for item in drawn if item.kind == _TEXT]
    if not any(item.hidden or item.layer for item in texts):
        grounds = list({_WHITE, *(item.colour for item in drawn if item.kind == _PATH and item.colour is not None)})
        colours = {item.colour for item in texts if item.colour is not None}
        # None of it has the colour of something that it could lie on.
        if not any(_alike(colour, ground) for colour in colours for ground in grounds[:_MAX_GROUNDS]):
            return
    width, height = page.get_size()
    pictures = [item.box for item in drawn if item.kind == _IMAGE]
    largest = max(((right - left) * (top - bottom) for left, bottom, right, top in pictures), default=0.0)
    if all(item.layer for item in texts) and largest >= _PICTURE_SHARE * width * height:
        return
    _compare_with_ground(drawn)
    for item in texts:
        if item.hidden or item.layer:
            _remove(page, item)


def _objects(page: Any) -> Iterator[_Drawn]:
    left = _MAX_OBJECTS

    def walk(count: int, get: Any, parent: Any, scale: float, depth: int) -> Iterator[_Drawn]:
        nonlocal left
        for index in range(count):
            left -= 1
            if left < 0:
                return
            raw = get(parent or page.raw, index)
            kind = pdfium.FPDFPageObj_GetType(raw)
            if kind == _FORM and depth < _MAX_DEPTH:
                inner = pdfium.FPDFFormObj_CountObjects(raw)
                yield from walk(inner, pdfium.FPDFFormObj_GetObject, raw, scale * _scale(raw), depth + 1)
                continue
            item = _Drawn(raw, kind, _box(raw), parent)
            if kind == _TEXT:
                _look_at_text(item, scale)
            elif kind == _PATH:
                item.colour = _filled(raw)
            yield item

    yield from walk(pdfium.FPDFPage_CountObjects(page.raw), pdfium.FPDFPage_GetObject, None, 1.0, 0)


def _look_at_text(item: _Drawn, scale: float) -> None:
    mode = pdfium.FPDFTextObj_GetTextRenderMode(item.raw)
    item.layer = mode in _INVISIBLE
    colour, alpha = _colour(
        item.raw, pdfium.FPDFPageObj_GetStrokeColor if mode in _STROKED else pdfium.FPDFPageObj_GetFillColor
    )
    item.colour = colour
    size = ctypes.c_float()
    pdfium.FPDFTextObj_GetFontSize(item.raw, size)
    item.hidden = alpha == 0 or abs(size.value) * _scale(item.raw) * scale < TINY_POINTS


def _colour(raw: Any, get: Any) -> tuple[Colour | None, int]:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not get(raw, red, green, blue, alpha):
        return None, 255
    return (red.value, green.value, blue.value), alpha.value


def _filled(raw: Any) -> Colour | None:
    """The colour a path fills its place with, or None."""
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium.FPDFPath_GetDrawMode(raw, mode, stroke) or not mode.value:
        return None
    colour, alpha = _colour(raw, pdfium.FPDFPageObj_GetFillColor)
    return colour if alpha > 127 else None


def _scale(raw: Any) -> float:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(raw, matrix):
        return 1.0
    return float(abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5)


def _box(raw: Any) -> Box:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium.FPDFPageObj_GetBounds(raw, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def _compare_with_ground(drawn: list[_Drawn]) -> None:
    """Mark text that has the colour of what was drawn last beneath its middle; pictures may have any colour."""
    grounds: deque[_Drawn] = deque(maxlen=_MAX_GROUNDS)
    for item in drawn:
        if item.kind in {_IMAGE, _SHADING} or (item.kind == _PATH and item.colour is not None):
            grounds.append(item)
        elif item.kind == _TEXT and item.colour is not None and not item.hidden:
            x, y = (item.box[0] + item.box[2]) / 2, (item.box[1] + item.box[3]) / 2
            behind = next(
                (
                    ground
                    for ground in reversed(grounds)
                    if ground.box[0] <= x <= ground.box[2] and ground.box[1] <= y <= ground.box[3]
                ),
                None,
            )
            ground_colour = _WHITE if behind is None else behind.colour
            item.hidden = ground_colour is not None and _alike(item.colour, ground_colour)


def _alike(one: Colour, other: Colour) -> bool:
    return all(abs(a - b) <= _NEAR for a, b in zip(one, other, strict=True))


def _remove(page: Any, item: _Drawn) -> None:
    if item.parent is None:
        removed = pdfium.FPDFPage_RemoveObject(page.raw, item.raw)
    else:
        removed = pdfium.FPDFFormObj_RemoveObject(item.parent, item.raw)
    if removed:
        pdfium.FPDFPageObj_Destroy(item.raw)

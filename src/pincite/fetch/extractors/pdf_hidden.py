"""Text of a PDF page that nobody sees: invisible, fully transparent, tiny, or in the colour of what is behind it.

Text off the page is not read anyway. An invisible layer over a picture of the page is what text recognition writes:
it stays where the page has no other text.
"""

import ctypes
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

Box = tuple[float, float, float, float]
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


def remove_unseen(page: Any) -> int:
    """Take the unseen text off a page of pypdfium2; how many pieces went."""
    drawn = list(_objects(page))
    texts = [item for item in drawn if item.kind == _TEXT]
    if not any(item.hidden or item.layer for item in texts) and not _may_vanish(drawn, texts):
        return 0
    width, height = page.get_size()
    if all(item.layer for item in texts) and _is_pictured(drawn, width * height):
        return 0
    _compare_with_ground(drawn)
    gone = [item for item in texts if item.hidden or item.layer]
    for item in gone:
        _remove(page, item)
    return len(gone)


def _objects(page: Any) -> Iterator[_Drawn]:
    import pypdfium2.raw as pdfium

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
    import pypdfium2.raw as pdfium

    mode = pdfium.FPDFTextObj_GetTextRenderMode(item.raw)
    item.layer = mode in _INVISIBLE
    colour, alpha = _colour(item.raw, pdfium.FPDFPageObj_GetStrokeColor if mode in _STROKED else _fill())
    item.colour = colour
    size = ctypes.c_float()
    pdfium.FPDFTextObj_GetFontSize(item.raw, size)
    item.hidden = alpha == 0 or abs(size.value) * _scale(item.raw) * scale < TINY_POINTS


def _fill() -> Any:
    import pypdfium2.raw as pdfium

    return pdfium.FPDFPageObj_GetFillColor


def _colour(raw: Any, get: Any) -> tuple[Colour | None, int]:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not get(raw, red, green, blue, alpha):
        return None, 255
    return (red.value, green.value, blue.value), alpha.value


def _filled(raw: Any) -> Colour | None:
    """The colour a path fills its place with, or None."""
    import pypdfium2.raw as pdfium

    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium.FPDFPath_GetDrawMode(raw, mode, stroke) or not mode.value:
        return None
    colour, alpha = _colour(raw, _fill())
    return colour if alpha > 127 else None


def _scale(raw: Any) -> float:
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(raw, matrix):
        return 1.0
    return float(abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5)


def _box(raw: Any) -> Box:
    import pypdfium2.raw as pdfium

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium.FPDFPageObj_GetBounds(raw, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def _may_vanish(drawn: list[_Drawn], texts: list[_Drawn]) -> bool:
    """Whether some text has the colour of something it could lie on."""
    grounds = {_WHITE, *(item.colour for item in drawn if item.kind == _PATH and item.colour is not None)}
    colours = {item.colour for item in texts if item.colour is not None}
    return any(_alike(colour, ground) for colour in colours for ground in list(grounds)[:_MAX_GROUNDS])


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


def _is_pictured(drawn: list[_Drawn], area: float) -> bool:
    """Whether a picture takes up most of the page."""
    pictures = [item.box for item in drawn if item.kind == _IMAGE]
    return any((box[2] - box[0]) * (box[3] - box[1]) >= _PICTURE_SHARE * area for box in pictures)


def _remove(page: Any, item: _Drawn) -> None:
    import pypdfium2.raw as pdfium

    if item.parent is None:
        removed = pdfium.FPDFPage_RemoveObject(page.raw, item.raw)
    else:
        removed = pdfium.FPDFFormObj_RemoveObject(item.parent, item.raw)
    if removed:
        pdfium.FPDFPageObj_Destroy(item.raw)

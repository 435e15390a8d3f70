"""Formulas that KaTeX has drawn with spans, as MathML.

The spans stand in the order they are drawn: "3/4" is a 4 and then a 3 above it, a raised 3 after "10" makes "103". Only
their classes say what they are.

Source: KaTeX, `src/buildHTML.js` and `src/functions` (class names; a `vlist` holds what stands above each other, of a
fraction and its like the lowest part first).
"""

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

_NOT_READ = frozenset(
    "pstrut strut katex-strut vlist-s nulldelimiter frac-line hide-tail arraycolsep svg-align-line".split()
)
_SIGNS = frozenset({"mbin", "mrel", "mpunct", "mopen", "mclose", "delimsizing"})
_NUMBER = re.compile(r"[\d.,]*\d")
# As deep as whole pages may be (`dom.MAX_NESTING`), and each level of a formula is some spans.
_MAX_LEVELS = 100


def katex_formula(drawn: HtmlElement) -> HtmlElement:
    """The `math` element that the spans of a `katex-html` stand for."""
    math = drawn.makeelement("math")
    _write(math, drawn, 0)
    return math


def _classes(element: HtmlElement) -> frozenset[str]:
    return frozenset((element.get("class") or "").split())


def _said(element: HtmlElement) -> str:
    return "".join(element.itertext()).replace("\u200b", "").strip()


def _new(into: HtmlElement, tag: str, text: str = "") -> HtmlElement:
    made = into.makeelement(tag)
    made.text = text or None
    into.append(made)
    return made


def _write(into: HtmlElement, element: HtmlElement, level: int) -> None:
    """Write what an element shows into a row of MathML."""
    names = _classes(element)
    children = [child for child in element if isinstance(child.tag, str)]
    scripts = next((child for child in children if "msupsub" in _classes(child)), None)
    if not _NOT_READ.isdisjoint(names) or level > _MAX_LEVELS:
        return
    if "mspace" in names:
        _new(into, "mtext", " ")
    elif "mfrac" in names:
        _fraction(into, element, level)
    elif "sqrt" in names:
        _root(into, element, level)
    elif "op-limits" in names:
        _limits(into, element, level)
    elif "mtable" in names:
        _table(into, children, level)
    elif scripts is not None:
        _scripts(into, [child for child in children if child is not scripts], scripts, level)
    elif children:
        if "vlist-t" in names:  # accents, crossed out parts: what stands there is no part of a number beside it
            into = _new(into, "mrow")
        for child in children:
            _write(into, child, level + 1)
    else:
        _token(into, names, _said(element))


def _token(into: HtmlElement, names: frozenset[str], text: str) -> None:
    """A number, a sign or a letter; figures of one number stand in spans of their own."""
    before = into[-1] if len(into) else None
    if not text:
        return
    if _NUMBER.fullmatch(text):
        if before is not None and before.text == "," and len(into) > 1 and into[-2].tag == "mn":
            into.remove(before)  # a comma with no space after it groups figures
            before, text = into[-1], f",{text}"
        if before is not None and before.tag == "mn":
            before.text = (before.text or "") + text
        else:
            _new(into, "mn", text)
    elif _SIGNS.isdisjoint(names) and text[0].isalpha():
        letter = _new(into, "mi", text)
        if "mathnormal" not in names:
            letter.set("mathvariant", "normal")
    else:
        _new(into, "mo", text)


def _row(into: HtmlElement, element: HtmlElement | None, level: int) -> HtmlElement:
    row = _new(into, "mrow")
    if element is not None:
        _write(row, element, level + 1)
    return row


def _parts(element: HtmlElement) -> list[HtmlElement]:
    """What stands above each other in the first list of an element, without lines and empty places."""
    stack = next(_with_class(element, "vlist"), None)
    return [part for part in stack if _said(part)] if stack is not None else []


def _with_class(element: HtmlElement, name: str) -> Iterator[HtmlElement]:
    return (inner for inner in element.iter("span") if name in _classes(inner))


def _fraction(into: HtmlElement, element: HtmlElement, level: int) -> None:
    below, *above = _parts(element) or [None]
    form = _new(into, "mfrac")
    if next(_with_class(element, "frac-line"), None) is None:
        form.set("linethickness", "0")
    _row(form, above[-1] if above else None, level)
    _row(form, below, level)


def _root(into: HtmlElement, element: HtmlElement, level: int) -> None:
    index = next((child for child in element if not {"root", "katex-root"}.isdisjoint(_classes(child))), None)
    body = next((child for child in element if child is not index and _said(child)), None)
    form = _new(into, "msqrt" if index is None else "mroot")
    _row(form, next(iter(_parts(body)), None) if body is not None else None, level)
    if index is not None:
        _row(form, next(iter(_parts(index)), None), level)


def _scripts(into: HtmlElement, base: list[HtmlElement], scripts: HtmlElement, level: int) -> None:
    parts = _parts(scripts)
    lowered = next((True for part in scripts.iter("span") if "vlist-t2" in _classes(part)), False)
    before = into[-1] if len(into) else None
    form = into.makeelement("msubsup" if len(parts) > 1 else "msub" if lowered else "msup")
    row = _new(form, "mrow")
    for part in base:
        _write(row, part, level + 1)
    # Of a number with a power only the last figure is its base in the tree.
    if before is not None and before.tag == "mn" and len(row) and row[0].tag == "mn":
        row[0].text = (before.text or "") + (row[0].text or "")
        into.remove(before)
    for part in parts:
        _row(form, part, level)
    into.append(form)


def _limits(into: HtmlElement, element: HtmlElement, level: int) -> None:
    parts = _parts(element)
    at = next((place for place, part in enumerate(parts) if next(_with_class(part, "mop"), None) is not None), 0)
    form = _new(into, "munderover")
    _row(form, parts[at] if parts else None, level)
    _row(form, parts[at - 1] if at else None, level)
    _row(form, parts[at + 1] if at + 1 < len(parts) else None, level)


def _table(into: HtmlElement, children: list[HtmlElement], level: int) -> None:
    """The columns of a table row by row."""
    columns = [_parts(child) for child in children if "arraycolsep" not in _classes(child)]
    table = _new(into, "mtable")
    for place in range(max(map(len, columns), default=0)):
        row = _new(table, "mtr")
        for column in columns:
            if place < len(column):
                _write(_new(row, "mtd"), column[place], level + 1)

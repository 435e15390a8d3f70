"""Formulas of Office files (OMML) as MathML, which `formulas` writes in one line.

Source: ECMA-376 part 1 §22.1 (Office MathML); MathML Core §3.
"""

import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from pincite.fetch.extractors.formulas import math_text

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# A number, a name, or one sign.
_TOKEN = re.compile(r"(?P<mn>\d+(?:[.,]\d+)*)|(?P<mi>[^\W\d_]+)|(?P<mo>\S)")
# As deep as formulas are read (`formulas`); deeper ones keep their words alone.
_MAX_LEVELS = 100


def formula_text(formula: Any) -> str:
    """An `m:oMath` element in one line."""
    math = etree.Element("math")
    _fill(math, formula, 0)
    return math_text(math)


def _fill(into: Any, element: Any, level: int) -> None:
    """Write what the parts of an element are into a MathML row."""
    for part in element:
        name = part.tag.removeprefix(M) if isinstance(part.tag, str) and part.tag.startswith(M) else ""
        if name == "r":
            _tokens(into, "".join(text.text or "" for text in part.iter(f"{M}t")))
        elif name in _FORMS and level < _MAX_LEVELS:
            _FORMS[name](into, part, level + 1)
        elif name and not name.endswith("Pr"):
            _fill(into, part, level + 1) if level < _MAX_LEVELS else _tokens(into, " ".join(part.itertext()))


def _tokens(into: Any, text: str) -> None:
    for token in _TOKEN.finditer(text):
        etree.SubElement(into, token.lastgroup or "mtext").text = token.group()


def _row(into: Any, element: Any, name: str, level: int) -> None:
    """A row with what stands in the named part."""
    part = element.find(f"{M}{name}")
    row = etree.SubElement(into, "mrow")
    if part is not None:
        _fill(row, part, level)


def _built(tag: str, *names: str) -> Callable[[Any, Any, int], None]:
    """A form whose MathML has these parts in this order."""

    def write(into: Any, element: Any, level: int) -> None:
        form = etree.SubElement(into, tag)
        for name in names:
            _row(form, element, name, level)

    return write


def _property(element: Any, holder: str, name: str, usual: str) -> str:
    found = element.find(f"{M}{holder}/{M}{name}")
    return usual if found is None else str(found.get(f"{M}val", ""))


def _fraction(into: Any, element: Any, level: int) -> None:
    form = etree.SubElement(into, "mfrac")
    if _property(element, "fPr", "type", "bar") == "noBar":
        form.set("linethickness", "0")
    _row(form, element, "num", level)
    _row(form, element, "den", level)


def _root(into: Any, element: Any, level: int) -> None:
    index = element.find(f"{M}deg")
    is_square = index is None or not "".join(index.itertext()).strip()
    form = etree.SubElement(into, "msqrt" if is_square else "mroot")
    _row(form, element, "e", level)
    if not is_square:
        _row(form, element, "deg", level)


def _delimited(into: Any, element: Any, level: int) -> None:
    row = etree.SubElement(into, "mrow")
    etree.SubElement(row, "mo").text = _property(element, "dPr", "begChr", "(")
    for place, part in enumerate(element.findall(f"{M}e")):
        if place:
            etree.SubElement(row, "mo").text = _property(element, "dPr", "sepChr", "|")
        _fill(row, part, level)
    etree.SubElement(row, "mo").text = _property(element, "dPr", "endChr", ")")


def _operator(into: Any, element: Any, level: int) -> None:
    row = etree.SubElement(into, "mrow")
    form = etree.SubElement(row, "munderover")
    etree.SubElement(form, "mo").text = _property(element, "naryPr", "chr", "∫")
    _row(form, element, "sub", level)
    _row(form, element, "sup", level)
    _row(row, element, "e", level)


def _matrix(into: Any, element: Any, level: int) -> None:
    table = etree.SubElement(into, "mtable")
    for line in element.findall(f"{M}mr"):
        row = etree.SubElement(table, "mtr")
        for cell in line.findall(f"{M}e"):
            _fill(etree.SubElement(row, "mtd"), cell, level)


_FORMS = {
    "f": _fraction,
    "sSup": _built("msup", "e", "sup"),
    "sSub": _built("msub", "e", "sub"),
    "sSubSup": _built("msubsup", "e", "sub", "sup"),
    "rad": _root,
    "d": _delimited,
    "nary": _operator,
    "limLow": _built("munder", "e", "lim"),
    "limUpp": _built("mover", "e", "lim"),
    "m": _matrix,
}

r"""Formulas as one line of text: presentation MathML by structure, TeX as it is written; pictures of them.

"¾" in MathML is "3/4", never "34"; an exponent has a caret, a root its sign. What can't be said in a line keeps its
parts apart by spaces or brackets. Annotations are no text: nobody sees them.

A sighted reader has a picture before them, or what a renderer has drawn with spans; the formula itself stands hidden
beside it (MathML for screen readers), in the picture's alternative text (TeX), or in the script that was rendered.
`settle_formulas` has each formula read once.

Those of Office files (OMML) become MathML first.

Source: MathML Core §3 (presentation elements); ECMA-376 part 1 §22.1 (Office MathML); UnicodeMath for the one-line
forms; MediaWiki's Math extension (`mwe-math-*`), MathJax 2 (`MathJax*` before `script type=math/tex`), Sphinx's
imgmath, Doxygen, WordPress, Moodle (class names of pictures of formulas); KaTeX (`katex-html`).
"""

import re
from collections.abc import Callable
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import Page, remove

_LETTER_LIKE = frozenset({"mi", "mn", "mtext", "ms"})
_ROWS = frozenset({"math", "mrow", "mstyle", "mpadded", "merror", "semantics", "maction", "menclose", "mtd"})
_UNSEEN = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maligngroup", "malignmark"})
_SPACED = frozenset("- = ≠ ≈ ≡ ≤ ≥ < > + − ± × ⋅ · ÷ → ⇒ ⇔ ↔ ∈ ∉ ⊂ ⊆ ∪ ∩ ∧ ∨ ∼ ∝ ≪ ≫ : := ← ≅ ⟶ ↦ | ∣".split())
_NOTHING = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
_SIMPLE = re.compile(r"[+\-−]?\w+(?:[.,]\w+)*|[^\W\d]|\([^()]*\)")
# An exponent or subscript without brackets: what follows it at once would be read as its part ("v^2C").
_SCRIPT_END = re.compile(r"[\^_][+\-−]?\w+(?:[.,]\w+)*\Z")
_NAME, _NAME_END = re.compile(r"[^\W\d_]{2}"), re.compile(r"[^\W\d_]{2}\Z")
# Below the limit for whole pages (`dom.MAX_NESTING`); what is deeper is read as its bare words.
_MAX_LEVELS = 400


def math_text(math: HtmlElement) -> str:
    """A `<math>` element in one line; parts deeper than can be read stand with spaces between them."""
    return " ".join(_text(math, 0).split())


def _text(element: HtmlElement, level: int) -> str:
    tag = element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""
    if not tag or tag in _UNSEEN:
        return ""
    if level > _MAX_LEVELS:
        return " ".join(element.itertext())
    if tag in _LETTER_LIKE:
        text = "".join(element.itertext()).translate(_NOTHING)
        return text.strip() or text[:1]  # a space of its own is how renderers set one
    if tag == "mo":
        sign = "".join(element.itertext()).strip().translate(_NOTHING)
        return f" {sign} " if sign in _SPACED else f"{sign} " if sign in {",", ";"} else sign
    if tag == "mspace":
        return " "
    if tag == "mmultiscripts":
        return _multiscripts(element, level)
    parts: list[str] = []
    upright = False
    for child in element:
        if not isinstance(child.tag, str) or child.tag.rpartition(":")[2] in _UNSEEN:
            continue
        part = _text(child, level + 1)
        # Renderers set "mol" as three upright letters; a product is set in italics.
        goes_on = upright
        upright = child.get("mathvariant") == "normal" and len(part) == 1 and part.isalpha()
        if goes_on and upright and tag in _ROWS:
            parts[-1] += part
        else:
            parts.append(part)
    return _form(tag, element, parts)


def _joined(parts: list[str]) -> str:
    """The parts of a row side by side; two figures, a figure and a fraction, an exponent and a factor never touch."""
    row = ""
    for part in parts:
        if not part:
            continue
        sign = part.strip()
        if sign in {"-", "−", "+", "±"} and (not row.strip() or row.rstrip()[-1] in "(=<>≤≥+−-×·,;[|/^"):
            row += sign  # in front of one operand it is a sign
        elif row and row[-1].isalnum() and (part[0].isdigit() or (part[0].isalpha() and _SCRIPT_END.search(row))):
            row += " " + part
        elif (_NAME_END.search(row) and part[0].isalpha()) or (row[-1:].isalpha() and _NAME.match(part)):
            row += " " + part  # "sin x", not "sinx"; letters alone are a product
        else:
            row += part
    return row


def _bracketed(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _form(tag: str, element: HtmlElement, parts: list[str]) -> str:
    """An element with parts in one line; one of no known form is a row."""
    first, rest = (parts[0], " ".join(parts[1:])) if parts else ("", "")
    match tag:
        case "mfrac":
            if (element.get("linethickness") or "").strip() in {"0", "0px", "0pt", "0em"}:
                return f"({first.strip()} over {rest.strip()})"  # a binomial coefficient
            return f"{_bracketed(first)}/{_bracketed(rest)}"
        case "mover" if len(rest.strip()) == 1 and not rest.strip().isalnum():
            return first + rest.strip()
        case "msup" | "mover":
            return _script("^", first, rest)
        case "msub" | "munder":
            return _script("_", first, rest)
        case "msubsup" | "munderover":
            base, below, above = (*parts, "", "", "")[:3]
            low = _script("_", base, below)
            return f"{low}^{_bracketed(above)}" if above.strip() else low
        case "mroot":
            return f"root({rest.strip()}; {first.strip()})"
        case "mfenced":
            separator = (element.get("separators") or ",").strip()[:1] or ","
            return f"{element.get('open') or '('}{f'{separator} '.join(parts)}{element.get('close') or ')'}"
        case "mtable":
            return f"[{'; '.join(filter(None, map(str.strip, parts)))}]"
        case "mtr" | "mlabeledtr":
            return ", ".join(filter(None, map(str.strip, parts)))
    body = _joined(parts)
    if tag == "msqrt":
        return f"√{body.strip()}" if body.strip().isalnum() else f"√({body.strip()})"
    return f"[{body}]" if tag == "menclose" and "strike" not in element.get("notation", "") else body


def _script(sign: str, base: str, raised: str) -> str:
    raised = raised.strip()
    if not raised:
        return base
    if raised in {"′", "″", "*", "†", "∗", "°", "'"}:
        return base + raised
    return f"{base if len(base.strip()) < 2 else _bracketed(base)}{sign}{_bracketed(raised)}"


def _multiscripts(element: HtmlElement, level: int) -> str:
    """What is raised and lowered on both sides of a base: pairs of them, behind it first."""
    behind, before = "", ""
    base, *others = [child for child in element if isinstance(child.tag, str)] or [element]
    pair: list[str] = []
    is_before = False
    for child in others:
        tag = child.tag.rpartition(":")[2]
        if tag == "mprescripts":
            is_before, pair = True, []
            continue
        pair.append("" if tag in _UNSEEN else _text(child, level + 1))
        if len(pair) == 2:
            written = "".join(
                f"{sign}{_bracketed(part)}" for sign, part in zip("_^", pair, strict=True) if part.strip()
            )
            behind, before, pair = (behind, before + written, []) if is_before else (behind + written, before, [])
    core = _text(base, level + 1) if base is not element else ""
    return f"{before} {core}{behind}" if before else core + behind


_PICTURE_CLASSES = frozenset(
    {"latex", "tex", "texrender", "math", "formulaInl", "formulaDsp"}
    | {"mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"}
)
_RENDERED = re.compile(r"\bMathJax(?:_\w+)?\b")
_DISPLAY_STYLE = re.compile(r"\{\\(?:display|text)style (.*)\}\s*", re.DOTALL)
# A name that a formula spells out has a command before it or stands in few; sentences are no formulas, whatever they
# are marked up as: nobody sees what a picture's text says.
_WORD = re.compile(r"(?<![\\a-zA-Z])[^\W\d_]{4,}")
_MOST_WORDS = 8
_MOST_CHARS = 1_000
# From the formula to what holds it and its picture: `span > math`, or `span > span > math`.
_LEVELS = 3


def settle_formulas(page: Page) -> None:
    """Make one readable element of each formula that the page has drawn; before hidden parts are taken out."""
    source = page.source
    if "<math-tex" in source and "MathJax" in source:
        for formula in list(page.root.iter("math-tex")):
            _settle_rendered(formula)
    if "<math" in source and "<img" in source:
        for formula in list(page.root.iter("math")):
            _unveil(formula)
    if "katex-html" in source:
        for drawn in [span for span in page.root.iter("span") if span.get("class") == "katex-html"]:
            _settle_katex(drawn)
    if any(name in source for name in _PICTURE_CLASSES):
        for picture in list(page.root.iter("img")):
            _settle_picture(picture)


def _settle_rendered(formula: HtmlElement) -> None:
    """Where a script's TeX has been rendered with MathML, that is read; else the TeX is, and no rendering."""
    drawn = formula.getprevious()
    while drawn is not None and _RENDERED.search(drawn.get("class") or "") and not (drawn.tail or "").strip():
        before = drawn.getprevious()
        if next(drawn.iter("math"), None) is None:
            remove(drawn)
        else:
            for part in list(drawn.iter("nobr", "svg")):
                remove(part)
            remove(formula)
            return
        drawn = before


def _settle_katex(drawn: HtmlElement) -> None:
    """Spans of KaTeX without the MathML that it sets beside them as a rule: their signs, none touching another.

    They stand in the order they are drawn (of "3/4" the 4 first), so that no figure among them may be one of the text.
    """
    holder = drawn.getparent()
    if holder is None or next(holder.iter("math"), None) is not None:
        return
    signs, tail = " ".join(drawn.itertext()), drawn.tail
    drawn.clear()
    drawn.tag, drawn.text, drawn.tail = "math-tex", signs, tail


def _unveil(formula: HtmlElement) -> None:
    """Show the formula that stands hidden beside its picture."""
    veils = [formula]
    while len(veils) <= _LEVELS and not _has_picture_beside(veils[-1]):
        above = veils[-1].getparent()
        if above is None or above.tag not in {"span", "div"} or len(above) != 1:
            return
        veils.append(above)
    if not _has_picture_beside(veils[-1]) or not _is_formula(math_text(formula)):
        return
    for veil in veils:
        for name in ("style", "class", "hidden", "aria-hidden"):
            veil.attrib.pop(name, None)
    beside = veils[-1].getnext()
    if beside is not None:
        beside.set("class", "")


def _has_picture_beside(element: HtmlElement) -> bool:
    after = element.getnext()
    return after is not None and after.tag == "img" and not (element.tail or "").strip() and bool(after.get("alt"))


def _settle_picture(picture: HtmlElement) -> None:
    """The TeX of a picture's alternative text takes its place."""
    if _PICTURE_CLASSES.isdisjoint((picture.get("class") or "").split()):
        return
    source = (picture.get("alt") or "").strip().strip("$").strip()
    styled = _DISPLAY_STYLE.fullmatch(source)
    source = styled.group(1).strip() if styled else source
    if source and _is_formula(source):
        picture.tag = "math-tex"
        picture.attrib.clear()
        picture.text = f"${source}$"


def _is_formula(text: str) -> bool:
    return len(text) <= _MOST_CHARS and len(_WORD.findall(text)) <= _MOST_WORDS


M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# A number, a name, or one sign.
_TOKEN = re.compile(r"(?P<mn>\d+(?:[.,]\d+)*)|(?P<mi>[^\W\d_]+)|(?P<mo>\S)")
# As deep as formulas are read (`formulas`); deeper ones keep their words alone.
_MAX_OFFICE_LEVELS = 100


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
        elif name in _FORMS and level < _MAX_OFFICE_LEVELS:
            _FORMS[name](into, part, level + 1)
        elif name and not name.endswith("Pr"):
            _fill(into, part, level + 1) if level < _MAX_OFFICE_LEVELS else _tokens(into, " ".join(part.itertext()))


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

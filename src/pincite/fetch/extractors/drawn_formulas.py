"""Formulas that a page shows as pictures, or that a renderer has drawn with spans, as elements that are read.

What a sighted reader has before them is drawn; the formula itself stands hidden beside it (MathML for screen readers),
in the picture's alternative text (TeX), or in the script that was rendered. Each formula is read once.

Source: MediaWiki's Math extension (`mwe-math-*`), MathJax 2 (`MathJax*` before `script type=math/tex`), Sphinx's
imgmath, Doxygen, WordPress, Moodle (class names of pictures of formulas); KaTeX (`katex-html`).
"""

import re

from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import Page, remove
from pincite.fetch.extractors.formulas import math_text

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

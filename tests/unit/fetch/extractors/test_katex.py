"""Formulas that KaTeX drew with spans: not read beside MathML; alone, no figure of theirs is one of the text."""

from pincite.domain.page import Document
from pincite.fetch.extractors import extract

# 10^−3 by KaTeX 0.19 (`output: "html"`), without styles, struts and pictures.
DRAWN = (
    '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>1'
    "</span><span class=mord><span class=mord>0</span><span class=msupsub><span class=vlist-t>"
    '<span class=vlist-r><span class=vlist><span><span class="katex-sizing reset-size6 size3 mtight">'
    '<span class="mord mtight"><span class="mord mtight">−</span><span class="mord mtight">3</span></span>'
    "</span></span></span></span></span></span></span></span></span></span>"
)


def read(formula: str) -> Document:
    page = f"<meta name=generator content='Sphinx 5'><div role=main><p>It is {formula} there.</p></div>"
    return extract(page.encode(), "https://docs.example/", "text/html")


def test_signs_of_a_formula_that_spans_draw_stay_apart_and_are_marked() -> None:
    (block,) = read(DRAWN).blocks
    assert block.text == "It is 1 0 − 3 there."
    assert [block.text[mark.start : mark.end] for mark in block.marks if mark.kind.value == "formula"] == ["1 0 − 3"]


def test_spans_beside_mathml_are_not_read_twice() -> None:
    spoken = "<span class=katex><span class=katex-mathml><math><mn>5</mn></math></span>"
    assert read(DRAWN.replace("<span class=katex>", spoken)).text == "It is 5 there."

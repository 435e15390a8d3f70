"""Formulas that KaTeX drew with spans alone (`output: "html"`), without styles, struts and pictures.

Made with KaTeX 0.19.
"""

import pytest

from pincite.fetch.extractors import extract

DRAWN = {
    "10^−3": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>1'
        "</span><span class=mord><span class=mord>0</span><span class=msupsub><span class=vlist-t>"
        '<span class=vlist-r><span class=vlist><span><span class="katex-sizing reset-size6 size3 mtight">'
        '<span class="mord mtight"><span class="mord mtight">−</span><span class="mord mtight">3</span></span>'
        "</span></span></span></span></span></span></span></span></span></span>"
    ),
    "1 1/2": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>1'
        '</span><span class=mord><span class="mopen nulldelimiter"></span><span class=mfrac>'
        '<span class="vlist-t vlist-t2"><span class=vlist-r><span class=vlist><span>'
        '<span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mord mtight">2</span></span></span></span><span><span class=frac-line></span></span><span>'
        '<span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mord mtight">1</span></span></span></span></span><span class=vlist-s>&#8203;</span></span>'
        "<span class=vlist-r><span class=vlist><span></span></span></span></span></span>"
        '<span class="mclose nulldelimiter"></span></span></span></span></span>'
    ),
    "x_12^2": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>'
        '<span class="mord mathnormal">x</span><span class=msupsub><span class="vlist-t vlist-t2">'
        '<span class=vlist-r><span class=vlist><span><span class="katex-sizing reset-size6 size3 mtight">'
        '<span class="mord mtight"><span class="mord mtight">12</span></span></span></span><span>'
        '<span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mord mtight">2</span></span></span></span></span><span class=vlist-s>&#8203;</span></span>'
        "<span class=vlist-r><span class=vlist><span></span></span></span></span></span></span></span></span>"
        "</span>"
    ),
    "root(3; 27) = 3": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base>'
        '<span class="mord sqrt"><span class=katex-root><span class=vlist-t><span class=vlist-r>'
        '<span class=vlist><span><span class="katex-sizing reset-size6 size1 mtight"><span class="mord mtight">'
        '<span class="mord mtight">3</span></span></span></span></span></span></span></span>'
        '<span class="vlist-t vlist-t2"><span class=vlist-r><span class=vlist><span class=svg-align>'
        "<span class=mord><span class=mord>27</span></span></span><span><span class=hide-tail></span></span>"
        "</span><span class=vlist-s>&#8203;</span></span><span class=vlist-r><span class=vlist><span></span>"
        "</span></span></span></span><span class=mspace></span><span class=mrel>=</span><span class=mspace>"
        "</span></span><span class=katex-base><span class=mord>3</span></span></span></span>"
    ),
    "5 4": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>'
        '<span class="vlist-t vlist-t2"><span class=vlist-r><span class=vlist><span><span class=mord>'
        "<span class=mord>5</span></span></span><span class=svg-align><span></span></span></span>"
        "<span class=vlist-s>&#8203;</span></span><span class=vlist-r><span class=vlist><span></span></span>"
        "</span></span></span><span class=mord>4</span></span></span></span>"
    ),
    "1,234,567": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mord>1'
        "</span><span class=mord><span class=mpunct>,</span></span><span class=mord>234</span><span class=mord>"
        "<span class=mpunct>,</span></span><span class=mord>567</span></span></span></span>"
    ),
    "([1, 2; 3, 4])": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=minner>'
        '<span class="mopen delimcenter"><span class="delimsizing size3">(</span></span><span class=mord>'
        '<span class=mtable><span class=col-align-c><span class="vlist-t vlist-t2"><span class=vlist-r>'
        "<span class=vlist><span><span class=mord><span class=mord>1</span></span></span><span><span class=mord>"
        "<span class=mord>3</span></span></span></span><span class=vlist-s>&#8203;</span></span>"
        "<span class=vlist-r><span class=vlist><span></span></span></span></span></span><span class=arraycolsep>"
        '</span><span class=arraycolsep></span><span class=col-align-c><span class="vlist-t vlist-t2">'
        "<span class=vlist-r><span class=vlist><span><span class=mord><span class=mord>2</span></span></span>"
        "<span><span class=mord><span class=mord>4</span></span></span></span><span class=vlist-s>&#8203;</span>"
        "</span><span class=vlist-r><span class=vlist><span></span></span></span></span></span></span></span>"
        '<span class="mclose delimcenter"><span class="delimsizing size3">)</span></span></span></span></span>'
        "</span>"
    ),
    "lim_(x → 0) (sin x)/x = 1": (
        '<span class=katex><span class=katex-html aria-hidden="true"><span class=katex-base><span class=mop>'
        '<span class=mop>lim</span><span class=msupsub><span class="vlist-t vlist-t2"><span class=vlist-r>'
        '<span class=vlist><span><span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mord mathnormal mtight">x</span><span class="mrel mtight">→</span>'
        '<span class="mord mtight">0</span></span></span></span></span><span class=vlist-s>&#8203;</span></span>'
        "<span class=vlist-r><span class=vlist><span></span></span></span></span></span></span>"
        '<span class=mspace></span><span class=mord><span class="mopen nulldelimiter"></span><span class=mfrac>'
        '<span class="vlist-t vlist-t2"><span class=vlist-r><span class=vlist><span>'
        '<span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mord mathnormal mtight">x</span></span></span></span><span><span class=frac-line></span>'
        '</span><span><span class="katex-sizing reset-size6 size3 mtight"><span class="mord mtight">'
        '<span class="mop mtight"><span class=mtight>s</span><span class=mtight>i</span><span class=mtight>n'
        '</span></span><span class="mspace mtight"></span><span class="mord mathnormal mtight">x</span></span>'
        "</span></span></span><span class=vlist-s>&#8203;</span></span><span class=vlist-r><span class=vlist>"
        '<span></span></span></span></span></span><span class="mclose nulldelimiter"></span></span>'
        "<span class=mspace></span><span class=mrel>=</span><span class=mspace></span></span>"
        "<span class=katex-base><span class=mord>1</span></span></span></span>"
    ),
}


@pytest.mark.parametrize("text", DRAWN)
def test_a_formula_drawn_with_spans_reads_right(text: str) -> None:
    page = f"<meta name=generator content='Sphinx 5'><div role=main><p>It is {DRAWN[text]} there.</p></div>"
    (block,) = extract(page.encode(), "https://docs.example/", "text/html").blocks
    assert block.text == f"It is {text} there."
    assert [block.text[mark.start : mark.end] for mark in block.marks if mark.kind.value == "formula"] == [text]


def test_spans_beside_mathml_are_not_read_twice() -> None:
    spoken = "<span class=katex><span class=katex-mathml><math><mn>5</mn></math></span>"
    both = DRAWN["10^−3"].replace("<span class=katex>", spoken)
    page = f"<meta name=generator content='Sphinx 5'><div role=main><p>It is {both} there.</p></div>"
    assert extract(page.encode(), "https://docs.example/", "text/html").text == "It is 5 there."


def test_spans_nested_without_end_are_read_to_a_depth() -> None:
    deep = "<span class=mord>" * 400 + "7" + "</span>" * 400
    page = f"<p>It is <span class=katex><span class=katex-html aria-hidden=true>{deep}</span></span> there.</p>"
    assert extract(page.encode(), "https://docs.example/", "text/html").text == "It is there."

"""Pages whose text is not where it shows: streamed, in data, behind a dialogue; and hidden text that stays out."""

import json
from html import escape

import pytest

from pincite.domain.page import Document
from pincite.fetch.extractors import extract

URL = "https://shop.example/p"
BODY = " ".join(f"The keeper of tower {number} lit its lamp at dusk and wrote it down." for number in range(1, 25))
LIE = " ".join(f"The tower is {number} metres tall, whatever the page says." for number in range(300, 340))
RC = (
    "$RC=function(b,c){c=document.getElementById(c);c.parentNode.removeChild(c);var a=document.getElementById(b);"
    "if(a){b=a.previousSibling;/* moves the children */}}"
)
RS = "$RS=function(a,b){a=document.getElementById(a);b=document.getElementById(b)}"


def read(page: str) -> Document:
    return extract(page.encode(), URL, "text/html")


def test_a_streamed_part_takes_the_place_of_what_was_shown_until_it_came() -> None:
    document = read(
        "<html><body><main><h1>Towers</h1><p>Before.</p><!--$?--><template id='B:0'></template><p>Loading 7 towers"
        "</p><!--/$--><p>After.</p></main>"
        f"<div hidden id='S:0'><h2>Log</h2><p>{BODY}</p><template id='P:1'></template></div>"
        f'<script>{RC};$RC("B:0","S:0")</script>'
        f'<div hidden id="S:1"><p>The log ends in 1931.</p></div><script>{RS};$RS("S:1","P:1")</script></body></html>'
    )
    assert [entry.title for entry in document.outline] == ["Towers", "Log"]
    before, log, end, after = (document.text.index(part) for part in ("Before.", BODY, "1931", "After."))
    assert before < log < end < after
    assert "Loading" not in document.text
    assert document.warnings == ()


@pytest.mark.parametrize(
    "script",
    [
        "",
        '$RC("B:0","S:0")',  # nothing defines it
        f'{RC};$RC("B:9","S:0")',  # there is no such place
    ],
)
def test_a_part_that_no_script_places_stays_hidden(script: str) -> None:
    document = read(
        f"<html><body><main><p>The tower is 41 metres tall.</p><!--$?--><template id='B:0'></template><!--/$--></main>"
        f"<div hidden id='S:0'><p>{LIE}</p></div><script>{script}</script></body></html>"
    )
    assert "300" not in document.text
    assert "hidden" in document.warnings[0]


def test_a_container_that_an_inline_script_shows_is_read() -> None:
    show = "window.onload = () => { document.getElementById('app').hidden = false }"
    page = f"<html><body><p>Loading</p><div id=app hidden><p>{BODY}</p></div><script>{{}}</script></body></html>"
    assert BODY in read(page.replace("{}", show)).text
    assert BODY not in read(page.replace("{}", "var app = 1")).text


def test_a_page_behind_a_dialogue_is_read() -> None:
    page = (
        f"<body><div id=root aria-hidden=true><main><h1>Towers</h1><p>{BODY}</p></main></div>"
        f"<div role=dialog aria-modal=true><p>{'We value your privacy and 12 partners do too. ' * 20}</p></div>"
    )
    assert BODY in read(page).text


def test_a_closed_dialogue_is_not_read() -> None:
    closed = f"<div class=modal aria-hidden=true><div role=dialog aria-modal=true><main>{LIE}</main></div></div>"
    document = read(f"<body><main><h1>Towers</h1><p>{BODY}</p></main>{closed}</body>")
    assert "300" not in document.text


def shell(data: str) -> str:
    return f"<html><head><title>Towers</title></head><body><div id=app></div>{data}</body></html>"


NEXT = {"props": {"pageProps": {"post": {"title": "Log of the towers", "html": f"<p>{BODY}</p><h3>End</h3>"}}}}
RICH = {
    "content": [
        {"nodeType": "heading-2", "content": [{"nodeType": "text", "value": "Log of the towers"}]},
        {"nodeType": "paragraph", "content": [{"nodeType": "text", "value": BODY[:300]}, {"value": BODY[300:]}]},
    ]
}
FLIGHT = (
    '0:["$","main",null,{"children":"$L1"}]\n1:["$","p",null,{"children":["",["$","b",null,{"children":"x"}],"%s"]}]\n'
)


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (f"<script id=__NEXT_DATA__ type=application/json>{json.dumps(NEXT)}</script>", "page data"),
        (f"<script id=__NUXT_DATA__ type=application/json>{json.dumps([1, {'a': 2}, BODY])}</script>", "page data"),
        (f"<script>window.__NUXT__=(function(a){{return {{b:a,c:{json.dumps(BODY)}}}}})(1)</script>", "page data"),
        (f"<script>window.__INITIAL_STATE__ = {json.dumps(RICH)};</script>", "page data"),
        (f"<script>self.__next_f.push([1,{json.dumps(FLIGHT % BODY)}])</script>", "page data"),
        (
            "<script type=application/ld+json>"
            + json.dumps({"@type": "NewsArticle", "headline": "Log of the towers", "articleBody": BODY})
            + "</script>",
            "json-ld",
        ),
    ],
)
def test_the_data_of_an_empty_page_is_its_text_and_that_is_said(data: str, source: str) -> None:
    document = read(shell(data))
    assert BODY in document.text
    assert source in document.warnings[0]


def test_titles_in_data_are_headings() -> None:
    for data in (NEXT, RICH):
        document = read(shell(f"<script type=application/json>{json.dumps(data)}</script>"))
        assert document.outline[0].title == "Log of the towers"


def test_data_that_contradicts_a_page_with_text_is_no_source() -> None:
    data = json.dumps({"props": {"html": f"<p>{LIE}</p>"}})
    document = read(f"<body><main><h1>Tower</h1><p>{BODY}</p></main><script type=application/json>{data}</script>")
    assert "300" not in document.text
    assert document.warnings == ()


def test_hidden_markup_in_data_stays_out() -> None:
    data = {"html": f"<p>{BODY}</p><p style='display:none'>The tower is 300 metres tall.</p>"}
    assert "300" not in read(shell(f"<script type=application/json>{json.dumps(data)}</script>")).text


@pytest.mark.parametrize("data", ["{" * 5000, "[" * 200_000, '{"a":' * 900 + "1" + "}" * 900, "null", ""])
def test_data_made_to_break_readers_is_passed_over(data: str) -> None:
    document = read(f"<body><p>Two words.</p><script type=application/json>{data}</script></body>")
    assert document.text == "Two words."


def test_a_region_that_a_tool_marks_and_that_is_empty_does_not_hide_the_page() -> None:
    page = (
        "<html><head><meta name=generator content='Sphinx 5'></head><body><div role=main><p>Tower</p></div>"
        f"<div class=nav>{''.join(f'<p>{escape(line)}.</p>' for line in BODY.split('.'))}</div></body></html>"
    )
    document = read(page)
    assert "tower 7" in document.text


MARKO = "function $af(d){l=document.getElementById('af'+d);g=document.getElementById('afph'+d)};$af(1)"


def test_a_fragment_that_came_late_takes_the_place_kept_for_it() -> None:
    page = (
        "<html><body><main><p>Before.</p><noscript id=afph1></noscript><p>After.</p></main>"
        f"<div id=af1 style='display:none'><p>{BODY}</p></div><div id=af2 style='display:none'><p>{LIE}</p></div>"
        f"<script>{MARKO}</script></body></html>"
    )
    text = read(page).text
    assert text.index("Before.") < text.index(BODY) < text.index("After.")
    assert "whatever the page says" not in text


def test_data_of_a_page_that_shows_sentences_is_no_source() -> None:
    shown = "".join(
        f"<p>The Varden light was built in {year} and lit by a keeper every evening.</p>" for year in range(1880, 1890)
    )
    other = json.dumps({"items": [{"text": f"{LIE} {number}"} for number in range(20)]})
    data = f"<script id=__NEXT_DATA__ type='application/json'>{other}</script>"
    document = read(f"<html><body><main>{shown}</main>{data}</body></html>")
    assert "1889" in document.text
    assert "whatever the page says" not in document.text
    assert document.warnings == ()


@pytest.mark.parametrize(
    "said",
    [
        '<script type="application/ld+json">{"@type": "Product", "name": "K1", "offers": {"price": "1139.5"}}</script>',
        '<meta property="og:title" content="K1"><meta property="product:price:amount" content="1139.50">',
    ],
)
def test_the_price_that_the_page_gives_to_machines_is_text_where_it_shows(said: str) -> None:
    kettle = "<p>The kettle boils a litre in four minutes and keeps it hot, says the maker, for an hour or so.</p>" * 9
    card = "<li><a href=/k>Other kettle</a><div class=price>$88.00</div></li>"
    page = (
        f"<html><head><title>Kettle</title>{said}</head><body><div class=buy><div class=price>$1,139.50</div>"
        f"<button>Buy</button></div><div class=text>{kettle}</div><ul class=related>{card * 4}</ul></body></html>"
    )
    text = extract(page.encode(), "https://shop.example/product/kettle", "text/html").text
    assert text.startswith("$1,139.50")
    assert "88" not in text

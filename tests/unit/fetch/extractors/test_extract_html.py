"""HTML → blocks: structure, marks, navigation, metadata, offsets."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pincite
from pincite.domain.errors import EmptyContent, ParseError, UnsupportedContentType
from pincite.domain.page import BLOCK_SEPARATOR, BlockKind, Document, MarkKind
from pincite.fetch.extractors import extract

URL = "https://docs.example.org/guide/settings.html"
LONG = "The server keeps every row version until no transaction can see it any more. " * 4


def manual(body: str, head: str = "") -> Document:
    page = f"<html lang=en><head><meta name=generator content='Sphinx 5'>{head}</head><body>{body}</body></html>"
    return extract(page.encode(), URL, "text/html")


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in document.blocks]


def test_a_heading_that_links_to_the_contents_is_kept() -> None:
    document = manual(
        "<div role=main><h2><a class=toc-backref href='#id3' role=doc-backlink>Why are strings immutable?</a>"
        f"<a class=headerlink href='#why'>¶</a></h2><p>{LONG}</p></div>"
    )
    assert kinds(document) == [("heading", "Why are strings immutable?"), ("paragraph", LONG.strip())]


def test_definition_list_keeps_terms_with_their_definitions() -> None:
    document = manual(
        "<dl><dt><code>work_mem</code> (integer)<a class='reference internal' href='_modules/mem.html#w'>"
        "<span class=viewcode-link><span class=pre>[source]</span></span></a><a class=headerlink href='#w'>¶</a></dt>"
        "<dd><p>Memory for sorts.</p>"
        "<p>The default is 4 MB.</p><ul><li>hash tables</li></ul></dd><dt>wal_level</dt><dd>Decides.</dd></dl>"
    )
    assert kinds(document) == [
        ("term", "work_mem (integer)"),
        ("definition", "Memory for sorts."),
        ("definition", "The default is 4 MB."),
        ("list_item", "hash tables"),
        ("term", "wal_level"),
        ("definition", "Decides."),
    ]
    assert document.blocks[3].level == 1
    assert document.blocks[0].marks[0].kind is MarkKind.CODE


def test_lists_nest_and_count() -> None:
    document = manual("<ol start=3><li>three<ul><li>a<p>more</p></li></ul></li><li>four</li></ol>")
    found = [(b.text, b.kind.value, b.level, b.ordered, b.number) for b in document.blocks]
    assert found == [
        ("three", "list_item", 0, True, 3),
        ("a", "list_item", 1, False, None),
        ("more", "paragraph", 2, False, None),
        ("four", "list_item", 0, True, 4),
    ]


def test_table_has_one_line_per_row_and_cells() -> None:
    document = manual(
        "<table><caption>Sizes</caption><thead><tr><th>Name<th>Default</thead>"
        "<tr><td><a href='x.html'>port</a><td>5432<tr><td colspan=2>none</table>"
    )
    caption, table = document.blocks
    assert (caption.kind, caption.text) == (BlockKind.CAPTION, "Sizes")
    assert table.text == "Name | Default\nport | 5432\nnone | "
    assert table.has_header
    assert table.rows[1] == ("port", "5432")
    mark = table.marks[0]
    assert table.text[mark.start : mark.end] == "port"
    assert mark.href == "https://docs.example.org/guide/x.html"


def test_code_keeps_white_space_and_language() -> None:
    document = manual(
        "<div class='highlight-python3'><div class=highlight><pre><span></span>if x:\n    <b>go</b>()\n\n\nstop()"
        "</pre></div></div>"
        "<pre><code class='language-sql'>SELECT 1;</code></pre>"
        "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div></td>"
        "<td><pre>a\nb</pre></td></tr></table>"
    )
    assert [(b.text, b.language) for b in document.blocks if b.kind is BlockKind.CODE][:2] == [
        ("if x:\n    go()\n\n\nstop()", "python"),
        ("SELECT 1;", "sql"),
    ]


def test_navigation_goes_and_text_stays() -> None:
    document = manual(
        "<nav><a href=/>Home</a></nav><div class=navheader><table><tr><td><a href=p>Prev</a></table></div>"
        f"<div role=main><h1>Settings<a class=headerlink href='#s'>¶</a></h1><p>{LONG}</p>"
        "<div class='admonition note'><h3 class=title>Note</h3><p>Mind the gap.</p></div>"
        "<aside class=footnote>1 See the manual.</aside></div><div class=navfooter><a href=n>Next</a></div>"
    )
    assert [kind for kind, _ in kinds(document)] == ["heading", "paragraph", "heading", "paragraph", "footnote"]
    assert document.title == "Settings"
    assert [entry.title for entry in document.outline] == ["Settings", "Note"]


def test_the_line_that_leads_to_the_pages_beside_this_one_goes() -> None:
    line = "<div class=header><p>Next: <a href=b.html>Plans</a>, Previous: <a href=a.html>Data</a></p></div>"
    head = "<link rel=next href=b.html><link rel=prev href=a.html>"
    others = "<div class=more><p>See <a href=b.html>the plans</a> or <a href=c.html>the wisdom</a></p></div>"
    document = manual(f"{line}<h4>4.4 Real data</h4><p>{LONG}</p>{others}{line}", head)
    assert kinds(document) == [
        ("heading", "4.4 Real data"),
        ("paragraph", LONG.strip()),
        ("paragraph", "See the plans or the wisdom"),
    ]


def test_a_bar_that_is_called_navigation_goes_though_its_labels_outweigh_its_links() -> None:
    bar = "<div class=navigation><b>Next:</b> <a href=b>Cd</a> <b>Previous:</b> <a href=a>Up</a></div>"
    assert kinds(manual(f"{bar}<h1>Call</h1><p>{LONG}</p>")) == [("heading", "Call"), ("paragraph", LONG.strip())]
    text = f"<div class=navigation><p>{LONG}</p></div>"
    assert LONG.strip() in manual(f"{text}<h1>Call</h1><p>Of ships.</p>").text


def test_doxygen_keeps_title_signatures_and_listings() -> None:
    page = """<html><head><meta name="generator" content="Doxygen 1.9.4"></head><body>
    <div id="titlearea"><div id="projectname">Anvil 1.10</div></div>
    <div class="header"><div class="summary"><a href="#m">Functions</a></div>
    <div class="headertitle"><div class="title">anvil::Hammer</div></div></div>
    <div class="contents"><table class="memberdecls"><tr><td colspan="2"><h2>Functions</h2></td></tr>
    <tr><td class="memItemLeft">void&#160;</td><td class="memItemRight"><a href="#s">strike</a> (int n=8)</td></tr>
    </table>
    <div class="memproto"><table class="memname"><tr><td class="memname">void strike</td><td>(</td>
    <td class="paramtype">int&#160;</td><td class="paramname"><em>n</em></td><td>)</td></tr></table></div>
    <div class="fragment"><div class="line"><span class="lineno">    1</span><span class="keyword">if</span> (n) {</div>
    <div class="line"><span class="lineno">    2</span>  strike(n);</div>
    <div class="ttc"><div class="ttname">strike</div><div class="ttdef">Definition: hammer.h:25</div></div></div>
    </div></body></html>"""
    assert kinds(extract(page.encode(), URL, "text/html")) == [
        ("paragraph", "Anvil 1.10"),
        ("heading", "anvil::Hammer"),
        ("heading", "Functions"),
        ("paragraph", "void strike (int n=8)"),
        ("paragraph", "void strike( int n)"),
        ("code", "if (n) {\n  strike(n);"),
    ]


def test_the_title_of_a_box_is_a_heading_that_heads_nothing_but_its_box() -> None:
    document = manual(
        f"<h1>Core</h1><h2>KeepAlive</h2><p>{LONG}</p><h3>Limits</h3>"
        f"<div class=example><h3>Example</h3><p>KeepAlive Off</p></div><p>After it {LONG}</p>"
    )
    assert [entry.title for entry in document.outline] == ["Core", "KeepAlive", "Limits", "Example"]
    assert document.section_path(document.text.index("KeepAlive Off")) == ("Core", "KeepAlive", "Limits", "Example")
    assert document.section_path(document.text.index("After it")) == ("Core", "KeepAlive", "Limits")


def test_a_heading_by_its_role_is_one() -> None:
    document = manual(f"<h1>Core</h1><div role=heading aria-level=3>Limits</div><p role=heading>Uses</p><p>{LONG}</p>")
    assert [(entry.title, entry.level) for entry in document.outline] == [("Core", 1), ("Limits", 3), ("Uses", 2)]
    thread = manual(f"<h1>Core</h1><div role=heading><div>Bo, 2 May</div><p>{LONG}</p></div>")
    assert [entry.title for entry in thread.outline] == ["Core"]


def test_a_reference_whose_entries_are_tables_of_one_row_keeps_them_with_what_is_said_of_them() -> None:
    names = ("bcc", "cc", "file", "from", "headers", "log", "mode", "once", "reply", "subject")
    entries = "".join(
        f"<table><tr><td><b>{name}</b></td><td>Use: <i>mail</i></td><td>Default: {number}00</td></tr></table>"
        f"<p>The option {name} says what the program does with it. {LONG}</p>"
        for number, name in enumerate(names, start=1)
    )
    page = f"<ul class=nav><li><a href=/>Home</a></ul><form action=/s></form><div><h2>Options</h2>{entries}</div>"
    document = extract(page.encode(), "https://docs.example/options.html", "text/html")
    rows = [block.text for block in document.blocks if block.kind is BlockKind.TABLE]
    assert rows == [f"{name} | Use: mail | Default: {number}00" for number, name in enumerate(names, start=1)]
    assert "Home" not in document.text


def test_marks_cover_exactly_their_words() -> None:
    document = manual(
        "<p>See <a href='#top'><code>VACUUM</code></a> and <em> the  rest </em>of it, 10<sup>6</sup> rows.</p>"
    )
    block = document.blocks[0]
    assert block.text == "See VACUUM and the rest of it, 10^6 rows."
    assert [(m.kind.value, block.text[m.start : m.end]) for m in block.marks] == [
        ("link", "VACUUM"),
        ("code", "VACUUM"),
        ("emphasis", "the rest"),
        ("superscript", "6"),
    ]


def test_metadata_by_order_of_trust() -> None:
    head = (
        "<title>Rows seen - Example News</title><meta property=og:site_name content='Example News'>"
        "<meta property=og:title content='Rows seen - Example News'><meta name=author content='A. Writer'>"
        "<meta property=article:published_time content='2024-05-03T10:00:00+02:00'>"
        '<script type="application/ld+json">{"@type":"NewsArticle","dateModified":"2024-05-04",'
        '"author":[{"name":"B. Reporter"}]}</script><link rel=canonical href=/guide/rows>'
    )
    document = manual(f"<p>{LONG}</p>", head)
    assert document.title == "Rows seen"
    assert document.site_name == "Example News"
    assert document.byline == "B. Reporter"
    assert document.published_at == datetime(2024, 5, 3, 8, tzinfo=UTC)
    assert document.modified_at == datetime(2024, 5, 4, tzinfo=UTC)
    assert document.language == "en"
    assert document.canonical_url == "https://docs.example.org/guide/rows"


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=canonical href='https://evil.example/'>",
        "<link rel=canonical href='/'>",
        "<link rel=canonical href='/a'><link rel=canonical href='/b'>",
        "<link rel=canonical href='javascript:x'>",
    ],
)
def test_canonical_address_is_not_believed_when_it_could_merge_pages(link: str) -> None:
    assert manual(f"<p>{LONG}</p>", link).canonical_url == URL


def test_language_is_guessed_from_prose_only_when_none_is_declared() -> None:
    prose = (
        "Die Datenbank behält jede Fassung einer Zeile, bis keine Transaktion sie mehr sehen kann. Danach darf der "
        "Platz wieder verwendet werden, und zwar ohne dass jemand darauf warten muss. Wer eine Tabelle oft ändert, "
        "sollte sie auch oft aufräumen lassen; die Voreinstellung genügt meistens. Wenn sehr viele Zeilen "
        "gelöscht wurden, bleibt die Datei trotzdem gleich groß, weil nur ihr Inhalt frei wird. "
        "Erst ein vollständiger Neubau der Tabelle gibt "
        "den Platz an das Betriebssystem zurück, sperrt sie aber währenddessen für alle anderen Benutzer."
    )
    assert extract(f"<p>{prose}</p>".encode(), URL, "text/html").language == "de"
    assert extract(f"<html lang=fr><p>{prose}</p>".encode(), URL, "text/html").language == "fr"
    assert extract(b"<p>Kurz.</p>", URL, "text/html").language == ""


def test_web_page_loses_menus_and_keeps_structure() -> None:
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(20))
    article = "".join(f"<p>Paragraph {n}. {LONG}</p>" for n in range(6))
    page = (
        f"<html><body><div class=menu><ul>{menu}</ul></div><article><h1>How rows are seen</h1>{article}"
        "<pre><code class=language-sql>SELECT xmin FROM t;</code></pre>"
        f"<p>After the code. {LONG}</p></article><footer>Copyright Example Inc.</footer></body></html>"
    )
    document = extract(page.encode(), URL)
    assert "Section 3" not in document.text
    assert "Copyright" not in document.text
    assert any(block.kind is BlockKind.CODE and block.language == "sql" for block in document.blocks)


def test_errors_are_typed() -> None:
    with pytest.raises(EmptyContent):
        extract(b"  \n", URL)
    with pytest.raises(EmptyContent):
        extract(b"<html><body></body></html>", URL)
    with pytest.raises(UnsupportedContentType):
        extract(b"\x89PNG\r\n\x1a\n", URL, "text/html")
    with pytest.raises(ParseError, match="nested"):
        extract(b"<div>" * 100_000, URL)
    with pytest.raises(ParseError, match="attributes"):
        extract(b"<div " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">x</div>", URL)


def test_root_name_is_the_function() -> None:
    assert pincite.extract is extract


inline = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
fragments = st.recursive(
    inline,
    lambda inner: st.tuples(
        st.sampled_from("p div li ul ol dl dt dd pre code a em td table tr th h2 blockquote br sup span q".split()),
        st.lists(inner, max_size=4),
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"),
    max_leaves=20,
)


@settings(deadline=None, max_examples=150)
@given(fragments)
def test_every_block_stands_in_the_text_and_marks_stay_inside(fragment: str) -> None:
    try:
        document = manual(fragment)
    except (EmptyContent, ParseError):
        return
    assert document.text == BLOCK_SEPARATOR.join(block.text for block in document.blocks)
    for block, start in zip(document.blocks, document.starts, strict=True):
        assert document.text[start : start + len(block.text)] == block.text
        assert block.text.strip() == block.text or block.kind in {BlockKind.CODE, BlockKind.TABLE}
        for mark in block.marks:
            assert 0 <= mark.start < mark.end <= len(block.text)


@pytest.mark.parametrize(
    "markup",
    [
        "<html><title>T</title><main><p>{}</p></main>",
        "<title>T</title><section><h1>One</h1><p>{}</p></section><article><p>Two</p></article>",
        "<html><head><title>T</title><main><p>{}</p></main></head><body><p>More</p></body>",
        "<title>T</title><header>Top</header>{}",
    ],
)
def test_a_page_without_body_tags_is_read(markup: str) -> None:
    fact = "The lighthouse is 31 metres tall and was first lit in 1888."
    document = extract(markup.format(fact).encode(), "https://a.example/x")
    assert fact in document.text
    assert document.title == "T"


def test_links_for_the_page_s_own_workings_are_left_out() -> None:
    body = """<main><h1>Halden</h1><h2>History<span class="mw-editsection">[<a href="/edit">edit</a>]</span></h2>
    <p>The town was burned in 1716 by its own citizens, who would not leave it.<sup><a href="#n1">[1]</a></sup>
    <a href="#">Reply</a></p><ol><li id=n1><a href="#r1">^</a> Hansen, page 12 of the second volume.</li></ol></main>"""
    document = extract(body.encode(), URL, "text/html")
    texts = [block.text for block in document.blocks]
    assert "History" in texts
    assert "Hansen, page 12 of the second volume." in texts
    assert not any(mark.href == URL or mark.href.endswith("#") for block in document.blocks for mark in block.marks)


def test_a_heading_whose_section_is_left_out_goes_with_it() -> None:
    said = "A light lamp for the trail, which lasts for forty hours on one charge and weighs very little. " * 3
    links = "".join(f'<li><a href="/p{n}">Lamp {n}</a></li>' for n in range(8))
    body = (
        "<header class=top><nav class=menu><a href=/>Home</a><a href=/c>Cart</a></nav></header>"
        f"<main class=product><h1>Lamp</h1><p class=text>{said}</p><h2 class=t>You may also like</h2>"
        f"<div class=related><ul class=cards>{links}</ul></div></main><footer class=foot>ReportMetadata</footer>"
    )
    texts = [block.text for block in extract(body.encode(), URL, "text/html").blocks]
    assert texts == ["Lamp", said.strip()]


def test_text_that_the_structured_data_names_is_content_wherever_it_stands() -> None:
    said = "This kettle of brushed steel holds one litre and a half and boils it in four minutes."
    page = (
        "<title>Kettle</title><article><h1>Kettle</h1>" + "<p>The kettle was tested over a year, day by day. </p>" * 12
        + f"</article><aside class='related sidebar promo'><div class='widget'><p>{said}</p></div></aside>"
        + "<footer>" + "".join(f"<p><a href='/{n}'>Page {n} of the shop</a></p>" for n in range(12)) + "</footer>"
    )  # fmt: skip
    named = f'<script type="application/ld+json">{{"@type": "Product", "description": "{said}"}}</script>'
    assert said not in extract(page.encode(), URL, "text/html").text
    assert said in extract((named + page).encode(), URL, "text/html").text

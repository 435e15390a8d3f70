"""Every visible heading of a long reference page stays, in order: a passage is about what stands above it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pincite.domain.page import BlockKind, Document
from pincite.fetch.extractors import extract
from pincite.fetch.extractors.layout import Layout, with_section_headings

WORDS = "storage class value column type affinity text integer real blob null comparison order operator result".split()


def sentence(number: int) -> str:
    picked = [WORDS[(number * 7 + place * 3) % len(WORDS)] for place in range(14)]
    return f"The {' '.join(picked)} is {number}."


def database_page() -> tuple[str, list[str]]:
    """A manual page as SQLite's site builds them: classes of layout, a table of contents, numbered headings."""
    titles: list[tuple[int, str]] = []
    for chapter in range(1, 9):
        titles.append((1, f"{chapter}. Chapter of {WORDS[chapter]}"))
        titles += [(2, f"{chapter}.{part}. Part {part} of {WORDS[chapter]}") for part in range(1, chapter % 4 + 1)]
    toc = "".join(
        f"<div class='fancy-toc{level}'><a href='#s{n}'>{title}</a></div>" for n, (level, title) in enumerate(titles)
    )
    body = ""
    for number, (level, title) in enumerate(titles):
        head, _, rest = title.partition(" ")
        body += f"<h{level} id='s{number}'><span>{head} </span>{rest}</h{level}>\n"
        if number % 3 == 0:
            body += f"<p>{sentence(number)} {sentence(number + 1)}</p>"
            body += f"<ul><li><p>{sentence(number)}</p><li><p>{sentence(2)}</p></ul>"
        elif number % 3 == 1:
            body += f"<blockquote><pre>SELECT {number};</pre></blockquote><p>{sentence(number)}</p>"
        else:
            body += f"<center><table border=1><tr><th>Type<th>Rule<tr><td>INT<td>{number}</table></center>"
            body += f"<p>{sentence(number)}</p>"
    menu = "".join(f"<li class='wideonly'><a href='{name}.html'>{name.title()}</a>" for name in WORDS)
    page = f"""<!DOCTYPE html><html><head><meta name="viewport" content="width=device-width">
<link href="sqlite.css" rel="stylesheet"><title>Datatypes In A Database</title></head><body><div class=nosearch>
<a href="index.html"><img class="logo" src="banner.svg" alt="Logo" border="0"></a><div><!-- hack --></div>
<div class="tagline desktoponly">Small. Fast. Reliable.<br>Choose any three.</div>
<div class="menu mainmenu"><ul>{menu}</ul></div><div class="menu submenu" id="menu_sub"><ul>{menu}</ul></div>
<div class="searchmenu" id="searchmenu"><form method="GET" action="search"><select name="s"><option>Search</select>
<input type="text" name="q"><input type="submit" value="Go"></form></div></div>
<script>function toggle_div(n){{}}</script><script>function a(){{}}</script><script>var b</script><script>var c</script>
<div class=fancy><div class=nosearch><div class="fancy_title">Datatypes In A Database</div>
<div class="fancy_toc">
<a onclick="toggle_toc()"><span class="fancy_toc_mark" id="toc_mk">&#x25ba;</span>Table Of Contents</a>
<div id="toc_sub">{toc}</div></div></div>{body}
<p align="center"><small><i>This page last modified</i></small></p></div></body></html>"""
    return page, [title for _, title in titles]


def server_page() -> tuple[str, list[str]]:
    """A reference of directives as Apache's documentation builds them: a box of facts and headings in every entry."""
    names = [f"{WORDS[n % len(WORDS)].title()}{WORDS[(n * 5 + 3) % len(WORDS)].title()}{n}" for n in range(90)]
    titles = ["Core Features"]
    quick = "".join(f"<li><img alt='' src='down.gif'> <a href='#{name.lower()}'>{name}</a></li>" for name in names)
    body = ""
    for number, name in enumerate(names):
        titles.append(f"{name} Directive")
        body += f"""<div class="top"><a href="#page-header"><img alt="top" src="up.gif"></a></div>
<div class="directive-section"><h2><a name="{name}" id="{name}">{name}</a> <a name="{name.lower()}">Directive</a></h2>
<table class="directive"><tr><th><a href="d.html#Description">Description:</a></th><td>Sets the {name}</td></tr>
<tr><th><a href="d.html#Syntax">Syntax:</a></th><td><code>{name} On|Off</code></td></tr>
<tr><th><a href="d.html#Default">Default:</a></th><td><code>{name} {number}</code></td></tr></table>
<p>{sentence(number)} <code class="directive"><a href="#x">Other</a></code> is older.</p>"""
        if number % 3 == 0:
            body += f'<div class="example"><h3>Example {number}</h3><p><code>{name} Off</code></p></div>'
        if number % 4 == 0:
            titles.append(f"Notes on {name}")
            body += f'<h3><a name="n{number}">Notes on {name}</a></h3><ul><li>{sentence(number)}</li></ul>'
        body += '<h3>See also</h3><ul><li><a href="#x">Other</a></li></ul></div>'
        titles.append("See also")
    page = f"""<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">
<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en"><head><title>core - A Server Version 2.4</title>
<link href="../style/css/manual.css" rel="stylesheet" type="text/css" />
<script src="../style/scripts/prettify.min.js"></script>
</head><body><div id="page-header"><p class="menu"><a href="../mod/">Modules</a> | <a href="../faq/">FAQ</a></p>
<p class="apache">A Server Version 2.4</p></div>
<div class="up"><a href="./"><img alt="&lt;-" src="left.gif" /></a></div>
<div id="path"><a href="/">Server</a> &gt; <a href="../">Version 2.4</a></div><div id="page-content"><div id="preamble">
<h1>Core Features</h1>
<div class="toplang"><p><span>Languages: </span><a href="../de/">&nbsp;de&nbsp;</a></p></div>
<table class="module">
<tr><th><a href="d.html#Description">Description:</a></th><td>Core features</td></tr>
</table></div>
<div id="quickview"><h3 class="directives">Directives</h3><ul id="toc">{quick}</ul></div>{body}</div>
<div class="bottomlang"><p>Available Languages: de</p></div>
<div id="footer"><p class="apache">Copyright The Server</p></div>
<script>var x</script><script>var y</script><script>var z</script></body></html>"""
    return page, titles


def headings(document: Document) -> list[str]:
    return [" ".join(entry.title.split()) for entry in document.outline]


@pytest.mark.parametrize("made", [database_page, server_page])
def test_headings_of_a_reference_page_stay_in_order(made: Callable[[], tuple[str, list[str]]]) -> None:
    page, titles = made()
    found = headings(extract(page.encode(), "https://docs.example/core.html", "text/html"))
    place, kept = 0, 0
    for title in titles:
        if title in found[place:]:
            place = found.index(title, place) + 1
            kept += 1
    assert kept >= 0.98 * len(titles), (kept, len(titles))


def test_a_passage_knows_the_entry_it_stands_in() -> None:
    page, _ = server_page()
    document = extract(page.encode(), "https://docs.example/core.html", "text/html")
    at = document.text.index("| ", document.text.index("Default:", document.text.index("Example 30")))
    name = document.text[at + 2 :].split()[0]
    assert f"{name} Directive" in document.section_path(at)


def test_the_heading_of_what_is_left_out_goes_with_it() -> None:
    text = "".join(f"<p>{sentence(n)} {sentence(n + 1)} {sentence(n + 2)}</p>" for n in range(8))
    links = "".join(f"<li><a href='/{n}'>Another story {n}</a></li>" for n in range(9))
    aside = f"<aside><h2>More stories</h2><ul>{links}</ul></aside>"
    page = f"<body><main><article><h1>Towers</h1>{text}</article></main>{aside}"
    assert headings(extract(page.encode(), "https://news.example/a", "text/html")) == ["Towers"]


def news(sentences: int, title: str = "Towers of the north coast", before: str = "", kind: str = "") -> Document:
    """A page as a news site builds it: the headline stands in a header apart from the text."""
    text = "".join(f"<p>{sentence(n)} {sentence(n + 1)} {sentence(n + 2)}</p>" for n in range(sentences))
    teasers = "".join(f"<li><a href='/{n}'>Another story {n}</a></li>" for n in range(9))
    page = (
        f"<head><title>{title} | The Coast</title>{kind}</head><body>{before}"
        "<div class='hero-banner'><div class='promo'><h1>Towers of the north coast</h1></div></div>"
        f"<aside class='related'><ul>{teasers}</ul></aside><div class='story-body'>{text}</div>"
    )
    return extract(page.encode(), "https://news.example/a", "text/html")


def test_the_main_heading_of_a_long_text_stays_wherever_it_stands() -> None:
    document = news(40)
    assert headings(document)[0] == document.blocks[0].text == "Towers of the north coast"
    assert "Another story" not in document.text
    assert document.section_path(document.text.index(sentence(7))) == ("Towers of the north coast",)


def test_a_short_text_has_its_headline_as_title_alone_unless_the_page_is_made_of_records() -> None:
    short = news(6)
    assert short.title == "Towers of the north coast"
    assert headings(short) == []
    product = news(6, kind='<script type="application/ld+json">{"@type": "Product", "name": "Towers"}</script>')
    assert headings(product) == ["Towers of the north coast"]


def test_a_heading_that_is_most_of_the_title_is_the_main_one() -> None:
    named = news(40, title="Towers of the coast - Northern Lights Version 2")
    assert headings(named)[0] == "Towers of the north coast"


def test_a_structured_text_keeps_its_main_heading() -> None:
    levels = (1, 0, *(2, 0, 0) * 6)
    layout = Layout(
        sizes=(4, 20, *(2, 9, 20) * 6),
        chars=(20,) * 20,
        shapes=(("p", "div"),) * 20,
        kinds=tuple(BlockKind.HEADING if level else BlockKind.PARAGRAPH for level in levels),
        levels=levels,
        holders=((1, 0),) * 20,
        plain=(False,) * 20,
        around=(False,) * 20,
        leading=(False,) * 19,
        menus=(False,) * 20,
        titles=(True, *(False,) * 19),
        stated=(0.0,) * 20,
        posts=(False,) * 20,
        remarks=(False,) * 20,
        below=(False,) * 20,
        records=False,
    )
    odds = [0.1, 0.9, *(0.9, 0.1, 0.9) * 6]
    assert [index for index, keep in enumerate(layout.kept(odds)) if not keep] == [3, 6, 9, 12, 15, 18]


def test_a_first_level_heading_that_is_not_the_title_is_not_put_back() -> None:
    assert headings(news(40, title="Lamps of the southern hills")) == []


MENU = "<header><nav><ul>" + "".join(f"<li><a href='/{n}'>Menu entry {n}</a></li>" for n in range(163)) + "</ul></nav>"


@pytest.mark.parametrize("generator", ["", "<meta name=generator content='Sphinx 7'>"])
def test_the_menu_of_a_header_goes_however_long_it_is(generator: str) -> None:
    text = "".join(f"<p>{sentence(n)}</p>" for n in range(6))
    page = f"<head><title>T</title>{generator}</head><body>{MENU}</header><div><h1>Towers</h1>{text}</div>"
    document = extract(page.encode(), "https://docs.example/a", "text/html")
    assert "Menu entry" not in document.text
    assert document.text.startswith("Towers")
    assert document.text.endswith(sentence(5))


@pytest.mark.parametrize("generator", ["", "<meta name=generator content='Sphinx 7'>"])
def test_a_header_that_never_ends_does_not_take_the_page_with_it(generator: str) -> None:
    text = "".join(f"<p>{sentence(n)}</p>" for n in range(6))
    page = f"<head><title>T</title>{generator}</head><body><header><nav><a href=/>Home</a><h1>Towers</h1>{text}"
    document = extract(page.encode(), "https://docs.example/a", "text/html")
    assert all(sentence(n) in document.text for n in range(6))


def test_a_heading_of_what_surrounds_the_text_comes_back_only_where_the_text_stands_there_too() -> None:
    levels = [2, 0, 2, 0]
    kept = [False, True, False, True]
    assert with_section_headings(kept, levels, [False, False, True, True]) == [True, True, False, True]
    assert with_section_headings(kept, levels, [True] * 4) == [True] * 4  # a form around the whole page


def test_the_last_teaser_above_a_text_is_no_heading_of_it() -> None:
    kept, levels = [False, False, False, True, False, True], [2, 3, 3, 0, 2, 0]
    assert with_section_headings(kept, levels, [False] * 6) == [False, False, False, True, True, True]


def test_a_manual_with_a_drawing_made_of_tables_is_read_whole() -> None:
    """A long page of plain markup, full of links: nothing is chosen there, whatever the classifier would expect."""
    parts = "".join(
        f"<h2>{number}. Part</h2><p>{' '.join(f'<a href=/{word}>{word}</a> is' for word in WORDS)} {number}.</p>"
        f"<p>{sentence(number)}</p>"
        for number in range(14)
    )
    drawing = "<table><tr><td>client</td><td><table><tr><td>server</td></tr></table></td></tr></table>"
    page = f"<html><head><title>Manual</title></head><body><h1>Manual</h1>{drawing}{parts}</body></html>"
    long = page.replace(" is", " is a value of this type")
    document = extract(long.encode(), "https://docs.example/m.html", "text/html")
    assert [entry.title for entry in document.outline] == ["Manual", *(f"{number}. Part" for number in range(14))]
    assert all(sentence(number).replace(" is", " is a value of this type") in document.text for number in range(14))


def test_a_page_of_many_headings_keeps_what_its_container_lost_between_kept_blocks() -> None:
    long = 14  # blocks of one section that were left out: too many for a short section
    levels = (2, 0) * 6 + (2, *(0,) * long) + (2, 0) * 6
    lost = range(13, 13 + long)
    count = len(levels)
    layout = Layout(
        sizes=(60,) * count,
        chars=(300,) * count,
        shapes=(("p", "div"),) * count,
        kinds=tuple(BlockKind.HEADING if level else BlockKind.PARAGRAPH for level in levels),
        levels=levels,
        holders=((1, 0),) * count,
        plain=tuple(index != 15 for index in range(count)),
        around=(False,) * count,
        leading=(False,) * (count - 1),
        menus=(False,) * count,
        titles=(False,) * count,
        stated=(0.0,) * count,
        posts=(False,) * count,
        remarks=(False,) * count,
        below=(False,) * count,
        records=False,
    )
    odds = [0.05 if index in lost or index == count - 1 else 0.9 for index in range(count)]
    kept = layout.kept(odds)
    assert [index for index in range(count - 2) if not kept[index]] == [15]  # mostly links
    assert kept[-1]  # nor does it end before its last
    few = replace(layout, levels=tuple(level if index < 8 else 0 for index, level in enumerate(levels)))
    assert not any(few.kept(odds)[index] for index in lost)


def manual_layout(foot: int) -> Layout:
    """Twenty chapters of a heading and a text in one container, and `foot` blocks of another one below."""
    count = 40 + foot
    held = tuple((1, 0) if index < 40 else (2, 0) for index in range(count))
    return Layout(
        sizes=tuple(3 if index % 2 == 0 else 80 for index in range(count)),
        chars=(400,) * count,
        shapes=(("p", "div"),) * count,
        kinds=tuple(BlockKind.PARAGRAPH if index % 2 else BlockKind.HEADING for index in range(count)),
        levels=tuple(0 if index % 2 else 2 for index in range(count)),
        holders=held,
        plain=(True,) * count,
        around=(False,) * count,
        leading=(False,) * count,
        menus=(False,) * count,
        titles=(False,) * count,
        stated=(0.0,) * count,
        posts=(False,) * count,
        remarks=(False,) * count,
        below=(False,) * count,
        records=False,
    )


def test_a_long_manual_is_read_to_its_last_chapter_and_no_further() -> None:
    kept = manual_layout(foot=4).kept([0.9] * 30 + [0.1] * 14)
    assert kept == [True] * 40 + [False] * 4
    few = manual_layout(foot=0).kept([0.9] * 10 + [0.1] * 30)  # five headings: an article, below which is other matter
    assert sum(few) == 10
    manual = manual_layout(foot=4)  # one that was left in the middle of a chapter
    levels = tuple(0 if index == 30 else level for index, level in enumerate(manual.levels))
    assert replace(manual, levels=levels).kept([0.9] * 30 + [0.1] * 14) == kept


def test_a_reference_of_which_half_was_kept_is_whole_and_no_other_page() -> None:
    manual = manual_layout(foot=4)
    assert manual.kept([0.9] * 22 + [0.1] * 22) == [True] * 40 + [False] * 4
    assert sum(manual.kept([0.9] * 20 + [0.1] * 24)) == 40
    assert sum(manual.kept([0.9] * 18 + [0.1] * 26)) == 18  # less than half: what stands below may be other matter
    assert sum(replace(manual, records=True).kept([0.9] * 22 + [0.1] * 22)) == 22


def test_a_text_without_headings_and_listings_is_chosen_more_strictly() -> None:
    text = replace(manual_layout(foot=0), kinds=(BlockKind.PARAGRAPH,) * 40, levels=(0,) * 40, sizes=(80,) * 40)
    odds = [0.95] * 26 + [0.45] * 14
    assert sum(text.kept(odds)) == 26
    listings = (BlockKind.CODE,) * 3 + (BlockKind.PARAGRAPH,) * 37
    assert sum(replace(text, kinds=listings).kept(odds)) == 40
    assert sum(replace(text, records=True).kept([*odds[:20], *odds[-20:]])) == 40


def test_a_list_is_whole_where_its_first_item_is_kept() -> None:
    """A paragraph, a list of four items whose third holds a list of two, a paragraph: all in one container."""
    holders = ((1, 0), (2, 1, 0), (2, 1, 0), (2, 1, 0), (4, 3, 2, 1, 0), (4, 3, 2, 1, 0), (2, 1, 0), (1, 0))
    layout = replace(
        manual_layout(foot=0),
        sizes=(80, 20, 20, 4, 1, 1, 20, 80),
        kinds=(BlockKind.PARAGRAPH, *(BlockKind.LIST_ITEM,) * 6, BlockKind.PARAGRAPH),
        levels=(0,) * 8,
        holders=holders,
        around=(False,) * 8,
        leading=(False,) * 8,
        menus=(False,) * 8,
        titles=(False,) * 8,
        posts=(False,) * 8,
        remarks=(False,) * 8,
        below=(False,) * 8,
        plain=(True,) * 8,
        stated=(0.0,) * 8,
        chars=(400,) * 8,
        shapes=(("p", "div"),) * 8,
    )
    odds = [0.9, 0.9, *(0.1,) * 5, 0.9]
    assert layout.kept(odds) == [True] * 8
    beside = replace(layout, holders=(*holders[:7], (5, 0)))  # the text goes on elsewhere
    assert beside.kept(odds) == [True, True, *(False,) * 5, True]


def test_a_definition_list_of_a_long_manual_comes_back_whole() -> None:
    manual, inside = manual_layout(foot=0), range(10, 26)
    layout = replace(
        manual,
        kinds=tuple(BlockKind.TERM if index in inside else kind for index, kind in enumerate(manual.kinds)),
        levels=tuple(0 if index in inside else level for index, level in enumerate(manual.levels)),
        holders=tuple((4, 3, 1, 0) if index in inside else (1, 0) for index in range(40)),
    )
    odds = [0.1 if index in inside else 0.9 for index in range(40)]
    assert all(layout.kept(odds))
    assert sum(replace(layout, plain=tuple(index not in inside for index in range(40))).kept(odds)) == 24  # a menu


def test_a_definition_list_that_lost_most_comes_back_where_the_manual_around_it_is_kept() -> None:
    """Of sixteen definitions the first and the last were kept, and the chapters before and after them."""
    manual, inside = manual_layout(foot=0), range(12, 28)
    layout = replace(
        manual,
        kinds=tuple(BlockKind.DEFINITION if index in inside else kind for index, kind in enumerate(manual.kinds)),
        levels=tuple(0 if index in inside else level for index, level in enumerate(manual.levels)),
        holders=tuple((6, 5, 4, 3, 1, 0) if index in inside else (1, 0) for index in range(40)),
    )
    odds = [0.1 if index in inside[1:-1] else 0.9 for index in range(40)]
    assert all(layout.kept(odds))
    paragraphs = replace(layout, kinds=(BlockKind.PARAGRAPH,) * 40)
    assert all(paragraphs.kept(odds))


def test_a_manual_ends_with_the_last_of_its_entries() -> None:
    manual = manual_layout(foot=2)
    inside = range(28, 40)
    kinds = tuple(BlockKind.DEFINITION if index in inside else kind for index, kind in enumerate(manual.kinds))
    levels = tuple(0 if index in inside else level for index, level in enumerate(manual.levels))
    layout = replace(manual, kinds=kinds, levels=levels, plain=(True,) * 41 + (False,))
    odds = [0.9 if index < 32 else 0.1 for index in range(42)]
    assert layout.kept(odds) == [True] * 40 + [False] * 2


def test_a_reference_is_told_by_the_headings_above_what_is_kept() -> None:
    """Of twenty dated entries the headings look like no text, and so do three of the entries."""
    manual = manual_layout(foot=0)
    odds = [0.1 if index % 2 == 0 or index in {11, 21, 31} else 0.9 for index in range(40)]
    assert all(manual.kept(odds))


def test_a_list_of_many_terms_is_a_reference_without_headings_too() -> None:
    manual = manual_layout(foot=0)
    kinds = tuple(BlockKind.DEFINITION if index % 2 else BlockKind.TERM for index in range(40))
    odds = [0.1 if index in {21, 27} else 0.9 for index in range(40)]
    assert all(replace(manual, kinds=kinds, levels=(0,) * 40).kept(odds))
    assert not all(replace(manual, kinds=(BlockKind.PARAGRAPH,) * 40, levels=(0,) * 40).kept(odds))


def test_a_thread_keeps_what_a_reply_quotes_once() -> None:
    """Of the quotation goes what stands above; what is new in a reply stays."""
    post = "The lamp at the north end has been dark since the storm of March 12."
    reply = "It was lit again on April 3."
    texts = (post, "Ada wrote:", post, reply, "Bo wrote:", "It was never dark at all, says the keeper, for 40 years.")
    kinds = (BlockKind.PARAGRAPH, *(BlockKind.QUOTATION,) * 2, BlockKind.PARAGRAPH, *(BlockKind.QUOTATION,) * 2)
    count = len(texts)
    thread = replace(
        manual_layout(foot=0),
        sizes=tuple(len(text.split()) for text in texts),
        chars=tuple(map(len, texts)),
        kinds=kinds,
        levels=(0,) * count,
        records=True,
        texts=texts,
        **{
            name: getattr(manual_layout(foot=0), name)[:count]
            for name in "shapes holders plain around leading menus titles stated posts remarks below".split()
        },
    )
    assert thread.kept([0.9] * count) == [True, True, False, True, True, True]
    assert replace(thread, records=False, texts=()).kept([0.9] * count) == [True] * count  # an article says it twice

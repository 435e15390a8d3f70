"""What a page is made of: products, questions and answers, posts, comments, entries; who says each, when, and where."""

import json

import pytest

from pincite.domain.evidence import ContextRole
from pincite.domain.items import Item, ItemKind
from pincite.domain.page import Document
from pincite.fetch.extractors import extract
from pincite.runtime.reader_process import pack, unpack
from pincite.text.context import context_of

ASKED = "How tall is the Varden lighthouse, counted from the rock it stands on?"
ANSWERED = "It is 41 metres tall from the rock, as the survey of 1881 says on its second page."
REMARKED = "The survey counts from the water, so subtract the four metres of the rock first."


def read(page: str, url: str = "https://ask.example/q/7") -> Document:
    return extract(f"<html><body>{page}</body></html>".encode(), url, "text/html")


def text_of(document: Document, item: Item) -> str:
    return document.text[item.start : item.end]


LINKED = {
    "@type": "QAPage",
    "mainEntity": {
        "@type": "Question",
        "name": "How tall is the light?",
        "text": ASKED,
        "dateCreated": "2021-03-01",
        "author": {"@type": "Person", "name": "Ada"},
        "acceptedAnswer": {
            "@type": "Answer",
            "text": ANSWERED,
            "upvoteCount": 12,
            "dateCreated": "2021-03-02T10:00:00Z",
            "author": {"name": "Bo"},
            "comment": [{"@type": "Comment", "text": REMARKED, "author": "Cy", "dateCreated": "2021-03-03"}],
        },
    },
}
PLAIN = f"<main><h1>How tall is the light?</h1><p>{ASKED}</p><p>{ANSWERED}</p><p>{REMARKED}</p></main>"
MICRODATA = f"""<main itemscope itemtype="https://schema.org/QAPage">
<div itemprop="mainEntity" itemscope itemtype="https://schema.org/Question">
<h1 itemprop="name">How tall is the light?</h1>
<div itemprop="text"><p>{ASKED}</p></div><time itemprop="dateCreated" datetime="2021-03-01">in March</time>
<span itemprop="author" itemscope itemtype="https://schema.org/Person"><a itemprop="name" href="/u/1">Ada</a></span>
<div itemprop="acceptedAnswer" itemscope itemtype="https://schema.org/Answer"><p itemprop="text">{ANSWERED}</p>
<meta itemprop="upvoteCount" content="12"><time itemprop="dateCreated" datetime="2021-03-02T10:00:00Z"></time>
<span itemprop="author" itemscope itemtype="https://schema.org/Person"><b itemprop="name">Bo</b></span>
<div itemprop="comment" itemscope itemtype="https://schema.org/Comment"><p itemprop="text">{REMARKED}</p>
<span itemprop="author">Cy</span><time itemprop="dateCreated" datetime="2021-03-03"></time></div></div></div></main>"""
RDFA = (
    MICRODATA.replace("itemscope itemtype", "typeof")
    .replace("https://schema.org/", "schema:")
    .replace("itemprop", "property")
)


@pytest.mark.parametrize(
    ("page", "source"),
    [
        (f'<script type="application/ld+json">{json.dumps(LINKED)}</script>{PLAIN}', "json-ld"),
        (MICRODATA, "microdata"),
        (RDFA, "rdfa"),
    ],
)
def test_a_question_its_answer_and_a_comment_in_three_vocabularies(page: str, source: str) -> None:
    document = read(page)
    question, answer, comment = document.structure
    assert {item.source for item in document.structure} == {source}
    assert [item.kind for item in document.structure] == [ItemKind.QUESTION, ItemKind.ANSWER, ItemKind.COMMENT]
    assert (question.name, question.author, answer.author, comment.author) == (
        "How tall is the light?",
        "Ada",
        "Bo",
        "Cy",
    )
    assert (answer.accepted, answer.votes, comment.accepted) == (True, 12, False)
    assert (question.parent, answer.parent, comment.parent) == (None, 0, 1)
    assert answer.signature == "answer by Bo, 2021-03-02, accepted"
    assert ANSWERED in text_of(document, answer)
    assert text_of(document, comment).startswith(REMARKED)


def test_who_says_it_stands_beside_evidence() -> None:
    document = read(MICRODATA)
    at = document.text.index("41 metres")
    said = [piece.text for piece in context_of(document, at, at + 9) if piece.role is ContextRole.SIGNED]
    assert said == ["answer by Bo, 2021-03-02, accepted"]
    at = document.text.index("subtract")
    said = [piece.text for piece in context_of(document, at, at + 8) if piece.role is ContextRole.SIGNED]
    assert said == ["comment by Cy, 2021-03-03"]


def test_the_same_item_in_two_vocabularies_is_one() -> None:
    linked = json.dumps(LINKED)
    document = read(f'<script type="application/ld+json">{linked}</script>{MICRODATA}')
    assert [item.author for item in document.structure] == ["Ada", "Bo", "Cy"]
    assert all(item.start is not None for item in document.structure)


def test_posts_of_a_thread_without_any_vocabulary() -> None:
    posts = "".join(
        f"<div class='post {'odd' if number % 2 else 'even'}'><div class=who>"
        f"<a class=username href='/u/{name}'>{name}</a>"
        f"<span class=badge>7</span></div><time datetime='2021-03-0{number}T08:00'>earlier</time>"
        f"<div class=body><p>Keeper {name} lit the lamp of tower {number} at dusk and wrote it down.</p></div>"
        f"<span class=votes>{number * 3}</span></div>"
        for number, name in enumerate(("Ada", "Bo", "Cy"), start=1)
    )
    document = read(f"<main><h1>Logs</h1>{posts}</main>", "https://board.example/thread/7")
    assert [(item.kind, item.author, item.votes) for item in document.structure] == [
        (ItemKind.POST, "Ada", 3),
        (ItemKind.POST, "Bo", 6),
        (ItemKind.POST, "Cy", 9),
    ]
    assert [item.published_at.day for item in document.structure if item.published_at] == [1, 2, 3]
    assert "tower 2" in text_of(document, document.structure[1])
    assert "tower 3" not in text_of(document, document.structure[1])


def test_a_product_and_what_of_it_the_page_does_not_show() -> None:
    data = {
        "@type": "Product",
        "name": "Storm lamp",
        "description": "A lamp of brass with a burner that no wind of the coast has ever put out.",
        "brand": {"@type": "Brand", "name": "Varden"},
        "offers": {
            "@type": "Offer",
            "price": "41.00",
            "priceCurrency": "EUR",
            "availability": "https://schema.org/InStock",
        },
        "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 12},
    }
    document = read(
        f'<script type="application/ld+json">{json.dumps(data)}</script><main><h1>Storm lamp</h1>'
        "<p>By Varden, 41.00 EUR</p>"
        f"<p>{data['description']}</p><p>12 reviews</p></main>"
    )
    (item,) = document.structure
    assert item.kind is ItemKind.PRODUCT
    assert dict(item.facts) == {
        "brand": "Varden",
        "price": "41.00",
        "priceCurrency": "EUR",
        "availability": "InStock",
        "ratingValue": "4.5",
        "reviewCount": "12",
    }
    assert item.unseen == ("availability", "ratingValue")
    assert item.signature == ""


def test_a_product_of_social_tags() -> None:
    metas = {
        "og:type": "product",
        "og:title": "Storm lamp",
        "product:price:amount": "41",
        "product:price:currency": "EUR",
    }
    tags = "".join(f'<meta property="{name}" content="{value}">' for name, value in metas.items())
    document = extract(f"<head>{tags}</head><p>Storm lamp, 41 EUR</p>".encode(), "https://shop.example/x", "text/html")
    (item,) = document.structure
    assert (item.name, item.source, dict(item.facts)) == (
        "Storm lamp",
        "open-graph",
        {"price": "41", "priceCurrency": "EUR"},
    )


def test_the_entries_of_a_list() -> None:
    cards = "".join(
        f"<li class=card><h3><a href='/towers/{number}'>Tower number {number}</a></h3>"
        f"<p>Lit in {1880 + number}.</p></li>"
        for number in range(8)
    )
    document = read(f"<main><h1>Towers</h1><ul>{cards}</ul></main>", "https://list.example/category/towers")
    assert [item.kind for item in document.structure] == [ItemKind.ENTRY] * 8
    assert document.structure[3].name == "Tower number 3"
    assert document.structure[3].url == "https://list.example/towers/3"
    assert text_of(document, document.structure[3]) == "Tower number 3\n\nLit in 1883."


def test_menus_and_plain_articles_are_no_items() -> None:
    crumbs = {
        "@type": "BreadcrumbList",
        "itemListElement": [{"@type": "ListItem", "name": "Home", "item": "https://a.example/"}],
    }
    words = " ".join(f"The keeper of tower {number} lit its lamp at dusk." for number in range(30))
    data = f'<script type="application/ld+json">{json.dumps(crumbs)}</script>'
    assert read(f"{data}<article><h1>Towers</h1><p>{words}</p></article>").structure == ()


@pytest.mark.parametrize(
    "data",
    [
        {
            "@type": "Comment",
            "author": {"name": ["<b>Ada</b>", 7]},
            "text": 7,
            "dateCreated": "never",
            "comment": [None, 3],
        },
        {"@type": ["Question", None], "name": {"@type": "Thing"}, "author": "x" * 100_000, "upvoteCount": "many"},
        {"@type": "Product", "offers": [[{"price": {}}], "41"], "brand": [], "name": "\u202elamp"},
    ],
)
def test_data_made_to_break_readers_breaks_nothing(data: object) -> None:
    deep: object = data
    for _ in range(40):
        deep = {"@type": "Answer", "text": ANSWERED, "comment": deep, "author": "Bo"}
    page = "".join(f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in (data, deep))
    document = read(f"{page}{PLAIN}")
    assert ANSWERED in document.text
    assert len(document.structure) < 15
    assert all(len(item.author) <= 200 and "\u202e" not in item.name for item in document.structure)
    assert unpack(Document, pack(document)) == document


def test_a_thread_as_long_as_a_page_may_be_is_cut() -> None:
    one = "<div itemscope itemtype='https://schema.org/Comment'><b itemprop=author>Ada</b><p itemprop=text>{}</p></div>"
    page = "".join(one.format(f"Remark number {number} on the lamp.") for number in range(1_000))
    assert len(read(f"<main>{page}</main>").structure) == 200


def commented(sentences: int) -> str:
    """An article of so many sentences of nine words, and three comments of readers below it."""
    said = "".join(f"<p>The keeper of tower {n} writes about the light.</p>" for n in range(sentences))
    comments = "".join(
        f"<li class=comment><b class=author>{name}</b> <time datetime='2021-03-0{day}'>March {day}</time>"
        f"<p>I was there when the lamp of 1,{day}00 candles burnt all night long.</p></li>"
        for day, name in enumerate(("Ada", "Bo", "Cy"), start=1)
    )
    return f"<main><article><h1>Keepers</h1>{said}</article><ol class=comment-list>{comments}</ol></main>"


def test_comments_of_readers_are_apart_from_the_text_of_an_article() -> None:
    document = read(commented(sentences=30))
    assert "tower 29" in document.text
    assert "candles" not in document.text
    assert [(item.kind, item.author, item.start) for item in document.structure] == [
        (ItemKind.COMMENT, name, None) for name in ("Ada", "Bo", "Cy")
    ]
    assert all(item.unseen == ("text",) for item in document.structure)
    assert "1,200 candles" in dict(document.structure[1].facts)["text"]


def test_the_posts_of_a_thread_are_its_text_whatever_they_are_called() -> None:
    document = read(commented(sentences=3))
    assert document.text.count("candles") == 3
    assert all(document.text[item.start : item.end].count("candles") == 1 for item in document.structure)


def test_comments_on_questions_and_answers_are_apart_and_every_post_is_whole() -> None:
    def comment(day: int) -> str:
        return (
            "<li class=comment itemprop=comment itemscope itemtype='https://schema.org/Comment'>"
            f"<b itemprop=author>Cy</b><time itemprop=dateCreated datetime='2021-03-0{day}'></time>"
            f"<p itemprop=text>No, {day},500 hours.</p></li>"
        )

    answers = "".join(
        f"<div itemprop=suggestedAnswer itemscope itemtype='https://schema.org/Answer'><div itemprop=text>"
        f"<p>It burns {day},000 hours.</p><p>Yes.</p><aside class=related><p>Lamps: buy one today!</p></aside></div>"
        f"<ul>{comment(day)}</ul></div>"
        for day in (1, 2)
    )
    document = read(
        "<body><main itemscope itemtype='https://schema.org/Question'><h1 itemprop=name>How long does it burn?</h1>"
        f"<div itemprop=text><p>The lamp of our tower is old.</p></div>{answers}</main></body>"
    )
    assert [document.text.count(said) for said in ("1,000 hours", "2,000 hours", "Yes.", "our tower")] == [1, 1, 2, 1]
    assert "500 hours" not in document.text
    comments = [item for item in document.structure if item.kind is ItemKind.COMMENT]
    assert [(item.author, item.start, dict(item.facts)["text"]) for item in comments] == [
        ("Cy", None, "No, 1,500 hours."),
        ("Cy", None, "No, 2,500 hours."),
    ]

"""Markdown sources by CommonMark: the examples of its specification where a reader by lines goes wrong."""

import contextlib

import pytest
from tests.cpu_time import cpu_at_most

from pincite.domain.errors import PinciteError
from pincite.domain.page import Block, BlockKind, MarkKind
from pincite.fetch.extractors import extract

URL = "https://docs.example/guide/a.md"


def read(source: str) -> tuple[Block, ...]:
    return extract(source.encode(), URL, "text/markdown").blocks


def marked(block: Block, kind: MarkKind) -> list[str]:
    return [block.text[mark.start : mark.end] for mark in block.marks if mark.kind is kind]


@pytest.mark.parametrize(
    ("source", "strong", "emphasis"),
    [
        ("*foo **bar** baz*", ["bar"], ["foo bar baz"]),  # example 412
        ("**foo *bar* baz**", ["foo bar baz"], ["bar"]),  # example 428
        ("***foo** bar*", ["foo"], ["foo bar"]),  # example 415
        ("foo\\*bar\\* snake_case_name", [], []),
        ("`*code*` and a * b * c", [], []),
    ],
)
def test_emphasis_nests(source: str, strong: list[str], emphasis: list[str]) -> None:
    (block,) = read(source)
    assert "**" not in block.text
    assert (marked(block, MarkKind.STRONG), marked(block, MarkKind.EMPHASIS)) == (strong, emphasis)


@pytest.mark.parametrize(
    ("source", "target", "label"),
    [
        ("[link](http://x.example/a_(b)_c)", "http://x.example/a_(b)_c", "link"),  # example 496
        ("[a [b] c](/d 'title')", "https://docs.example/d", "a [b] c"),
        ("[link][Ref]\n\n[ref]: <b.md> 'x'", "https://docs.example/guide/b.md", "link"),
        ("<https://x.example/?a=1&b=2>", "https://x.example/?a=1&b=2", "https://x.example/?a=1&b=2"),
    ],
)
def test_links_with_brackets(source: str, target: str, label: str) -> None:
    block = read(source)[0]
    (link,) = (mark for mark in block.marks if mark.kind is MarkKind.LINK)
    assert (link.href, block.text[link.start : link.end]) == (target, label)


def test_lists_in_quotations_and_paragraphs_in_items() -> None:
    blocks = read("> - one\n>   goes on\n> - two\n\n1. first\n\n   second paragraph\n\n   - inner\n7. last\n")
    assert [(b.kind.value, b.text) for b in blocks] == [
        ("list_item", "one goes on"), ("list_item", "two"), ("list_item", "first"), ("paragraph", "second paragraph"),
        ("list_item", "inner"), ("list_item", "last"),
    ]  # fmt: skip
    assert (blocks[3].parent, blocks[4].parent, blocks[4].level) == (2, 2, 1)
    assert [b.number for b in blocks if b.ordered] == [1, 2]


def test_footnotes_stand_apart_from_figures() -> None:
    blocks = read("Built in 1888[^1] and 1890[^b].\n\n[^1]: By the *harbour*\noffice.\n[^b]: Word\n")
    assert [(b.kind, b.text) for b in blocks] == [
        (BlockKind.PARAGRAPH, "Built in 1888[1] and 1890[b]."),
        (BlockKind.FOOTNOTE, "[1] By the harbour office."),
        (BlockKind.FOOTNOTE, "[b] Word"),
    ]
    assert marked(blocks[0], MarkKind.REFERENCE) == ["[1]", "[b]"]
    assert "[^x]: no note" in read("```\n[^x]: no note\n```")[0].text


def test_what_is_struck_is_marked_and_hidden_html_is_no_text() -> None:
    blocks = read("It costs ~~90~~80 EUR.\n\n<p hidden>It costs 300 EUR.</p>\n\n<!-- 300 -->\n<script>300</script>\n")
    assert blocks[0].text == "It costs 90 80 EUR."
    assert marked(blocks[0], MarkKind.STRUCK) == ["90"]
    assert not any("300" in block.text for block in blocks)


@pytest.mark.parametrize(
    "source", [">" * 20_000 + "a", "[" * 20_000, "*a " * 20_000, "- " * 5_000 + "a", "`" * 20_000 + "a"]
)
def test_sources_made_to_break_readers_end_soon(source: str) -> None:
    with cpu_at_most(10), contextlib.suppress(PinciteError):  # one of ours is an answer, too; none of the parser's
        read(source)

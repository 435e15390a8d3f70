"""Blocks → Markdown."""

from pincite.domain.markdown_blocks import blocks_to_markdown
from pincite.domain.page import Block, BlockKind, Mark, MarkKind


def test_every_kind_of_block() -> None:
    blocks = (
        Block(BlockKind.HEADING, "Sizes", level=2),
        Block(BlockKind.PARAGRAPH, "Use 2*3 [now]\n# not a heading"),
        Block(BlockKind.LIST_ITEM, "one", ordered=True, number=1),
        Block(BlockKind.LIST_ITEM, "inner", level=1),
        Block(BlockKind.CODE, "a = ```b```", level=1, language="python"),
        Block(BlockKind.TERM, "work_mem"),
        Block(BlockKind.DEFINITION, "Memory."),
        Block(BlockKind.TABLE, "a | b\n1 | x", rows=(("a", "b"), ("1", "x|y")), has_header=True),
        Block(BlockKind.QUOTATION, "Said\nso"),
        Block(BlockKind.CAPTION, "Figure 1"),
    )
    assert blocks_to_markdown(blocks) == (
        "## Sizes\n\nUse 2\\*3 \\[now\\]  \n\\# not a heading\n\n1. one\n  - inner\n\n"
        "  ````python\n  a = ```b```\n  ````\n\n**work\\_mem**\n\n: Memory.\n\n"
        "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n\n> Said  \n> so\n\n*Figure 1*"
    )


def test_marks_nest_and_code_is_not_escaped() -> None:
    text = "See a_b now, bold link."
    marks = (
        Mark(4, 7, MarkKind.LINK, "https://x.example/a(b)"),
        Mark(4, 7, MarkKind.CODE),
        Mark(13, 22, MarkKind.STRONG),
        Mark(18, 22, MarkKind.LINK, "https://x.example/"),
    )
    block = Block(BlockKind.PARAGRAPH, text, marks=marks)
    assert blocks_to_markdown((block,)) == (
        "See [`a_b`](https://x.example/a%28b%29) now, **bold [link](https://x.example/)**."
    )
    assert blocks_to_markdown((block,), links=False) == "See `a_b` now, **bold link**."


def test_numbers_at_the_start_do_not_become_lists() -> None:
    assert blocks_to_markdown((Block(BlockKind.PARAGRAPH, "1. May"),)) == "1\\. May"

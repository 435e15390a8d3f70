from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.page import Block, BlockKind, CellSpan, Document, Mark, MarkKind
from pincite.domain.page_markdown import block_markdown, document_markdown, row_headers, table_cells


def test_blocks() -> None:
    blocks = (
        Block(BlockKind.HEADING, "Row locks", level=2),
        Block(
            BlockKind.PARAGRAPH,
            "See the docs for pg_locks now.",
            marks=(
                Mark(8, 12, MarkKind.LINK, "https://site.example/a_(b)"),
                Mark(17, 25, MarkKind.CODE),
                Mark(26, 29, MarkKind.STRONG),
            ),
        ),
        Block(BlockKind.LIST_ITEM, "one"),
        Block(BlockKind.LIST_ITEM, "two", level=1, ordered=True, number=3),
        Block(BlockKind.TERM, "MVCC"),
        Block(BlockKind.DEFINITION, "Many versions."),
        Block(BlockKind.CODE, "SELECT 1;\n```", language="sql"),
        Block(BlockKind.TABLE, "a | b\n1 | 2", rows=(("a", "b"), ("1", "x|y")), has_header=True),
        Block(BlockKind.QUOTATION, "Two\nlines"),
        Block(BlockKind.CAPTION, "Figure 1"),
    )
    assert document_markdown(Document("test", "1", blocks)) == (
        "## Row locks\n\n"
        "See the [docs](https://site.example/a_%28b%29) for `pg_locks` **now**.\n\n"
        "- one\n"
        "   3. two\n\n"
        "**MVCC**\n"
        ": Many versions.\n\n"
        "````sql\nSELECT 1;\n```\n````\n\n"
        "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n\n"
        "> Two\n> lines\n\n"
        "*Figure 1*"
    )


def test_pages_of_a_pdf_are_marked() -> None:
    blocks = tuple(Block(BlockKind.PARAGRAPH, "text", page=n) for n in (1, 1, 2))
    assert document_markdown(Document("test", "1", blocks)) == (
        "<!-- page 1 -->\n\ntext\n\ntext\n\n<!-- page 2 -->\n\ntext"
    )


def test_text_does_not_turn_into_markup() -> None:
    for text, expected in (
        ("# not a heading", "\\# not a heading"),
        ("- not a list", "\\- not a list"),
        ("1. not a list", "1\\. not a list"),
        ("a * b", "a \\* b"),
        ("snake_case stays", "snake_case stays"),
        ("use <b>", "use \\<b>"),
        ("a < b", "a < b"),
    ):
        assert block_markdown(Block(BlockKind.PARAGRAPH, text)) == expected


@given(st.text(alphabet="ab `*_[]()<>#\n", max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))))
def test_any_marks_keep_the_letters(text: str, spans: list[tuple[int, int]]) -> None:
    kinds = list(MarkKind)
    marks = tuple(Mark(a, b, kinds[i % len(kinds)], "https://x.example/") for i, (a, b) in enumerate(spans))
    shown = block_markdown(Block(BlockKind.PARAGRAPH, text, marks=marks))
    letters = [char for char in text if char in "ab"]
    assert [char for char in shown.replace("https://x.example/", "") if char in "ab"] == letters


def test_many_marks_and_deep_marks_are_rendered_in_one_pass() -> None:
    words = " ".join("link" for _ in range(30_000))
    links = tuple(Mark(5 * n, 5 * n + 4, MarkKind.LINK, f"https://a.example/{n}") for n in range(30_000))
    markdown = block_markdown(Block(BlockKind.PARAGRAPH, words, marks=links))
    assert markdown.count("](https://a.example/") == 30_000
    deep = tuple(Mark(0, 4, MarkKind.STRONG if n % 2 else MarkKind.EMPHASIS) for n in range(2_000))
    assert "deep" in block_markdown(Block(BlockKind.PARAGRAPH, "deep", marks=deep))


def test_cells_keep_their_marks() -> None:
    rows = (("Name", "Page"), ("a|b", "see it"), ("", "plain"))
    text = "Name | Page\na|b | see it\n | plain"
    marks = (Mark(12, 15, MarkKind.CODE), Mark(18, 24, MarkKind.LINK, "https://a.example/(x)"))
    block = Block(BlockKind.TABLE, text, rows=rows, has_header=True, marks=marks)
    assert block_markdown(block) == (
        "| Name | Page |\n| --- | --- |\n| `a\\|b` | [see it](https://a.example/%28x%29) |\n|  | plain |"
    )


def test_a_heading_may_begin_like_a_list() -> None:
    assert block_markdown(Block(BlockKind.HEADING, "1. Install", level=2)) == "## 1. Install"


ROWS = (("", "2019", ""), ("", "Q1", "Q2"), ("North", "10", "11"), ("", "20", "21"))
TABLE = Block(
    BlockKind.TABLE,
    "\n".join(" | ".join(row) for row in ROWS),
    rows=ROWS,
    has_header=True,
    header_rows=2,
    header_columns=1,
    spans=(CellSpan(0, 1, 1, 2), CellSpan(2, 0, 2, 1)),
)


def test_offsets_and_headers_of_a_cell() -> None:
    cells = {(cell.row, cell.column): cell for cell in table_cells(TABLE)}
    assert all(TABLE.text[cell.start : cell.end] == cell.text for cell in cells.values())
    assert [cell.text for cell in row_headers(TABLE, 3)] == ["North"]


def test_rows_that_are_not_the_text_have_no_cells() -> None:
    assert table_cells(Block(BlockKind.TABLE, "a | b", rows=(("a", "c"),))) == ()
    assert row_headers(Block(BlockKind.TABLE, "a | b"), 0) == ()

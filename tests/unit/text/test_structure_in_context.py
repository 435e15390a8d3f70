"""What stands above a passage by the structure of its page: terms, items, boxes, the headers of a cell."""

import pytest

from pincite.domain.codec import from_json, to_json
from pincite.domain.evidence import ContextPiece, ContextRole
from pincite.domain.page import Block, BlockKind, Document
from pincite.fetch.extractors import extract
from pincite.text.context import context_of, numbered, passage_in_context


def manual(body: str) -> Document:
    page = f"<title>Settings</title><meta name=generator content='Sphinx 5'><div role=main>{body}</div>"
    return extract(page.encode(), "https://docs.example/settings.html", "text/html")


def around(document: Document, words: str) -> list[tuple[str, str]]:
    start = document.text.index(words)
    pieces = context_of(document, start, start + len(words))
    for piece in pieces:
        if piece.start is not None:
            assert document.text[piece.start : piece.end] == piece.text
    beside = {ContextRole.ANTECEDENT, ContextRole.AROUND}
    return [(piece.role.value, piece.text) for piece in pieces if piece.role not in beside]


DEFINITIONS = manual(
    "<h1>Settings</h1><h2>Memory</h2><dl>"
    "<dt>work_mem</dt><dt>sort_mem</dt><dd><p>Memory for one sort.</p><h4>Units</h4><p>It is given in kB.</p>"
    "<pre>SET work_mem = 64;</pre><p>It holds for</p><ul><li>sorts<p>on disk too</p></li><li>hash tables</li></ul>"
    "<dl><dt>low</dt><dd>Slow sorts.</dd></dl><p>New in version 9.</p></dd>"
    "<dt>wal_level</dt><dd><p>Decides what is logged.</p></dd></dl><p>All of them are read at start.</p>"
)


@pytest.mark.parametrize(
    ("words", "above"),
    [
        ("Memory for one sort.", [("term", "work_mem"), ("term", "sort_mem")]),
        ("It is given in kB.", [("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem")]),
        ("SET work_mem = 64;", [("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem")]),
        (
            "on disk too",
            [
                *[("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem")],
                *[("list_item", "sorts"), ("list_intro", "It holds for")],
            ],
        ),
        (
            "hash tables",
            [("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem"), ("list_intro", "It holds for")],
        ),
        ("Slow sorts.", [("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem"), ("term", "low")]),
        ("New in version 9.", [("heading", "Units"), ("term", "work_mem"), ("term", "sort_mem")]),
        ("Decides what is logged.", [("term", "wal_level")]),
        ("All of them are read at start.", []),
    ],
)
def test_all_of_a_definition_belongs_to_its_terms(words: str, above: list[tuple[str, str]]) -> None:
    assert around(DEFINITIONS, words) == [("title", "Settings"), ("heading", "Memory"), *above]


def test_a_list_is_introduced_by_the_paragraph_before_it_and_items_hold_their_lists() -> None:
    document = manual("<p>Choose one of:</p><ul><li>fast<ul><li>and rough</li></ul></li><li>slow</li></ul>")
    intro = ("list_intro", "Choose one of:")
    assert around(document, "slow") == [("title", "Settings"), intro]
    assert around(document, "and rough") == [("title", "Settings"), ("list_item", "fast"), intro]


def test_a_cell_has_the_headers_that_span_it() -> None:
    document = manual(
        "<table><caption>Sales</caption><thead><tr><th rowspan=2>Region</th><th colspan=2>2019</th></tr>"
        "<tr><th>Q1</th><th>Q2</th></tr></thead><tr><th colspan=3>Europe</th></tr>"
        "<tr><th rowspan=2>North</th><td>10</td><td>11</td></tr><tr><td>20</td><td>21</td></tr>"
        "<tr><th colspan=3>Asia</th></tr><tr><th>East</th><td>30</td><td>31</td></tr></table>"
    )
    header = [("table_header", "Region | 2019 | "), ("table_header", " | Q1 | Q2")]
    caption = [("title", "Settings"), ("caption", "Sales")]
    assert around(document, " | 20 | 21") == [
        *caption, *header, ("row_header", "Europe"), ("row_header", "North"),
    ]  # fmt: skip
    assert around(document, "31") == [*caption, *header, ("row_header", "Asia"), ("row_header", "East")]
    assert around(document, "Region | 2019") == caption


def test_the_paragraph_above_a_table_is_its_caption() -> None:
    """Many pages set the name of a table as a paragraph, and its rows are not understood without it."""
    document = manual(
        "<h1>Settings</h1><p>The view has a row for each backend.</p><p><b>Table 2. progress View</b></p>"
        "<table><tr><th>Column</th><th>Meaning</th></tr><tr><td>phase</td><td>Current phase</td></tr></table>"
    )
    above = [("caption", "Table 2. progress View"), ("table_header", "Column | Meaning")]
    assert around(document, "Current phase") == [("title", "Settings"), *above]


def test_a_box_is_named_by_its_title_or_its_kind() -> None:
    document = manual(
        "<div class='admonition warning'><p class=admonition-title>Warning</p><p>It deletes all.</p></div>"
        "<div class=tip>Use the dry run first.</div><p>Plain again.</p>"
        "<div class=example><h3>Example</h3><p>wipe --all</p></div><p>Below the box.</p>"
    )
    assert around(document, "wipe --all") == [("title", "Settings"), ("note", "Example")]
    assert around(document, "Below the box.") == [("title", "Settings")]
    assert around(document, "It deletes all.")[-1] == ("note", "Warning")
    assert around(document, "Use the dry run first.")[-1] == ("note", "tip")
    assert around(document, "Plain again.") == [("title", "Settings")]


def test_documents_stored_before_blocks_had_parents_still_find_their_terms() -> None:
    stored = to_json(manual("<dl><dt>a</dt><dd>one</dd><dt>b</dt><dd>two</dd><dd>three</dd></dl>"))
    assert isinstance(stored, dict)
    assert isinstance(stored["blocks"], list)
    for block in stored["blocks"]:
        assert isinstance(block, dict)
        for name in ("parent", "note", "header_rows", "header_columns", "spans"):
            del block[name]
    document = from_json(Document, stored)
    assert around(document, "three") == [("title", "Settings"), ("term", "b")]


def test_nothing_is_said_of_what_is_no_passage() -> None:
    assert context_of(DEFINITIONS, 5, 5) == ()
    assert context_of(DEFINITIONS, 0, len(DEFINITIONS.text) + 1) == ()
    assert all(isinstance(piece, ContextPiece) for piece in context_of(DEFINITIONS, 0, 3))


def test_a_block_stands_only_in_one_before_it() -> None:
    with pytest.raises(ValueError, match="not before it"):
        Document("t", "1", (Block(BlockKind.PARAGRAPH, "a", parent=0),))


def test_a_row_of_a_table_is_one_line_of_evidence() -> None:
    rows = "<tr><th>Feature</th><th>File Repl. by hand</th><th>Logical Repl.</th></tr>"
    rows += "<tr><td>Per table</td><td>no</td><td>yes</td></tr>"
    document = manual(f"<h1>Settings</h1><p>Text. More text.</p><table>{rows}</table>")
    row = "Feature | File Repl. by hand | Logical Repl."
    start = document.text.index(row)
    passage = passage_in_context(document, start, start + len(row))
    assert row in [line.text for line in numbered((passage,))]
    prose = passage_in_context(document, document.text.index("Text."), document.text.index("More text.") + 10)
    assert [line.text for line in numbered((prose,))][-2:] == ["Text.", "More text."]

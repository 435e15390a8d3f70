"""Evidence in context: what stands beside a passage, with offsets, and the lines that a judge gets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.evidence import ContextRole, EvidencePassage, evidence_sha256
from pincite.domain.page import Block, BlockKind, Document
from pincite.text.context import (
    CONTEXT_TOKENS,
    antecedent_of,
    context_of,
    is_whole,
    numbered,
    passage_in_context,
    pinned,
)
from pincite.text.tokens import token_estimate

PAGE = Document(
    "test",
    "1",
    (
        Block(BlockKind.HEADING, "Water Towers", 1),
        Block(BlockKind.HEADING, "Operation", 2),
        Block(BlockKind.PARAGRAPH, "Pumps fill the tank at night. It empties by noon. Then pressure falls."),
        Block(BlockKind.PARAGRAPH, "However, a second tank holds it up."),
        Block(BlockKind.HEADING, "Settings", 2),
        Block(BlockKind.PARAGRAPH, "The controller knows these modes:"),
        Block(BlockKind.LIST_ITEM, "eco: half the flow"),
        Block(BlockKind.LIST_ITEM, "boost: double the flow"),
        Block(BlockKind.TERM, "fill_level"),
        Block(BlockKind.TERM, "fill_mark"),
        Block(BlockKind.DEFINITION, "The height at which pumps stop. This value is in metres."),
        Block(BlockKind.TABLE, "pump | power\nA | 4 kW\nB | 6 kW", has_header=True),
    ),
    title="Water Towers",
)


def at(words: str) -> tuple[int, int]:
    start = PAGE.text.index(words)
    return start, start + len(words)


def roles(words: str) -> list[tuple[str, str]]:
    return [(piece.role.value, piece.text) for piece in context_of(PAGE, *at(words))]


def test_a_sentence_has_title_headings_and_the_rest_of_its_paragraph() -> None:
    assert roles("Pumps fill the tank at night.") == [
        ("title", "Water Towers"),
        ("heading", "Operation"),
        ("around", "It empties by noon. Then pressure falls."),
    ]


def test_a_pronoun_brings_the_sentence_before() -> None:
    assert ("antecedent", "Pumps fill the tank at night.") in roles("It empties by noon.")
    assert ("antecedent", "Then pressure falls.") in roles("However, a second tank holds it up.")


def test_nothing_points_back_over_a_heading() -> None:
    assert "antecedent" not in dict(roles("Pumps fill the tank at night."))
    assert "antecedent" not in dict(roles("The controller knows these modes:"))


def test_an_item_has_its_introduction_a_definition_its_terms_a_row_its_header() -> None:
    assert ("list_intro", "The controller knows these modes:") in roles("boost: double the flow")
    assert [text for role, text in roles("The height at which pumps stop.") if role == "term"] == [
        "fill_level",
        "fill_mark",
    ]
    assert ("table_header", "pump | power") in roles("B | 6 kW")


@given(st.integers(0, len(PAGE.text)), st.integers(0, len(PAGE.text)))
def test_every_piece_is_a_slice_outside_the_passage(start: int, end: int) -> None:
    for piece in context_of(PAGE, start, end):
        if piece.start is not None and piece.end is not None:
            assert PAGE.text[piece.start : piece.end] == piece.text
            assert piece.end <= start or piece.start >= end


def test_context_is_bounded_and_keeps_what_is_nearest() -> None:
    long = "word " * 3_000
    page = Document(
        "test",
        "1",
        (
            Block(BlockKind.HEADING, long.strip(), 1),
            Block(BlockKind.HEADING, "Near", 2),
            Block(BlockKind.PARAGRAPH, f"One. {long.strip()}. Two."),
        ),
        title=long.strip(),
    )
    start = page.text.index("Two.")
    pieces = context_of(page, start, start + 4)
    assert sum(token_estimate(piece.text) for piece in pieces) <= CONTEXT_TOKENS
    assert ("heading", "Near") in [(piece.role.value, piece.text) for piece in pieces]
    assert all(piece.start is None or page.text[piece.start : piece.end] == piece.text for piece in pieces)


def test_whole_passages_begin_and_end_with_sentences_items_and_rows() -> None:
    for words in ("It empties by noon.", "It empties by noon", "eco: half the flow", "B | 6 kW", "fill_level"):
        assert is_whole(PAGE, *at(words)), words
    for words in ("empties by noon.", "It empties", "half the flow", "6 kW", "noon. Then pressure falls."):
        assert not is_whole(PAGE, *at(words)), words


def test_lines_are_numbered_once_over_several_passages_of_a_page() -> None:
    passages = [
        passage_in_context(PAGE, *at(words))
        for words in ("Then pressure falls.", "Pumps fill the tank at night.", "Then pressure falls.")
    ]
    lines = numbered(passages)
    assert [(line.line_id, line.role and line.role.value, line.text) for line in lines] == [
        ("1", "title", "Water Towers"),
        ("2", "heading", "Operation"),
        ("3", None, "Pumps fill the tank at night."),
        ("4", "antecedent", "It empties by noon."),
        ("5", None, "Then pressure falls."),
    ]


def test_judged_lines_pin_their_passages() -> None:
    first, second = (passage_in_context(PAGE, *at(words)) for words in ("Pumps fill the tank at night.", "B | 6 kW"))
    lines = numbered((first, second))
    row = next(line for line in lines if line.text == "B | 6 kW")
    assert pinned((first, second), [row]) == (second,)
    header = next(line for line in lines if line.role is ContextRole.TABLE_HEADER)
    assert pinned((first, second), [header]) == (second,)
    assert pinned((first, second), []) == (first, second)


def test_the_hash_depends_on_texts_and_pages_not_on_order() -> None:
    first, second = (passage_in_context(PAGE, *at(words)) for words in ("Pumps fill the tank at night.", "B | 6 kW"))
    assert evidence_sha256((first, second)) == evidence_sha256((second, first, second))
    for other in (
        EvidencePassage(first.document_id, first.start, first.end, first.text + " ", first.context),
        EvidencePassage("doc_other", first.start, first.end, first.text, first.context),
        EvidencePassage(first.document_id, first.start, first.end, first.text, first.context[1:]),
    ):
        assert evidence_sha256((other, second)) != evidence_sha256((first, second))
    assert evidence_sha256((first,), ("A premise.",)) != evidence_sha256((first,))


def test_lines_of_a_page_do_not_overlap() -> None:
    spans = [
        at(words) for words in ("It empties by noon.", "Then pressure falls.", "However, a second tank holds it up.")
    ]
    lines = numbered([passage_in_context(PAGE, *span) for span in spans])
    placed = sorted((line.start, line.end) for line in lines if line.start is not None and line.end is not None)
    assert all(low[1] <= high[0] for low, high in pairwise(placed))


def test_the_sentence_pointed_back_to_is_the_same_with_and_without_the_rest_of_the_context() -> None:
    found = 0
    spans = [(start, end) for start in range(len(PAGE.text)) for end in range(start, len(PAGE.text) + 2, 7)]
    for start, end in spans:
        pieces = [piece for piece in context_of(PAGE, start, end) if piece.role is ContextRole.ANTECEDENT]
        alone = antecedent_of(PAGE, start, end)
        assert pieces == ([] if alone is None else [alone])
        found += alone is not None
    assert found

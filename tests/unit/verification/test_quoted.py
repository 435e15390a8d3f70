"""Quoted: whole sentences of one page, word for word, and nothing that cuts, joins or changes them."""

import pytest

from pincite.domain.evidence import EvidencePassage, named
from pincite.domain.page import Block, BlockKind, Document
from pincite.text.context import passage_in_context
from pincite.verification.quotes import is_quoted

PAGE = Document(
    "test",
    "1",
    (
        Block(BlockKind.HEADING, "Tanks", 1),
        Block(BlockKind.PARAGRAPH, "It is not true that the tank leaks. Pumps “fill” it at night. It empties by noon."),
        Block(BlockKind.TERM, "fill_level"),
        Block(BlockKind.DEFINITION, "The height at which pumps stop."),
        Block(BlockKind.TERM, "Easy case: the tank is full."),
        Block(BlockKind.DEFINITION, "This happens in spring."),
        Block(BlockKind.TABLE, "pump | power\nA | 4 kW\nB | 6 kW", has_header=True),
    ),
    title="Water",
)
OTHER = Document("test", "1", (Block(BlockKind.PARAGRAPH, "Elsewhere it rains."),))


def of(words: str, page: Document = PAGE) -> EvidencePassage:
    start = page.text.index(words)
    return passage_in_context(page, start, start + len(words))


PARAGRAPH = of(PAGE.blocks[1].text)


@pytest.mark.parametrize(
    "text",
    [
        "Pumps “fill” it at night.",
        'Pumps "fill" it  at night',
        "Pumps “fill” it at night. It empties by noon.",
        "Tanks: It empties by noon.",
    ],
)
def test_whole_sentences_are_quoted(text: str) -> None:
    assert is_quoted(text, [PARAGRAPH])


@pytest.mark.parametrize(
    "text",
    [
        "the tank leaks.",
        "The tank leaks.",
        "Pumps fill it at night.",
        "pumps “fill” it at night.",
        "It is not true that the tank leaks. It empties by noon.",
        "It empties by noon. Pumps “fill” it at night.",
        "Pumps “fill” it at night and It empties by noon.",
        "Pumps “fill” it at nightfall.",
        "Water tanks: It empties by noon.",
        "",
        " . ",
    ],
)
def test_cut_joined_and_changed_sentences_are_not(text: str) -> None:
    assert not is_quoted(text, [PARAGRAPH])


def test_a_passage_that_begins_inside_a_sentence_proves_nothing() -> None:
    assert not is_quoted("the tank leaks.", [of("the tank leaks.")])


def test_terms_rows_and_several_passages_of_one_page() -> None:
    assert is_quoted("fill_level: The height at which pumps stop.", [of("The height at which pumps stop.")])
    assert is_quoted("Easy case: the tank is full.: This happens in spring.", [of("This happens in spring.")])
    assert not is_quoted("Easy case: the tank is fuller: This happens in spring.", [of("This happens in spring.")])
    assert is_quoted("B | 6 kW", [of("B | 6 kW")])
    both = [of("Pumps “fill” it at night."), of("The height at which pumps stop.")]
    assert is_quoted("Pumps “fill” it at night. The height at which pumps stop.", both)


def test_sentences_are_not_run_into_each_other() -> None:
    page = Document(
        "test", "1", tuple(Block(BlockKind.PARAGRAPH, text) for text in ("It holds 1.", "5 pumps fill it."))
    )
    both = [of("It holds 1.", page), of("5 pumps fill it.", page)]
    assert is_quoted("It holds 1. 5 pumps fill it.", both)
    assert not is_quoted("It holds 15 pumps fill it.", both)


def test_two_pages_are_not_one_quotation() -> None:
    passages = [of("It empties by noon."), of("Elsewhere it rains.", OTHER)]
    assert not is_quoted("It empties by noon. Elsewhere it rains.", passages)
    assert is_quoted("Elsewhere it rains.", passages)


@pytest.mark.parametrize("term", ["--continue::", "<commit>…", "Why?", "main()", "etc."])
def test_a_term_may_end_with_marks_of_its_own(term: str) -> None:
    text = "Go on where it stopped."
    page = Document("test", "1", (Block(BlockKind.TERM, term), Block(BlockKind.DEFINITION, text)), title="Options")
    passage = of(text, page)
    claim = named(text, passage.context)
    assert claim == f"{term}: {text}"
    assert is_quoted(claim, [passage])
    assert not is_quoted(f"--abort: {text}", [passage])

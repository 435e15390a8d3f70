import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.errors import QuoteMismatch
from pincite.domain.excerpts import excerpts_of
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.quotes import Quote, QuoteRecord

WORDS = st.text(alphabet="abc é 中\n", min_size=1, max_size=30)


def document(*texts: str) -> Document:
    return Document("test", "1", tuple(Block(BlockKind.PARAGRAPH, text) for text in texts))


def test_offsets_of_blocks_point_at_their_text() -> None:
    doc = document("One.", "Two two.", "Three.")
    assert doc.text == "One.\n\nTwo two.\n\nThree."
    assert [doc.text[s : s + len(b.text)] for s, b in zip(doc.starts, doc.blocks, strict=True)] == [
        "One.",
        "Two two.",
        "Three.",
    ]
    assert [doc.block_at(i) for i in (0, 5, 6, 15, 16)] == [0, 0, 1, 1, 2]


@given(st.lists(WORDS, min_size=1, max_size=5), st.data())
def test_every_quote_is_the_slice_and_survives_storing(texts: list[str], data: st.DataObject) -> None:
    doc = document(*texts)
    start = data.draw(st.integers(0, len(doc.text) - 1))
    end = data.draw(st.integers(start + 1, len(doc.text)))
    quote = doc.quote(start, end)
    assert quote.text == doc.text[start:end]
    assert doc.text[: quote.start].endswith(quote.prefix)
    assert doc.text[quote.end :].startswith(quote.suffix)
    assert doc.verify(quote.record()) == quote


def test_a_quote_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError):
        Quote("doc_1", 0, 1, "a", "", "", object())


@pytest.mark.parametrize("change", ["text", "prefix", "suffix", "start", "document_id"])
def test_an_altered_record_is_refused(change: str) -> None:
    doc = document("The turbine gave 398 MW in May.")
    record = doc.quote(4, 22).record()
    altered = {name: getattr(record, name) for name in record.__dataclass_fields__}
    altered[change] = altered[change] + (1 if change == "start" else "x")
    with pytest.raises(QuoteMismatch):
        doc.verify(QuoteRecord(**altered))


def test_section_path_follows_the_headings() -> None:
    blocks = (
        Block(BlockKind.HEADING, "Locks", level=1),
        Block(BlockKind.HEADING, "Deadlocks", level=2),
        Block(BlockKind.PARAGRAPH, "Wait."),
        Block(BlockKind.HEADING, "Other", level=2),
        Block(BlockKind.PARAGRAPH, "End."),
    )
    doc = Document("test", "1", blocks)
    assert doc.section_path(doc.starts[2]) == ("Locks", "Deadlocks")
    assert doc.section_path(doc.starts[4]) == ("Locks", "Other")


def test_texts_that_are_not_normalised_are_refused() -> None:
    with pytest.raises(ValueError, match="NFC"):
        document("e\u0301")


def test_what_is_kept_of_a_page_has_the_headings_and_the_term_above_a_quote() -> None:
    far = "Nothing of it is quoted. " * 40
    blocks = (
        Block(BlockKind.HEADING, "Commands", level=1),
        Block(BlockKind.PARAGRAPH, far),
        Block(BlockKind.HEADING, "Others", level=2),
        Block(BlockKind.PARAGRAPH, far),
        Block(BlockKind.HEADING, "Compatibility", level=2),
        Block(BlockKind.TERM, "SERIALIZABLE"),
        Block(BlockKind.DEFINITION, far, parent=5),
        Block(BlockKind.PARAGRAPH, f"{far} The default is read committed. {far}", parent=5),
    )
    document = Document("test", "1", blocks)
    at = document.text.index("The default")
    kept = excerpts_of(document, [(at, at + 30)])
    everything = [text for _, text in kept.windows]
    for above in (*document.section_path(at), "SERIALIZABLE"):
        assert above in everything, "headings and term alone, without what stands around them"
    assert document.section_path(at) == ("Commands", "Compatibility")
    assert "Others" not in " ".join(everything)
    assert all(document.text[start : start + len(text)] == text for start, text in kept.windows)
    kept.verify(document.quote(at, at + 30).record())

"""How documents are cut into passages, and words into terms."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.search import PassageKind
from pincite.ranking.passages import MAX_WORDS, drafts
from pincite.text.tokens import index_terms, query_terms

TEXTS = st.lists(
    st.tuples(
        st.sampled_from([k for k in BlockKind if k is not BlockKind.TABLE]),
        st.integers(min_value=1, max_value=700),
    ),
    max_size=12,
)


def document(*blocks: Block) -> Document:
    return Document(extractor="t", version="1", blocks=blocks)


def paragraph(words: int) -> Block:
    return Block(BlockKind.PARAGRAPH, " ".join(["Word."] * words))


def texts(doc: Document) -> list[str]:
    return [doc.text[d.start : d.end] for d in drafts(doc)]


def test_passages_end_at_headings_and_know_them() -> None:
    doc = document(
        Block(BlockKind.HEADING, "A", level=1),
        Block(BlockKind.PARAGRAPH, "one"),
        Block(BlockKind.HEADING, "B", level=2),
        Block(BlockKind.PARAGRAPH, "two"),
        Block(BlockKind.LIST_ITEM, "three"),
        Block(BlockKind.HEADING, "C", level=2),
        Block(BlockKind.PARAGRAPH, "four"),
    )
    assert [(doc.text[d.start : d.end], d.section) for d in drafts(doc)] == [
        ("one", ("A",)),
        ("two\n\nthree", ("A", "B")),
        ("four", ("A", "C")),
    ]


def test_each_term_is_a_passage_with_its_definition() -> None:
    long = " ".join(["Word."] * 45)
    doc = document(
        Block(BlockKind.PARAGRAPH, "Settings:"),
        Block(BlockKind.TERM, "port"),
        Block(BlockKind.DEFINITION, f"Where it listens. {long}"),
        Block(BlockKind.CODE, "port = 1"),
        Block(BlockKind.TERM, "host"),
        Block(BlockKind.TERM, "address"),
        Block(BlockKind.DEFINITION, f"Who it is. {long}"),
        Block(BlockKind.PARAGRAPH, "The end."),
    )
    found = drafts(doc)
    shown = [(doc.text[d.start : d.end].replace("\n\n", " / ").replace(f" {long}", ""), d.kind, d.label) for d in found]
    assert shown == [
        ("Settings:", PassageKind.PROSE, ""),
        ("port / Where it listens. / port = 1", PassageKind.DEFINITION, "port"),
        ("host / address / Who it is.", PassageKind.DEFINITION, "host address"),
        ("The end.", PassageKind.PROSE, ""),
    ]


def test_small_entries_share_a_passage_and_all_that_explains_a_term_stays_with_it() -> None:
    doc = document(
        Block(BlockKind.TERM, "-a"),
        Block(BlockKind.DEFINITION, "All of them.", parent=0),
        Block(BlockKind.TERM, "-b"),
        Block(BlockKind.DEFINITION, " ".join(["Both."] * 60), parent=2),
        Block(BlockKind.PARAGRAPH, "And this.", parent=2),
        Block(BlockKind.TERM, "-c"),
        Block(BlockKind.DEFINITION, "Nothing.", parent=5),
    )
    found = drafts(doc)
    assert [d.label for d in found] == ["-a -b", "-c"]
    assert doc.text[found[0].start : found[0].end].endswith("And this.")


def test_a_table_is_cut_between_rows_and_keeps_its_header() -> None:
    rows = (("name", "value"), *((f"row {n}", "x " * 20) for n in range(40)))
    table = Block(BlockKind.TABLE, "\n".join(" | ".join(r) for r in rows), rows=rows, has_header=True)
    doc = document(table)
    found = drafts(doc)
    assert len(found) > 1
    assert {d.label for d in found} == {"name value"}
    assert all(doc.text[d.start : d.end].startswith(("name", "row")) for d in found)


def test_a_page_of_headings_only_is_still_found() -> None:
    doc = document(Block(BlockKind.HEADING, "Lonely", level=1))
    assert texts(doc) == ["Lonely"]


@given(TEXTS)
def test_passages_cover_all_text_once_and_stay_short(parts: list[tuple[BlockKind, int]]) -> None:
    doc = document(*(Block(kind, " ".join(["Word."] * count), level=1) for kind, count in parts))
    found = drafts(doc)
    assert all(a.end <= b.start for a, b in pairwise(found))
    covered = sum(doc.text[d.start : d.end].count("Word.") for d in found)
    asked = sum(count for kind, count in parts if kind is not BlockKind.HEADING)
    heading_last = bool(parts) and parts[-1][0] is BlockKind.HEADING
    assert covered == asked + (parts[-1][1] if heading_last else 0)
    for d in found:
        words = doc.text[d.start : d.end].count("Word.")
        assert words <= MAX_WORDS or d.section == () or "\n" not in doc.text[d.start : d.end]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The dogs were running", ["dog", "run"]),
        ("max_wal_size", ["max_wal_size", "max", "wal", "size"]),
        ("KeepAliveTimeout", ["keepalivetimeout", "keep", "aliv", "timeout"]),
        ("write-ahead logs", ["write", "ahead", "log"]),
        ("1,000.5 bytes", ["1,000.5", "byte"]),
        ("Ada’s engine", ["ada", "engin"]),
        ("_", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


def test_query_terms_are_distinct_and_bounded() -> None:
    assert query_terms("a cat, cats and a dog") == ("cat", "dog")
    assert len(query_terms(" ".join(f"w{n}" for n in range(5_000)))) == 256


def test_text_without_spaces_is_cut_as_other_text_is() -> None:
    blocks = [Block(BlockKind.HEADING, "概要", level=1)]
    blocks += [Block(BlockKind.PARAGRAPH, "データベースは毎日自動的にバックアップされます。" * 6) for _ in range(6)]
    found = drafts(Document(extractor="t", version="1", title="保存", blocks=tuple(blocks)))
    assert len(found) == 3, "two paragraphs of 144 signs are a passage"

"""Chunks cover the document, keep exact offsets, stay in their bounds."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.domain.page import Block, BlockKind, Document
from pincite.text.chunks import chunks
from pincite.text.tokens import token_estimate

SENTENCE = "The planner counts the rows that a scan may see before it chooses an index. "


def document(*blocks: Block) -> Document:
    return Document("test", "1", blocks)


def paragraph(sentences: int) -> Block:
    return Block(BlockKind.PARAGRAPH, (SENTENCE * sentences).strip())


def check(whole: Document, target: int = 1000, overlap: int = 75) -> None:
    found = chunks(whole, target_tokens=target, overlap_tokens=overlap)
    covered = 0
    for index, chunk in enumerate(found):
        assert chunk.index == index
        assert chunk.text == whole.text[chunk.start : chunk.end]
        assert chunk.document_id == whole.document_id
        assert whole.text[covered : chunk.start].strip() == "" or chunk.start <= covered
        covered = chunk.end
    assert whole.text[covered:].strip() == ""


def test_short_document_is_one_chunk() -> None:
    whole = document(Block(BlockKind.HEADING, "Rows", level=1), paragraph(3))
    (chunk,) = chunks(whole)
    assert (chunk.start, chunk.end, chunk.section) == (0, len(whole.text), ("Rows",))
    assert chunk.tokens == token_estimate(whole.text)
    assert chunk.sha256 == hashlib.sha256(whole.text.encode()).hexdigest()


def test_sizes_and_overlaps_are_in_bounds() -> None:
    whole = document(*(paragraph(1 + n % 7) for n in range(150)))
    found = chunks(whole)
    assert len(found) > 5
    for chunk, following in pairwise(found):
        assert 800 <= chunk.tokens <= 1200
        shared = token_estimate(whole.text[following.start : chunk.end])
        assert 50 <= shared <= 100
    check(whole)


def test_heading_and_term_go_with_what_follows() -> None:
    blocks: list[Block] = []
    for n in range(60):
        blocks += [Block(BlockKind.HEADING, f"Part {n}", level=2), Block(BlockKind.TERM, f"name_{n}"), paragraph(4)]
    whole = document(*blocks)
    *found, _ = chunks(whole)
    assert len(found) > 2
    for chunk in found:
        last = whole.blocks[whole.block_at(chunk.end - 1)]
        assert last.kind is BlockKind.PARAGRAPH


@pytest.mark.parametrize("kind", [BlockKind.CODE, BlockKind.TABLE, BlockKind.PARAGRAPH])
def test_block_larger_than_a_chunk_is_cut_inside(kind: BlockKind) -> None:
    text = "\n".join(f"value_{n} = compute(alpha, beta) + {n}" for n in range(900))
    whole = document(Block(kind, text))
    found = chunks(whole)
    assert len(found) > 5
    assert all(chunk.tokens <= 1200 for chunk in found)
    check(whole)


def test_text_without_spaces_is_cut_too() -> None:
    whole = document(Block(BlockKind.PARAGRAPH, "x" * 60_000))
    assert len(chunks(whole)) > 3
    check(whole)


block_texts = st.text(st.sampled_from("ab c.\n漢1"), min_size=1, max_size=80).map(lambda text: text.strip() or "x")


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(BlockKind), block_texts), min_size=1, max_size=30), st.integers(10, 60))
def test_every_block_is_covered(parts: list[tuple[BlockKind, str]], target: int) -> None:
    check(document(*(Block(kind, text) for kind, text in parts)), target, target // 10)

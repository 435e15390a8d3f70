"""A page as numbered lines for a model: the passages that share most with the question, cut into sentences and rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.text.bm25 import Bm25
from pincite.text.chunks import chunks
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import terms, token_estimate

_LINE_CHARS = 1_200
_LINE_TOKENS = 9
"""What the mark and the id before each line cost."""
_MOST_CHARS_PER_TOKEN = 12
"""A text with more is too long for its tokens to be worth counting."""


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence or row of a page with the id under which a model may name it."""

    line_id: str
    span: Span
    text: str


def numbered_lines(page: ReadPage, question: str, max_tokens: int) -> tuple[Line, ...]:
    """The page's best passages for the question, in the order of the page, up to so many tokens of them."""
    lines: list[Line] = []
    room = max_tokens
    for start, end in _passages(page, question, max_tokens):
        for span in _cut(page.document, start, end):
            text = page.document.text[span.start : span.end]
            room -= token_estimate(text) + _LINE_TOKENS
            if room < 0 and lines:
                return tuple(lines)
            lines.append(Line(f"s{len(lines) + 1}", span, text))
    return tuple(lines)


def _passages(page: ReadPage, question: str, max_tokens: int) -> list[tuple[int, int]]:
    """Spans to read, in order: all of a short page, else its start and what the question's words are rare in."""
    text = page.document.text
    if not text:
        return []
    if len(text) <= _MOST_CHARS_PER_TOKEN * max_tokens and token_estimate(text) <= max_tokens:
        return [(0, len(text))]
    cut = page.chunks or chunks(page.document, overlap_tokens=0)
    scores = Bm25([terms(chunk.text) for chunk in cut]).scores(terms(question))
    ranked = sorted(range(len(cut)), key=lambda index: (-scores[index], index))
    chosen: list[int] = []
    room = max_tokens
    for index in ranked:
        if chosen and cut[index].tokens > room:
            continue
        chosen.append(index)
        room -= cut[index].tokens
    return _joined([(cut[index].start, cut[index].end) for index in sorted(chosen)])


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans with overlaps merged: chunks repeat the end of the one before."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _cut(document: Document, start: int, end: int) -> list[Span]:
    """Sentences of text, rows of tables and code, as spans of the document."""
    spans: list[Span] = []
    for block, begin in zip(document.blocks, document.starts, strict=True):
        if begin + len(block.text) <= start or begin >= end:
            continue
        if block.kind in {BlockKind.TABLE, BlockKind.CODE}:
            found = _rows(block.text)
        else:
            found = list(sentences(block.text))
        for span in found:
            whole = Span(begin + span.start, begin + min(span.end, span.start + _LINE_CHARS))
            if start <= whole.start < end:
                spans.append(whole)
    return spans


def _rows(text: str) -> list[Span]:
    spans: list[Span] = []
    position = 0
    for row in text.split("\n"):
        left = len(row) - len(row.lstrip())
        if row.strip():
            spans.append(Span(position + left, position + len(row.rstrip())))
        position += len(row) + 1
    return spans

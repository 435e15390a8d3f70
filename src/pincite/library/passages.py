"""A document cut into passages: runs of whole blocks under one heading, a hundred to a few hundred words each.

A term with its definition (an option, a setting, a glossary entry) and a table are passages of their own; only a block
that is too long by itself is cut, between sentences or rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pincite.domain.library import PassageKind
from pincite.domain.page import Block, BlockKind, Document
from pincite.text.sentences import sentences

TARGET_WORDS = 130
MAX_WORDS = 260
_LONGEST_BLOCK = 200_000


@dataclass(frozen=True, slots=True)
class Draft:
    """A passage before it is indexed: `document.text[start:end]`; `label` is its term, or its table's header row."""

    start: int
    end: int
    kind: PassageKind
    section: tuple[str, ...]
    label: str = ""


@dataclass(slots=True)
class _Open:
    """The passage being filled."""

    start: int
    end: int
    kind: PassageKind
    label: str = ""
    words: int = 0


def drafts(document: Document) -> tuple[Draft, ...]:
    """The passages of a document in order. Every block but headings lies in exactly one (a long one in several)."""
    return tuple(_walk(document))


def _walk(document: Document) -> Iterator[Draft]:
    path: list[tuple[int, str]] = []
    current: _Open | None = None
    pending: tuple[int, int] | None = None

    def finish() -> Iterator[Draft]:
        if current is not None:
            yield Draft(current.start, current.end, current.kind, _section(path), current.label)

    for block, start in zip(document.blocks, document.starts, strict=True):
        if not block.text.strip():
            continue
        end, words = start + len(block.text), _word_count(block.text)
        if block.kind is BlockKind.HEADING:
            yield from finish()
            current = None
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text))
            pending = (start, end)
            continue
        pending = None
        if current is not None and _joins(current, block, words):
            current.end, current.words = end, current.words + words
            if block.kind is BlockKind.TERM:
                current.label = f"{current.label} {block.text}"
            continue
        yield from finish()
        current = None
        if block.kind is BlockKind.TABLE or words > MAX_WORDS:
            yield from _pieces(block, start, _section(path))
            continue
        current = _Open(start, end, _kind(block), block.text if block.kind is BlockKind.TERM else "", words)
    yield from finish()
    if pending is not None:
        yield Draft(*pending, PassageKind.PROSE, _section(path)[:-1])


def _section(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path)


def _word_count(text: str) -> int:
    return text.count(" ") + text.count("\n") + 1


def _kind(block: Block) -> PassageKind:
    if block.kind in (BlockKind.TERM, BlockKind.DEFINITION):
        return PassageKind.DEFINITION
    return PassageKind.CODE if block.kind is BlockKind.CODE else PassageKind.PROSE


def _joins(current: _Open, block: Block, words: int) -> bool:
    """Whether the block continues the passage."""
    fits = current.words + words <= MAX_WORDS
    if block.kind is BlockKind.TABLE or not fits:
        return False
    if current.kind is PassageKind.DEFINITION:
        # Several terms may share one definition; anything that explains the term stays with it.
        only_terms = current.words == _word_count(current.label)
        return only_terms if block.kind is BlockKind.TERM else block.kind is not BlockKind.PARAGRAPH
    if block.kind in (BlockKind.TERM, BlockKind.DEFINITION):
        return False
    return current.words < TARGET_WORDS or block.kind is BlockKind.CODE


def _pieces(block: Block, start: int, section: tuple[str, ...]) -> Iterator[Draft]:
    """A long block or a table as pieces of at most MAX_WORDS, cut between rows or sentences."""
    kind = PassageKind.TABLE if block.kind is BlockKind.TABLE else _kind(block)
    label = " ".join(block.rows[0]) if block.rows and block.has_header else ""
    first: int | None = None
    last, words = 0, 0
    for begin, end in _units(block):
        size = _word_count(block.text[begin:end])
        if first is not None and words + size > MAX_WORDS:
            yield Draft(start + first, start + last, kind, section, label)
            first, words = None, 0
        if first is None:
            first = begin
        last, words = end, words + size
    if first is not None:
        yield Draft(start + first, start + last, kind, section, label)


def _units(block: Block) -> Iterator[tuple[int, int]]:
    """Rows of a table, lines of code, sentences of anything else."""
    if block.kind in (BlockKind.TABLE, BlockKind.CODE) or len(block.text) > _LONGEST_BLOCK:
        begin = 0
        for line in block.text.split("\n"):
            if line.strip():
                yield begin, begin + len(line)
            begin += len(line) + 1
        return
    for span in sentences(block.text):
        yield span.start, span.end

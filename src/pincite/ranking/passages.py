"""A document cut into passages: runs of whole blocks under one heading, 40 to about 220 words each.

An entry (a term with all that explains it: an option, a function, a glossary entry) and a table are passages of their
own; very small entries that follow each other share one. Only a block that is too long by itself is cut, between
sentences or rows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final, Protocol

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.search import PassageKind
from pincite.text.sentences import sentences
from pincite.text.tokens import index_terms

# An entry with fewer words is taken together with the next one: alone it has too little to be found by.
LEAST_WORDS: Final = 40
TARGET_WORDS: Final = 120
# What the embedding model reads at most, and what a person takes in at a glance.
MAX_WORDS: Final = 220
# What is embedded of a passage with what stands above it: 64 word pieces, about what the model tells apart best.
EMBEDDED_CHARS: Final = 400
# 128 bits of SHA-256: no two texts of any library share them by chance.
KEY_BYTES: Final = 16
# A block of such a size is data, whatever it calls itself; sentences are not looked for in it.
_LONGEST_BLOCK: Final = 200_000
# A term with its signature; more would weigh more than the definition itself.
_TERM_CHARS: Final = 120
# Kana and Han: scripts that are written without spaces and end their sentences with a mark.
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# The pages of a run are looked at once for each part of its question.
_DOCUMENTS_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class Draft:
    """`document.text[start:end]`, the headings above it, and the terms it stands under (of a table: its header row)."""

    start: int
    end: int
    kind: PassageKind
    section: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class CutPassage:
    """A passage with the terms of what stands above it and of its own text, space-joined, as they are indexed."""

    draft: Draft
    headings: str
    body: str


class KnownPassages(Protocol):
    """Who has cut documents before. Blocking."""

    def cut_passages(self, document_id: str) -> Sequence[CutPassage] | None:
        """As `cut_passages` gave them for that document, or None where it is not known."""

    def passages_near(self, document_id: str, wanted: Sequence[float]) -> Mapping[int, float]:
        """How near its passages are to a vector, by where they begin; none without vectors."""


@dataclass(slots=True)
class _Open:
    """The passage being filled. `entry` is the block of the term it is about, None outside of entries."""

    start: int
    end: int
    kind: PassageKind
    label: str
    words: int
    entry: int | None
    only_terms: bool


def drafts(document: Document) -> tuple[Draft, ...]:
    """The passages of a document in order. Every block but headings lies in exactly one (a long one in several)."""
    return tuple(_walk(document))


@lru_cache(maxsize=_DOCUMENTS_KEPT)
def _cut(holder: "_Holder") -> tuple[CutPassage, ...]:
    document = holder.document
    found = []
    for draft in drafts(document):
        above = " ".join(heading for heading in draft.section if heading != document.title)
        headings = (*index_terms(above), *index_terms(draft.label))
        body = index_terms(document.text[draft.start : draft.end])
        found.append(CutPassage(draft, " ".join(headings), " ".join(body)))
    return tuple(found)


class _Holder:
    """Lets `lru_cache` know a document by its id: hashing all of its blocks would cost more than cutting it."""

    __slots__ = ("document",)

    def __init__(self, document: Document) -> None:
        self.document = document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Holder) and other.document.document_id == self.document.document_id

    def __hash__(self) -> int:
        return hash(self.document.document_id)


def cut_passages(document: Document) -> tuple[CutPassage, ...]:
    """The passages of a document with their terms, made once for each text."""
    return _cut(_Holder(document))


def context_text(title: str, section: tuple[str, ...], label: str) -> str:
    """What stands above a passage in one line: title > headings > term."""
    return " > ".join(dict.fromkeys(piece for piece in (title, *section, label) if piece))


def passage_text(title: str, section: tuple[str, ...], text: str) -> str:
    """What is embedded of a passage: where it stands, then its words, as far as the model reads."""
    return f"{context_text(title, section, '')}. {text}"[:EMBEDDED_CHARS]


def vector_key(text: str) -> bytes:
    """What the vector of a text is kept under."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def _walk(document: Document) -> Iterator[Draft]:
    path: list[tuple[int, str]] = []
    current: _Open | None = None
    lonely: tuple[int, int] | None = None
    last_term: int | None = None
    for index, (block, start) in enumerate(zip(document.blocks, document.starts, strict=True)):
        if not block.text.strip():
            continue
        end, words = start + len(block.text), word_count(block.text)
        if block.kind is BlockKind.HEADING and not block.note:  # the title of a box stands in the passage
            if current is not None:
                yield _closed(current, path)
            current, last_term = None, None
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text))
            lonely = (start, end)
            continue
        lonely = None
        last_term = index if block.kind is BlockKind.TERM else last_term
        entry, label = _entry(document, index, last_term)
        last_term = None if entry is None else last_term
        if current is not None and _joins(current, block, words, entry):
            _take(current, block, end, words, entry)
            continue
        if current is not None:
            yield _closed(current, path)
            current = None
        if block.kind is BlockKind.TABLE or words > MAX_WORDS:
            yield from _pieces(block, start, _section(path), label)
            continue
        current = _Open(start, end, _kind(block, entry), label, words, entry, block.kind is BlockKind.TERM)
    if current is not None:
        yield _closed(current, path)
    if lonely is not None:
        yield Draft(*lonely, PassageKind.PROSE, _section(path)[:-1])


def _entry(document: Document, index: int, last_term: int | None) -> tuple[int | None, str]:
    """The block of the innermost term a block stands under, and all its terms in one line."""
    block = document.blocks[index]
    chain = [at for at in document.ancestors(index) if document.blocks[at].kind is BlockKind.TERM]
    if block.kind is BlockKind.TERM:
        chain.append(index)
    elif not chain and block.kind in (BlockKind.DEFINITION, BlockKind.CODE) and last_term is not None:
        chain = [last_term]  # documents stored before blocks had a `parent`
    label = " > ".join(" ".join(document.blocks[at].text.split())[:_TERM_CHARS] for at in chain)
    return (chain[-1] if chain else None), label


def _take(current: _Open, block: Block, end: int, words: int, entry: int | None) -> None:
    if block.kind is BlockKind.TERM:
        current.label = f"{current.label} {block.text}"[: 2 * _TERM_CHARS]
    current.entry = entry
    current.only_terms = current.only_terms and block.kind is BlockKind.TERM
    current.end, current.words = end, current.words + words


def _closed(current: _Open, path: list[tuple[int, str]]) -> Draft:
    return Draft(current.start, current.end, current.kind, _section(path), current.label)


def _section(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path)


def word_count(text: str) -> int:
    """How many words a text has by this: the gaps between them, and one; of Chinese and Japanese two signs are one."""
    gaps = text.count(" ") + text.count("\n") + 1
    return gaps if text.isascii() else gaps + len(_UNSPACED.findall(text)) // 2


def _kind(block: Block, entry: int | None) -> PassageKind:
    if entry is not None or block.kind in (BlockKind.TERM, BlockKind.DEFINITION):
        return PassageKind.DEFINITION
    return PassageKind.CODE if block.kind is BlockKind.CODE else PassageKind.PROSE


def _joins(current: _Open, block: Block, words: int, entry: int | None) -> bool:
    """Whether the block continues the passage."""
    if block.kind is BlockKind.TABLE or current.words + words > MAX_WORDS:
        return False
    if current.entry is not None or entry is not None:
        if current.entry is None or entry is None:
            return False
        # Several terms may share one definition, and all that explains a term stays with it.
        return entry == current.entry or current.only_terms or current.words < LEAST_WORDS
    whole = block.kind in (BlockKind.CODE, BlockKind.LIST_ITEM)  # what a text introduces stays with it
    return current.words < TARGET_WORDS or whole


def _pieces(block: Block, start: int, section: tuple[str, ...], label: str) -> Iterator[Draft]:
    """A long block or a table as pieces of at most MAX_WORDS, cut between rows or sentences."""
    kind = PassageKind.TABLE if block.kind is BlockKind.TABLE else _kind(block, None)
    label = " ".join(block.rows[0]) if block.rows and block.has_header else label
    first: int | None = None
    last, words = 0, 0
    for begin, end in _units(block):
        size = word_count(block.text[begin:end])
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

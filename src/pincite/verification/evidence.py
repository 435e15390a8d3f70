"""Where on a page to look for a statement. Words only find: they neither prove nor refute anything."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from pincite.domain.evidence import EvidencePassage
from pincite.domain.page import Block, BlockKind, Document
from pincite.text.context import passage_in_context, units_of
from pincite.text.normalise import fold
from pincite.text.sentences import Span
from pincite.text.tokens import stem, words

# Passages for one statement: with their context about 1,200 tokens, what a judge reads of a page at once.
LIMIT: Final = 5
# A word of the heading counts half: it says what a passage is about, and all passages below it share it.
_ABOVE_WEIGHT: Final = 0.5
# What is carried already counts so much for the next passage: a statement may rest on two places of a page.
_LEFT_WEIGHT: Final = 0.25
# A short line without an end mark is read as a heading; longer ones are text.
_HEADING_CHARS: Final = 100
_END_MARKS: Final = (".", "!", "?", ",", ";", "|")
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_MARKED_HEADING: Final = re.compile(r"#{1,6} +")


class PageSearch:
    """The sentences, list items and rows of one page, searched by the words of a statement. Made once per page."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def _units(self) -> tuple[tuple[Span, frozenset[str], frozenset[str]], ...]:
        """Each with its words, and those of the headings and terms above it."""
        found: list[tuple[Span, frozenset[str], frozenset[str]]] = []
        for index, block in enumerate(self.document.blocks):
            if block.kind is BlockKind.HEADING:
                continue
            above = [self.document.title, *self.document.section_path(self.document.starts[index])]
            above += [self.document.blocks[at].text for at in self.document.ancestors(index)]
            heads = _terms(" ".join(above))
            spans = units_of(self.document, index)
            found += [(span, _terms(self.document.text[span.start : span.end]), heads) for span in spans]
        return tuple(found)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(term for _, terms, heads in self._units for term in terms | heads)
        return {term: math.log(1 + (len(self._units) + 1) / count) for term, count in counts.items()}

    def best(self, statement: str, limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
        """The passages that share most with the statement, in the order of the page; none when none shares a word.

        Each next one counts what the ones before do not carry, so that a statement put together from two places of the
        page finds both.
        """
        weights = {term: self._rarity.get(term, 0.0) for term in _terms(statement)}
        chosen: list[Span] = []
        taken: set[int] = set()
        for _ in range(limit):
            scored = [
                (_weight(terms, weights) + _ABOVE_WEIGHT * _weight(heads - terms, weights), -index)
                for index, (_, terms, heads) in enumerate(self._units)
                if index not in taken and not terms.isdisjoint(weights)
            ]
            if not scored:
                break
            index = -max(scored)[1]
            taken.add(index)
            span, terms, heads = self._units[index]
            chosen.append(span)
            for term in (terms | heads) & weights.keys():
                weights[term] *= _LEFT_WEIGHT
        return tuple(
            passage_in_context(self.document, span.start, span.end)
            for span in sorted(chosen, key=lambda span: span.start)
        )

    def opening(self, limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
        """The first passages of the page: what a judge is shown where words find nothing."""
        spans = [span for span, _, _ in self._units[:limit]]
        return tuple(passage_in_context(self.document, span.start, span.end) for span in spans)


def given_page(text: str, name: str) -> Document:
    """A text without a page as a document: blank lines part paragraphs, short ones without an end mark are headings.

    `name` keeps texts apart that say the same.
    """
    return Document("given", name, tuple(_blocks(unicodedata.normalize("NFC", text.replace("\r\n", "\n")))))


def _blocks(text: str) -> Iterator[Block]:
    parts = [part.strip() for part in _BLANK.split(text.replace("\r", "\n")) if part.strip()]
    for index, part in enumerate(parts):
        marked = _MARKED_HEADING.match(part)
        short = "\n" not in part and len(part) <= _HEADING_CHARS and not part.endswith(_END_MARKS)
        if short and index + 1 < len(parts) and (marked or ":" not in part):
            level = marked.group().count("#") if marked else 6
            yield Block(BlockKind.HEADING, part[marked.end() :] if marked else part, level=level)
        else:
            yield Block(BlockKind.PARAGRAPH, part)


def _terms(text: str) -> frozenset[str]:
    """Stems of all words, grammar words too: how rare each is on the page says how much it tells."""
    return frozenset(stem(word) for word in words(fold(text).text))


def _weight(terms: frozenset[str], weights: dict[str, float]) -> float:
    return sum(weights[term] for term in terms & weights.keys())


def searched(statement: str, pages: Sequence[PageSearch], limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
    """The best passages of each page; where no page shares a word, how each begins."""
    found = tuple(passage for page in pages for passage in page.best(statement, limit))
    return found or tuple(passage for page in pages for passage in page.opening(limit))

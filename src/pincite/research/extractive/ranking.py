"""How well a statement answers a question, as a number between 0 and 1 that means the same for every question.

Coverage: each term of the question counts by its rarity (idf) and by where it was found, nearest first. Then word
order (neighbours in the question that are neighbours in the text) and the kind of answer are added.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pincite.domain.page import BlockKind
from pincite.research.extractive.answers import answer_fit
from pincite.research.extractive.passages import Passage, Statement, section_terms
from pincite.research.extractive.questions import Ask
from pincite.research.extractive.words import key_terms

# What a term is worth by the place it was found in, strongest place first.
_IN_STATEMENT = 1.0
_IN_HEAD = 0.9
_NEAR = 0.7
_IN_PASSAGE = 0.55
_IN_SECTION = 0.5
_IN_TITLE = 0.45
_ON_PAGE = 0.15

_FIT_WEIGHT = 0.22
_ORDER_WEIGHT = 0.12
_OWN_WEIGHT = 0.15
_PASSAGES_SCORED = 60


@dataclass(frozen=True, slots=True)
class Indexed:
    """A passage with its terms by field."""

    passage: Passage
    body: Counter[str] = field(repr=False)
    head: frozenset[str] = field(repr=False)
    section: frozenset[str] = field(repr=False)
    title: frozenset[str] = field(repr=False)
    length: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement of a passage with its score. `coverage` is the part of the question's weight that was found."""

    passage: Passage
    index: int
    score: float
    coverage: float
    fit: float

    @property
    def statement(self) -> Statement:
        """The statement that is scored."""
        return self.passage.statements[self.index]


class PassageIndex:
    """All passages of a run, searchable in memory. Pages are added once; asking does not change anything."""

    def __init__(self) -> None:
        self._entries: list[Indexed] = []
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        self._page_terms: dict[str, set[str]] = {}
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, url: str, passages: Iterable[Passage]) -> None:
        """Add a page's passages; a page that is in already stays as it is."""
        if url in self._page_terms:
            return
        page_terms: set[str] = set()
        for passage in passages:
            body: Counter[str] = Counter(term for statement in passage.statements for term in statement.terms)
            head = frozenset(key_terms(passage.text(passage.head))) if passage.head else frozenset()
            entry = Indexed(
                passage,
                body,
                head,
                frozenset(section_terms(passage)),
                frozenset(key_terms(passage.title)),
                sum(body.values()),
            )
            number = len(self._entries)
            self._entries.append(entry)
            self._total_length += entry.length
            for term in set(body) | head | entry.section | entry.title:
                self._postings[term].append(number)
            page_terms.update(body, head, entry.section, entry.title)
        self._page_terms[url] = page_terms

    def idf(self, term: str) -> float:
        """Rarity of a term among the passages read; a term that is nowhere is as rare as one that is in one."""
        found = max(len(self._postings.get(term, ())), 1)
        return math.log(1 + (len(self._entries) + 0.5) / (found + 0.5))

    def knows(self, term: str) -> bool:
        """Whether any page read has the term."""
        return term in self._postings

    def passages(self, terms: Sequence[str], *, limit: int = _PASSAGES_SCORED) -> list[tuple[Indexed, float]]:
        """The best passages by BM25F over body, head, section and title, best first.

        Source: Robertson, Zaragoza and Taylor 2004, simple BM25 extension to multiple weighted fields.
        """
        scores: defaultdict[int, float] = defaultdict(float)
        average = self._total_length / max(len(self._entries), 1) or 1.0
        for term in dict.fromkeys(terms):
            idf = self.idf(term)
            for number in self._postings.get(term, ()):
                entry = self._entries[number]
                weight = (
                    entry.body.get(term, 0) / (0.4 + 0.6 * entry.length / average)
                    + 2.5 * (term in entry.head)
                    + 1.2 * (term in entry.section)
                    + 0.8 * (term in entry.title)
                )
                scores[number] += idf * weight / (1.2 + weight)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        return [(self._entries[number], scores[number]) for number in best]

    def statements(self, ask: Ask, *, limit: int = _PASSAGES_SCORED) -> list[Scored]:
        """The statements of the best passages, best first; ties in the order of the pages."""
        weights = {term: self.idf(term) for term in ask.terms}
        total = sum(weights.values()) or 1.0
        scored: list[Scored] = []
        for entry, _ in self.passages(ask.terms, limit=limit):
            page = self._page_terms[entry.passage.url]
            scored.extend(_score_passage(entry, page, ask, weights, total))
        return sorted(scored, key=lambda item: (-item.score, -item.coverage))


def _score_passage(
    entry: Indexed, page: set[str], ask: Ask, weights: dict[str, float], total: float
) -> Iterable[Scored]:
    passage = entry.passage
    base: dict[str, float] = {}
    for term in weights:
        base[term] = max(
            _IN_HEAD * (term in entry.head),
            _IN_PASSAGE * (term in entry.body),
            _IN_SECTION * (term in entry.section),
            _IN_TITLE * (term in entry.title),
            _ON_PAGE * (term in page),
        )
    own = [frozenset(statement.terms) for statement in passage.statements]
    for index, statement in enumerate(passage.statements):
        if statement.kind is BlockKind.TERM and len(passage.statements) > 1 and "(" not in passage.text(statement.span):
            continue
        near = (own[index - 1] if index else frozenset()) | (own[index + 1] if index + 1 < len(own) else frozenset())
        coverage = own_coverage = 0.0
        for term, weight in weights.items():
            if term in own[index]:
                coverage += weight * _IN_STATEMENT
                own_coverage += weight
            else:
                coverage += weight * max(base[term], _NEAR * (term in near))
        coverage /= total
        own_coverage /= total
        fit = answer_fit(ask, passage.text(statement.span), passage)
        order = _order(ask.terms, statement.terms)
        score = coverage + _OWN_WEIGHT * own_coverage + _FIT_WEIGHT * fit * coverage + _ORDER_WEIGHT * order * coverage
        yield Scored(passage, index, score, coverage, fit)


def _order(question: Sequence[str], statement: Sequence[str]) -> float:
    """The share of neighbouring pairs of the question that are within four words of each other in the statement."""
    if len(question) < 2:
        return 0.0
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, term in enumerate(statement):
        places[term].append(place)
    hits = sum(
        any(abs(a - b) <= 4 for a in places[first] for b in places[second])
        for first, second in itertools.pairwise(question)
        if first in places and second in places
    )
    return hits / (len(question) - 1)

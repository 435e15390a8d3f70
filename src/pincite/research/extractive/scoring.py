"""How well a statement answers a question, as a number that means the same for every question.

Coverage: each term of the question counts by its rarity (idf) and by where it was found, nearest first. Then word
order (neighbours in the question that are neighbours in the text), the form of the answer, and terms learned from the
first passages are added.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from pincite.domain.page import BlockKind
from pincite.research.extractive.answers import answer_fit, is_typed
from pincite.research.extractive.passages import Passage, Statement
from pincite.research.extractive.questions import DEFINITION, Ask
from pincite.research.extractive.standing import sentence_before, stands_alone

# What a term is worth by the place it was found in, strongest place first.
_IN_HEAD = 0.95
_WITH_IT = 0.95
_NEAR = 0.75
_IN_DEFINITION = 0.8
_IN_PASSAGE = 0.6
_IN_SUBJECT = 0.8
_IN_SECTION = 0.55
_IN_TITLE = 0.5
_IN_ABSTRACT = 0.5
_ON_PAGE = 0.15

_OWN_SHARE = 0.2
_ORDER_WEIGHT = 0.12
_TYPED_BASE, _TYPED_FIT = 0.6, 0.65
_UNTYPED_FIT = 0.2
_CODE = 0.75
_POINTER = 0.5
_SAYING = ("=", "default", "→", "->")
"""What makes a bare term say something: a signature or an option with its default."""
_OTHER_TERM = 0.8
"""A definition of something the question does not name, when the question asks how or why."""
_FRAGMENT = 0.85
_ASIDE = 0.85
"""A whole sentence in brackets."""
_ITS_ENTRY = 1.4
_OTHER_ENTRY = 0.8
"""The entry of an identifier that the question names, and the entry of something else that only mentions it."""
_ITS_SUBJECT = 0.35
_SAYS_IT = 0.85
_IS_ENTRY = 0.75
"""What a term, heading or title adds that names just what is asked about; from where on it is that thing's entry."""
VARIANT = 0.7
"""What another form of a word is worth."""
_FEEDBACK_WEIGHT = 0.2
_NEAR_WORTH, _BODY_WORTH = 0.9, 0.75


@dataclass(frozen=True, slots=True)
class Indexed:
    """A passage with its terms by field; `subject` is what title and heading name before a dash, colon or bracket.

    `names` are what the term or heading of the passage introduces, in lower case as written; `things` the stems of its
    term, of the heading above, of the page's subject; `abstract` the terms of the sentence that the page opens with.
    """

    passage: Passage
    body: Counter[str] = field(repr=False)
    head: frozenset[str] = field(repr=False)
    section: frozenset[str] = field(repr=False)
    title: frozenset[str] = field(repr=False)
    subject: frozenset[str] = field(repr=False)
    length: int
    abstract: frozenset[str] = field(default=frozenset(), repr=False)
    names: frozenset[str] = field(default=frozenset(), repr=False)
    things: tuple[frozenset[str], ...] = field(default=(), repr=False)
    opens_page: bool = False


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


@dataclass(frozen=True, slots=True)
class Weighing:
    """What the terms of one question are worth: weights, other forms of the words, terms learned from passages.

    `named` are the identifiers of the question that some passage read introduces.
    """

    ask: Ask
    weights: dict[str, float]
    variants: dict[str, frozenset[str]]
    learned: dict[str, float]
    total: float
    named: frozenset[str] = frozenset()

    def found(self, term: str, place: Container[str]) -> float:
        """1 when the term is in the place, less when only another form of it is, else 0."""
        if term in place:
            return 1.0
        if self.ask.same and any(one == term and other in place for one, other in self.ask.same):
            return 1.0
        return VARIANT if any(other in place for other in self.variants[term]) else 0.0


def score_passage(entry: Indexed, page: set[str], weighing: Weighing, elsewhere: float) -> Iterable[Scored]:
    """Each statement of the passage with its score; `elsewhere` lowers all of them on a site about something else."""
    passage, ask = entry.passage, weighing.ask
    base = _base(entry, page, weighing)
    typed = is_typed(ask)
    learned = _FEEDBACK_WEIGHT * _learned(entry, weighing)
    prose = 1.0 if passage.head is None or not entry.head.isdisjoint(weighing.weights) else _OTHER_TERM
    entry_worth = _entry_worth(entry, weighing)
    opening = _opening(entry, weighing)
    meaning = _meaning(passage)
    own = [frozenset(statement.terms) for statement in passage.statements]
    for index, statement in enumerate(passage.statements):
        text = passage.text(statement.span)
        if statement.kind is BlockKind.TERM and not any(mark in text for mark in _SAYING):
            continue
        near = _neighbours(passage, own, index)
        with_it = _said_with(passage, own, index)
        coverage = direct = 0.0
        for term, weight in weighing.weights.items():
            here = max(weighing.found(term, own[index]), _WITH_IT * weighing.found(term, with_it))
            coverage += weight * max(here, base[term], _NEAR * weighing.found(term, near))
            direct += weight * max(here, _IN_HEAD * (term in entry.head))
        coverage *= elsewhere / weighing.total
        # A page that opens with what the question asks for is about it.
        says_it = not typed and entry.opens_page and frozenset(statement.terms) == entry.abstract
        worth = entry_worth * (1 + _ITS_SUBJECT * direct / weighing.total) if says_it else entry_worth
        about = says_it and direct >= _SAYS_IT * weighing.total
        fit = 1.0 if index == opening or about else answer_fit(ask, text, passage, opens=index <= meaning)
        score = (1 - _OWN_SHARE) * coverage + _OWN_SHARE * direct * elsewhere / weighing.total + learned * elsewhere
        score *= 1 + _ORDER_WEIGHT * word_order(ask.terms, statement.terms)
        score *= (_TYPED_BASE + _TYPED_FIT * fit if typed else (1 + _UNTYPED_FIT * fit) * prose) * worth
        yield Scored(passage, index, score * (1.0 if about else _shape(statement, text)), coverage, fit)


def near(entry: Indexed, index: int, weighing: Weighing, term: str) -> float:
    """1 when the term is in a statement or its term, less when it is further away, 0 when it is not near."""
    statements, found = entry.passage.statements, weighing.found
    beside = {other for statement in statements[max(index - 1, 0) : index + 2] for other in statement.terms}
    return max(
        found(term, frozenset(statements[index].terms)),
        found(term, entry.head),
        _NEAR_WORTH * found(term, beside),
        _BODY_WORTH * found(term, entry.body),
        _BODY_WORTH * found(term, entry.subject | entry.section | entry.title),
    )


def _entry_worth(entry: Indexed, weighing: Weighing) -> float:
    """More for the entry of an identifier that the question names, less for entries of other things."""
    if not weighing.named.isdisjoint(entry.names):
        return _ITS_ENTRY
    worth = _OTHER_ENTRY if weighing.named and entry.passage.head is not None else 1.0
    return worth * (1 + _ITS_SUBJECT * subject_match(entry, weighing))


def subject_match(entry: Indexed, weighing: Weighing) -> float:
    """0 to 1: how nearly the question's words are those that name what the passage is about, no more and no less."""
    return max((_match(thing, weighing) for thing in entry.things), default=0.0)


def _match(thing: frozenset[str], weighing: Weighing) -> float:
    held = {term: found for term in weighing.weights if (found := weighing.found(term, thing))}
    exact = min(sum(held.values()) / len(thing), 1.0)
    return exact * sum(weighing.weights[term] * found for term, found in held.items()) / weighing.total


def _opening(entry: Indexed, weighing: Weighing) -> int:
    """The place of the sentence that says what a named thing is, when the question asks just that; -1 for none."""
    if weighing.ask.answer_type != DEFINITION:
        return -1
    named = not weighing.named.isdisjoint(entry.names)
    # What a page's title names is said where the page begins; what a term or heading names, right below it.
    inside = entry.things if entry.opens_page else entry.things[:-1]
    if not named and max((_match(thing, weighing) for thing in inside), default=0.0) < _IS_ENTRY:
        return -1
    return _meaning(entry.passage)


def _meaning(passage: Passage) -> int:
    """The place of the first statement after the terms and code that a passage opens with; -1 for none."""
    kinds = (statement.kind for statement in passage.statements)
    return next((place for place, kind in enumerate(kinds) if kind not in (BlockKind.TERM, BlockKind.CODE)), -1)


def _shape(statement: Statement, text: str) -> float:
    """Less for what is seldom an answer: code, pointers to other pages, questions, entries of a table of contents."""
    if statement.kind is BlockKind.CODE:
        return _CODE
    if text.startswith(("See ", "see ")) or text.endswith("?"):
        return _POINTER
    if text.startswith("(") and text.endswith(")"):
        return _ASIDE
    ended = text[-1:] in ".!:)"
    return 1.0 if ended or statement.kind in (BlockKind.TABLE, BlockKind.TERM) or len(text) > 60 else _FRAGMENT


def _base(entry: Indexed, page: set[str], weighing: Weighing) -> dict[str, float]:
    """What each term is worth by the surroundings of the passage's statements."""
    defined = entry.passage.head is not None and is_typed(weighing.ask)
    inside = _IN_DEFINITION if defined else _IN_PASSAGE
    places: tuple[tuple[float, Container[str]], ...] = (
        (_IN_HEAD, entry.head),
        (inside, entry.body),
        (_IN_SUBJECT, entry.subject),
        (_IN_SECTION, entry.section),
        (_IN_TITLE, entry.title),
        (_IN_ABSTRACT, entry.abstract),
        (_ON_PAGE, page),
    )
    return {term: max(worth * weighing.found(term, place) for worth, place in places) for term in weighing.weights}


def _learned(entry: Indexed, weighing: Weighing) -> float:
    """The share of the learned terms that the passage has."""
    return sum(
        weight * (1.0 if term in entry.head else 0.7 if term in entry.body else 0.5 * (term in entry.section))
        for term, weight in weighing.learned.items()
    )


def _neighbours(passage: Passage, own: Sequence[frozenset[str]], index: int) -> frozenset[str]:
    """The terms of the statements before and after; of a row of a table those of that row alone."""
    statements, statement = passage.statements, passage.statements[index]
    if statement.kind is BlockKind.TABLE:
        row = statement.lead or statement.span
        places = [place for place, other in enumerate(statements) if row in (other.lead, other.span) and place != index]
        return frozenset().union(*(own[place] for place in places))
    before = own[index - 1] if index else frozenset()
    return before | own[index + 1] if index + 1 < len(own) else before


def _said_with(passage: Passage, own: Sequence[frozenset[str]], index: int) -> frozenset[str]:
    """The terms of the sentence that a statement is printed with, because it can't be read without it."""
    text = passage.text(passage.statements[index].span)
    if not index or passage.head is not None or stands_alone(text):
        return frozenset()
    return frozenset() if sentence_before(passage, index, text) is None else own[index - 1]


def word_order(question: Sequence[str], statement: Sequence[str]) -> float:
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

"""Which ranked statements are printed: those about the thing asked, none twice, as many as the question wants.

The ranking says which statement is likeliest to answer. That is not enough to print it: a neighbouring setting shares
most words with the right one. A statement is kept when it is nearly as good as the best one, holds what the question
is about, and, where the form of the answer is known, has that form or qualifies a statement that has it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.domain.evidence import Claim, Evidence
from pincite.domain.plan import Progress
from pincite.research.extractive.answers import is_typed
from pincite.research.extractive.claims import make_claim
from pincite.research.extractive.corroboration import corroborated
from pincite.research.extractive.passages import repeated_furniture
from pincite.research.extractive.premises import is_negation
from pincite.research.extractive.questions import Ask
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.scoring import Scored, near
from pincite.research.extractive.shares import DomainShares
from pincite.research.extractive.versions import Versions, versions_of
from pincite.text.tokens import words

_SAME = 0.72
_FORMED = 0.5
_TERM_WORDS = 8


@dataclass(frozen=True, slots=True)
class Room:
    """How much a question gets: claims, further pages, and how near to the best statement the others must be.

    `each` is how many statements one passage gives; `score` and `about` are shares of the best statement's; `adds` is
    the share of the question's weight that a statement of a further page must hold and nothing chosen holds.
    """

    claims: int
    each: int
    pages: int
    score: float
    about: float
    adds: float


SHORT = Room(claims=6, each=3, pages=3, score=0.72, about=0.7, adds=0.1)
"""A fact: the answer, what qualifies it, what else may be meant."""
MEDIUM = Room(claims=10, each=4, pages=4, score=0.66, about=0.7, adds=0.1)
LONG = Room(claims=16, each=4, pages=6, score=0.6, about=0.6, adds=0.08)
"""How, why, a comparison, a list: several statements are the answer."""
PART = Room(claims=7, each=4, pages=3, score=0.66, about=0.65, adds=0.1)
"""One part of several."""
UNSURE = Room(claims=6, each=3, pages=2, score=0.7, about=0.8, adds=0.15)
"""What only touches on a question: so that a reader sees that it does."""
_LONG_ANSWERS = frozenset({"compare", "reason", "method", "list"})
_SHORT_ANSWERS = frozenset({"number", "date", "version", "person", "place", "yes_no"})


def room_for(ask: Ask, *, alone: bool) -> Room:
    """How much a question of this kind gets."""
    if not alone:
        return PART
    if ask.answer_type in _SHORT_ANSWERS or ask.wants_default:
        return SHORT
    return LONG if ask.answer_type in _LONG_ANSWERS else MEDIUM


class Choice:
    """The statements chosen for one question, in the order they were chosen."""

    def __init__(self, sub_question: str, ask: Ask, index: PassageIndex, progress: Progress) -> None:
        self._sub_question = sub_question
        self._index = index
        self._typed = is_typed(ask)
        self._weighing = index.weighing(ask)
        self._ask = ask
        self._progress = progress
        self._pages = {page.url: page for page in progress.pages}
        self._versions = versions_of(progress.pages)
        self._told: set[tuple[str, int]] = set()
        self._chosen: list[tuple[Scored, Claim]] = []
        self._held: dict[str, float] = {}

    def take(
        self, scored: Sequence[Scored], room: Room, *, first: Sequence[Scored] = (), max_domain_share: float = 1.0
    ) -> tuple[Claim, ...]:
        """The claims of `first` and of the best statements that are relevant, then what further pages add."""
        everything = [*first, *scored]
        furniture = self._furniture(everything)
        shares = DomainShares(everything, room.claims, max_domain_share)
        per_passage: Counter[int] = Counter()
        least = scored[0].score * room.score if scored else 0.0
        for place, item in enumerate(everything):
            asked = place >= len(first)
            if len(self._chosen) >= room.claims or (asked and item.score < least):
                break
            crowded = shares.full(item.passage.url) or per_passage[id(item.passage)] >= room.each
            if crowded or item.passage.text(item.statement.span) in furniture:
                continue
            if asked and not self._relevant(item, scored[0], room):
                continue
            if self._add(item, everything):
                per_passage[id(item.passage)] += 1
                shares.take(item.passage.url)
        self._further(scored, room, least)
        return tuple(claim for _, claim in self._chosen)

    def _further(self, scored: Sequence[Scored], room: Room, least: float) -> None:
        """The best statement of each further page that holds a part of the question that nothing chosen holds."""
        seen = {item.passage.url for item, _ in self._chosen}
        left = room.pages
        for item in scored:
            if not self._chosen and (item.score < least or (self._typed and item.fit < _FORMED)):
                continue  # what is far from the best, or has not its form, can only be added to an answer
            if left and item.passage.url not in seen and (self._adds(item) >= room.adds or self._linked(item)):
                seen.add(item.passage.url)
                left -= self._add(item, ())

    def _linked(self, item: Scored) -> bool:
        """Whether the item's page is about something that the question or a chosen statement names in full."""
        subject = self._index.entry(item.passage).things[-1]
        told = [frozenset(self._ask.terms), *(frozenset(chosen.statement.terms) for chosen, _ in self._chosen)]
        return len(subject) > 1 and any(subject <= terms for terms in told)

    def _relevant(self, item: Scored, best: Scored, room: Room) -> bool:
        """Whether a statement is about what the best one is about, and of the form that is wanted."""
        if item.passage is best.passage:
            return True
        formed = not self._typed or item.fit >= best.fit * _FORMED
        return formed and self._share(self._near(item)) >= self._share(self._near(best)) * room.about

    def _adds(self, item: Scored) -> float:
        found = self._near(item)
        return self._share({term: max(found[term] - self._held.get(term, 0.0), 0.0) for term in found})

    def _share(self, found: dict[str, float]) -> float:
        weights = self._weighing.weights
        return sum(weights[term] * worth for term, worth in found.items()) / self._weighing.total

    def _near(self, item: Scored) -> dict[str, float]:
        entry = self._index.entry(item.passage)
        return {term: near(entry, item.index, self._weighing, term) for term in self._weighing.weights}

    def _add(self, item: Scored, scored: Sequence[Scored]) -> bool:
        if any(_same(item, other, self._versions) for other, _ in self._chosen):
            return False
        claim = make_claim(item, self._pages[item.passage.url], self._sub_question)
        if claim is None or not (_told(claim) & self._told <= self._repeatable(claim)):
            return False
        self._told |= _told(claim)
        for term, worth in self._near(item).items():
            self._held[term] = max(worth, self._held.get(term, 0.0))
        self._chosen.append((item, corroborated(claim, self._progress.pages, scored) if scored else claim))
        return True

    def _repeatable(self, claim: Claim) -> set[tuple[str, int]]:
        """The sentence that a claim only opens with, where it was printed alone: the writer then prints the longer."""
        first, *rest = claim.evidence
        alone = {(c.evidence[0].url, c.evidence[0].quote.start) for _, c in self._chosen if len(_own(c)) == 1}
        return {(first.url, first.quote.start)} & alone if rest else set()

    def _furniture(self, scored: Sequence[Scored]) -> frozenset[str]:
        copies = {page.url: page.duplicate_of for page in self._progress.pages if page.duplicate_of}
        copies |= {url: group for url, (group, _) in self._versions.found.items()}
        return repeated_furniture([item.passage for item in scored], copies, self._ask.terms)


def _own(claim: Claim) -> list[Evidence]:
    """The quotes of a claim on the page it was made of."""
    return [evidence for evidence in claim.evidence if evidence.url == claim.evidence[0].url]


def _told(claim: Claim) -> set[tuple[str, int]]:
    """Where the sentences of a claim stand; a short term or heading in front may be said again."""
    first, *rest = claim.evidence
    spans = [first, *rest] if not rest or len(first.quote.text.split()) > _TERM_WORDS else rest
    return {(evidence.url, evidence.quote.start) for evidence in spans}


def _same(one: Scored, other: Scored, versions: Versions) -> bool:
    """Whether two statements say the same: nearly the same stems, no figure that differs, both denying or neither.

    What two versions of a page say in other words is not the same: a reader wants to know which says what.
    """
    if versions.siblings(one.passage.url, other.passage.url):
        return one.statement.terms == other.statement.terms
    a, b = set(one.statement.terms), set(other.statement.terms)
    if not a or not b:
        return True
    figures = {term for term in a ^ b if any(character.isdigit() for character in term)}
    return len(a & b) / len(a | b) >= _SAME and not figures and _denies(one) == _denies(other)


def _denies(item: Scored) -> bool:
    """Whether the statement has a negation in it."""
    found = words(item.passage.text(item.statement.span).lower())
    return any(is_negation(word) for word in found)

"""Whether the best statements answer a question or only touch on it: a few signals and a logistic model over them.

Each signal can be explained to a reader; `benchmarks/answerable.py` fits the weights and prints how well they separate
questions from the same questions without the pages that answer them (docs/research.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from pincite.research.extractive.questions import Ask
from pincite.research.extractive.ranking import PassageIndex, site_of
from pincite.research.extractive.scoring import Indexed, Scored, Weighing, word_order

_LOOKED_AT = 5
_NEAR_WORTH, _BODY_WORTH = 0.9, 0.75
_LENGTH_TERMS = 12
_MOST_MARGIN = 0.4
"""Beyond this the other pages are about other things, as in any small library."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for an answer, each about 0 to 1.

    `score` of the best statement; `rarest`: how near to it the question's rarest word is; `missing`: the share of
    words that are nowhere near; `margin` over the best statement of any other page, at most 0.4; `focus`: what term,
    headings and title around the best statements hold of the question; `page`: what the best page holds; `length` of
    the question in words; `order`: neighbouring words that are neighbours in the statement; `elsewhere`: the statement
    is of another site than the one the question names; `named`: it is in the entry of an identifier of the question;
    `form`: it has the form of the wanted answer.
    """

    score: float
    rarest: float
    missing: float
    margin: float
    focus: float
    page: float
    length: float
    order: float
    elsewhere: float
    named: float
    form: float


WEIGHTS = Signals(
    score=3.47,
    rarest=0.33,
    missing=-0.44,
    margin=4.54,
    focus=1.85,
    page=2.35,
    length=3.11,
    order=0.29,
    elsewhere=-0.54,
    named=0.63,
    form=0.07,
)
BIAS = -7.05
LIKELY = 0.35
"""Below this the statements only touch on the question: one answerable question in ten is (docs/research.md)."""


def likelihood(signals: Signals) -> float:
    """0 to 1: how likely the best statements answer the question."""
    names = [field.name for field in fields(Signals)]
    total = BIAS + sum(getattr(WEIGHTS, name) * getattr(signals, name) for name in names)
    return 1 / (1 + math.exp(-total))


def signals(ask: Ask, index: PassageIndex, scored: Sequence[Scored]) -> Signals | None:
    """The signals of the best statements, or None when there is none or the question has no word to judge by."""
    if not scored or not ask.terms:
        return None
    weighing, best = index.weighing(ask), scored[0]
    around = [_Around(index.entry(item.passage), item, weighing) for item in scored[:_LOOKED_AT]]
    near = {term: around[0].near(term) for term in weighing.weights}
    usual = weighing.total / len(near)
    absent = [term for term, found in near.items() if not found and weighing.weights[term] > usual / 2]
    other = next((item.score for item in scored if item.passage.url != best.passage.url), 0.0)
    about = index.sites_about(ask.names)[0]
    entry = around[0].entry
    return Signals(
        score=best.score,
        rarest=near[max(near, key=lambda term: weighing.weights[term])],
        missing=len(absent) / len(near),
        margin=min((best.score - other) / best.score, _MOST_MARGIN) if best.score else 0.0,
        focus=max(each.focus() for each in around),
        page=weighing.share(index.page_terms(best.passage.url)),
        length=min(len(near), _LENGTH_TERMS) / _LENGTH_TERMS,
        order=word_order(ask.terms, best.statement.terms),
        elsewhere=float(bool(about) and site_of(best.passage.url) not in about),
        named=float(not weighing.named.isdisjoint(entry.names)) if ask.identifiers else 0.0,
        form=best.fit,
    )


@dataclass(frozen=True, slots=True)
class _Around:
    """A statement with what stands around it."""

    entry: Indexed
    scored: Scored
    weighing: Weighing

    def near(self, term: str) -> float:
        """1 when the term is in the statement or its term, less when it is further away, 0 when it is not near."""
        statements, index = self.entry.passage.statements, self.scored.index
        beside = {term for other in statements[max(index - 1, 0) : index + 2] for term in other.terms}
        entry, found = self.entry, self.weighing.found
        return max(
            found(term, frozenset(statements[index].terms)),
            found(term, entry.head),
            _NEAR_WORTH * found(term, beside),
            _BODY_WORTH * found(term, entry.body),
            _BODY_WORTH * found(term, entry.subject | entry.section | entry.title),
        )

    def focus(self) -> float:
        """What the term, headings and title hold of the question's weight."""
        return self.weighing.share(self.entry.head | self.entry.section | self.entry.title)

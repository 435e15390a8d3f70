"""Whether the best statements answer a question or only touch on it: by one number, with one limit.

`benchmarks/answerable.py` prints how well the number separates questions from the same questions without the pages that
answer them. More signals and a fitted model of them were tried and did worse on pages they were not fitted on
(docs/research.md).
"""

from collections.abc import Sequence

from pincite.research.extractive.answers import is_typed
from pincite.research.extractive.questions import Ask
from pincite.research.extractive.scoring import Scored

LEAST_SCORE = 0.51
"""Below this the statements only touch on the question: one answerable question in eleven is (docs/research.md)."""
_LOOKED_AT = 40
_WANTED_FORM = 0.5


def answer_score(ask: Ask, scored: Sequence[Scored]) -> float:
    """The score of the best statement that has the form of the wanted answer; of the best one where any form will do.

    A question for a number is not answered by sentences without one, however many of its words they have.
    """
    best = scored[:_LOOKED_AT]
    fitting = [item for item in best if item.fit >= _WANTED_FORM] if is_typed(ask) else best
    return fitting[0].score if fitting else 0.0

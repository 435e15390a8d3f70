"""Which claims of a part belong to its answer, which are findings, and which are only loosely related.

All by confidence beside the best claim of the part: what covers the question much less well is about something else.
"""

from collections.abc import Container, Sequence

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.plan import SubQuestion
from pincite.research.extractive.answers import TYPED

NEAR = 0.18
"""A claim this far below the best one of its part is no finding (docs/research.md)."""
_ANSWERING = 0.12
_MOST_OF_FACT = 10
MOST_TOUCHED = 8
"""What comes closest, where nothing answers: enough to see that it does not."""


def near_and_loose(
    items: Sequence[VerifiedClaim], kept: Container[str] = ()
) -> tuple[list[VerifiedClaim], list[VerifiedClaim]]:
    """The findings of a part, and what is only loosely related; each in the given order.

    The claims with an id in `kept` are findings: a conflict names them.
    """
    least = max((item.claim.confidence for item in items), default=0.0) - NEAR
    near = [item for item in items if item.claim.confidence >= least or item.claim.claim_id in kept]
    return near, [item for item in items if item not in near]


def answering(items: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """The first claim of a part and those that answer about as well; all that may stand in the direct answer."""
    return [item for item in items if item.claim.confidence >= items[0].claim.confidence - _ANSWERING]


def shortened(part: SubQuestion, near: list[VerifiedClaim], *, alone: bool) -> list[VerifiedClaim]:
    """The findings worth their place: few for a question for one figure, date or name."""
    return near[:_MOST_OF_FACT] if alone and part.answer_type in TYPED else near

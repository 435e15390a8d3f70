"""What closes a report: key numbers, risks and limits, what is uncertain. Claims move here, none is said twice."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.layout import SectionKind
from pincite.research.extractive.answers import states_quantity
from pincite.research.state import LOW_CONFIDENCE

_LEAST_FINDINGS = 8
"""Fewer claims are read at a glance; taking some of them apart would only scatter them."""
_LEAST_OF_KIND = 2
_MOST_OF_KIND = 6
_NUMBER_WORDS = 32
_SURE = 0.65
"""A key number is one that a reader may copy."""
_NO_PROSE = re.compile(r"\w\([^()]*=|^\s*(?:->|>>>|[$#|])")
"""A signature, a line of a session or of a plan."""
_DIGIT = re.compile(r"\d")
_RISK = re.compile(
    r"\b(?:warnings?|caution|careful|beware|danger(?:ous)?|risk[sy]?|unsafe|insecure|vulnerab\w+|attack(?:er)?s?|"
    r"los(?:e|es|ing|t|s)\b(?!\s+weight)|corrupt\w*|destroy\w*|overwrit\w+|irreversibl\w+|deprecated|obsolete|"
    r"(?:must|should|can|may)\s*not|cannot|can['’]t|never|no\s+longer|not\s+(?:recommended|supported|safe|guaranteed|"
    r"possible|available)|discouraged|disadvantages?|drawbacks?|limitations?|caveats?|side\s+effects?|at\s+the\s+cost\s+of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Closing:
    """The claims that close a report, by what they are for."""

    key_numbers: tuple[VerifiedClaim, ...] = ()
    risks: tuple[VerifiedClaim, ...] = ()
    uncertain: tuple[VerifiedClaim, ...] = ()

    def sections(self) -> tuple[tuple[SectionKind, tuple[VerifiedClaim, ...]], ...]:
        """The parts that have a claim, in the order they are printed."""
        parts = (
            (SectionKind.KEY_NUMBERS, self.key_numbers),
            (SectionKind.RISKS, self.risks),
            (SectionKind.UNCERTAIN, self.uncertain),
        )
        return tuple((kind, items) for kind, items in parts if items)


def split_off(
    findings: Sequence[tuple[str, list[VerifiedClaim]]], *, broad: bool = True
) -> tuple[list[tuple[str, list[VerifiedClaim]]], Closing]:
    """The sections without what closes the report, and that.

    Claims that are uncertain always move. Risks and key numbers move only from a report of eight findings or more,
    from a section that keeps another claim, and when there are at least two of them. Key numbers are only for a `broad`
    question: figures that were asked for stand where they were asked for.
    """
    uncertain = tuple(item for _, items in findings for item in items if is_uncertain(item))
    kept = [(heading, [item for item in items if not is_uncertain(item)]) for heading, items in findings]
    if sum(len(items) for _, items in kept) < _LEAST_FINDINGS:
        return kept, Closing(uncertain=uncertain)
    risks = _taken(kept, is_risk)
    numbers = _taken(kept, is_key_number) if broad else ()
    return kept, Closing(numbers, risks, uncertain)


def is_uncertain(item: VerifiedClaim) -> bool:
    """Whether a reader should not lean on the claim: low confidence, only partly supported, or not confirmed."""
    unsure = item.claim.confidence < LOW_CONFIDENCE or item.unresolved
    return unsure or item.verdict.status is VerdictStatus.PARTIAL


def is_risk(item: VerifiedClaim) -> bool:
    """Whether the claim's passage warns of something or says what can't be done."""
    return bool(_RISK.search(item.claim.evidence[-1].quote.text))


def is_key_number(item: VerifiedClaim) -> bool:
    """Whether the claim says little more than a figure, and is sure."""
    short = len(item.claim.text.split()) <= _NUMBER_WORDS and item.claim.confidence >= _SURE
    text = item.claim.evidence[-1].quote.text
    return short and _DIGIT.search(text) is not None and states_quantity(text) and not _NO_PROSE.search(text)


def _taken(
    sections: list[tuple[str, list[VerifiedClaim]]], wanted: Callable[[VerifiedClaim], bool]
) -> tuple[VerifiedClaim, ...]:
    """The claims of a kind, taken out of their sections, the best one of each section left; none when too few."""
    found = [(items, item) for _, items in sections for item in items[1:] if wanted(item)][:_MOST_OF_KIND]
    if len(found) < _LEAST_OF_KIND:
        return ()
    for items, item in found:
        items.remove(item)
    return tuple(item for _, item in found)

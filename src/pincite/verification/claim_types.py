"""What kind of statement a sentence is by its own marks: a fact, an estimate, an opinion.

Marked is what the sentence says of itself: that a figure is no exact one, or that somebody here thinks so. What others
are quoted with, or said to believe, is a fact about them. A sentence that says nothing of the kind is a fact, for what
it states is proven or it is not printed.
"""

import re
from typing import Final

from pincite.domain.evidence import ClaimType
from pincite.verification.figures import figures

_QUOTED: Final = re.compile(r"“[^”]*”|\"[^\"]*\"|„[^“]*“|«[^»]*»")
# "HEAD~2" is a name, and "some two-byte characters" are not nearly two.
_UNCLEAR: Final = re.compile(r"(?<=\S)[~≈]|\bsome\b(?! estimates?\b)", re.IGNORECASE)
_OPINION: Final = re.compile(
    r"\b(?:I|we)(?: (?:do|would|still|also|personally|strongly|generally|highly|certainly))*(?: not|n't|n’t)?"
    r" (?:think|believe|feel|suspect|prefer|recommend|suggest|argue|advise|hope|doubt|find it)\b"
    r"|\bin (?:my|our)(?: \w+)? (?:opinion|view|judgement|judgment|experience)\b|\barguably\b",
    re.IGNORECASE,
)
# "the estimated cost" is a cost that is named so; "an estimated 40 people" is an estimate.
_ESTIMATE: Final = re.compile(
    r"\b(?:is|are|was|were|been|being)(?: \w+ly)? (?:estimated|projected|forecast|forecasted|extrapolated)"
    r"(?: to| at| that)|\ban estimated (?=\S*\d)|\bby (?:one|some|most|our|rough) estimates?\b",
    re.IGNORECASE,
)


def claim_type(text: str) -> ClaimType:
    """The kind of statement that the sentence marks itself as."""
    said = _UNCLEAR.sub(" ", _QUOTED.sub(" ", text))
    if _OPINION.search(said):
        return ClaimType.OPINION
    if _ESTIMATE.search(said) or any(figure.exact and figure.bound == "about" for figure in figures(said)):
        return ClaimType.ESTIMATE
    return ClaimType.FACT

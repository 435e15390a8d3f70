"""What a question takes for granted, as a statement that a page may deny."""

import re

from pincite.domain.evidence import CheckOutcome, Verdict, VerdictStatus
from pincite.research.extractive.words import key_terms

_SHARED = 0.4
_SHARED_IF_DENIED = 0.3
_CLAUSES = (
    # "Since X, how ...?", "Given that X, why ...?"
    re.compile(
        r"^(?:since|because|as|given\s+that|assuming(?:\s+that)?|now\s+that|considering\s+that|if)\s+(?P<premise>.+?),\s*"
        r"(?:how|why|what|which|who|when|where|can|could|does|do|is|are|should|may|must)\b",
        re.I | re.DOTALL,
    ),
    # "X; does that ...?"
    re.compile(
        r"^(?P<premise>[^;?]+);\s*(?:so\s+|and\s+|but\s+)?(?:how|why|what|which|who|when|where|can|could|does|do|is|are|"
        r"should|may|must)\b",
        re.I | re.DOTALL,
    ),
    # "X. How ...?"
    re.compile(
        r"^(?P<premise>[^.?]{15,}?)\.\s+(?:so\s+|and\s+|but\s+)?(?:how|why|what|which|who|when|where|can|does|do|is|are)\b",
        re.I | re.DOTALL,
    ),
    # "Why does X ...?"
    re.compile(r"^why\s+(?:do|does|did|is|are|was|were|has|have|can|must|should)\s+(?P<premise>[^?]+)\??$", re.I),
    # "Which X of Y are ... when it runs on Z?", "How do I ... that X does?": all of it is taken for granted
    re.compile(r"^(?:which|what)\s+(?P<premise>\S+\s[^?]+\s(?:when|if|while|now\s+that)\s[^?]+)\??$", re.I),
)
_MIN_WORDS = 4


def premise_of(question: str) -> str:
    """The statement that the question presupposes, or the empty text when it has no such clause."""
    line = " ".join(question.split())
    for pattern in _CLAUSES:
        match = pattern.match(line)
        if match and len(match.group("premise").split()) >= _MIN_WORDS:
            return match.group("premise").strip(" ,")
    return ""


def denies(premise: str, statement: str, verdict: Verdict) -> bool:
    """Whether a statement about the premise's subject contradicts it, judged by what the claim checker found.

    A figure that stands against another ("8 bytes in the claim, 18 bytes in the passage") or a negation counts, when
    at least two fifths of the premise's words are in the statement; an outright contradiction needs a little less.
    """
    wanted = {term for term in key_terms(premise) if not term.isdigit()}
    shared = len(wanted & set(key_terms(statement))) / len(wanted) if wanted else 0.0
    if verdict.status is VerdictStatus.CONTRADICTED:
        return shared >= _SHARED_IF_DENIED
    failed = {check.name: check.detail for check in verdict.checks if check.outcome is CheckOutcome.FAILED}
    against = "negation" in failed or " in the claim, " in failed.get("numbers", "")
    return against and shared >= _SHARED

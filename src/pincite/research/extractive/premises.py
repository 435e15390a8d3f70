"""What a question takes for granted, as a statement that a page may deny."""

import itertools
import re

from pincite.domain.evidence import CheckOutcome, Verdict, VerdictStatus
from pincite.research.extractive.words import key_terms
from pincite.text.tokens import stem, words
from pincite.verification.lexicon import NEGATIONS

_SHARED_AROUND = 0.5
_SHARED_IF_DENIED = 0.4
_AGAINST = " in the claim, "
_PLAIN_WORDS = 28
_CONDITION = re.compile(r"\b(?:if|when|unless|except|however|although|some|sometimes|every\s+time)\b", re.I)
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
    re.compile(
        r"^(?:which|what)\s+(?P<premise>\S+\s[^?]+\s(?:when|if|while|now\s+that)\s(?!(?:you|one|none|nothing|nobody|no|not)\b)[^?]+)\??$",
        re.I,
    ),
)
_MIN_WORDS = 4
_ONE = re.compile(
    r"\b(?:an?|one|the)\s+(?:(?:whole|full|entire|single)\s+)?(?=(?:second|minute|hour|day|week)\b)", re.I
)
_COUNTED_IN = re.compile(r"\b(?:number\s+of|in)\s+(?P<unit>\w*(?:seconds|minutes|hours|days|weeks|bytes))\b", re.I)
"""A unit apart from its figure, as in "Number of seconds to wait (default: 900)"."""
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_SECONDS = {"second": 1, "minut": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""What the stem of a unit of time is in seconds."""


def premise_of(question: str) -> str:
    """The statement that the question presupposes, or the empty text when it has no such clause."""
    line = " ".join(question.split())
    for pattern in _CLAUSES:
        match = pattern.match(line)
        if match and len(match.group("premise").split()) >= _MIN_WORDS:
            return match.group("premise").strip(" ,")
    return ""


def denies(premise: str, statement: str, surroundings: str, verdict: Verdict) -> bool:
    """Whether a statement about the premise's subject contradicts it, judged by what the claim checker found.

    A figure that stands against another ("8 bytes in the claim, 18 bytes in the passage") counts when half of the
    premise's words are in the surroundings. A negation counts when two fifths are in the very clause that has it (not
    in the term in front, nor in the sentence beside), the statement is short and without a condition, and the premise
    has no figure; else only when the checker calls it contradicted.
    """
    wanted = {term for term in key_terms(premise) if not term.isdigit()}
    around = len(wanted & set(key_terms(surroundings))) / (len(wanted) or 1)
    failed = {check.name: check.detail for check in verdict.checks if check.outcome is CheckOutcome.FAILED}
    if _AGAINST in failed.get("numbers", "") or _other_amount(premise, statement):
        return around >= _SHARED_AROUND
    plain = len(statement.split()) <= _PLAIN_WORDS and not _CONDITION.search(statement)
    if "negation" not in failed or not plain:
        return False
    has_figure = any(character.isdigit() for term in key_terms(premise) for character in term)
    shared = max((len(wanted & set(key_terms(clause))) for clause in _denying(statement)), default=0) / (
        len(wanted) or 1
    )
    return shared >= _SHARED_IF_DENIED and (verdict.status is VerdictStatus.CONTRADICTED or not has_figure)


def _denying(statement: str) -> list[str]:
    """The clauses of a statement with a negation in them."""
    clauses = re.split(r"[.;:()](?=\s|$)", statement)
    return [clause for clause in clauses if any(is_negation(word) for word in words(clause.lower()))]


def _other_amount(premise: str, statement: str) -> bool:
    """Whether the statement gives another amount than the premise in one of its units, and never the same one."""
    taken, given = _amounts(premise), _amounts(statement)
    units = {unit for _, unit in taken} & {unit for _, unit in given}
    return bool(units) and not taken & given


def is_negation(word: str) -> bool:
    """Whether a word in lower case denies."""
    return word in NEGATIONS or word.endswith(("n't", "n’t"))


def _amounts(text: str) -> set[tuple[str, str]]:
    """Pairs of figure and unit: ("5", "second") for "five seconds", ("86400", "second") for "a whole day"."""
    counted = _ONE.sub("one ", text)
    terms = [term for word in words(counted) for term in key_terms(word)[:1]]
    pairs = [(a, b) for a, b in itertools.pairwise(terms) if _DECIMAL.fullmatch(a) and b.isalpha() and len(b) > 1]
    figures, unit = [term for term in terms if _DECIMAL.fullmatch(term)], _COUNTED_IN.search(text)
    if unit and not pairs and len(figures) == 1:
        pairs = [(figures[0], stem(unit["unit"]))]
    return {(f"{float(a) * _SECONDS[b]:g}", "second") if b in _SECONDS else (a, b) for a, b in pairs}

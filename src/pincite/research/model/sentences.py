"""A written sentence against the quotes of the claims it states: what a report prints passes here, whoever wrote it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import CheckOutcome, Relation, Verdict, VerdictStatus, VerifiedClaim, page_texts
from pincite.ports import ClaimChecker
from pincite.research.assembly import Line
from pincite.research.model.alterations import alteration
from pincite.research.model.wording import foreign_identifiers, foreign_links, plain_line, without_frame
from pincite.text.instructions import is_flagged
from pincite.text.tokens import terms

MAX_CLAIMS = 4
_MIN_WORDS = 3
_MAX_CHARS = 600


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with the claims it named; `why` is empty when it may be printed."""

    text: str
    items: tuple[VerifiedClaim, ...]
    why: str = ""

    @property
    def line(self) -> Line:
        """The sentence as a report takes it."""
        return Line(self.text, self.items)


def check_sentence(
    text: str, claim_ids: Sequence[str], offered: Mapping[str, VerifiedClaim], checker: ClaimChecker
) -> Checked:
    """The sentence, and what keeps it from being printed.

    Args:
        text: as the model wrote it; links, marks and control characters are taken out first.
        claim_ids: the ids it says it states.
        offered: the claims by the ids that were offered.
        checker: decides whether the quotes carry it.
    """
    line = plain_line(text).strip(" -•*")
    items = tuple(offered[name] for name in dict.fromkeys(claim_ids) if name in offered)[:MAX_CLAIMS]
    if not items:
        return Checked(line, (), "it names no statement that was offered")
    if not len(line.split()) >= _MIN_WORDS or len(line) > _MAX_CHARS:
        return Checked(line, items, "it is too short or too long")
    quotes = [(e.url, e.quote.text) for item in items for e in item.claim.evidence if e.relation is Relation.SUPPORTS]
    texts = [quote for _, quote in quotes]
    if is_flagged(line):
        return Checked(line, items, "it speaks to machines")
    if foreign_links(line, texts):
        return Checked(line, items, "it has a link that its passages do not have")
    if foreign_identifiers(line, [*texts, *(item.claim.text for item in items)]):
        return Checked(line, items, "it has an identifier that its passages do not have")
    if line[-1:] not in '.!?)"”':
        line += "."
    needed = tuple(item for item in items if _is_told(line, item)) or items
    said = without_frame(line)
    if any(said.rstrip(".") == item.claim.text.rstrip(".") for item in needed):
        return Checked(line, needed)
    changed = alteration(said, page_texts(quotes))
    if changed:
        return Checked(line, needed, changed)
    return Checked(line, needed, _unsupported(said, needed, page_texts(quotes), checker))


def _unsupported(line: str, items: Sequence[VerifiedClaim], sources: Sequence[str], checker: ClaimChecker) -> str:
    """Why the quotes do not carry the sentence; empty when they do.

    Where they carry it in part and no hard check failed, the words of the claims, which passed the same checks, may
    fill what is missing.
    """
    together = [*sources, " ".join(sources)] if len(sources) > 1 else list(sources)
    verdict = checker.check(line, together)
    if verdict.status is VerdictStatus.SUPPORTED:
        return ""
    if verdict.status is VerdictStatus.PARTIAL and not _hard_failure(verdict):
        claims = [item.claim.text for item in items]
        told = checker.check(line, [*claims, " ".join(claims)] if len(claims) > 1 else claims)
        if told.status is VerdictStatus.SUPPORTED:
            return ""
    return "; ".join(verdict.reasons) or "its passages do not say it"


def _hard_failure(verdict: Verdict) -> bool:
    return any(check.outcome is CheckOutcome.FAILED for check in verdict.checks if check.name != "coverage")


def _is_told(line: str, item: VerifiedClaim) -> bool:
    """Whether the sentence has anything of the claim: an id named for nothing would add a mark for nothing."""
    mine = set(terms(line))
    return bool(mine & set(terms(item.claim.text)))

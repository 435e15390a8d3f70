"""Claims that are refused however they are proven: those that rest only on words spoken to machines."""

from dataclasses import replace

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Relation,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.text.instructions import is_flagged

SPEAKS_TO_MACHINES = "the only passage speaks to machines, not to readers"


def refused(item: VerifiedClaim, name: str, why: str) -> VerifiedClaim:
    """The claim as unsupported, with a failed check that says why."""
    check = Check(name, CheckOutcome.FAILED, why)
    verdict = Verdict(VerdictStatus.UNSUPPORTED, (), 0.0, (why,), (*item.verdict.checks, check))
    return replace(item, verdict=verdict, checks=(*item.checks, check))


def without_flagged(item: VerifiedClaim) -> VerifiedClaim:
    """The claim, refused when each page that supports it does so in words that speak to machines.

    The quotes of a page count as one: a harmless heading in front of an order to machines supports nothing.
    """
    by_page: dict[str, list[str]] = {}
    for evidence in item.claim.evidence:
        if evidence.relation is Relation.SUPPORTS:
            by_page.setdefault(evidence.url, []).append(evidence.quote.text)
    # On lines of their own: "Search engines" above a sentence is a heading, not the one who is spoken to.
    if not item.printable or not all(is_flagged("\n".join(texts)) for texts in by_page.values()):
        return item
    return refused(item, "address", SPEAKS_TO_MACHINES)

"""A claim whose own quotes do not carry it may be carried by another passage that was read: that one is attached."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.evidence import Check, CheckOutcome, Claim, Relation, VerdictStatus
from pincite.domain.plan import ReadPage
from pincite.ports import ClaimChecker
from pincite.research.extractive.claims import evidence_of
from pincite.research.extractive.passages import Span
from pincite.text.tokens import terms

NAME = "passage"
_PAGES = 3
_LEAST_TERMS = 3


def attached(claim: Claim, pages: Sequence[ReadPage], checker: ClaimChecker) -> tuple[Claim, Check] | None:
    """The claim resting on a passage that carries it in full, and the record of that; None where there is none."""
    wanted = set(terms(claim.text))
    if len(wanted) < _LEAST_TERMS:
        return None
    for page in _likeliest(wanted, pages):
        verdict = checker.check(claim.text, [page.document.text])
        supporting = [quote for quote in verdict.quotes if quote.relation is Relation.SUPPORTS]
        if verdict.status is not VerdictStatus.SUPPORTED or not supporting:
            continue
        found = supporting[0]
        moved = replace(claim, evidence=(evidence_of(page, Span(found.start, found.end)),))
        # The quote alone has to carry it, since nothing else will be there when the report is checked.
        if checker.check(claim.text, [found.text]).status is VerdictStatus.SUPPORTED:
            own = claim.evidence[0].url if claim.evidence else "none"
            detail = f"its own quote ({own}) does not carry it; attached a passage of {page.url}"
            return moved, Check(NAME, CheckOutcome.PASSED, detail)
    return None


def _likeliest(wanted: set[str], pages: Sequence[ReadPage]) -> list[ReadPage]:
    """The pages with most of the words, near-copies left out."""
    counted = [
        (len(wanted & set(terms(page.document.text))), -index, page)
        for index, page in enumerate(pages)
        if page.duplicate_of is None
    ]
    ranked = sorted(counted, key=lambda item: item[:2], reverse=True)
    return [page for shared, _, page in ranked[:_PAGES] if shared >= _LEAST_TERMS]

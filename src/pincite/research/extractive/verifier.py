"""Claims to verdicts: the quote stands in the stored document and is what the claim says; sources are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import anyio.to_thread

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Claim,
    Proof,
    Relation,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.domain.plan import Analysis, Progress, ReadPage, Task, Verification
from pincite.ports import ClaimChecker
from pincite.research.extractive.conflicts import conflicts_between
from pincite.research.extractive.versions import independent_sources, texts_of
from pincite.research.refusing import without_flagged
from pincite.text.context import passage_in_context
from pincite.verification.quoted import is_quoted

_MAX_CONFLICTS: Final = 6
_PARTLY: Final = 0.8


class ExtractiveVerifier:
    """Quoted claims are proven by slicing; others (of an earlier run, of a model) are put to the claim checker."""

    def __init__(self, checker: ClaimChecker) -> None:
        self._checker = checker
        self._verdicts: dict[tuple[str, ...], Verdict] = {}

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim in the order proposed, and the conflicts between those that pass."""
        return await anyio.to_thread.run_sync(self._verify, analyses, progress)

    def _verify(self, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        pages = {page.url: page for page in progress.pages}
        claims = {claim.claim_id: claim for analysis in reversed(analyses) for claim in reversed(analysis.claims)}
        order = dict.fromkeys(claim.claim_id for analysis in analyses for claim in analysis.claims)
        checked = [self._check(claims[name], pages) for name in order]
        conflicts = conflicts_between(checked, pages, self._checker)
        return Verification(claims=tuple(checked), conflicts=tuple(conflicts[:_MAX_CONFLICTS]))

    def _check(self, claim: Claim, pages: Mapping[str, ReadPage]) -> VerifiedClaim:
        exact = _exactness(claim, pages)
        if exact.outcome is not CheckOutcome.PASSED:
            verdict = Verdict(VerdictStatus.UNCHECKED, reasons=(exact.detail,), checks=(exact,))
            return VerifiedClaim(claim, verdict, checks=(exact,))
        independent = independent_sources([claim], pages)
        if _is_quoted(claim, pages):
            verdict = Verdict(VerdictStatus.SUPPORTED, score=1.0, checks=(exact,))
            return without_flagged(VerifiedClaim(claim, verdict, independent, (exact,), Proof.QUOTED))
        verdict = self._judge(claim.text, texts_of(claim))
        if verdict.status is VerdictStatus.PARTIAL:
            claim = replace(claim, confidence=round(claim.confidence * _PARTLY, 2))
        return without_flagged(VerifiedClaim(claim, verdict, independent, checks=(exact, *verdict.checks)))

    def _judge(self, text: str, sources: tuple[str, ...]) -> Verdict:
        key = (text, *sources)
        if key not in self._verdicts:
            self._verdicts[key] = self._checker.check(text, sources)
        return self._verdicts[key]


def _is_quoted(claim: Claim, pages: Mapping[str, ReadPage]) -> bool:
    """Whether the claim is in the words of each page that it cites."""
    by_page: dict[str, list[tuple[int, int]]] = {}
    for evidence in claim.evidence:
        if evidence.relation is Relation.SUPPORTS:
            by_page.setdefault(evidence.url, []).append((evidence.quote.start, evidence.quote.end))
    return bool(by_page) and all(
        is_quoted(claim.text, [passage_in_context(pages[url].document, start, end) for start, end in spans])
        for url, spans in by_page.items()
    )


def _exactness(claim: Claim, pages: Mapping[str, ReadPage]) -> Check:
    """Whether each quote is what the stored document says at its place."""
    for evidence in claim.evidence:
        page = pages.get(evidence.url)
        if page is None:
            return Check("quote", CheckOutcome.SKIPPED, f"the page of a quote is not at hand: {evidence.url}")
        page.document.verify(evidence.quote.record())
    return Check("quote", CheckOutcome.PASSED, f"{len(claim.evidence)} exact")

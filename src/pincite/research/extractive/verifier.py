"""Claims to verdicts: the quote stands in the stored document, the claim checker agrees, sources are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio.to_thread

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Claim,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.domain.plan import Analysis, Conflict, ConflictSide, Progress, ReadPage, Task, Verification
from pincite.domain.report import ConflictKind
from pincite.ports import ClaimChecker
from pincite.research.extractive.attached import attached
from pincite.research.extractive.conflicts import conflicts_between
from pincite.research.extractive.corroboration import texts_of, verbatim
from pincite.research.extractive.premises import denies, premise_of
from pincite.research.extractive.sources import independent_sources
from pincite.research.refusing import without_flagged

_MAX_CONFLICTS = 6
_DENIERS = 12
_OTHERWISE = "The question takes something for granted that a page denies"
_AROUND = 600
_MOST_TRIED = 200


class ExtractiveVerifier:
    """Asks the claim checker about every claim; statements that differ only in a figure become conflicts."""

    def __init__(self, checker: ClaimChecker) -> None:
        self._checker = checker
        self._verdicts: dict[tuple[str, ...], Verdict] = {}
        self._tried: dict[tuple[str, int], tuple[Claim, Check] | None] = {}

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim in the order proposed, and the conflicts between those that pass."""
        return await anyio.to_thread.run_sync(self._verify, task, analyses, progress)

    def _verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        pages = {page.url: page for page in progress.pages}
        seen: set[str] = set()
        checked: list[VerifiedClaim] = []
        for claim in (claim for analysis in analyses for claim in analysis.claims):
            if claim.claim_id not in seen:
                seen.add(claim.claim_id)
                checked.append(self._check(claim, pages))
        conflicts = [*self._denials(task, checked, pages), *conflicts_between(checked, pages, self._checker)]
        return Verification(claims=tuple(checked), conflicts=tuple(conflicts[:_MAX_CONFLICTS]))

    def _denials(self, task: Task, checked: Sequence[VerifiedClaim], pages: Mapping[str, ReadPage]) -> list[Conflict]:
        """The first claim that denies what the question takes for granted, unless an earlier one agrees with it."""
        premise = premise_of(task.question)
        for item in [item for item in checked if item.printable][: _DENIERS if premise else 0]:
            verdict = self._checker.check(premise, texts_of(item.claim))
            if verdict.status is VerdictStatus.SUPPORTED:
                return []
            if denies(premise, item.claim.text, _surroundings(item.claim, pages), verdict):
                side = ConflictSide(item.claim.text, item.claim.claim_id, max(item.independent_sources, 1))
                return [
                    Conflict((side,), premise, ConflictKind.PREMISE, "The question takes something else for granted")
                ]
        return []

    def _check(self, claim: Claim, pages: Mapping[str, ReadPage]) -> VerifiedClaim:
        exact = _exactness(claim, pages)
        if exact.outcome is not CheckOutcome.PASSED:
            verdict = Verdict(VerdictStatus.UNCHECKED, reasons=(exact.detail,), checks=(exact,))
            return VerifiedClaim(claim, verdict, checks=(exact,))
        claim = self._carried(claim)
        verdict = self._judge(claim.text, texts_of(claim))
        checks: tuple[Check, ...] = (exact,)
        if verdict.status is VerdictStatus.UNSUPPORTED:
            claim, more = self._attached(claim, tuple(pages.values()))
            if more is not None:
                verdict, checks = self._judge(claim.text, texts_of(claim)), (exact, more)
        independent = independent_sources([claim], pages)
        raised = min(claim.confidence + 0.03 * (independent - 1), 0.99)
        lowered = raised * 0.8 if verdict.status is VerdictStatus.PARTIAL else raised
        weighed = replace(claim, confidence=round(lowered, 2))
        return without_flagged(VerifiedClaim(weighed, verdict, independent, checks=(*checks, *verdict.checks)))

    def _attached(self, claim: Claim, pages: tuple[ReadPage, ...]) -> tuple[Claim, Check | None]:
        """The claim with a passage that carries it instead of its own quotes, where one was read."""
        key = (claim.claim_id, len(pages))
        if key not in self._tried and len(self._tried) < _MOST_TRIED:
            self._tried[key] = attached(claim, pages, self._checker)
        return self._tried.get(key) or (claim, None)

    def _carried(self, claim: Claim) -> Claim:
        """The claim without the passages of further pages that do not carry it in full."""
        first = claim.evidence[0].url
        others = dict.fromkeys(e.url for e in claim.evidence if e.url != first and not verbatim(claim, e.url))
        weak = set()
        for url in others:
            own = replace(claim, evidence=tuple(e for e in claim.evidence if e.url == url))
            if self._judge(claim.text, texts_of(own)).status is not VerdictStatus.SUPPORTED:
                weak.add(url)
        return replace(claim, evidence=tuple(e for e in claim.evidence if e.url not in weak)) if weak else claim

    def _judge(self, text: str, sources: tuple[str, ...]) -> Verdict:
        key = (text, *sources)
        if key not in self._verdicts:
            self._verdicts[key] = self._checker.check(text, sources)
        return self._verdicts[key]


def _exactness(claim: Claim, pages: Mapping[str, ReadPage]) -> Check:
    """Whether each quote is what the stored document says at its place."""
    for evidence in claim.evidence:
        page = pages.get(evidence.url)
        if page is None:
            return Check("quote", CheckOutcome.SKIPPED, f"the page of a quote is not at hand: {evidence.url}")
        page.document.verify(evidence.quote.record())
    return Check("quote", CheckOutcome.PASSED, f"{len(claim.evidence)} exact")


def _surroundings(claim: Claim, pages: Mapping[str, ReadPage]) -> str:
    """The page's title and what stands around the claim's last quote."""
    quote, document = claim.evidence[-1].quote, pages[claim.evidence[-1].url].document
    return f"{document.title} {claim.text} {document.text[max(quote.start - _AROUND, 0) : quote.end + _AROUND]}"

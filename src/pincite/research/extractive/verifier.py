"""Claims to verdicts: the quote stands in the stored document, the claim checker agrees, sources are counted."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio.to_thread

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Claim,
    Relation,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
    page_texts,
)
from pincite.domain.plan import Analysis, Conflict, ConflictSide, Progress, ReadPage, Task, Verification
from pincite.ports import ClaimChecker
from pincite.research.extractive.premises import denies, premise_of
from pincite.research.extractive.words import key_terms
from pincite.urls import registrable_domain

_SKELETON_SAME = 0.85
_MIN_SKELETON_TERMS = 4
_MAX_CONFLICTS = 6
_DENIERS = 12
_AROUND = 600


class ExtractiveVerifier:
    """Asks the claim checker about every claim; statements that differ only in a figure become conflicts."""

    def __init__(self, checker: ClaimChecker) -> None:
        self._checker = checker
        self._verdicts: dict[tuple[str, ...], Verdict] = {}

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
        conflicts = [*self._denials(task, checked, pages), *_conflicts(checked, pages)]
        return Verification(claims=tuple(checked), conflicts=tuple(conflicts[:_MAX_CONFLICTS]))

    def _denials(self, task: Task, checked: Sequence[VerifiedClaim], pages: Mapping[str, ReadPage]) -> list[Conflict]:
        """The first claim that denies what the question takes for granted, unless an earlier one agrees with it."""
        premise = premise_of(task.question)
        for item in [item for item in checked if item.printable][: _DENIERS if premise else 0]:
            verdict = self._checker.check(premise, _supporting_texts(item.claim))
            if verdict.status is VerdictStatus.SUPPORTED:
                return []
            if denies(premise, item.claim.text, _surroundings(item.claim, pages), verdict):
                side = ConflictSide(item.claim.text, item.claim.claim_id, max(item.independent_sources, 1))
                return [Conflict((side,), premise)]
        return []

    def _check(self, claim: Claim, pages: Mapping[str, ReadPage]) -> VerifiedClaim:
        exact = _exactness(claim, pages)
        if exact.outcome is not CheckOutcome.PASSED:
            verdict = Verdict(VerdictStatus.UNCHECKED, reasons=(exact.detail,), checks=(exact,))
            return VerifiedClaim(claim, verdict, checks=(exact,))
        sources = _supporting_texts(claim)
        key = (claim.text, *sources)
        if key not in self._verdicts:
            self._verdicts[key] = self._checker.check(claim.text, sources)
        verdict = self._verdicts[key]
        independent = _independent(claim, pages)
        raised = min(claim.confidence + 0.03 * (independent - 1), 0.99)
        lowered = raised * 0.8 if verdict.status is VerdictStatus.PARTIAL else raised
        return VerifiedClaim(
            replace(claim, confidence=round(lowered, 2)), verdict, independent, checks=(exact, *verdict.checks)
        )


def _exactness(claim: Claim, pages: Mapping[str, ReadPage]) -> Check:
    """Whether each quote is what the stored document says at its place."""
    for evidence in claim.evidence:
        page = pages.get(evidence.url)
        if page is None:
            return Check("quote", CheckOutcome.SKIPPED, f"the page of a quote is not at hand: {evidence.url}")
        page.document.verify(evidence.quote.record())
    return Check("quote", CheckOutcome.PASSED, f"{len(claim.evidence)} exact")


def _supporting_texts(claim: Claim) -> tuple[str, ...]:
    """The quotes of each page joined: what the claim may rest on, and nothing more."""
    return tuple(page_texts((e.url, e.quote.text) for e in claim.evidence if e.relation is Relation.SUPPORTS))


def _surroundings(claim: Claim, pages: Mapping[str, ReadPage]) -> str:
    """The page's title and what stands around the claim's last quote."""
    quote, document = claim.evidence[-1].quote, pages[claim.evidence[-1].url].document
    return f"{document.title} {claim.text} {document.text[max(quote.start - _AROUND, 0) : quote.end + _AROUND]}"


def _independent(claim: Claim, pages: Mapping[str, ReadPage]) -> int:
    """Sources that count: near-copies and pages of one registrable domain once."""
    owners = set()
    for evidence in claim.evidence:
        if evidence.relation is Relation.SUPPORTS:
            url = pages[evidence.url].duplicate_of or evidence.url
            owners.add(url if url.startswith("local:") else registrable_domain(url))
    return len(owners)


def _conflicts(checked: Sequence[VerifiedClaim], pages: Mapping[str, ReadPage]) -> list[Conflict]:
    """Pairs from different pages with the same words and other figures."""
    found: list[Conflict] = []
    skeletons = {item.claim.claim_id: _skeleton(item.claim.text) for item in checked if item.printable}
    for one, other in itertools.combinations([item for item in checked if item.printable], 2):
        if one.claim.sub_question != other.claim.sub_question:
            continue
        (words_a, figures_a), (words_b, figures_b) = skeletons[one.claim.claim_id], skeletons[other.claim.claim_id]
        if not figures_a or not figures_b or figures_a == figures_b or len(words_a) < _MIN_SKELETON_TERMS:
            continue
        if _urls(one) & _urls(other) or len(words_a & words_b) < _SKELETON_SAME * len(words_a | words_b):
            continue
        found.append(Conflict((_side(one, pages), _side(other, pages))))
    return found


def _skeleton(text: str) -> tuple[frozenset[str], frozenset[str]]:
    terms = key_terms(text)
    figures = frozenset(term for term in terms if any(character.isdigit() for character in term))
    return frozenset(terms) - figures, figures


def _urls(item: VerifiedClaim) -> set[str]:
    return {evidence.url for evidence in item.claim.evidence}


def _side(item: VerifiedClaim, pages: Mapping[str, ReadPage]) -> ConflictSide:
    """One side, with the title of its page, so that a reader sees which version says what."""
    title = pages[item.claim.evidence[0].url].document.title.strip()
    statement = f"{title}: {item.claim.text}" if title else item.claim.text
    return ConflictSide(statement, item.claim.claim_id, max(item.independent_sources, 1))

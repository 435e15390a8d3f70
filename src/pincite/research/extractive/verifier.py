"""Claims to verdicts: the quote stands in the stored document and is what the claim says; sources are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import anyio.to_thread

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Claim,
    EvidencePassage,
    Proof,
    Relation,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Analysis, Conflict, Progress, ReadPage, Task, Verification
from pincite.ports import Judge
from pincite.research.extractive.conflicts import conflicts_between, denial, denial_candidates
from pincite.research.extractive.versions import independent_sources
from pincite.text.context import passage_in_context
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import is_quoted
from pincite.verification.verdicts import without_flagged

# As in `conflicts`.
_MAX_CONFLICTS: Final = 6
_PARTLY: Final = 0.8


@dataclass(frozen=True, slots=True)
class _Read:
    """A claim whose quotes were looked up: what came of that, and the passages of each page that is to carry it."""

    claim: Claim
    exact: Check
    passages: tuple[EvidencePassage, ...] = ()
    texts: tuple[str, ...] = ()
    independent: int = 0


class ExtractiveVerifier:
    """Quoted claims are proven by slicing; others (of an earlier run, of a model) by exact facts and the judge.

    Args:
        judge: of meaning; None for quoted claims only.
        at: the time that is noted with judgements; the same when a run is made again.
    """

    def __init__(self, judge: Judge | None = None, at: datetime | None = None) -> None:
        self._judge = judge
        self._at = at or datetime.now(UTC)

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim in the order proposed, and the conflicts between those that pass."""
        pages = {page.url: page for page in progress.pages}
        read = await anyio.to_thread.run_sync(_read, analyses, pages)
        asked = [item for item in read if item.passages]
        statements = [Statement(item.claim.text, item.passages, item.texts) for item in asked]
        proven = await prove(statements, self._judge, at=self._at)
        found = {item.claim.claim_id: result for item, result in zip(asked, proven, strict=True)}
        checked = [_verified(item, found.get(item.claim.claim_id)) for item in read]
        conflicts = await anyio.to_thread.run_sync(conflicts_between, checked, pages)
        if self._judge is not None and len(conflicts) < _MAX_CONFLICTS:
            conflicts = [*conflicts, *await self._denials(checked, pages)]
        return Verification(claims=tuple(checked), conflicts=tuple(conflicts[:_MAX_CONFLICTS]))

    async def _denials(self, checked: Sequence[VerifiedClaim], pages: Mapping[str, ReadPage]) -> list[Conflict]:
        """Pairs of claims with much the same words of which a judge says that one excludes the other."""
        pairs = denial_candidates(checked)
        statements = [Statement(one.claim.text, _passages(other.claim, pages)) for one, other in pairs]
        proven = await prove(statements, self._judge, at=self._at)
        return [
            denial(one, other, pages)
            for (one, other), result in zip(pairs, proven, strict=True)
            if result.judgement is not None and result.verdict is VerdictStatus.CONTRADICTED
        ]


def _read(analyses: Sequence[Analysis], pages: Mapping[str, ReadPage]) -> list[_Read]:
    """The claims in the order proposed, an earlier one before a later one of the same words."""
    claims = {claim.claim_id: claim for analysis in reversed(analyses) for claim in reversed(analysis.claims)}
    order = dict.fromkeys(claim.claim_id for analysis in analyses for claim in analysis.claims)
    found: list[_Read] = []
    for claim in (claims[name] for name in order):
        exact = _exactness(claim, pages)
        if exact.outcome is not CheckOutcome.PASSED:
            found.append(_Read(claim, exact))
            continue
        quoted = _quoting_pages(claim, pages)
        if quoted:  # a page that says it in other words would have to be judged: its own words are here
            claim = replace(claim, evidence=tuple(e for e in claim.evidence if e.url in quoted))
        texts = tuple(pages[url].document.text for url in dict.fromkeys(e.url for e in claim.evidence))
        found.append(_Read(claim, exact, _passages(claim, pages), texts, independent_sources([claim], pages)))
    return found


def _verified(read: _Read, proven: Proven | None) -> VerifiedClaim:
    """The claim with its verdict."""
    if proven is None:
        reasons = () if read.exact.outcome is CheckOutcome.PASSED else (read.exact.detail,)
        verdict = Verdict(VerdictStatus.UNCHECKED, reasons=reasons, checks=(read.exact,))
        return VerifiedClaim(read.claim, verdict, checks=(read.exact,))
    claim = read.claim
    if proven.verdict is VerdictStatus.PARTIAL:
        claim = replace(claim, confidence=round(claim.confidence * _PARTLY, 2))
    score = 1.0 if proven.proof is Proof.QUOTED else 0.0
    if proven.judgement is not None and proven.judgement.likelihood is not None:
        score = proven.judgement.likelihood
    reasons = (proven.reason,) if proven.reason else ()
    verdict = Verdict(proven.verdict, score=score, reasons=reasons, checks=(read.exact,))
    return without_flagged(
        VerifiedClaim(
            claim,
            verdict,
            read.independent,
            (read.exact,),
            proven.proof,
            proven.judgement,
            proven.beyond,
            proven.stands_alone,
            proven.answers,
        )
    )


def _passages(claim: Claim, pages: Mapping[str, ReadPage]) -> tuple[EvidencePassage, ...]:
    """The quotes that support a claim, in context."""
    return tuple(
        passage_in_context(pages[e.url].document, e.quote.start, e.quote.end)
        for e in claim.evidence
        if e.relation is Relation.SUPPORTS and e.url in pages
    )


def _quoting_pages(claim: Claim, pages: Mapping[str, ReadPage]) -> frozenset[str]:
    """The pages whose own words the claim is."""
    by_page: dict[str, list[EvidencePassage]] = {}
    for evidence in claim.evidence:
        if evidence.relation is Relation.SUPPORTS:
            quote = evidence.quote
            passage = passage_in_context(pages[evidence.url].document, quote.start, quote.end)
            by_page.setdefault(evidence.url, []).append(passage)
    return frozenset(url for url, passages in by_page.items() if is_quoted(claim.text, passages))


def _exactness(claim: Claim, pages: Mapping[str, ReadPage]) -> Check:
    """Whether each quote is what the stored document says at its place."""
    for evidence in claim.evidence:
        page = pages.get(evidence.url)
        if page is None:
            return Check("quote", CheckOutcome.SKIPPED, f"the page of a quote is not at hand: {evidence.url}")
        page.document.verify(evidence.quote.record())
    return Check("quote", CheckOutcome.PASSED, f"{len(claim.evidence)} exact")

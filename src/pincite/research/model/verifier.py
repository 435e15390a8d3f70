"""Claims to verdicts: proven in context by exact facts and a judge, mended or looked for elsewhere once, else refused.

Every claim that was proposed comes out: printable as it was, mended (in fewer words), in its page's own words, or with
the reason why it is not printed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import Check, CheckOutcome, Claim, EvidencePassage, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.ids import claim_id
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Analysis, Progress, ReadPage, Task, Verification
from pincite.ports import Judge, ModelCalls
from pincite.research.extractive.versions import independent_sources
from pincite.research.model.conflicts import ConflictFinder
from pincite.research.model.evidence import EvidenceBank, quoted_words
from pincite.research.model.outputs import Repairs
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.wording import plain_line
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.verdicts import without_flagged

# Highest confidence of a claim with one source: nobody is surer of a page than that.
SURE_FROM: Final = 0.85
_MAX_CLAIM_CHARS: Final = 520
_PASSING: Final = (ProviderError, RemoteError, BudgetExhausted)
# Not what a passage contradicts: that is decided, and other passages would only hide it.
_LOOKED_FOR: Final = frozenset({VerdictStatus.UNSUPPORTED, VerdictStatus.PARTIAL})
MENDED, ELSEWHERE, OWN_WORDS = "mended", "elsewhere", "own_words"
_TOLD: Final[Mapping[str, str]] = {
    MENDED: "proposed as: {}",
    ELSEWHERE: "its own lines did not carry it; others of the pages do",
    OWN_WORDS: "in its page's own words, because nobody judged: {}",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a proposed claim: the claim as it is now, how it was proven, what was done to get there."""

    claim: Claim
    proven: Proven
    done: tuple[Check, ...] = ()


class ProvingVerifier:
    """Implements `roles.Verifier` for claims that a model made. Each is proven once per run.

    Args:
        judge: the judge of meaning; None for quoted claims only.
        bank: the pages of the run as evidence, shared with the writer.
        at: the time that is noted with judgements; the same when a run is made again.
        calls: models, which leave out of a claim what its passages don't carry; None: such a claim is refused.
        conflicts: finds what excludes each other.
    """

    def __init__(
        self,
        judge: Judge | None,
        bank: EvidenceBank,
        at: datetime,
        *,
        calls: ModelCalls | None = None,
        conflicts: ConflictFinder | None = None,
    ) -> None:
        self._judge = judge
        self._bank = bank
        self._at = at
        self._calls = calls
        self._conflicts = conflicts
        self._known: dict[str, _Outcome] = {}

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim in the order proposed, and the conflicts between those that hold."""
        self._bank.add(progress.pages)
        claims = tuple({claim.claim_id: claim for found in analyses for claim in found.claims}.values())
        new = [claim for claim in claims if _key(claim) not in self._known]
        self._known.update(zip(map(_key, new), await self._proven(new, progress), strict=True))
        pages = {page.url: page for page in progress.pages}
        checked = tuple(_verified(self._known[_key(claim)], claim.sub_question, pages, self._bank) for claim in claims)
        checked = tuple({item.claim.claim_id: item for item in checked}.values())
        conflicts = await self._conflicts.between(checked, progress) if self._conflicts is not None else ()
        return Verification(claims=checked, conflicts=conflicts)

    async def _proven(self, claims: Sequence[Claim], progress: Progress) -> list[_Outcome]:
        """Proven as proposed; what is left is looked for elsewhere, then mended, then told in its page's words."""
        placed = [claim for claim in claims if claim.evidence]
        judged = await self._judged(placed, [self._bank.passages([claim]) for claim in placed])
        found = dict(zip(map(id, placed), judged, strict=True))
        outcomes = [_Outcome(claim, found[id(claim)]) if id(claim) in found else _unplaced(claim) for claim in claims]
        # What stands elsewhere is told whole; words are left out only where no page carries them.
        if self._judge is not None:
            outcomes = await self._each(outcomes, _can_be_elsewhere, self._elsewhere)
        outcomes = await self._each(outcomes, _can_be_mended, lambda rest: self._mended(rest, progress))
        return await self._each(outcomes, _nobody_judged, self._in_own_words)

    async def _each(
        self,
        outcomes: Sequence[_Outcome],
        which: Callable[[_Outcome], bool],
        attempt: Callable[[Sequence[_Outcome]], Awaitable[Sequence[_Outcome]]],
    ) -> list[_Outcome]:
        """The outcomes, those that want another attempt replaced by what came of it, where that helped."""
        wanting = [outcome for outcome in outcomes if which(outcome)]
        if not wanting:
            return list(outcomes)
        again = await attempt(wanting)
        better = {id(old): new for old, new in zip(wanting, again, strict=True) if new.proven.verdict is _HOLDS}
        return [better.get(id(outcome), outcome) for outcome in outcomes]

    async def _judged(self, claims: Sequence[Claim], evidence: Sequence[Sequence[EvidencePassage]]) -> list[Proven]:
        """Each claim proven by its evidence, all of them before the judge together."""
        statements = [
            Statement(
                claim.text,
                tuple(passages),
                self._bank.text_of(passages),
                question=claim.sub_question,
                repin=True,
            )
            for claim, passages in zip(claims, evidence, strict=True)
        ]
        return list(await prove(statements, self._judge, at=self._at))

    async def _mended(self, outcomes: Sequence[_Outcome], progress: Progress) -> list[_Outcome]:
        """The claims without the words that their passages don't carry, as a model leaves them out; judged again."""
        if self._calls is None:
            return list(outcomes)
        prompt = _mending_prompt(outcomes)
        try:
            answer = await self._calls.ask(ModelRole.ANALYST, prompt, Repairs, deadline_s=progress.seconds_left)
        except _PASSING:
            return list(outcomes)
        texts = {repair.id: plain_line(repair.text) for repair in answer.repairs}
        mended = [_reworded(outcome, texts.get(f"r{number}", "")) for number, outcome in enumerate(outcomes, start=1)]
        judged = await self._judged(mended, [outcome.proven.evidence for outcome in outcomes])
        return [
            _done(_Outcome(claim, proven, old.done), MENDED, old.claim.text)
            for claim, proven, old in zip(mended, judged, outcomes, strict=True)
        ]

    async def _elsewhere(self, outcomes: Sequence[_Outcome]) -> list[_Outcome]:
        """The claims with the passages of all pages that share most with them, beside their own."""
        claims = [outcome.claim for outcome in outcomes]
        further = await anyio.to_thread.run_sync(lambda: [self._bank.further(claim) for claim in claims])
        evidence = [(*self._bank.passages([c]), *more) for c, more in zip(claims, further, strict=True)]
        judged = await self._judged(claims, evidence)
        return [
            _done(_Outcome(old.claim, proven, old.done), ELSEWHERE, "")
            for proven, old in zip(judged, outcomes, strict=True)
        ]

    async def _in_own_words(self, outcomes: Sequence[_Outcome]) -> list[_Outcome]:
        """The claims as their page has them: what nobody judged may only be quoted."""
        claims = [_reworded(outcome, quoted_words(outcome.claim)) for outcome in outcomes]
        passages = [self._bank.passages([claim]) for claim in claims]
        statements = [Statement(claim.text, found) for claim, found in zip(claims, passages, strict=True)]
        proven = await prove(statements, None, at=self._at)
        return [
            _done(_Outcome(claim, made, old.done), OWN_WORDS, old.claim.text)
            for claim, made, old in zip(claims, proven, outcomes, strict=True)
        ]


_HOLDS: Final = VerdictStatus.SUPPORTED


def _key(claim: Claim) -> str:
    """A claim is proven anew when its passages change, as with another page that says the same."""
    return f"{claim.claim_id} {sorted((e.quote.document_id, e.quote.start, e.quote.end) for e in claim.evidence)}"


def _unplaced(claim: Claim) -> _Outcome:
    """A claim without a passage: refused, with what the analyst noted, or because there is none."""
    reason = claim.holds_for or "it names no line of the page that was shown"
    return _Outcome(claim, Proven(Statement(claim.text), VerdictStatus.UNSUPPORTED, reason=reason))


def _can_be_mended(outcome: _Outcome) -> bool:
    return outcome.proven.verdict is VerdictStatus.PARTIAL and bool(outcome.proven.beyond)


def _can_be_elsewhere(outcome: _Outcome) -> bool:
    return outcome.proven.verdict in _LOOKED_FOR and bool(outcome.claim.evidence)


def _nobody_judged(outcome: _Outcome) -> bool:
    return outcome.proven.verdict is VerdictStatus.UNCHECKED and bool(outcome.claim.evidence)


def _reworded(outcome: _Outcome, text: str) -> Claim:
    """The claim in other words; as it is where there are none."""
    claim = outcome.claim
    if not text or len(text) > _MAX_CLAIM_CHARS:
        return claim
    return replace(claim, text=text, claim_id=claim_id(text, claim.sub_question))


def _done(outcome: _Outcome, name: str, before: str) -> _Outcome:
    check = Check(name, CheckOutcome.PASSED, _TOLD[name].format(before))
    return replace(outcome, done=(*outcome.done, check))


def _verified(outcome: _Outcome, sub_question: str, pages: Mapping[str, ReadPage], bank: EvidenceBank) -> VerifiedClaim:
    """The claim with its verdict. Words beyond its passages were left out by now, or it is refused."""
    proven = outcome.proven
    claim = bank.resting_on(outcome.claim, proven.evidence) if proven.evidence else outcome.claim
    status = proven.verdict
    if status is VerdictStatus.PARTIAL:
        status = VerdictStatus.UNSUPPORTED
    reasons = (proven.reason,) if proven.reason else ()
    sources = independent_sources([claim], pages)
    # As sure as the model was, but no surer than its sources allow.
    confidence = round(min(claim.confidence, SURE_FROM + 0.05 * max(sources - 1, 0), 0.97), 2)
    claim = replace(claim, sub_question=sub_question, confidence=confidence)
    item = VerifiedClaim(
        claim,
        Verdict(status, reasons=reasons, checks=outcome.done),
        sources,
        outcome.done,
        proven.proof if status is _HOLDS else None,
        proven.judgement,
        proven.beyond,
        proven.stands_alone,
        proven.answers,
    )
    return without_flagged(item)


def _mending_prompt(outcomes: Sequence[_Outcome]) -> Prompt:
    """Each claim with the words that go beyond its passages, and these passages."""
    lines: list[tuple[str, str]] = []
    for number, outcome in enumerate(outcomes, start=1):
        quotes = " … ".join(passage.text for passage in outcome.proven.evidence)
        lines += [
            (f"r{number} claim", outcome.claim.text),
            (f"r{number} beyond", outcome.proven.beyond),
            (f"r{number} passage", quotes[:1_200]),
        ]
    return Prompt(
        "mend",
        VERSIONS["mend"],
        instructions("mend"),
        material=(Material("Claims", tuple(lines)),),
        closing="Now give each id its claim without the words that go beyond.",
        max_tokens_out=150 + 100 * len(outcomes),
    )

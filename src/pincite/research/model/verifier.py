"""Claims to verdicts: the mechanical checks first, a model for what they leave open, code for what may count."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import anyio

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import (
    CheckOutcome,
    Relation,
    VerdictStatus,
    VerifiedClaim,
    page_texts,
)
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Analysis, Conflict, ConflictSide, Progress, ReadPage, Task, Verification
from pincite.ports import ModelCalls
from pincite.research.model.alterations import alteration
from pincite.research.model.fallback import Replacements
from pincite.research.model.outputs import Judgements, Pairs
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.refusing import refused, without_flagged
from pincite.research.roles import Verifier
from pincite.runtime.failures import first_failure
from pincite.verification.entailment import refined

CASES_PER_CALL = 8
MAX_CASES = 60
SURE_FROM = 0.85
"""Highest confidence of a claim that passed every check; a partial one keeps less."""
_SURE_PARTIAL = 0.6
_AROUND_CHARS = 300
_MAX_CONFLICTS = 6
_STATEMENTS = 60
_PASSING = (ProviderError, RemoteError, BudgetExhausted)
T = TypeVar("T")


class GuardedVerifier:
    """The mechanical verdicts on claims that a model made: what is printable among rules' own claims may not be here.

    A claim with a figure, date, name or negation that its passage does not have is refused, not partly supported; so is
    one that turns the wording of its passage, or that only passages speaking to machines support. Confidence is capped
    by what the checks allow.
    """

    def __init__(self, mechanical: Verifier) -> None:
        self._mechanical = mechanical

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """The mechanical verification, stricter."""
        first = await self._mechanical.verify(task, analyses, progress)
        return replace(first, claims=tuple(capped(_guarded(item)) for item in first.claims))


class ModelVerifier:
    """Adds a model's judgement to the verdicts of another verifier. A failing model leaves those as they are.

    Args:
        mechanical: the verifier whose verdicts come first; a claim it refused is never lifted.
        calls: the models.
        replacements: where it is noted that no model judges; the report says so.
        concurrency: calls at the same time.
    """

    def __init__(
        self, mechanical: Verifier, calls: ModelCalls, replacements: Replacements, *, concurrency: int = 8
    ) -> None:
        self._mechanical = mechanical
        self._calls = calls
        self._replacements = replacements
        self._concurrency = concurrency
        self._judged: dict[tuple[str, str], float] = {}
        self._compared: frozenset[str] = frozenset()
        self._pairs: tuple[tuple[str, str], ...] = ()

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim, conflicts, and gaps that stay."""
        first = await self._mechanical.verify(task, analyses, progress)
        pages = {page.url: page for page in progress.pages}
        await self._judge([item for item in first.claims if _is_left_open(item)], pages, progress)
        checked = tuple([capped(await self._refined(item)) for item in first.claims])
        conflicts = await self._conflicts(checked, first.conflicts, progress)
        return replace(first, claims=checked, conflicts=conflicts)

    async def _asked(self, prompt: Prompt, output_type: type[T], progress: Progress) -> T | None:
        """The model's answer; None, noted once, when it can't give one."""
        if self._replacements.replaced(ModelRole.VERIFIER):
            return None
        try:
            answer = await self._calls.ask(ModelRole.VERIFIER, prompt, output_type, deadline_s=progress.seconds_left)
        except _PASSING as error:
            await self._replacements.note(ModelRole.VERIFIER, error)
            return None
        self._replacements.answered(ModelRole.VERIFIER)
        return answer

    async def _refined(self, item: VerifiedClaim) -> VerifiedClaim:
        """The claim with the model's judgement, if one was given."""
        if not _is_left_open(item) or _case(item) not in self._judged:
            return item
        verdict = await refined(item.verdict, item.claim.text, _Answer(self._judged[_case(item)]))
        return replace(item, verdict=verdict, checks=(*item.checks, *verdict.checks[len(item.verdict.checks) :]))

    async def _judge(self, items: Sequence[VerifiedClaim], pages: dict[str, ReadPage], progress: Progress) -> None:
        """Ask about each open claim once, a few of one page together: no page's text stands beside another's."""
        new = [item for item in items if _case(item) not in self._judged][:MAX_CASES]
        by_page: dict[str, list[VerifiedClaim]] = {}
        for item in new:
            by_page.setdefault(item.claim.evidence[0].url, []).append(item)
        batches = [
            group[start : start + CASES_PER_CALL]
            for group in by_page.values()
            for start in range(0, len(group), CASES_PER_CALL)
        ]
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def ask(batch: Sequence[VerifiedClaim]) -> None:
            async with limiter:
                answer = await self._asked(_judge_prompt(batch, pages), Judgements, progress)
            if answer is None:
                return
            for judgement in answer.cases:
                number = judgement.id.removeprefix("c")
                if number.isdecimal() and 1 <= int(number) <= len(batch):
                    self._judged[_case(batch[int(number) - 1])] = min(max(judgement.entailed, 0.0), 1.0)

        with first_failure():
            async with anyio.create_task_group() as group:
                for batch in batches:
                    group.start_soon(ask, batch)

    async def _conflicts(
        self, checked: Sequence[VerifiedClaim], known: Sequence[Conflict], progress: Progress
    ) -> tuple[Conflict, ...]:
        """The conflicts found by figures, and those the model sees between claims of different pages."""
        printable = [item for item in checked if item.printable][:_STATEMENTS]
        if len({item.claim.evidence[0].url for item in printable}) < 2:
            return tuple(known)
        ids = frozenset(item.claim.claim_id for item in printable)
        if ids != self._compared:
            await self._compare(printable, progress)
            self._compared = ids
        by_id = {item.claim.claim_id: item for item in printable}
        found = list(known)
        told = {frozenset(side.claim_id for side in conflict.sides) for conflict in known}
        for one, other in self._pairs:
            if len(found) < _MAX_CONFLICTS and one in by_id and other in by_id and frozenset((one, other)) not in told:
                told.add(frozenset((one, other)))
                found.append(Conflict((_side(by_id[one]), _side(by_id[other]))))
        return tuple(found[:_MAX_CONFLICTS])

    async def _compare(self, printable: Sequence[VerifiedClaim], progress: Progress) -> None:
        prompt = Prompt(
            "conflicts",
            VERSIONS["conflicts"],
            instructions("conflicts"),
            material=(
                Material("Statements", tuple((f"c{n}", item.claim.text) for n, item in enumerate(printable, start=1))),
            ),
            max_tokens_out=400,
        )
        answer = await self._asked(prompt, Pairs, progress)
        if answer is None:
            return
        offered = {f"c{number}": item for number, item in enumerate(printable, start=1)}
        self._pairs = tuple(
            (offered[pair.one].claim.claim_id, offered[pair.other].claim.claim_id)
            for pair in answer.pairs
            if pair.one in offered and pair.other in offered and _comparable(offered[pair.one], offered[pair.other])
        )


class _Answer:
    """A judgement that was given already, as `ports.EntailmentBackend`."""

    def __init__(self, probability: float) -> None:
        self._probability = probability

    async def judge(self, claim: str, passage: str) -> float | None:
        """The probability."""
        return self._probability


def capped(item: VerifiedClaim) -> VerifiedClaim:
    """The claim with no more confidence than its checks allow, however sure the model was."""
    limit = SURE_FROM if item.verdict.status is VerdictStatus.SUPPORTED else _SURE_PARTIAL
    more = 0.05 * max(item.independent_sources - 1, 0)
    return replace(item, claim=replace(item.claim, confidence=round(min(item.claim.confidence, limit + more, 0.97), 2)))


def _guarded(item: VerifiedClaim) -> VerifiedClaim:
    return _without_altered(without_flagged(_without_failed(item)))


def _without_altered(item: VerifiedClaim) -> VerifiedClaim:
    """The claim, refused when it follows its passage closely and turns it with a small change."""
    quotes = [(e.url, e.quote.text) for e in item.claim.evidence if e.relation is Relation.SUPPORTS]
    changed = alteration(item.claim.text, page_texts(quotes)) if item.printable else ""
    return refused(item, "wording", changed) if changed else item


def _without_failed(item: VerifiedClaim) -> VerifiedClaim:
    """The claim, refused when it is printable in part although a hard check failed."""
    failed = [c for c in item.verdict.checks if c.outcome is CheckOutcome.FAILED and c.name != "coverage"]
    if item.verdict.status is not VerdictStatus.PARTIAL or not failed:
        return item
    return replace(item, verdict=replace(item.verdict, status=VerdictStatus.UNSUPPORTED, quotes=()))


def _is_left_open(item: VerifiedClaim) -> bool:
    return item.verdict.status is VerdictStatus.PARTIAL


def _case(item: VerifiedClaim) -> tuple[str, str]:
    return item.claim.text, item.claim.evidence[0].quote.text


def _judge_prompt(batch: Sequence[VerifiedClaim], pages: dict[str, ReadPage]) -> Prompt:
    """Claim, quote and window of each case, nothing else: no question, no other page."""
    lines: list[tuple[str, str]] = []
    for number, item in enumerate(batch, start=1):
        first, last = item.claim.evidence[0], item.claim.evidence[-1]
        text = pages[first.url].document.text
        around = (
            text[max(first.quote.start - _AROUND_CHARS, 0) : last.quote.end + _AROUND_CHARS]
            if (last.url == first.url and last.quote.end - first.quote.start < 4 * _AROUND_CHARS)
            else text[max(first.quote.start - _AROUND_CHARS, 0) : first.quote.end + _AROUND_CHARS]
        )
        quote = " … ".join(e.quote.text for e in item.claim.evidence if e.url == first.url)
        lines += [(f"c{number} claim", item.claim.text), (f"c{number} quote", quote), (f"c{number} around", around)]
    return Prompt(
        "judge",
        VERSIONS["judge"],
        instructions("judge"),
        material=(Material("Cases", tuple(lines)),),
        max_tokens_out=60 + 40 * len(batch),
    )


def _comparable(one: VerifiedClaim, other: VerifiedClaim) -> bool:
    """Whether two claims can exclude each other: of the same part, from different pages."""
    urls = {e.url for e in one.claim.evidence} & {e.url for e in other.claim.evidence}
    return one is not other and not urls and one.claim.sub_question == other.claim.sub_question


def _side(item: VerifiedClaim) -> ConflictSide:
    return ConflictSide(item.claim.text, item.claim.claim_id, max(item.independent_sources, 1))

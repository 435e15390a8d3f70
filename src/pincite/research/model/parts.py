"""One part of a report written by a model: every sentence is checked after it was written, mended once or dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, PinciteError, ProviderError, RemoteError
from pincite.domain.evidence import Relation, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Progress, Task
from pincite.domain.reasons import reason_text
from pincite.ports import ClaimChecker, ModelCalls
from pincite.research.assembly import Line
from pincite.research.model.outline import Part
from pincite.research.model.outputs import Repairs, Written
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Checked, check_sentence
from pincite.research.model.wording import plain_line

ANSWER_SENTENCES = 3
_QUOTE_CHARS = 400
PASSING = (ProviderError, RemoteError, BudgetExhausted)
"""What a model may fail with without ending the run."""


@dataclass(frozen=True, slots=True)
class PartText:
    """A written part: the sentences that hold, and what had to be dropped."""

    lines: tuple[Line, ...]
    dropped: tuple[Checked, ...] = ()
    failure: str = ""

    @property
    def by_model(self) -> bool:
        """Whether the model wrote it; `failure` says why not."""
        return not self.failure


class PartWriter:
    """Has a model write one part; a sentence that its claims' quotes do not carry is rewritten once, then dropped.

    Args:
        calls: the models.
        checker: decides about every sentence.
    """

    def __init__(self, calls: ModelCalls, checker: ClaimChecker) -> None:
        self._calls = calls
        self._checker = checker
        self._checking = anyio.Lock()

    async def write(self, task: Task, part: Part, offered: dict[str, VerifiedClaim], progress: Progress) -> PartText:
        """The part's sentences that hold; its claims in their own words where the model can't write it."""
        mine = {name: offered[name] for name in part.claims}
        try:
            written = await self._calls.ask(
                ModelRole.WRITER, _part_prompt(task, part, mine), Written, deadline_s=progress.seconds_left
            )
        except PASSING as error:
            return _own_words(mine, error)
        checked = await self.check([(s.text, s.claims) for s in written.sentences], mine)
        failed = [item for item in checked if item.why]
        if failed:
            repaired = await self._repair(failed, mine, progress)
            fixed = iter(repaired)
            checked = [next(fixed) if item.why else item for item in checked]
        dropped = tuple(item for item in checked if item.why)
        told = {claim.claim.claim_id for item in checked if not item.why for claim in item.items}
        lines: list[Line] = []
        for item in checked:
            lines += [item.line] if not item.why else in_own_words(item.items, told)
        return PartText(tuple(lines or in_own_words(tuple(mine.values()), told)), dropped)

    async def _repair(
        self, failed: Sequence[Checked], mine: dict[str, VerifiedClaim], progress: Progress
    ) -> list[Checked]:
        """The failed sentences written anew, once; those that fail again keep their reason."""
        try:
            answer = await self._calls.ask(
                ModelRole.WRITER, _rewrite_prompt(failed, mine), Repairs, deadline_s=progress.seconds_left
            )
        except PASSING:
            return list(failed)
        repairs = {repair.id: repair for repair in answer.repairs}
        found: list[Checked] = []
        for number, old in enumerate(failed, start=1):
            repair = repairs.get(f"r{number}")
            new = (await self.check([(repair.text, repair.claims)], mine))[0] if repair else old
            found.append(new if repair and not new.why else old)
        return found

    async def still(self, lines: Sequence[Line], offered: dict[str, VerifiedClaim]) -> tuple[Line, ...]:
        """The lines whose claims are all among those `offered` now and whose quotes still carry them."""
        names = {item.claim.claim_id: name for name, item in offered.items()}
        known = [line for line in lines if all(item.claim.claim_id in names for item in line.items)]
        checked = await self.check(
            [(line.text, [names[item.claim.claim_id] for item in line.items]) for line in known], offered
        )
        return tuple(item.line for item in checked if not item.why)

    async def check(
        self, sentences: Sequence[tuple[str, Sequence[str]]], mine: dict[str, VerifiedClaim]
    ) -> list[Checked]:
        """The sentences, each with what keeps it from being printed, judged by the claims they name."""

        def check() -> list[Checked]:
            return [check_sentence(text, ids, mine, self._checker) for text, ids in sentences]

        async with self._checking:  # a checker serves one thread at a time
            return await anyio.to_thread.run_sync(check)


def in_own_words(items: Sequence[VerifiedClaim], told: set[str]) -> list[Line]:
    """The claims that no sentence tells, in the words in which they were verified; `told` grows."""
    lines = [Line(item.claim.text, (item,)) for item in items if item.claim.claim_id not in told]
    told.update(item.claim.claim_id for item in items)
    return lines


def _own_words(mine: dict[str, VerifiedClaim], error: PinciteError) -> PartText:
    """The claims in the words in which they were verified, for a part that the model could not write."""
    lines = tuple(Line(item.claim.text, (item,)) for item in mine.values())
    return PartText(lines, failure=f"{reason_text(error.reason, error.code)}; the statements stand as verified")


def _part_prompt(task: Task, part: Part, mine: dict[str, VerifiedClaim]) -> Prompt:
    wanted = (
        f"Write the section “{part.heading}”: about one sentence for each statement, in an order that reads well."
        if part.heading
        else f"Write the direct answer in at most {ANSWER_SENTENCES} sentences."
    )
    return Prompt(
        "writer",
        VERSIONS["writer"],
        instructions("writer"),
        context=(f"Question: {plain_line(task.question)}", wanted),
        material=(Material("Statements", _told(mine)),),
        max_tokens_out=300 + 120 * len(mine),
        effort="medium",
    )


def _rewrite_prompt(failed: Sequence[Checked], mine: dict[str, VerifiedClaim]) -> Prompt:
    lines: list[tuple[str, str]] = []
    for number, item in enumerate(failed, start=1):
        names = [name for name, claim in mine.items() if claim in item.items] or list(mine)[:3]
        lines += [
            (f"r{number} sentence", item.text),
            (f"r{number} wrong", item.why),
            (f"r{number} may tell", ", ".join(names)),
        ]
    return Prompt(
        "rewrite",
        VERSIONS["rewrite"],
        instructions("rewrite"),
        material=(Material("Sentences", tuple(lines)), Material("Statements", _told(mine))),
        max_tokens_out=100 + 120 * len(failed),
    )


def _told(mine: dict[str, VerifiedClaim]) -> tuple[tuple[str, str], ...]:
    """Each statement, and beside it the words it rests on."""
    lines: list[tuple[str, str]] = []
    for name, item in mine.items():
        quotes = " … ".join(e.quote.text for e in item.claim.evidence if e.relation is Relation.SUPPORTS)
        lines += [(name, item.claim.text), (f"{name} quote", quotes[:_QUOTE_CHARS])]
    return tuple(lines)

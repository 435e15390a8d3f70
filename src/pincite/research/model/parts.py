"""One part of a report written by a model: each sentence proven, mended at most twice, else in its claims' words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pincite.domain.errors import BudgetExhausted, PinciteError, ProviderError, RemoteError
from pincite.domain.evidence import Relation, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Progress, Task
from pincite.domain.reasons import reason_text
from pincite.domain.report import RejectedClaim
from pincite.ports import ModelCalls
from pincite.research.assembly import Line
from pincite.research.model.outline import Part
from pincite.research.model.outputs import Repairs, Written
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Checked, Proposed, SentenceProver
from pincite.research.model.wording import plain_line

ANSWER_SENTENCES: Final = 3
MENDED_AT_MOST: Final = 2
_QUOTE_CHARS: Final = 500
_IN_OWN_WORDS: Final = "its statements stand in their own words instead"
PASSING: Final = (ProviderError, RemoteError, BudgetExhausted)
"""What a model may fail with without ending the run."""


@dataclass(frozen=True, slots=True)
class PartText:
    """A written part: the lines that are proven, and what was not printed, with the reason."""

    lines: tuple[Line, ...]
    rejected: tuple[RejectedClaim, ...] = ()
    failure: str = ""

    @property
    def by_model(self) -> bool:
        """Whether the model wrote it; `failure` says why not."""
        return not self.failure


class PartWriter:
    """Has a model write one part.

    Args:
        calls: the models.
        prover: decides about every sentence.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver) -> None:
        self._calls = calls
        self._prover = prover
        self.authors: dict[str, None] = {}
        """The models that wrote, in the order in which they first did."""

    async def write(self, task: Task, part: Part, offered: dict[str, VerifiedClaim], progress: Progress) -> PartText:
        """The part's sentences that hold; its claims in their own words where the model can't write it."""
        mine = {name: offered[name] for name in part.claims}
        try:
            written, author = await self._calls.ask_named(
                ModelRole.WRITER, _part_prompt(task, part, mine), Written, deadline_s=progress.seconds_left
            )
        except PASSING as error:
            return _own_words(mine, error)
        self.authors[author] = None
        proposed = [Proposed(s.text, s.claims, s.derived) for s in written.sentences]
        checked = await self.proven(proposed, mine, progress)
        told = {item.claim.claim_id for found in checked if found.line for item in found.items}
        lines: list[Line] = []
        for found in checked:
            lines += [found.line] if found.line is not None else in_own_words(found.items, told)
        rejected = tuple(found.rejected(_IN_OWN_WORDS if found.items else "") for found in checked if found.why)
        lines = lines if any(line.items for line in lines) else in_own_words(tuple(mine.values()), told)
        return PartText(tuple(lines), rejected)

    async def proven(
        self, proposed: Sequence[Proposed], mine: Mapping[str, VerifiedClaim], progress: Progress
    ) -> list[Checked]:
        """Each sentence proven, those that fail mended by the model with what goes beyond in sight, twice at most."""
        checked = list(await self._prover.prove(proposed, mine))
        for _ in range(MENDED_AT_MOST):
            failed = [index for index, found in enumerate(checked) if found.why and found.items]
            if not failed:
                break
            mended = await self._mended([checked[index] for index in failed], mine, progress)
            if not mended:
                break
            again = await self._prover.prove([proposed for _, proposed in mended], mine)
            for (place, _), found in zip(mended, again, strict=True):
                checked[failed[place]] = found
        return checked

    async def _mended(
        self, failed: Sequence[Checked], mine: Mapping[str, VerifiedClaim], progress: Progress
    ) -> list[tuple[int, Proposed]]:
        """New sentences for those that failed, by their places; those that the model leaves out are not there."""
        try:
            answer = await self._calls.ask(
                ModelRole.WRITER, _rewrite_prompt(failed, mine), Repairs, deadline_s=progress.seconds_left
            )
        except PASSING:
            return []
        repairs = {repair.id: repair for repair in answer.repairs if repair.text.strip()}
        found: list[tuple[int, Proposed]] = []
        for place, old in enumerate(failed):
            repair = repairs.get(f"r{place + 1}")
            if repair is not None and plain_line(repair.text) != old.proposed.text:
                claims = repair.claims or old.proposed.claims
                found.append((place, replace(old.proposed, text=repair.text, claims=claims)))
        return found

    async def still(self, lines: Sequence[Line], offered: Mapping[str, VerifiedClaim]) -> tuple[Line, ...]:
        """The lines whose claims are all as they were when the lines were proven."""
        known = {item.claim.claim_id: item for item in offered.values()}
        return tuple(line for line in lines if all(known.get(item.claim.claim_id) == item for item in line.items))


def in_own_words(items: Sequence[VerifiedClaim], told: set[str]) -> list[Line]:
    """The claims that no sentence tells, in the words in which they were proven; `told` grows."""
    lines = [Line(item.claim.text, (item,)) for item in items if item.claim.claim_id not in told]
    told.update(item.claim.claim_id for item in items)
    return lines


def _own_words(mine: Mapping[str, VerifiedClaim], error: PinciteError) -> PartText:
    """The claims in the words in which they were proven, for a part that the model could not write."""
    lines = tuple(Line(item.claim.text, (item,)) for item in mine.values())
    return PartText(lines, failure=f"{reason_text(error.reason, error.code)}; the statements stand as proven")


def _part_prompt(task: Task, part: Part, mine: Mapping[str, VerifiedClaim]) -> Prompt:
    wanted = (
        f"Write the section “{part.heading}”."
        if part.heading
        else f"Write the direct answer in at most {ANSWER_SENTENCES} sentences."
    )
    return Prompt(
        "writer",
        VERSIONS["writer"],
        instructions("writer"),
        context=(f"Question: {plain_line(task.question)}", wanted),
        material=(Material("Statements", _told(mine)),),
        max_tokens_out=400 + 130 * len(mine),
        effort="medium",
    )


def _rewrite_prompt(failed: Sequence[Checked], mine: Mapping[str, VerifiedClaim]) -> Prompt:
    lines: list[tuple[str, str]] = []
    wanted: dict[str, VerifiedClaim] = {}
    for number, found in enumerate(failed, start=1):
        names = [name for name, claim in mine.items() if claim in found.items]
        wanted |= {name: mine[name] for name in names}
        lines += [(f"r{number} sentence", found.proposed.text), (f"r{number} wrong", found.why)]
        lines += [(f"r{number} beyond", found.beyond)] if found.beyond else []
        lines.append((f"r{number} may tell", ", ".join(names)))
    return Prompt(
        "rewrite",
        VERSIONS["rewrite"],
        instructions("rewrite"),
        material=(Material("Sentences", tuple(lines)), Material("Statements", _told(wanted))),
        max_tokens_out=150 + 130 * len(failed),
    )


def _told(mine: Mapping[str, VerifiedClaim]) -> tuple[tuple[str, str], ...]:
    """Each statement, and beside it the words it rests on where these are others."""
    lines: list[tuple[str, str]] = []
    for name, item in mine.items():
        lines.append((name, item.claim.text))
        quotes = " … ".join(e.quote.text for e in item.claim.evidence if e.relation is Relation.SUPPORTS)
        if " ".join(quotes.split()).rstrip(".") != item.claim.text.rstrip("."):
            lines.append((f"{name} quote", quotes[:_QUOTE_CHARS]))
    return tuple(lines)

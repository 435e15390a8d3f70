"""Parts of a report written by a model: each sentence, item and cell proven, mended twice at most, else replaced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import Relation, VerdictStatus, VerifiedClaim
from pincite.domain.layout import BlockForm
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Progress, Task
from pincite.domain.reasons import reason_text
from pincite.domain.report import RejectedClaim
from pincite.ports import ModelCalls
from pincite.research.assembly import Line
from pincite.research.model.blocks import DraftBlock, Planned, laid_out, own_words, planned
from pincite.research.model.outline import Part
from pincite.research.model.outputs import Repairs, WrittenPart, WrittenParts
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Checked, Proposed, SentenceProver
from pincite.research.model.style import style_lines
from pincite.research.model.wording import plain_line
from pincite.text.similarity import Bm25
from pincite.text.tokens import terms

ANSWER_SENTENCES: Final = 4
# A sentence that fails a third time is told in the words of its claims.
MENDED_AT_MOST: Final = 2
# Statements that one call tells: the outline costs more than one section, so small sections are written together.
CLAIMS_PER_CALL: Final = 24
# So that the model sees what its sentence is held to, not the whole page again.
_QUOTE_CHARS: Final = 400
# Statements beside those named that a failed sentence may tell: the one that was meant shares its words.
_NEAREST: Final = 2
_IN_OWN_WORDS: Final = "its statements stand in their own words instead"
_TOO_MUCH: Final = "more than a part of a report may hold"
_LEFT_OUT: Final = "the model did not write this section; the statements stand as proven"
_FORMS: Final = {
    BlockForm.PARAGRAPH: "short paragraphs, with a list or table where that serves",
    BlockForm.LIST: "a list",
    BlockForm.STEPS: "steps in order",
    BlockForm.TABLE: "a table, and a sentence before it",
}
# What a model may fail with without ending the run.
PASSING: Final = (ProviderError, RemoteError, BudgetExhausted)


@dataclass(frozen=True, slots=True)
class PartText:
    """A written part: the blocks that are proven, and what was not printed, with the reason."""

    blocks: tuple[DraftBlock, ...]
    rejected: tuple[RejectedClaim, ...] = ()
    failure: str = ""

    @property
    def by_model(self) -> bool:
        """Whether the model wrote it; `failure` says why not."""
        return not self.failure

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines in order."""
        return tuple(line for block in self.blocks for line in block.lines())


@dataclass(frozen=True, slots=True)
class Sight:
    """What the writer of a part sees of the whole: the same for all parts, so that it is read from a prompt cache."""

    parts: tuple[Part, ...] = ()
    offered: Mapping[str, VerifiedClaim] | None = None

    def shared(self) -> tuple[Material, ...]:
        """The outline with the statements of each section."""
        found: list[Material] = []
        for number, part in enumerate(self.parts):
            title = f"Section {number}: {part.heading}" if part.heading else "Direct answer"
            lines = tuple((name, self.offered[name].claim.text) for name in part.claims) if self.offered else ()
            found.append(Material(f"{title}{f' ({part.purpose})' if part.purpose else ''}", lines))
        return tuple(found)


class PartWriter:
    """Has a model write parts.

    Args:
        calls: the models.
        prover: decides about every sentence.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver) -> None:
        self._calls = calls
        self._prover = prover
        self.authors: dict[str, None] = {}
        """The models that wrote, in the order in which they first did."""

    async def write(
        self,
        task: Task,
        parts: Sequence[Part],
        offered: Mapping[str, VerifiedClaim],
        progress: Progress,
        sight: Sight,
    ) -> list[PartText]:
        """These parts in one call, with all that holds; their claims in their own words where the model can't."""
        mine = [{name: offered[name] for name in part.claims} for part in parts]
        # What others tell stands there already: it needs no place in its own words here.
        own = [
            {name: item for name, item in told.items() if name not in part.elsewhere}
            for part, told in zip(parts, mine, strict=True)
        ]
        code = await self._prover.code_beside({name: item for told in own for name, item in told.items()})
        prompt = _parts_prompt(task, parts, mine, sight, code)
        try:
            answer, author = await self._calls.ask_named(
                ModelRole.WRITER, prompt, WrittenParts, deadline_s=progress.seconds_left
            )
        except PASSING as error:
            failure = f"{reason_text(error.reason, error.code)}; the statements stand as proven"
            return [_unwritten(left, failure) for left in own]
        self.authors[author] = None
        written = {made.id: made for made in answer.parts}
        drafts = [
            None
            if made is None
            else planned(made, heading=part.heading, code={name: code[name] for name in part.claims if name in code})
            for number, part in enumerate(parts, start=1)
            for made in [_of(written, number, len(parts))]
        ]
        proposed = [
            said for draft in drafts if draft is not None for block in draft[0] for item in block.items for said in item
        ]
        # Statements of other sections may be named where a sentence compares: the whole offer counts.
        checked = dict(zip(map(id, proposed), await self.proven(proposed, offered, progress), strict=True))
        return [
            _unwritten(left, _LEFT_OUT) if draft is None else _laid(*draft, checked, left)
            for left, draft in zip(own, drafts, strict=True)
        ]

    async def proven(
        self, proposed: Sequence[Proposed], offered: Mapping[str, VerifiedClaim], progress: Progress
    ) -> list[Checked]:
        """Each sentence proven, those that fail mended by the model with what goes beyond in sight, twice at most."""
        checked = list(await self._prover.prove(proposed, offered))
        for _ in range(MENDED_AT_MOST):
            failed = [index for index, found in enumerate(checked) if found.why and found.items]
            if not failed:
                break
            mended = await self._mended([checked[index] for index in failed], offered, progress)
            if not mended:
                break
            again = await self._prover.prove([said for _, said in mended], offered)
            for (place, _), found in zip(mended, again, strict=True):
                old = checked[failed[place]]
                # A repair that fails may name other statements: those of the sentence before still want to be told.
                both = tuple(dict.fromkeys((*old.items, *found.items)))
                checked[failed[place]] = replace(found, items=both) if found.why else found
        return checked

    async def _mended(
        self, failed: Sequence[Checked], offered: Mapping[str, VerifiedClaim], progress: Progress
    ) -> list[tuple[int, Proposed]]:
        """New sentences for those that failed, by their places; those that the model leaves out are not there."""
        try:
            answer = await self._calls.ask(
                ModelRole.WRITER, _rewrite_prompt(failed, offered), Repairs, deadline_s=progress.seconds_left
            )
        except PASSING:
            return []
        repairs = {repair.id: repair for repair in answer.repairs if repair.text.strip()}
        found: list[tuple[int, Proposed]] = []
        for place, old in enumerate(failed):
            repair = repairs.get(f"r{place + 1}")
            if repair is None:
                continue
            claims = repair.claims or old.proposed.claims
            if plain_line(repair.text) != old.proposed.text or set(claims) != set(old.proposed.claims):
                found.append((place, replace(old.proposed, text=repair.text, claims=claims)))
        return found

    async def still(self, blocks: Sequence[DraftBlock], offered: Mapping[str, VerifiedClaim]) -> tuple[DraftBlock, ...]:
        """The blocks whose claims are all as they were when their lines were proven; code of pages still cited."""
        known = {item.claim.claim_id: item for item in offered.values()}
        cited = {e.quote.document_id for item in offered.values() for e in item.claim.evidence}
        return tuple(
            block
            for block in blocks
            if all(
                item.claim.evidence[0].quote.document_id in cited
                if block.form is BlockForm.EXCERPT
                else known.get(item.claim.claim_id) == item
                for line in block.lines()
                for item in line.items
            )
        )


def grouped(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The parts in their order, as many together as `CLAIMS_PER_CALL` lets."""
    groups: list[tuple[Part, ...]] = []
    for part in parts:
        told = sum(len(other.claims) for other in groups[-1]) if groups else 0
        if groups and told + len(part.claims) <= CLAIMS_PER_CALL:
            groups[-1] = (*groups[-1], part)
        else:
            groups.append((part,))
    return groups


def _of(written: Mapping[str, WrittenPart], number: int, count: int) -> WrittenPart | None:
    """The part of that number; the only one whatever its id."""
    found = written.get(f"p{number}")
    return next(iter(written.values()), None) if found is None and count == 1 else found


def _laid(
    blocks: Sequence[Planned],
    over: Sequence[Proposed],
    checked: Mapping[int, Checked],
    mine: Mapping[str, VerifiedClaim],
) -> PartText:
    """A part with what is proven of it."""
    found = {id(said): checked[id(said)] for block in blocks for item in block.items for said in item}
    rejected = [item.rejected(_IN_OWN_WORDS if item.items else "") for item in found.values() if item.why]
    rejected += [RejectedClaim(said.text, VerdictStatus.UNCHECKED, _TOO_MUCH) for said in over]
    return PartText(laid_out(blocks, found, tuple(mine.values())), tuple(rejected))


def _unwritten(mine: Mapping[str, VerifiedClaim], failure: str) -> PartText:
    """The claims in the words in which they were proven, for a part that the model did not write."""
    lines = tuple(own_words(tuple(mine.values()), set()))
    return PartText((DraftBlock(BlockForm.PARAGRAPH, (lines,)),) if lines else (), failure=failure)


def _parts_prompt(
    task: Task,
    parts: Sequence[Part],
    own: Sequence[Mapping[str, VerifiedClaim]],
    sight: Sight,
    code: Mapping[str, VerifiedClaim],
) -> Prompt:
    """The outline with all statements, which every call shares; then what is to be written, and its quotes."""
    wanted: list[str] = []
    for number, (part, mine) in enumerate(zip(parts, own, strict=True), start=1):
        what = (
            f"Write the section “{part.heading}” as {_FORMS[part.form]}."
            if part.heading
            else f"Write the direct answer in at most {ANSWER_SENTENCES} sentences."
        )
        line = f"p{number}: {what} It tells {', '.join(mine)}."
        if told := [name for name in mine if name in part.elsewhere]:
            line += f" Other sections tell {', '.join(told)} in full: say here what follows from them."
        wanted.append(line)
    together = {name: item for mine in own for name, item in mine.items()}
    quotes = tuple(line for line in _told(together) if line[0] not in together)
    quotes += tuple((f"{name} code", item.claim.text[:_QUOTE_CHARS]) for name, item in code.items())
    return Prompt(
        "writer",
        VERSIONS["writer"],
        instructions("writer"),
        context=(f"Question: {plain_line(task.question)}", *style_lines(task)),
        shared=sight.shared(),
        task=("\n".join(wanted),),
        material=(Material("Quotes behind the statements", quotes),) if quotes else (),
        max_tokens_out=500 + 150 * sum(map(len, own)),
        effort="medium",
    )


def _rewrite_prompt(failed: Sequence[Checked], offered: Mapping[str, VerifiedClaim]) -> Prompt:
    """What failed and why, with the statements that it named and those nearest to its words: ids are often mistaken."""
    lines: list[tuple[str, str]] = []
    wanted: dict[str, VerifiedClaim] = {}
    index = Bm25([terms(item.claim.text) for item in offered.values()])
    for number, found in enumerate(failed, start=1):
        scores = index.scores(terms(found.proposed.text))
        order = sorted(range(len(scores)), key=lambda at, s=scores: (-s[at], at))[:_NEAREST]  # type: ignore[misc]
        near = {name for at, name in enumerate(offered) if at in order and scores[at] > 0}
        named = [name for name, claim in offered.items() if claim in found.items]
        names = [*named, *(name for name in offered if name in near and name not in named)]
        wanted |= {name: offered[name] for name in names}
        said = found.proposed
        place = f" (in a table, row {said.row}, column {said.column})" if said.is_cell else ""
        lines += [(f"r{number} sentence", said.text), (f"r{number} wrong", f"{found.why}{place}")]
        lines += [(f"r{number} beyond", found.beyond)] if found.beyond else []
        lines.append((f"r{number} may tell", ", ".join(names)))
    return Prompt(
        "rewrite",
        VERSIONS["rewrite"],
        instructions("rewrite"),
        material=(Material("Sentences", tuple(lines)), Material("Statements", tuple(_told(wanted)))),
        max_tokens_out=150 + 130 * len(failed),
    )


def _told(mine: Mapping[str, VerifiedClaim]) -> Iterator[tuple[str, str]]:
    """Each statement, and beside it the words it rests on where these are others."""
    for name, item in mine.items():
        yield name, item.claim.text
        quotes = " … ".join(e.quote.text for e in item.claim.evidence if e.relation is Relation.SUPPORTS)
        if " ".join(quotes.split()).rstrip(".") != item.claim.text.rstrip("."):
            yield f"{name} quote", quotes[:_QUOTE_CHARS]
        if item.claim.holds_for:
            yield f"{name} holds for", item.claim.holds_for

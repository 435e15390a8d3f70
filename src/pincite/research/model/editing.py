"""The whole report once more: an editor orders, joins and shortens; every sentence it changes is proven again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.layout import BlockForm
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Progress, Task
from pincite.domain.report import RejectedClaim
from pincite.ports import ModelCalls
from pincite.research.assembly import Line
from pincite.research.model.blocks import DraftBlock
from pincite.research.model.outputs import EditedReport
from pincite.research.model.parts import PASSING
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Proposed, SentenceProver
from pincite.research.model.style import style_lines
from pincite.research.model.wording import heading_of, plain_line

# A shorter report has nothing to order: an edit would cost more than it gives.
LEAST_SENTENCES: Final = 8
_AS_THEY_ARE: Final = (BlockForm.TABLE, BlockForm.EXCERPT)
_REPEATED: Final = "the editor found it told elsewhere in the report"


@dataclass(frozen=True, slots=True)
class EditableSection:
    """A section to be edited."""

    heading: str
    blocks: tuple[DraftBlock, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """The sections as they are now, and what became of sentences that are no longer there or stayed as they were."""

    sections: tuple[EditableSection, ...]
    changed: frozenset[int] = frozenset()
    rejected: tuple[RejectedClaim, ...] = ()


class Editor:
    """Edits a report once.

    Args:
        calls: the models.
        prover: decides about every changed sentence; one that fails keeps its old form.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver) -> None:
        self._calls = calls
        self._prover = prover

    async def edit(
        self,
        task: Task,
        answer: Sequence[Line],
        sections: Sequence[EditableSection],
        offered: Mapping[str, VerifiedClaim],
        progress: Progress,
    ) -> Edited:
        """The sections edited; as they are where there is little to edit or no model does it."""
        places = _places(sections)
        if len(sections) < 2 or len(places) < LEAST_SENTENCES:
            return Edited(tuple(sections))
        try:
            made = await self._calls.ask(
                ModelRole.WRITER,
                _prompt(task, answer, sections, places),
                EditedReport,
                deadline_s=progress.seconds_left,
            )
        except PASSING:
            return Edited(tuple(sections))
        lines, rejected = await self._changed(made, places, offered)
        headings = {edit.id: edit.text for edit in made.headings}
        known = " ".join([task.question, *(line.text for line in places.values())])
        gone = _repeated(made.repeated, places, lines)
        rejected += [RejectedClaim(line.text, VerdictStatus.SUPPORTED, _REPEATED) for line in gone.values()]
        edited = [
            EditableSection(
                heading_of(headings[name], section.heading, known)
                if (name := f"h{number}") in headings
                else section.heading,
                tuple(_with(block, lines, gone) for block in section.blocks),
            )
            for number, section in enumerate(sections, start=1)
        ]
        order = [
            int(name[1:]) - 1
            for name in dict.fromkeys(made.order)
            if name[:1] == "h" and name[1:].isdecimal() and 1 <= int(name[1:]) <= len(sections)
        ]
        order += [number for number in range(len(sections)) if number not in order]
        changed = frozenset(at for at, number in enumerate(order) if edited[number] != sections[number])
        return Edited(tuple(edited[number] for number in order), changed, tuple(rejected))

    async def _changed(
        self, made: EditedReport, places: Mapping[str, Line], offered: Mapping[str, VerifiedClaim]
    ) -> tuple[dict[int, Line], list[RejectedClaim]]:
        """The new lines by the `id` of the old ones, and those that were not proven."""
        names = {item.claim.claim_id: name for name, item in offered.items()}
        edits = {
            edit.id: plain_line(edit.text)
            for edit in made.sentences
            if edit.id in places and plain_line(edit.text) not in ("", places[edit.id].text)
        }
        proposed = [
            Proposed(
                text,
                tuple(names[item.claim.claim_id] for item in places[name].items if item.claim.claim_id in names),
                derived=len(places[name].items) > 1 and places[name].proof == "derived",
            )
            for name, text in edits.items()
        ]
        lines: dict[int, Line] = {}
        rejected: list[RejectedClaim] = []
        for name, found in zip(edits, await self._prover.prove(proposed, offered), strict=True):
            old = places[name]
            if found.line is not None and bool(found.line.items) == bool(old.items):
                lines[id(old)] = replace(found.line, opens=old.opens)
            else:
                why = found.why or "it no longer says anything"
                rejected.append(replace(found, why=why).rejected("the sentence stays as it was"))
        return lines, rejected


def _places(sections: Sequence[EditableSection]) -> dict[str, Line]:
    """The sentences that may be edited, by the ids that the editor sees: not the cells of tables, not code."""
    lines = [
        line
        for section in sections
        for block in section.blocks
        if block.form not in _AS_THEY_ARE
        for line in block.lines()
    ]
    return {f"s{number}": line for number, line in enumerate(lines, start=1)}


def _repeated(names: Sequence[str], places: Mapping[str, Line], lines: Mapping[int, Line]) -> dict[int, Line]:
    """The lines that may go: what their claims say is told by others that stay."""
    gone: dict[int, Line] = {}
    for name in dict.fromkeys(names):
        line = places.get(name)
        if line is None or id(line) in lines:
            continue
        others = {
            item.claim.claim_id
            for other in places.values()
            if other is not line and id(other) not in gone
            for item in other.items
        }
        if all(item.claim.claim_id in others for item in line.items):
            gone[id(line)] = line
    return gone


def _with(block: DraftBlock, lines: Mapping[int, Line], gone: Mapping[int, Line]) -> DraftBlock:
    if block.form in _AS_THEY_ARE:
        return block
    items = tuple(tuple(lines.get(id(line), line) for line in item if id(line) not in gone) for item in block.items)
    return replace(block, items=tuple(item for item in items if item))


def _prompt(
    task: Task, answer: Sequence[Line], sections: Sequence[EditableSection], places: Mapping[str, Line]
) -> Prompt:
    names = {id(line): name for name, line in places.items()}
    lines: list[tuple[str, str]] = [(f"a{number}", line.text) for number, line in enumerate(answer, start=1)]
    for number, section in enumerate(sections, start=1):
        lines.append((f"h{number}", section.heading))
        for block in section.blocks:
            if block.form is BlockForm.TABLE:
                lines.append((f"t{number}", f"(a table: {' | '.join(block.header)})"))
            elif block.form is BlockForm.EXCERPT:
                lines.append((f"k{number}", "(code of a page)"))
            else:
                lines += [(names[id(line)], line.text) for line in block.lines()]
    return Prompt(
        "edit",
        VERSIONS["edit"],
        instructions("edit"),
        context=(f"Question: {plain_line(task.question)}", *style_lines(task)),
        material=(Material("Report", tuple(lines)),),
        closing="Now give your changes. Name only what changes.",
        max_tokens_out=400 + 40 * len(places),
        effort="medium",
    )

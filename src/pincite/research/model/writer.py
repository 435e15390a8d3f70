"""Proven claims to a report with a model: it outlines, writes section by section, edits; every sentence is proven."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.layout import BlockForm, SectionKind
from pincite.domain.model import ModelRole
from pincite.domain.plan import Gap, Progress, ReportMetadata, Task
from pincite.domain.report import Mode, PartStatus, RejectedClaim, Report, ReportPart
from pincite.ports import EventSink, ModelCalls
from pincite.research.assembly import Content, DraftedSection, Line, assemble
from pincite.research.model.blocks import DraftBlock, drafted
from pincite.research.model.editing import EditableSection, Editor
from pincite.research.model.leads import with_leads
from pincite.research.model.outline import Part, early_parts, outline_prompt, outlined
from pincite.research.model.outputs import Outline
from pincite.research.model.parts import ANSWER_SENTENCES, PartText, PartWriter, Sight, grouped
from pincite.research.model.sentences import SentenceProver
from pincite.research.model.shown import with_places
from pincite.research.model.style import WORDS
from pincite.research.telling import tell_section
from pincite.runtime.recovery import first_failure
from pincite.text.tokens import words

# Shown to the model at once, the surest of the run; the rest stays in the record.
MAX_CLAIMS: Final = 80
_UNTOLD: Final = "proven, and left out of the report for its order or length"


@dataclass(frozen=True, slots=True)
class _Draft:
    """A part written while rounds went on."""

    heading: str
    text: PartText


@dataclass(slots=True)
class _Room:
    """What a report still holds: words, and sentences that were not said yet."""

    left: int
    said: set[str]

    def takes(self, line: Line) -> bool:
        """Whether the line is new; it is said then."""
        mine = " ".join(words(line.text)).lower()
        if mine in self.said:
            return False
        self.said.add(mine)
        return True

    def holds(self, line: Line) -> bool:
        """Whether there is room for the line; it is taken then."""
        size = len(line.text.split())
        if size > self.left:
            return False
        self.left -= size
        return True


class ModelWriter:
    """Has a model outline, write and edit; every sentence is proven, or its claims stand in their own words.

    Parts that are closed while other parts still need a round are written then (`draft`) and not again.

    Args:
        calls: the models.
        prover: decides about every sentence.
        events: each section is told as soon as it and those before it are ready, and again when the edit changed it.
        concurrency: calls that write at the same time.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver, events: EventSink, *, concurrency: int = 8) -> None:
        self._calls = calls
        self._prover = prover
        self._parts = PartWriter(calls, prover)
        self._editor = Editor(calls, prover)
        self._events = events
        self._concurrency = concurrency
        self._begun: set[str] = set()
        self._drafts: dict[str, _Draft] = {}

    async def draft(self, task: Task, progress: Progress) -> None:
        """Write the parts of `progress` that are not begun yet, and tell each one when it is ready."""
        self._prover.take_up(progress.pages)
        offered = _offered(_best(progress.claims))
        wanted = early_parts(progress, offered, self._begun)
        self._begun |= set(wanted)

        names = {id(part): name for name, part in wanted.items()}

        async def write(parts: Sequence[Part]) -> None:
            texts = await self._parts.write(task, parts, offered, progress, Sight(tuple(parts), offered))
            for part, text in zip(parts, texts, strict=True):
                if text.by_model and text.lines:
                    self._drafts[names[id(part)]] = _Draft(part.heading, text)
                    await tell_section(self._events, part.heading, [line.text for line in text.lines], early=True)

        with first_failure():
            async with anyio.create_task_group() as group:
                for parts in grouped(list(wanted.values())):
                    group.start_soon(write, parts)

    async def write(self, task: Task, progress: Progress, metadata: ReportMetadata) -> Report:
        """The report that states proven claims only; `insufficient_evidence` when there are none.

        Errors: those of `ModelCalls.ask`, when the outline can't be had.
        """
        self._prover.take_up(progress.pages)
        items = _best(progress.claims)
        gaps = _unproven(progress)
        if not items:
            nothing = Content(gaps=gaps, parts=_part_states(progress, ()))
            return assemble(task, progress, metadata, nothing, mode=Mode.MODEL)
        # What no site confirmed closes the report, in the words that were proven.
        unsure = [item for item in items if item.unresolved] if any(not item.unresolved for item in items) else []
        offered = _offered([item for item in items if item not in unsure])
        answer = await self._calls.ask(
            ModelRole.WRITER, outline_prompt(task, progress, offered), Outline, deadline_s=progress.seconds_left
        )
        drafts = await self._standing(offered)
        told = {item.claim.claim_id for _, text in drafts for line in text.lines for item in line.items}
        early = {name for name, item in offered.items() if item.claim.claim_id in told}
        parts = outlined(answer, offered, task, progress, early)
        texts, progress = await self._write_all(task, parts, offered, progress)
        written, texts = _with_drafts(parts, texts, drafts, offered)
        content = await self._edited(task, progress, offered, written, texts)
        uncertain = tuple(Line(item.claim.text, (item,), opens=True) for item in unsure)
        content = replace(
            content,
            sections=(*content.sections, *([DraftedSection("", uncertain, SectionKind.UNCERTAIN)] if unsure else [])),
            gaps=(*gaps, *content.gaps),
            parts=_part_states(progress, tuple(content.printed())),
            rejected=(*content.rejected, *_untold(progress.claims, content)),
            written_by=", ".join(self._parts.authors),
        )
        return assemble(task, progress, metadata, with_places(content, progress.pages), mode=Mode.MODEL)

    async def _standing(self, offered: Mapping[str, VerifiedClaim]) -> list[tuple[Part, PartText]]:
        """The drafts with the blocks that hold for the claims as they are now."""
        found: list[tuple[Part, PartText]] = []
        for _, draft in sorted(self._drafts.items()):
            blocks = await self._parts.still(draft.text.blocks, offered)
            if blocks:
                found.append((Part(draft.heading, ()), replace(draft.text, blocks=blocks)))
        return found

    async def _write_all(
        self, task: Task, parts: Sequence[Part], offered: Mapping[str, VerifiedClaim], progress: Progress
    ) -> tuple[list[PartText], Progress]:
        """All parts, some in a call and calls side by side, each told once those before it are.

        Also the progress with its leads described, which is done meanwhile.
        """
        texts: list[PartText | None] = [None] * len(parts)
        told = 0
        limiter = anyio.CapacityLimiter(self._concurrency)
        telling = anyio.Lock()
        sight = Sight(tuple(parts), offered)

        async def write(first: int, together: Sequence[Part]) -> None:
            nonlocal told
            async with limiter:
                made = await self._parts.write(task, together, offered, progress, sight)
                texts[first : first + len(made)] = made
            async with telling:
                while told < len(parts) and (ready := texts[told]) is not None:
                    if parts[told].heading and ready.lines:
                        await tell_section(self._events, parts[told].heading, [line.text for line in ready.lines])
                    told += 1

        found = progress

        async def describe() -> None:
            nonlocal found
            found = await with_leads(progress, self._calls)

        with first_failure():
            async with anyio.create_task_group() as group:
                first = 0
                for together in grouped(parts):
                    group.start_soon(write, first, together)
                    first += len(together)
                group.start_soon(describe)
        return [text for text in texts if text is not None], found

    async def _edited(
        self,
        task: Task,
        progress: Progress,
        offered: Mapping[str, VerifiedClaim],
        parts: Sequence[Part],
        texts: Sequence[PartText],
    ) -> Content:
        """The report's content: no sentence twice, no more words than wanted, edited once as a whole."""
        room = _Room(WORDS[task.style.length], set())
        answer: list[Line] = []
        sections: list[EditableSection] = []
        gaps: list[Gap] = []
        rejected: list[RejectedClaim] = []
        for part, text in zip(parts, texts, strict=True):
            rejected += text.rejected
            gaps += [Gap(part.heading, text.failure)] if text.failure else []
            if part.heading:
                blocks = tuple(_fitting(text.blocks, room, rejected))
                if any(line.items for block in blocks for line in block.lines()):
                    sections.append(EditableSection(part.heading, blocks))
                continue
            # The direct answer has no connectives, and no more than a few sentences.
            stating = [line for line in text.lines if line.items and room.takes(line)]
            answer = [line for line in stating[:ANSWER_SENTENCES] if room.holds(line)]
            over = f"beyond {ANSWER_SENTENCES} sentences of direct answer"
            rejected += [
                RejectedClaim(line.text, VerdictStatus.SUPPORTED, over) for line in stating if line not in answer
            ]
        if not answer and sections:
            answer, sections = _lifted(sections)
        edited = await self._editor.edit(task, answer, sections, offered, progress)
        for at in sorted(edited.changed):
            section = edited.sections[at]
            lines = [line.text for block in section.blocks for line in block.lines()]
            await tell_section(self._events, section.heading, lines, revised=True)
        return Content(
            tuple(answer),
            tuple(drafted(section.heading, section.blocks) for section in edited.sections),
            tuple(dict.fromkeys(gaps)),
            rejected=tuple(dict.fromkeys([*rejected, *edited.rejected])),
        )


def _fitting(blocks: Sequence[DraftBlock], room: _Room, rejected: list[RejectedClaim]) -> list[DraftBlock]:
    """The blocks with what is new and fits; a table stays whole or goes, and so does code."""
    kept: list[DraftBlock] = []
    for block in blocks:
        if block.form is BlockForm.EXCERPT and not all(map(room.takes, block.lines())):
            continue  # the same code stands in a section before
        if block.form in (BlockForm.TABLE, BlockForm.EXCERPT):
            size = sum(len(line.text.split()) for line in block.lines())
            if size <= room.left:
                room.left -= size
                kept.append(block)
                continue
            rejected += [_over(line) for line in block.lines()]
            continue
        items: list[tuple[Line, ...]] = []
        for item in block.items:
            lines: list[Line] = []
            for line in item:
                if not room.takes(line):
                    continue
                if room.holds(line):
                    lines.append(line)
                else:
                    rejected.append(_over(line))
            items += [tuple(lines)] if lines else []
        if items:
            kept.append(replace(block, items=tuple(items)))
    return kept


def _over(line: Line) -> RejectedClaim:
    return RejectedClaim(line.text, VerdictStatus.SUPPORTED, "beyond the length of the report")


def _lifted(sections: Sequence[EditableSection]) -> tuple[list[Line], list[EditableSection]]:
    """The first sentence that states something as the direct answer, and the sections without it."""
    for at, section in enumerate(sections):
        for number, block in enumerate(section.blocks):
            line = next((line for line in block.lines() if line.items), None)
            if block.form in (BlockForm.TABLE, BlockForm.EXCERPT) or line is None:
                continue
            items = tuple(tuple(other for other in item if other is not line) for item in block.items)
            left = replace(block, items=tuple(item for item in items if item))
            blocks = [*section.blocks[:number], *([left] if left.items else []), *section.blocks[number + 1 :]]
            rest = replace(section, blocks=tuple(blocks))
            stating = any(line.items for block in rest.blocks for line in block.lines())
            return [line], [*sections[:at], *([rest] if stating else []), *sections[at + 1 :]]
    return [], list(sections)


def _offered(items: Sequence[VerifiedClaim]) -> dict[str, VerifiedClaim]:
    return {f"c{number}": item for number, item in enumerate(items, start=1)}


def _with_drafts(
    parts: Sequence[Part],
    texts: Sequence[PartText],
    drafts: Sequence[tuple[Part, PartText]],
    offered: Mapping[str, VerifiedClaim],
) -> tuple[list[Part], list[PartText]]:
    """The direct answer, the drafts, then the sections."""
    rows = [(parts[0], texts[0]), *drafts, *zip(parts[1:], texts[1:], strict=True)]
    return [part for part, _ in rows], [text for _, text in rows]


def _best(claims: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """The claims that may be printed, those that answer and stand alone first, then the surest; none twice."""
    kept: dict[str, VerifiedClaim] = {}
    printable = [item for item in claims if item.printable]
    for item in sorted(printable, key=lambda i: (i.answers is False, i.stands_alone is False, -i.claim.confidence)):
        kept.setdefault(" ".join(words(item.claim.text)).lower(), item)
    return list(kept.values())[:MAX_CLAIMS]


def _unproven(progress: Progress) -> tuple[Gap, ...]:
    """The parts of the question for which claims were made of which none holds, and those that were dropped."""
    made = {item.claim.sub_question for item in progress.claims}
    holding = {item.claim.sub_question for item in progress.claims if item.printable}
    unproven = [
        Gap(part.text, "what was found was not proven")
        for part in progress.plan.sub_questions
        if part.text in made - holding
    ]
    return (*unproven, *(Gap(text, f"left out of the plan: {reason}") for text, reason in progress.plan.left_out))


def _part_states(progress: Progress, printed: Sequence[VerifiedClaim]) -> tuple[ReportPart, ...]:
    """What became of each part: answered by a printed claim that a judge (where there is one) says answers it."""
    found: list[ReportPart] = []
    for part in progress.plan.sub_questions:
        mine = [item for item in printed if item.claim.sub_question == part.text]
        if any(item.answers is not False for item in mine):
            found.append(ReportPart(part.text, PartStatus.ANSWERED))
        elif mine:
            found.append(ReportPart(part.text, PartStatus.PARTLY, "no statement answers it directly"))
        else:
            found.append(ReportPart(part.text, PartStatus.NOT_HERE))
    return tuple(found)


def _untold(claims: Sequence[VerifiedClaim], content: Content) -> list[RejectedClaim]:
    """The proven claims that no printed sentence tells."""
    told = {item.claim.claim_id for item in content.printed()}
    said = {" ".join(words(line.text)).lower() for line in content.lines()}
    return [
        RejectedClaim(item.claim.text, item.verdict.status, _UNTOLD)
        for item in claims
        if item.printable and item.claim.claim_id not in told and " ".join(words(item.claim.text)).lower() not in said
    ]

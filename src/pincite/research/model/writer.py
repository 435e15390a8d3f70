"""Verified claims to a report with a model: it orders and phrases, every sentence is checked after it was written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Gap, Imprint, Progress, Task
from pincite.domain.report import Mode, RejectedClaim, Report
from pincite.ports import EventSink, ModelCalls
from pincite.research.assembly import Content, DraftedSection, Line, assemble
from pincite.research.extractive.closing import split_off
from pincite.research.model.leads import with_leads
from pincite.research.model.outline import Part, early_parts, outlined
from pincite.research.model.outputs import Outline
from pincite.research.model.parts import ANSWER_SENTENCES, PartText, PartWriter
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import SentenceProver
from pincite.research.model.wording import plain_line
from pincite.research.telling import tell_section
from pincite.runtime.failures import first_failure
from pincite.text.tokens import terms, words

MAX_CLAIMS = 60
MAX_WORDS = 1_200


@dataclass(frozen=True, slots=True)
class _Draft:
    """A part written while rounds went on."""

    heading: str
    text: PartText


class ModelWriter:
    """Has a model outline and write; every sentence is proven, or its claims stand in their own words.

    Parts that are closed while other parts still need a round are written then (`draft`) and not again.

    Args:
        calls: the models.
        prover: decides about every sentence.
        events: each section is told as soon as it and those before it are ready.
        concurrency: parts written at the same time.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver, events: EventSink, *, concurrency: int = 8) -> None:
        self._calls = calls
        self._prover = prover
        self._parts = PartWriter(calls, prover)
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

        async def write(name: str, part: Part) -> None:
            text = await self._parts.write(task, part, offered, progress)
            if text.by_model and text.lines:
                self._drafts[name] = _Draft(part.heading, text)
                await tell_section(self._events, part.heading, [line.text for line in text.lines], early=True)

        with first_failure():
            async with anyio.create_task_group() as group:
                for name, part in wanted.items():
                    group.start_soon(write, name, part)

    async def write(self, task: Task, progress: Progress, imprint: Imprint) -> Report:
        """The report that states verified claims only; `insufficient_evidence` when there are none.

        Errors: those of `ModelCalls.ask`, when the outline can't be had.
        """
        self._prover.take_up(progress.pages)
        items = _best(progress.claims)
        if not items:
            return assemble(task, progress, imprint, Content(gaps=_unproven(progress)), mode=Mode.MODEL)
        offered = _offered(items)
        answer = await self._calls.ask(
            ModelRole.WRITER, _outline_prompt(task, progress, offered), Outline, deadline_s=progress.seconds_left
        )
        drafts = await self._standing(offered)
        told = {item.claim.claim_id for _, text in drafts for line in text.lines for item in line.items}
        early = {name for name, item in offered.items() if item.claim.claim_id in told}
        parts, closing = _closed(outlined(answer, offered, task, progress, early), offered)
        texts, progress = await self._write_all(task, parts, offered, progress)
        written = _content(*_with_drafts(parts, texts, drafts, offered))
        content = replace(
            written,
            sections=(*written.sections, *closing),
            gaps=(*_unproven(progress), *written.gaps),
            written_by=", ".join(self._parts.authors),
        )
        return assemble(task, progress, imprint, content, mode=Mode.MODEL)

    async def _standing(self, offered: dict[str, VerifiedClaim]) -> list[tuple[Part, PartText]]:
        """The drafts with the sentences that hold for the claims as they are now."""
        found: list[tuple[Part, PartText]] = []
        for _, draft in sorted(self._drafts.items()):
            lines = await self._parts.still(draft.text.lines, offered)
            if lines:
                found.append((Part(draft.heading, ()), replace(draft.text, lines=lines)))
        return found

    async def _write_all(
        self, task: Task, parts: Sequence[Part], offered: dict[str, VerifiedClaim], progress: Progress
    ) -> tuple[list[PartText], Progress]:
        """All parts side by side, each told once those before it are; and the progress with its leads described."""
        texts: list[PartText | None] = [None] * len(parts)
        told = 0
        limiter = anyio.CapacityLimiter(self._concurrency)
        telling = anyio.Lock()

        async def write(index: int) -> None:
            nonlocal told
            async with limiter:
                texts[index] = await self._parts.write(task, parts[index], offered, progress)
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
                for index in range(len(parts)):
                    group.start_soon(write, index)
                group.start_soon(describe)
        return [text for text in texts if text is not None], found


def _offered(items: Sequence[VerifiedClaim]) -> dict[str, VerifiedClaim]:
    return {f"c{number}": item for number, item in enumerate(items, start=1)}


def _with_drafts(
    parts: Sequence[Part],
    texts: Sequence[PartText],
    drafts: Sequence[tuple[Part, PartText]],
    offered: dict[str, VerifiedClaim],
) -> tuple[list[Part], list[PartText]]:
    """The direct answer, the drafts without what it tells, then the sections."""
    said = {offered[name].claim.claim_id for name in parts[0].claims}
    kept = [
        (part, replace(text, lines=tuple(line for line in text.lines if {i.claim.claim_id for i in line.items} - said)))
        for part, text in drafts
    ]
    rows = [(parts[0], texts[0]), *kept, *zip(parts[1:], texts[1:], strict=True)]
    return [part for part, _ in rows], [text for _, text in rows]


def _best(claims: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """The claims that may be printed, surest first, none twice."""
    kept: dict[str, VerifiedClaim] = {}
    for item in sorted((item for item in claims if item.printable), key=lambda item: -item.claim.confidence):
        kept.setdefault(" ".join(terms(item.claim.text)), item)
    return list(kept.values())[:MAX_CLAIMS]


def _unproven(progress: Progress) -> tuple[Gap, ...]:
    """The parts of the question for which claims were made of which none holds."""
    made = {item.claim.sub_question for item in progress.claims}
    holding = {item.claim.sub_question for item in progress.claims if item.printable}
    return tuple(
        Gap(part.text, "what was found did not pass its checks")
        for part in progress.plan.sub_questions
        if part.text in made - holding
    )


def _closed(
    parts: Sequence[Part], offered: dict[str, VerifiedClaim]
) -> tuple[tuple[Part, ...], tuple[DraftedSection, ...]]:
    """The parts to write without the claims that close a report, and those: told in the words that were verified."""
    answer, *sections = parts
    names = {id(item): name for name, item in offered.items()}
    kept, closing = split_off([(part.heading, [offered[name] for name in part.claims]) for part in sections])
    written = [Part(heading, tuple(names[id(item)] for item in items)) for heading, items in kept if items]
    lines = tuple(
        DraftedSection("", tuple(Line(item.claim.text, (item,), opens=True) for item in items), kind)
        for kind, items in closing.sections()
    )
    return (answer, *written), lines


def _content(parts: Sequence[Part], texts: Sequence[PartText]) -> Content:
    """The report's lines: no sentence twice, 1,200 words at most, and what is not printed, with the reason."""
    answer: tuple[Line, ...] = ()
    sections: list[tuple[str, tuple[Line, ...]]] = []
    gaps: list[Gap] = []
    said: set[str] = set()
    rejected: list[RejectedClaim] = []
    room = MAX_WORDS
    for part, text in zip(parts, texts, strict=True):
        lines: list[Line] = []
        for line in text.lines:
            if not part.heading and not line.items:
                continue  # the direct answer has no connectives
            mine = " ".join(words(line.text)).lower()
            if mine in said:
                continue
            said.add(mine)
            size = len(line.text.split())
            if size > room:
                rejected.append(RejectedClaim(line.text, VerdictStatus.SUPPORTED, f"beyond {MAX_WORDS} words in all"))
                continue
            room -= size
            lines.append(line)
        if part.heading:
            sections += [(part.heading, tuple(lines))] if any(line.items for line in lines) else []
        else:
            answer = tuple(lines[:ANSWER_SENTENCES])
            rejected += [
                RejectedClaim(
                    line.text, VerdictStatus.SUPPORTED, f"beyond {ANSWER_SENTENCES} sentences of direct answer"
                )
                for line in lines[ANSWER_SENTENCES:]
            ]
        rejected += text.rejected
        gaps += [Gap(part.heading, text.failure)] if text.failure else []
    if not answer and sections:
        heading, lines_ = sections[0]
        answer = lines_[:1]
        sections[0] = (heading, lines_[1:])
        sections = [section for section in sections if section[1]]
    drafted = tuple(DraftedSection(heading, lines) for heading, lines in sections)
    return Content(answer, drafted, tuple(dict.fromkeys(gaps)), rejected=tuple(dict.fromkeys(rejected)))


def _outline_prompt(task: Task, progress: Progress, offered: dict[str, VerifiedClaim]) -> Prompt:
    parts = "\n".join(f"- {part.text}" for part in progress.plan.sub_questions)
    return Prompt(
        "outline",
        VERSIONS["outline"],
        instructions("outline"),
        context=(f"Question: {plain_line(task.question)}", f"Parts of the question:\n{parts}"),
        material=(Material("Statements", tuple((name, item.claim.text) for name, item in offered.items())),),
        max_tokens_out=1_000,
    )

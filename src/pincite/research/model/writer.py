"""Verified claims to a report with a model: it orders and phrases, every sentence is checked after it was written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, PinciteError, ProviderError, RemoteError
from pincite.domain.events import EventType
from pincite.domain.evidence import Relation, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Gap, Imprint, Progress, Task
from pincite.domain.report import Mode, Report, SectionKind
from pincite.ports import ClaimChecker, EventSink, ModelCalls
from pincite.research.assembly import Content, Line, assemble
from pincite.research.extractive.closing import split_off
from pincite.research.model.outline import Part, outlined
from pincite.research.model.outputs import Outline, Repairs, Written
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Checked, check_sentence
from pincite.research.model.wording import plain_line
from pincite.runtime.failures import first_failure
from pincite.text.tokens import terms

MAX_CLAIMS = 60
MAX_WORDS = 1_200
ANSWER_SENTENCES = 3
_QUOTE_CHARS = 400
_SAME = 0.9
_PASSING = (ProviderError, RemoteError, BudgetExhausted)


@dataclass(frozen=True, slots=True)
class _PartText:
    """A written part: the sentences that hold, and what had to be dropped."""

    lines: tuple[Line, ...]
    dropped: tuple[Checked, ...] = ()


class ModelWriter:
    """Has a model outline and write; a sentence that its claims' quotes do not carry is rewritten once, then dropped.

    Args:
        calls: the models.
        checker: decides about every sentence.
        events: each section is told as soon as it and those before it are ready.
        concurrency: parts written at the same time.
    """

    def __init__(self, calls: ModelCalls, checker: ClaimChecker, events: EventSink, *, concurrency: int = 8) -> None:
        self._calls = calls
        self._checker = checker
        self._events = events
        self._concurrency = concurrency
        self._checking = anyio.Lock()

    async def write(self, task: Task, progress: Progress, imprint: Imprint) -> Report:
        """The report that states verified claims only; `insufficient_evidence` when there are none.

        Errors: those of `ModelCalls.ask`, when the outline can't be had.
        """
        items = _best(progress.claims)
        if not items:
            return assemble(task, progress, imprint, Content(gaps=_unproven(progress)), mode=Mode.MODEL)
        offered = {f"c{number}": item for number, item in enumerate(items, start=1)}
        answer = await self._calls.ask(
            ModelRole.WRITER, _outline_prompt(task, progress, offered), Outline, deadline_s=progress.seconds_left
        )
        parts, closing = _closed(outlined(answer, offered, task, progress), offered)
        texts = await self._write_all(task, parts, offered, progress)
        written = _content(parts, texts)
        content = replace(written, closing=closing, gaps=(*_unproven(progress), *written.gaps))
        return assemble(task, progress, imprint, content, mode=Mode.MODEL)

    async def _write_all(
        self, task: Task, parts: Sequence[Part], offered: dict[str, VerifiedClaim], progress: Progress
    ) -> list[_PartText]:
        """All parts side by side; each is told once those before it are ready."""
        texts: list[_PartText | None] = [None] * len(parts)
        told = 0
        limiter = anyio.CapacityLimiter(self._concurrency)
        telling = anyio.Lock()

        async def write(index: int) -> None:
            nonlocal told
            async with limiter:
                texts[index] = await self._write_part(task, parts[index], offered, progress)
            async with telling:
                while told < len(parts) and (ready := texts[told]) is not None:
                    if parts[told].heading and ready.lines:
                        await self._tell(parts[told].heading, ready.lines)
                    told += 1

        with first_failure():
            async with anyio.create_task_group() as group:
                for index in range(len(parts)):
                    group.start_soon(write, index)
        return [text for text in texts if text is not None]

    async def _write_part(
        self, task: Task, part: Part, offered: dict[str, VerifiedClaim], progress: Progress
    ) -> _PartText:
        mine = {name: offered[name] for name in part.claims}
        try:
            written = await self._calls.ask(
                ModelRole.WRITER, _part_prompt(task, part, mine), Written, deadline_s=progress.seconds_left
            )
        except _PASSING as error:
            return _own_words(mine, error)
        checked = await self._check([(s.text, s.claims) for s in written.sentences], mine)
        failed = [item for item in checked if item.why]
        if failed:
            repaired = await self._repair(failed, mine, progress)
            fixed = iter(repaired)
            checked = [next(fixed) if item.why else item for item in checked]
        dropped = tuple(item for item in checked if item.why)
        told = {claim.claim.claim_id for item in checked if not item.why for claim in item.items}
        lines: list[Line] = []
        for item in checked:
            lines += [item.line] if not item.why else _in_own_words(item.items, told)
        return _PartText(tuple(lines or _in_own_words(tuple(mine.values()), told)), dropped)

    async def _repair(
        self, failed: Sequence[Checked], mine: dict[str, VerifiedClaim], progress: Progress
    ) -> list[Checked]:
        """The failed sentences written anew, once; those that fail again keep their reason."""
        try:
            answer = await self._calls.ask(
                ModelRole.WRITER, _rewrite_prompt(failed, mine), Repairs, deadline_s=progress.seconds_left
            )
        except _PASSING:
            return list(failed)
        repairs = {repair.id: repair for repair in answer.repairs}
        found: list[Checked] = []
        for number, old in enumerate(failed, start=1):
            repair = repairs.get(f"r{number}")
            new = (await self._check([(repair.text, repair.claims)], mine))[0] if repair else old
            found.append(new if repair and not new.why else old)
        return found

    async def _check(
        self, sentences: Sequence[tuple[str, Sequence[str]]], mine: dict[str, VerifiedClaim]
    ) -> list[Checked]:
        def check() -> list[Checked]:
            return [check_sentence(text, ids, mine, self._checker) for text, ids in sentences]

        async with self._checking:  # a checker serves one thread at a time
            return await anyio.to_thread.run_sync(check)

    async def _tell(self, heading: str, lines: Sequence[Line]) -> None:
        text = " ".join(line.text for line in lines)
        await self._events.emit(EventType.SECTION_READY, {"heading": heading, "sentences": len(lines), "text": text})


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
) -> tuple[tuple[Part, ...], tuple[tuple[SectionKind, tuple[Line, ...]], ...]]:
    """The parts to write without the claims that close a report, and those: told in the words that were verified."""
    answer, *sections = parts
    names = {id(item): name for name, item in offered.items()}
    kept, closing = split_off([(part.heading, [offered[name] for name in part.claims]) for part in sections])
    written = [Part(heading, tuple(names[id(item)] for item in items)) for heading, items in kept if items]
    lines = tuple(
        (kind, tuple(Line(item.claim.text, (item,), opens=True) for item in items))
        for kind, items in closing.sections()
    )
    return (answer, *written), lines


def _content(parts: Sequence[Part], texts: Sequence[_PartText]) -> Content:
    """The report's lines: no sentence twice, 1,200 words at most, empty sections left out, what was dropped as gaps."""
    answer: tuple[Line, ...] = ()
    sections: list[tuple[str, tuple[Line, ...]]] = []
    gaps: list[Gap] = []
    said: list[set[str]] = []
    room = MAX_WORDS
    for part, text in zip(parts, texts, strict=True):
        lines: list[Line] = []
        for line in text.lines:
            mine = set(terms(line.text))
            size = len(line.text.split())
            if size > room or any(mine and len(mine & other) >= _SAME * len(mine | other) for other in said):
                continue
            said.append(mine)
            room -= size
            lines.append(line)
        if part.heading:
            sections += [(part.heading, tuple(lines))] if lines else []
        else:
            answer = tuple(lines[:ANSWER_SENTENCES])
        gaps += _dropped(part, text)
    if not answer and sections:
        heading, lines_ = sections[0]
        answer = lines_[:1]
        sections[0] = (heading, lines_[1:])
        sections = [section for section in sections if section[1]]
    return Content(answer, tuple(sections), gaps=tuple(dict.fromkeys(gaps)))


def _dropped(part: Part, text: _PartText) -> list[Gap]:
    """What had to be left out of a part. The words of a false sentence are not repeated here."""
    failed = [Gap(part.heading, item.why) for item in text.dropped if not item.text]
    count = sum(bool(item.text) for item in text.dropped)
    if not count:
        return failed
    told = "1 sentence was" if count == 1 else f"{count} sentences were"
    return [*failed, Gap(part.heading, f"{told} dropped after the check: the passages do not say it")]


def _in_own_words(items: Sequence[VerifiedClaim], told: set[str]) -> list[Line]:
    """The claims that no sentence tells, in the words in which they were verified; `told` grows."""
    lines = [Line(item.claim.text, (item,)) for item in items if item.claim.claim_id not in told]
    told.update(item.claim.claim_id for item in items)
    return lines


def _own_words(mine: dict[str, VerifiedClaim], error: PinciteError) -> _PartText:
    """The claims in the words in which they were verified, for a part that the model could not write."""
    lines = tuple(Line(item.claim.text, (item,)) for item in mine.values())
    return _PartText(lines, (Checked("", (), f"the model failed ({error.reason}); the statements stand as verified"),))


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

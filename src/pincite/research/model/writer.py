"""A composed report to a proven one: sentences are judged by section, mended or left out, and laid out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import anyio

from pincite.domain.errors import ModelBadOutput
from pincite.domain.evidence import Claim, Proof, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.layout import BlockForm, SectionKind
from pincite.domain.plan import Conflict, ConflictSide, Gap, Progress, ReadPage, ReportMetadata, Task
from pincite.domain.report import Mode, PartStatus, RejectedClaim, Report, ReportPart
from pincite.ports import EventSink, ModelCalls
from pincite.research.assembly import Content, DraftedSection, Line, assemble
from pincite.research.model.blocks import (
    DraftBlock,
    Planned,
    Room,
    drafted,
    laid_out,
    leaning,
    left_open,
    lifted,
    orphaned,
    planned,
)
from pincite.research.model.leads import with_leads
from pincite.research.model.lines import Line as ShownLine
from pincite.research.model.manuscript import Manuscript, Said, claim_of, sentences_of
from pincite.research.model.outputs import ComposedSection, ComposedSentence
from pincite.research.model.proving import Mender
from pincite.research.model.sentences import Checked, Proposed, SentenceProver
from pincite.research.model.shown import code_among, part_of, with_places
from pincite.research.model.style import WORDS
from pincite.research.model.wording import code_names, foreign, heading_of, plain_line, unmarked
from pincite.research.records import emit_section
from pincite.research.state import within_quotable
from pincite.runtime.recovery import first_failure
from pincite.text.tokens import terms

ANSWER_SENTENCES: Final = 5
ANSWER: Final = "Answer"
# So many go to a judge at once (`judges.model`): sections are proven together up to that.
_TOGETHER: Final = 32
# As without a model (`research.extractive.conflicts`).
_MAX_CONFLICTS: Final = 6
# Half of the words of a part and of its queries in one section: queries word a part in several ways.
_TOLD: Final = 0.5
_TOO_MUCH: Final = "more than a part of a report may hold"
_DEFAULT: Final = "What the sources say"
_ORPHANED: Final = "it leans on the sentence before it, which is left out: name what it is about"


@dataclass(frozen=True, slots=True)
class _Section:
    """A section to be proven; the direct answer has no heading."""

    heading: str
    blocks: tuple[Planned, ...]

    def proposed(self) -> list[Proposed]:
        """All that is to be proven of it."""
        return [said for block in self.blocks for said in block.proposed()]


class ModelWriter:
    """Proves what was composed; what is not proven is mended, stands in its passage's own words, or is left out.

    Args:
        calls: the models.
        manuscript: what was composed.
        prover: decides about every sentence.
        events: each section is told as soon as it and those before it are proven.
        noted: what went wrong until the last sentence was judged.
    """

    def __init__(
        self,
        calls: ModelCalls,
        manuscript: Manuscript,
        prover: SentenceProver,
        events: EventSink,
        noted: Callable[[], tuple[Gap, ...]] = tuple,
    ) -> None:
        self._calls = calls
        self._manuscript = manuscript
        self._prover = prover
        self._mender = Mender(calls, prover)
        self._events = events
        self._noted = noted
        self._told: dict[str, list[str]] = {}
        self._drafted: dict[Proposed, Checked] = {}
        self._unnamed: dict[tuple[str, str, str], Claim] = {}

    async def draft(self, task: Task, progress: Progress) -> None:
        """Prove and tell the sections that rest on `progress` alone, while another round goes on."""
        offered = self._offered(task, progress)
        sections, _ = self._planned(task, progress, offered)
        ready = [s for s in sections if s.heading and all(n in offered for p in s.proposed() for n in p.claims)]
        checked = await self._proven(ready, offered, progress, early=True)
        mended: dict[Said, Said] = {}
        refused: dict[Said, str] = {}
        for said in (said for section in ready for said in section.proposed()):
            one = checked[id(said)]
            if one.unanswered:
                continue  # nobody refused it: it is judged with the report
            now = said if one.why else replace(said, text=one.written, claims=one.proposed.claims)
            self._drafted[_alone(now)] = one
            if one.why:
                refused[said.text, said.claims] = f"{one.why}: {one.beyond}" if one.beyond else one.why
            elif now != said:
                mended[said.text, said.claims] = now.text, now.claims
        self._manuscript.take_proof(mended, refused)

    async def write(self, task: Task, progress: Progress, metadata: ReportMetadata) -> Report:
        """The report that states proven sentences only; `insufficient_evidence` when nothing was found.

        Errors: ModelBadOutput, when something was found and nothing of what was composed of it can be printed.
        """
        offered = self._offered(task, progress)
        sections, rejected = self._planned(task, progress, offered)
        checked: dict[int, Checked] = {}
        found = progress

        async def describe() -> None:
            nonlocal found
            found = await with_leads(progress, self._calls)

        async def prove() -> None:
            checked.update(await self._proven(sections, offered, progress))

        with first_failure():
            async with anyio.create_task_group() as group:
                group.start_soon(prove)
                group.start_soon(describe)
        content = self._content(sections, checked, rejected)
        for heading in sorted(self._told.keys() - {section.heading or ANSWER for section in sections}):
            await emit_section(self._events, heading, [], revised=True)
        if self._manuscript.claims and not any(content.printed()):
            raise ModelBadOutput(
                "nothing of what the model composed can be printed", reason="no_usable_claim", retryable=False
            )
        conflicts = self._conflicts(checked)
        progress = replace(
            found,
            claims=_with_printed(found.claims, content),
            gaps=tuple(dict.fromkeys((*found.gaps, *self._noted()))),
            conflicts=tuple(dict.fromkeys((*found.conflicts, *conflicts)))[: max(_MAX_CONFLICTS, len(found.conflicts))],
        )
        content = replace(
            content,
            parts=self._parts(progress, checked, content),
            written_by=", ".join(self._manuscript.authors),
            code_names=code_names(self._manuscript.texts()),
        )
        return assemble(task, progress, metadata, with_places(content, progress.pages), mode=Mode.MODEL)

    def _offered(self, task: Task, progress: Progress) -> dict[str, VerifiedClaim]:
        """The lines that sentences may rest on: those they name, as they were verified, and others of these pages."""
        self._prover.take_up(progress.pages, task.question)
        verified = {item.claim.claim_id: item for item in progress.claims}
        offered: dict[str, VerifiedClaim] = {}
        for name, claim in self._manuscript.claims.items():
            item = verified.get(claim.claim_id)
            if item is not None and item.printable:
                offered[name] = item
        standing = {e.quote.document_id for item in offered.values() for e in item.claim.evidence}
        pages = {page.url: page for page in progress.pages if page.document.document_id in standing}
        part = progress.plan.sub_questions[0].text
        for name, line in self._manuscript.book.lines.items():
            if name not in self._manuscript.claims and line.url in pages and still_stands(line, pages[line.url]):
                # Asked for by early sections and by the report, for several hundred lines.
                key = name, part, pages[line.url].document.document_id
                if key not in self._unnamed:
                    self._unnamed[key] = claim_of(line, part, pages[line.url])
                for allowed in within_quotable((self._unnamed[key],), (pages[line.url],)):
                    verdict = Verdict(VerdictStatus.SUPPORTED, score=1.0)
                    offered[name] = VerifiedClaim(allowed, verdict, 1, proof=Proof.QUOTED)
        return offered

    def _planned(
        self, task: Task, progress: Progress, offered: Mapping[str, VerifiedClaim]
    ) -> tuple[list[_Section], list[RejectedClaim]]:
        """The direct answer and the sections as blocks: nothing twice, no more words than a report holds."""
        parts = {part.sub_question_id: part.text for part in progress.plan.sub_questions}

        def propose(said: ComposedSentence) -> Proposed:
            return Proposed(said.text, said.lines, said.derived, question=parts.get(said.part, ""))

        room = Room(WORDS[task.style.length], set(), [])
        code = code_among(offered, progress.pages)

        def show(said: ComposedSentence) -> list[VerifiedClaim]:
            found = [part_of(code[name], said.text, progress.pages) for name in said.lines if name in code]
            # A page may set a command as a paragraph: named as code without a text it is shown as it stands.
            bare = [] if found or said.text.strip() else [offered[name] for name in said.lines if name in offered]
            return found or bare[:1]

        known = " ".join([task.question, *(item.claim.text for item in offered.values())])
        answer = tuple(said for said in leaning(self._manuscript.answer, propose) if said.claims)
        room.rejected += [
            RejectedClaim(said.text, VerdictStatus.UNCHECKED, f"beyond {ANSWER_SENTENCES} sentences of direct answer")
            for said in answer[ANSWER_SENTENCES:]
        ]
        sections: list[_Section] = []
        if opening := room.fitting(Planned(BlockForm.PARAGRAPH, (answer[:ANSWER_SENTENCES],))):
            sections.append(_Section("", (opening,)))
        for section in self._manuscript.sections:
            heading = _heading(section, known, parts)
            blocks, over = planned(section.blocks, propose, show, heading)
            room.rejected += [RejectedClaim(said.text, VerdictStatus.UNCHECKED, _TOO_MUCH) for said in over]
            fitting = tuple(found for block in blocks if (found := room.fitting(block)) is not None)
            if fitting:
                sections.append(_Section(heading, fitting))
        return sections, room.rejected

    async def _proven(
        self,
        sections: Sequence[_Section],
        offered: Mapping[str, VerifiedClaim],
        progress: Progress,
        *,
        early: bool = False,
    ) -> dict[int, Checked]:
        """What became of each sentence, by `id`: all are judged at once, and those that fail mended together."""
        checked = self._still(sections, offered)
        failing: set[int] = set()
        telling = anyio.Lock()
        told = 0

        async def tell() -> None:
            nonlocal told
            async with telling:
                while told < len(sections) and all(
                    id(said) in checked and id(said) not in failing for said in sections[told].proposed()
                ):
                    await self._tell(sections[told], checked, early=early)
                    told += 1

        async def prove(together: Sequence[_Section]) -> None:
            proposed = [said for section in together for said in section.proposed() if id(said) not in checked]
            found = await self._prover.prove(proposed, offered)
            checked.update(zip(map(id, proposed), found, strict=True))
            failing.update(id(said) for said, one in zip(proposed, found, strict=True) if one.why)
            await tell()

        with first_failure():
            async with anyio.create_task_group() as group:
                for together in _grouped(sections):
                    group.start_soon(prove, together)
        left = [said for section in sections for said in section.proposed() if id(said) in failing]
        if left:
            mended = await self._mender.mended([checked[id(said)] for said in left], offered, progress.seconds_left)
            checked.update(zip(map(id, left), mended, strict=True))
            await self._close(sections, checked, offered)
            failing.clear()
        for section in await self._reword_orphans(sections, checked, offered, progress.seconds_left):
            if section in sections[:told]:
                await self._tell(section, checked, early=early)
        await tell()
        return checked

    async def _reword_orphans(
        self,
        sections: Sequence[_Section],
        checked: dict[int, Checked],
        offered: Mapping[str, VerifiedClaim],
        seconds_left: float | None,
    ) -> list[_Section]:
        """Have sentences that lean on one that is left out say by themselves what they are about; whose sections."""
        found = [(section, *one) for section in sections for one in orphaned(section.blocks, checked)]
        alone = [
            replace(
                checked[id(said)],
                proposed=replace(checked[id(said)].proposed, after=stands, before=stands),
                line=None,
                why=_ORPHANED,
                verdict=VerdictStatus.UNSUPPORTED,
            )
            for _, said, stands in found
        ]
        mended = await self._mender.mended(alone, offered, seconds_left) if alone else []
        checked.update(zip((id(said) for _, said, _ in found), mended, strict=True))
        return [section for section, *_ in found]

    async def _close(
        self, sections: Sequence[_Section], checked: dict[int, Checked], offered: Mapping[str, VerifiedClaim]
    ) -> None:
        """Have sentences that announce code which is refused end with a full stop: proven anew, as they change."""
        opened = [said for section in sections for said in left_open(section.blocks, checked)]
        before = [checked[id(said)] for said in opened]
        closed = [replace(one.proposed, text=f"{one.proposed.text[:-1]}.") for one in before]
        for said, old, new in zip(opened, before, await self._prover.prove(closed, offered), strict=True):
            if old.line is not None and new.line is not None:  # its marks are no part of its text
                new = replace(new, line=replace(new.line, lead=old.line.lead, code=old.line.code))
            checked[id(said)] = new

    def _still(self, sections: Sequence[_Section], offered: Mapping[str, VerifiedClaim]) -> dict[int, Checked]:
        """What was proven while rounds went on, as far as the claims behind it are as they were."""
        known = {item.claim.claim_id: item for item in offered.values()}
        found: dict[int, Checked] = {}
        for said in (said for section in sections for said in section.proposed()):
            before = self._drafted.get(_alone(said))
            if before is not None and all(known.get(item.claim.claim_id) == item for item in before.items):
                found[id(said)] = before
        return found

    async def _tell(self, section: _Section, checked: Mapping[int, Checked], *, early: bool) -> None:
        """Tell a section that has something to say, and not twice the same."""
        heading = section.heading or ANSWER
        blocks = laid_out(section.blocks, checked, set())
        lines = [line.text for block in blocks for line in block.lines()]
        before = self._told.get(heading)
        if lines and lines != before:
            self._told[heading] = lines
            await emit_section(self._events, heading, lines, early=early, revised=before is not None)

    def _content(
        self, sections: Sequence[_Section], checked: Mapping[int, Checked], rejected: Sequence[RejectedClaim]
    ) -> Content:
        """What is printed, and what is not with the reason."""
        told = {item.claim.claim_id for found in checked.values() if found.line for item in found.line.items}
        answer: list[Line] = []
        drafts: list[tuple[str, list[DraftBlock]]] = []
        for section in sections:
            blocks = laid_out(section.blocks, checked, told)
            stating = any(line.items for block in blocks for line in block.lines())
            if not section.heading:
                answer = [line for block in blocks for line in block.lines() if line.items][:ANSWER_SENTENCES]
            elif stating:
                drafts.append((section.heading, list(blocks)))
        if not answer and drafts:
            answer, drafts = lifted(drafts)
        refused = [found.rejected() for found in checked.values() if found.why]
        # What no site confirmed says so at its own place (`UNRESOLVED_MARK`), under a heading where it stands alone.
        return Content(
            tuple(answer),
            tuple(
                _uncertain(section) if _all_unresolved(section) else section
                for section in (drafted(heading, blocks) for heading, blocks in drafts)
            ),
            rejected=tuple(dict.fromkeys([*rejected, *refused])),
        )

    def _conflicts(self, checked: Mapping[int, Checked]) -> list[Conflict]:
        """What sentences that are proven tell of pages that contradict each other."""
        tells = {unmarked(said.text).text.rstrip(".") for said in self._manuscript.sentences() if said.conflict}
        found: list[Conflict] = []
        for one in checked.values():
            if one.line is None or plain_line(one.proposed.text).rstrip(".") not in tells:
                continue
            # Every line: what the sentence tells of a page may stand in two of them.
            if len({item.claim.evidence[0].url for item in one.line.items}) > 1:
                sides = tuple(_side(item) for item in one.line.items)
                found.append(Conflict(sides, wording=one.line.text.rstrip("."), told=True))
        return found

    def _parts(self, progress: Progress, checked: Mapping[int, Checked], content: Content) -> tuple[ReportPart, ...]:
        """What became of each part: answered where a proven sentence answers it and nothing is said to be missing.

        A part that no sentence is marked for is told where a section has most words of it and of its queries.
        """
        proven = [found for found in checked.values() if found.line is not None and found.line.items]
        printed = list(content.printed())
        told = [
            set(terms(" ".join([drafted.heading, *(line.text for line in drafted.lines), *_names(drafted)])))
            for drafted in content.sections
        ]
        found: list[ReportPart] = []
        for part in progress.plan.sub_questions:
            saying = [one for one in proven if one.proposed.question == part.text]
            mine = bool(saying) or any(item.claim.sub_question == part.text for item in printed)
            missing = self._manuscript.missing.get(part.sub_question_id)
            wanted = set(terms(" ".join([part.text, *(query.text for query in part.queries)])))
            mine = mine or any(len(wanted & said) >= _TOLD * len(wanted) for said in told)
            if missing is None and mine and (not saying or any(one.answers is not False for one in saying)):
                found.append(ReportPart(part.text, PartStatus.ANSWERED))
            elif part.added:
                continue  # nobody asked for it: that it is missing is a gap, and takes nothing from the answer
            elif mine:
                what = plain_line(missing.what) if missing is not None else ""
                unsaid = f"a statement that answers “{part.text}” directly"
                found.append(ReportPart(part.text, PartStatus.PARTLY, what or unsaid))
            else:
                found.append(ReportPart(part.text, PartStatus.NOT_HERE))
        return tuple(found)


def _alone(said: Proposed) -> Proposed:
    """The sentence without the one before it, which has no part in its proof: it may be moved."""
    return replace(said, before="")


def still_stands(line: ShownLine, page: ReadPage) -> bool:
    """Whether the line is where it was: the page may have been captured anew since it was shown."""
    return page.document.text[line.span.start : line.span.end] == line.text


def _names(section: DraftedSection) -> Iterator[str]:
    """The names of the columns and rows of its tables."""
    for block in section.blocks:
        yield from block.header
        yield from block.rows


def _grouped(sections: Sequence[_Section]) -> list[list[_Section]]:
    """The sections in their order, as many together as a judge takes at once."""
    groups: list[list[_Section]] = []
    size = 0
    for section in sections:
        mine = len(section.proposed())
        if groups and size + mine <= _TOGETHER:
            groups[-1].append(section)
            size += mine
        else:
            groups.append([section])
            size = mine
    return groups


def _heading(section: ComposedSection, known: str, parts: Mapping[str, str]) -> str:
    """The proposed heading where it has no name that neither question nor pages have, else the part it is about.

    In German every noun looks like a name: so the part, which is in the language of the question, and not one line for
    all sections.
    """
    plain = next((parts[said.part] for said in sentences_of(section) if said.part in parts), _DEFAULT).rstrip(" .!")
    line = heading_of(section.heading.replace("`", ""), plain, known, " ".join(parts.values()))
    return plain[:1].upper() + plain[1:] if foreign(line, known) else line


def _all_unresolved(section: DraftedSection) -> bool:
    items = [item for line in section.lines for item in line.items]
    return bool(items) and all(item.unresolved for item in items)


def _uncertain(section: DraftedSection) -> DraftedSection:
    return replace(section, kind=SectionKind.UNCERTAIN)


def _with_printed(claims: Sequence[VerifiedClaim], content: Content) -> tuple[VerifiedClaim, ...]:
    """The claims of the run, and those that only a mended sentence rests on."""
    known = {item.claim.claim_id for item in claims}
    more = {item.claim.claim_id: item for item in content.printed() if item.claim.claim_id not in known}
    return (*claims, *more.values())


def _side(item: VerifiedClaim) -> ConflictSide:
    # One page a side is what a conflict is; only where more stand behind it is there something to count.
    counted = item.independent_sources if item.independent_sources > 1 else 0
    return ConflictSide(item.claim.text, item.claim.claim_id, counted)

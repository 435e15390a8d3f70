"""The order of a report: which claims answer directly, which go into which section. Values in, values out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.plan import Gap, Progress, SubQuestion, Task
from pincite.research.assembly import Content, DraftedSection, Line
from pincite.research.extractive.answers import is_typed
from pincite.research.extractive.closing import Closing, split_off
from pincite.research.extractive.headings import HEADING_CHARS, page_heading
from pincite.research.extractive.nearness import MOST_TOUCHED, answering, near_and_loose, shortened
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.wording import Told, tell

ANSWER_SENTENCES = 3
OTHERWISE = "The page says otherwise: "
MAX_WORDS = 1_200
OTHER_PAGES = "Other pages"
LOOSE = "Only loosely related"
TOGETHER = "Both together"
ONLY_TOUCHED = " (only touched on)"
_MOST_LOOSE = 6
_OWN_SECTION = 2
"""Claims a page needs for a section of its own when the question has one part."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the report will say: the direct answer, the sections of findings, what closes the report."""

    answer: tuple[VerifiedClaim, ...] = ()
    denial: VerifiedClaim | None = None
    sections: tuple[tuple[str, tuple[VerifiedClaim, ...]], ...] = ()
    closing: Closing = Closing()
    gaps: tuple[Gap, ...] = ()


def content(task: Task, progress: Progress, labels: Mapping[str, str]) -> Content:
    """The draft in sentences; `labels` name the version of the pages that differ from their near-copies, by URL."""
    drafted = draft(task, progress)
    told = Told(labels)
    answer = tuple(
        Line((OTHERWISE if item is drafted.denial else "") + text, (item,), label)
        for item, (text, label, _) in zip(drafted.answer, tell(drafted.answer, told, ""), strict=True)
    )
    sections = [DraftedSection(heading, _lines(items, told, heading)) for heading, items in drafted.sections]
    closing = [
        DraftedSection("", _lines(items, told, "", apart=True), kind) for kind, items in drafted.closing.sections()
    ]
    return Content(answer, (*sections, *closing), drafted.gaps)


def _lines(items: Sequence[VerifiedClaim], told: Told, heading: str, *, apart: bool = False) -> tuple[Line, ...]:
    return tuple(
        Line(text, (item,), label, opens=opens or apart)
        for item, (text, label, opens) in zip(items, tell(items, told, heading), strict=True)
    )


def draft(task: Task, progress: Progress) -> Draft:
    """The outline of the report; no claim twice, at most 1,200 words, empty sections dropped."""
    parts = progress.plan.sub_questions
    printable = [item for item in progress.claims if item.printable]
    by_part = {
        part.sub_question_id: _without_repeats([item for item in printable if item.claim.sub_question == part.text])
        for part in parts
    }
    denial = _denial(progress)
    touched = {gap.sub_question for gap in progress.gaps if gap.touched and denial is None}
    loose: list[VerifiedClaim] = []
    opposed = {side.claim_id for conflict in progress.conflicts for side in conflict.sides}
    for part in parts:
        if part.text in touched:
            by_part[part.sub_question_id] = by_part[part.sub_question_id][:MOST_TOUCHED]
            continue
        near, far = near_and_loose(by_part[part.sub_question_id], opposed)
        by_part[part.sub_question_id] = shortened(part, near, alone=len(parts) == 1)
        loose += far
    answer = _answer([part for part in parts if part.text not in touched], by_part, denial)
    told = {item.claim.text for item in printable if _is_told(item, answer)}
    room = MAX_WORDS - sum(len(item.claim.text.split()) for item in answer)
    findings: list[tuple[str, list[VerifiedClaim]]] = []
    for part in parts:
        items, room = _fitting([item for item in by_part[part.sub_question_id] if item.claim.text not in told], room)
        told |= {item.claim.text for item in items}
        heading = _part_heading(part, task, parts)
        findings.append((heading + ONLY_TOUCHED * (part.text in touched), items))
    # What only touches on the question has no key numbers, and its risks are not those of an answer.
    kept, closing = split_off(findings, broad=_is_broad(parts)) if answer else (findings, Closing())
    sections = _by_page(kept[0][1], progress) if len(parts) == 1 else kept
    unsupported = [
        Gap(part.text, "what was found did not pass its checks")
        for part in parts
        if not by_part[part.sub_question_id] and any(c.claim.sub_question == part.text for c in progress.claims)
    ]
    ordered = [(heading, tuple(_reading_order(items))) for heading, items in sections if items]
    printed = [*answer, *(item for _, items in findings for item in items)]
    rest = _of_further_pages(loose, printed, room)
    if rest and printed:
        ordered.append((LOOSE, tuple(rest)))
    return Draft(tuple(answer), denial, tuple(ordered), closing, tuple(unsupported))


def _is_broad(parts: Sequence[SubQuestion]) -> bool:
    """Whether the question asks about a thing, and not for a figure, a date or several things one by one."""
    return len(parts) == 1 and not is_typed(read_question(parts[0].text))


def _of_further_pages(
    loose: Sequence[VerifiedClaim], printed: Sequence[VerifiedClaim], room: int
) -> list[VerifiedClaim]:
    """The first loosely related claim of each page that is not cited otherwise, at most six."""
    cited = {evidence.url for item in printed for evidence in item.claim.evidence}
    kept: list[VerifiedClaim] = []
    for item in _fitting(loose, room)[0]:
        url = item.claim.evidence[0].url
        if url not in cited and len(kept) < _MOST_LOOSE:
            cited.add(url)
            kept.append(item)
    return kept


def _without_repeats(items: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """The claims without those that another one says in full; that one takes the better place of the two."""
    kept: dict[int, VerifiedClaim] = {}
    for item in items:
        whole = next((other for other in items if _says(other, item)), item)
        kept.setdefault(id(whole), whole)
    return list(kept.values())


def _is_told(item: VerifiedClaim, told: Sequence[VerifiedClaim]) -> bool:
    return any(item.claim.text == other.claim.text or _says(other, item) for other in told)


def _says(longer: VerifiedClaim, item: VerifiedClaim) -> bool:
    """Whether one claim says the other in full, from the same place of the same page, and more."""
    first, *_ = item.claim.evidence
    place = (first.url, first.quote.start, first.quote.end)
    return (
        len(item.claim.evidence) < len(longer.claim.evidence)
        and item.claim.text in longer.claim.text
        and place in {(e.url, e.quote.start, e.quote.end) for e in longer.claim.evidence}
    )


def _part_heading(part: SubQuestion, task: Task, parts: Sequence[SubQuestion]) -> str:
    """The heading of a part; the whole question as one of several parts is about all of them."""
    whole = " ".join(part.text.split()) == " ".join(task.question.split())
    return TOGETHER if whole and len(parts) > 1 else part.heading or part.text


def _denial(progress: Progress) -> VerifiedClaim | None:
    """The claim that denies what the question takes for granted: it is said first."""
    denied = [conflict.sides[0].claim_id for conflict in progress.conflicts if conflict.premise]
    return next((item for item in progress.claims if item.claim.claim_id in denied), None)


def _answer(
    parts: Sequence[SubQuestion], by_part: dict[str, list[VerifiedClaim]], denial: VerifiedClaim | None
) -> list[VerifiedClaim]:
    """What denies the premise, then the best claim of each part in turn, then the next, up to three sentences.

    A second claim of a part must answer about as well as its first.
    """
    chosen: list[VerifiedClaim] = [] if denial is None else [denial]
    by_part = {name: answering(items) for name, items in by_part.items()}
    for _turn in range(ANSWER_SENTENCES):
        for part in parts:
            fresh = next((item for item in by_part[part.sub_question_id] if not _is_told(item, chosen)), None)
            if fresh is not None and len(chosen) < ANSWER_SENTENCES:
                _take(chosen, fresh, denial)
    return chosen


def _take(chosen: list[VerifiedClaim], fresh: VerifiedClaim, denial: VerifiedClaim | None) -> None:
    """Put a claim last, or in the place of one that it says in full."""
    for place, item in enumerate(chosen):
        if item is not denial and _says(fresh, item):
            chosen[place] = fresh
            return
    chosen.append(fresh)


def _fitting(items: Sequence[VerifiedClaim], room: int) -> tuple[list[VerifiedClaim], int]:
    kept = []
    for item in items:
        size = len(item.claim.text.split())
        if size <= room:
            kept.append(item)
            room -= size
    return kept, room


def _by_page(items: Sequence[VerifiedClaim], progress: Progress) -> list[tuple[str, list[VerifiedClaim]]]:
    """One section for each page with several claims, best page first; single claims of other pages together."""
    documents = {page.url: page.document for page in progress.pages}
    groups: dict[str, list[VerifiedClaim]] = {}
    for item in items:
        url = item.claim.evidence[0].url
        groups.setdefault(page_heading(documents[url], url), []).append(item)
    own = [(heading, group) for heading, group in groups.items() if len(group) >= _OWN_SECTION]
    single = {heading: group for heading, group in groups.items() if len(group) < _OWN_SECTION}
    together = "; ".join(single)
    heading = together if len(together) <= HEADING_CHARS else OTHER_PAGES
    return [*own, (heading, [item for group in single.values() for item in group])]


def _reading_order(items: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """Claims of one page in the page's order; pages in the order of their best claim."""
    pages = list(dict.fromkeys(item.claim.evidence[0].url for item in items))
    return sorted(
        items, key=lambda item: (pages.index(item.claim.evidence[0].url), item.claim.evidence[-1].quote.start)
    )

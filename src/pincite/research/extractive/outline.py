"""The order of a report: which claims answer directly, which go into which section. Values in, values out."""

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.plan import Gap, Progress, SubQuestion, Task
from pincite.research.extractive.passages import HEADING_NUMBER

ANSWER_SENTENCES = 3
OTHERWISE = "The page says otherwise: "
MAX_WORDS = 1_200
_HEADING_CHARS = 90


@dataclass(frozen=True, slots=True)
class Draft:
    """What the report will say: the direct answer (each with words put before it), then the sections."""

    answer: tuple[tuple[str, VerifiedClaim], ...] = ()
    sections: tuple[tuple[str, tuple[VerifiedClaim, ...]], ...] = ()
    gaps: tuple[Gap, ...] = ()


def draft(task: Task, progress: Progress) -> Draft:
    """The outline of the report; no claim twice, at most 1,200 words, empty sections dropped."""
    parts = progress.plan.sub_questions
    by_part = {
        part.sub_question_id: [c for c in progress.claims if c.printable and c.claim.sub_question == part.text]
        for part in parts
    }
    denial = _denial(progress)
    answer = _answer(parts, by_part, denial)
    told = {item.claim.text for item in answer}
    room = MAX_WORDS - sum(len(item.claim.text.split()) for item in answer)
    sections: list[tuple[str, tuple[VerifiedClaim, ...]]] = []
    for part in parts:
        items, room = _fitting([item for item in by_part[part.sub_question_id] if item.claim.text not in told], room)
        told |= {item.claim.text for item in items}
        if len(parts) == 1:
            sections.extend(_by_page(items, progress))
        elif items:
            sections.append((part.heading or part.text, tuple(_reading_order(items))))
    unsupported = [
        Gap(part.text, "what was found did not pass its checks")
        for part in parts
        if not by_part[part.sub_question_id] and any(c.claim.sub_question == part.text for c in progress.claims)
    ]
    prefixed = tuple((OTHERWISE if item is denial else "", item) for item in answer)
    return Draft(prefixed, tuple(sections), tuple(unsupported))


def _denial(progress: Progress) -> VerifiedClaim | None:
    """The claim that denies what the question takes for granted: it is said first."""
    denied = [conflict.sides[0].claim_id for conflict in progress.conflicts if conflict.premise]
    return next((item for item in progress.claims if item.claim.claim_id in denied), None)


def _answer(
    parts: Sequence[SubQuestion], by_part: dict[str, list[VerifiedClaim]], denial: VerifiedClaim | None
) -> list[VerifiedClaim]:
    """What denies the premise, then the best claim of each part in turn, then the next, up to three sentences."""
    chosen: list[VerifiedClaim] = [] if denial is None else [denial]
    for _turn in range(ANSWER_SENTENCES):
        for part in parts:
            said = {item.claim.text for item in chosen}
            fresh = next((item for item in by_part[part.sub_question_id] if item.claim.text not in said), None)
            if fresh is not None and len(chosen) < ANSWER_SENTENCES:
                chosen.append(fresh)
    return chosen


def _fitting(items: Sequence[VerifiedClaim], room: int) -> tuple[list[VerifiedClaim], int]:
    kept = []
    for item in items:
        size = len(item.claim.text.split())
        if size <= room:
            kept.append(item)
            room -= size
    return kept, room


def _by_page(items: Sequence[VerifiedClaim], progress: Progress) -> list[tuple[str, tuple[VerifiedClaim, ...]]]:
    """One section for each page, best page first, headed by its title."""
    titles = {page.url: page.document.title for page in progress.pages}
    groups: dict[str, list[VerifiedClaim]] = {}
    for item in items:
        url = item.claim.evidence[0].url
        groups.setdefault(titles.get(url) or url, []).append(item)
    return [(_short(title), tuple(_reading_order(group))) for title, group in groups.items()]


def _reading_order(items: Sequence[VerifiedClaim]) -> list[VerifiedClaim]:
    """Claims of one page in the page's order; pages in the order of their best claim."""
    pages = list(dict.fromkeys(item.claim.evidence[0].url for item in items))
    return sorted(
        items, key=lambda item: (pages.index(item.claim.evidence[0].url), item.claim.evidence[-1].quote.start)
    )


def _short(title: str) -> str:
    line = HEADING_NUMBER.sub("", " ".join(title.split()), count=1)
    return line if len(line) <= _HEADING_CHARS else line[: _HEADING_CHARS - 1].rsplit(" ", 1)[0] + "…"

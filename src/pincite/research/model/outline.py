"""The model's outline made sound: offered ids only, each once, no part forgotten, headings that state nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.plan import Progress, SubQuestion, Task
from pincite.research.extractive.closing import is_key_number, is_risk, is_uncertain
from pincite.research.model.outputs import Outline
from pincite.research.model.wording import heading_of
from pincite.text.tokens import words

MAX_SECTIONS = 8
CLAIMS_PER_SECTION = 14
_ANSWER_CLAIMS = 3
_DEFAULT = "What the sources say"


@dataclass(frozen=True, slots=True)
class Part:
    """A part to write: the claims by their offered ids. The direct answer has no heading."""

    heading: str
    claims: tuple[str, ...]


def outlined(
    outline: Outline,
    offered: Mapping[str, VerifiedClaim],
    task: Task,
    progress: Progress,
    early: Collection[str] = (),
) -> tuple[Part, ...]:
    """The direct answer, then the sections; `early` are claims that have their place already.

    An outline that names none of the offered ids is none: each part of the question gets a section with all its claims.
    """
    known = " ".join([task.question, *(item.claim.text for item in offered.values())])
    answer = _fresh(outline.answer, offered, set())[:_ANSWER_CLAIMS] or list(offered)[:1]
    told = {*answer, *early}
    nothing = not _fresh([*outline.answer, *(c for s in outline.sections for c in s.claims)], offered, set())
    sections: list[Part] = []
    for section in outline.sections[:MAX_SECTIONS]:
        names = _fresh(section.claims, offered, told)[:CLAIMS_PER_SECTION]
        told.update(names)
        if names:
            sections.append(Part(_heading(section.heading, known), tuple(names)))
    for part in progress.plan.sub_questions:
        sections += _forgotten(part, offered, told, whole=nothing)
    return (Part("", tuple(answer)), *sections)


def early_parts(progress: Progress, offered: Mapping[str, VerifiedClaim], begun: Collection[str]) -> dict[str, Part]:
    """The parts to write while rounds go on, by sub-question, without what closes a report."""
    found: dict[str, Part] = {}
    for part in progress.plan.sub_questions:
        mine = {name: item for name, item in offered.items() if item.claim.sub_question == part.text}
        names = [
            name
            for place, (name, item) in enumerate(mine.items())
            if not is_uncertain(item) and (place == 0 or not (is_key_number(item) or is_risk(item)))
        ][:CLAIMS_PER_SECTION]
        if names and part.sub_question_id not in begun:
            found[part.sub_question_id] = Part(part.heading or heading_of("", part.text), tuple(names))
    return found


def _forgotten(part: SubQuestion, offered: Mapping[str, VerifiedClaim], told: set[str], *, whole: bool) -> list[Part]:
    """A section for a part of the question of which the outline tells nothing; `whole`: for what it leaves out, too."""
    mine = [name for name, item in offered.items() if item.claim.sub_question == part.text]
    left = [name for name in mine if name not in told][:CLAIMS_PER_SECTION]
    if not left or (len(left) < len(mine) and not whole):
        return []
    told.update(left)
    return [Part(part.heading or heading_of("", part.text), tuple(left))]


def _fresh(names: Sequence[str], offered: Mapping[str, VerifiedClaim], told: set[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name in offered and name not in told]


def _heading(proposed: str, known: str) -> str:
    """The proposed heading where it has no name that neither question nor claims have, else a plain one."""
    line = heading_of(proposed, _DEFAULT)
    have = {word.lower() for word in words(known)}
    names = [word for word in list(words(line))[1:] if word[:1].isupper()]
    return line if all(word.lower() in have for word in names) else _DEFAULT

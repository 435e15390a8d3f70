"""The model's outline made sound: offered ids only, each once, no part forgotten, headings that state nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pincite.domain.evidence import NoteForm, VerifiedClaim
from pincite.domain.layout import BlockForm
from pincite.domain.model import Material, Prompt
from pincite.domain.plan import Progress, SubQuestion, Task
from pincite.research.model.outputs import Outline
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.style import style_lines
from pincite.research.model.wording import heading_of, plain_line
from pincite.text.tokens import words

# Asked for are seven. The few more that models give are written, as the last ones conclude; length limits the rest.
MAX_SECTIONS: Final = 10
# What a section of a page's length can tell.
CLAIMS_PER_SECTION: Final = 16
ANSWER_CLAIMS: Final = 6
_DEFAULT: Final = "What the sources say"
_FORMS: Final = {
    "list": BlockForm.LIST,
    "steps": BlockForm.STEPS,
    "table": BlockForm.TABLE,
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part to write: the claims by their offered ids. The direct answer has no heading.

    `elsewhere` are those of its claims that other sections tell: it draws them together.
    """

    heading: str
    claims: tuple[str, ...]
    form: BlockForm = BlockForm.PARAGRAPH
    purpose: str = ""
    elsewhere: frozenset[str] = frozenset()


def outlined(
    outline: Outline,
    offered: Mapping[str, VerifiedClaim],
    task: Task,
    progress: Progress,
    early: Collection[str] = (),
) -> tuple[Part, ...]:
    """The direct answer, then the sections; `early` are claims that have their place already.

    An outline that names none of the offered ids is none: each part of the question gets a section with all its claims.
    One section may be made of claims that others tell: it draws them together. A second one would repeat.
    """
    known = " ".join([task.question, *(item.claim.text for item in offered.values())])
    answer = _fresh(outline.answer, offered, set())[:ANSWER_CLAIMS] or list(offered)[:1]
    # What the direct answer says shortly, the section that it belongs to may tell in full.
    told = set(early)
    nothing = not _fresh([*outline.answer, *(c for s in outline.sections for c in s.claims)], offered, set())
    sections: list[Part] = []
    for section in outline.sections[:MAX_SECTIONS]:
        names = _fresh(section.claims, offered, told)
        elsewhere: frozenset[str] = frozenset()
        wanted = _fresh(section.claims, offered, set(early))
        if len(wanted) > max(2 * len(names), 1) and not any(part.elsewhere for part in sections):
            names, elsewhere = wanted, frozenset(wanted) & told
        names = names[:CLAIMS_PER_SECTION]
        told.update(names)
        if names:
            form = _FORMS.get(section.form, BlockForm.PARAGRAPH)
            purpose = plain_line(section.purpose)
            sections.append(Part(_heading(section.heading, known), tuple(names), form, purpose, elsewhere))
    told.update(answer)
    for part in progress.plan.sub_questions:
        sections += _forgotten(part, offered, told, whole=nothing)
    return (Part("", tuple(answer)), *sections)


def outline_prompt(task: Task, progress: Progress, offered: Mapping[str, VerifiedClaim]) -> Prompt:
    """The statements to be ordered, with the form in which their page has them."""
    parts = "\n".join(f"- {part.text} ({part.form})" for part in progress.plan.sub_questions)
    return Prompt(
        "outline",
        VERSIONS["outline"],
        instructions("outline"),
        context=(f"Question: {plain_line(task.question)}", f"Parts of the question:\n{parts}", *style_lines(task)),
        material=(Material("Statements", tuple((name, _noted(item)) for name, item in offered.items())),),
        closing="Now give the outline.",
        max_tokens_out=600 + 12 * len(offered),
    )


def _noted(item: VerifiedClaim) -> str:
    claim = item.claim
    form = f"[{claim.form}{' of ' + plain_line(claim.group) if claim.group else ''}] "
    return f"{'' if claim.form is NoteForm.STATEMENT else form}{claim.text}"


def early_parts(progress: Progress, offered: Mapping[str, VerifiedClaim], begun: Collection[str]) -> dict[str, Part]:
    """The parts to write while rounds go on, by sub-question."""
    found: dict[str, Part] = {}
    for part in progress.plan.sub_questions:
        names = [name for name, item in offered.items() if item.claim.sub_question == part.text][:CLAIMS_PER_SECTION]
        if names and part.sub_question_id not in begun:
            form = _FORMS.get(part.form, BlockForm.PARAGRAPH)
            found[part.sub_question_id] = Part(part.heading or heading_of("", part.text), tuple(names), form)
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
    line = heading_of(proposed, _DEFAULT, known)
    have = {word.lower() for word in words(known)}
    names = [word for word in list(words(line))[1:] if word[:1].isupper()]
    return line if all(word.lower() in have for word in names) else _DEFAULT

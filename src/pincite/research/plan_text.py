"""A plan as text that a person can read and change before a run, and back."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from pincite.domain.errors import InvalidInput
from pincite.domain.plan import AnswerForm, Plan, SubQuestion
from pincite.domain.requests import PlanPart
from pincite.domain.search import Constraints, Query

# As for plans that are made here (`research.model.planner`).
MAX_PARTS: Final = 8
# Each is a search that may cost money; a person who wrote more meant another part.
MAX_QUERIES: Final = 6
# A question or a query; what is longer is a text put into the wrong place.
_MAX_CHARS: Final = 500
_HEAD: Final = (
    "# The plan. Each part begins with its question at the margin; the lines below it are indented.\n"
    "#   form: prose, figure, date, name, yes_no, definition, reason, list, steps or table\n"
    "#   search: a query (several such lines)   after: the number of the part whose answer it needs\n"
    "# Change, add, delete or move parts, at most eight.\n"
)


def plan_text(plan: Plan) -> str:
    """The parts as text."""
    lines = [_HEAD]
    for part in plan.sub_questions:
        lines += [part.text, f"  heading: {part.heading}", f"  form: {part.form}"]
        lines += [f"  after: {part.depends_on}"] if part.depends_on else []
        lines += [*(f"  search: {query.text}" for query in part.queries), ""]
    return "\n".join(lines)


def read_plan(text: str, constraints: Constraints = Constraints(), max_results: int = 5) -> tuple[SubQuestion, ...]:  # noqa: B008  # frozen
    """The parts of such a text. Errors: InvalidInput (`plan_invalid`)."""
    blocks: list[tuple[str, list[tuple[str, str]]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        # Only at the margin: an indented `#` may be part of a heading or a query.
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            blocks.append((line.strip(), []))
            continue
        name, colon, value = line.strip().partition(":")
        if not blocks or not colon or name not in ("heading", "form", "after", "search"):
            raise _bad(
                f"line {number} of the plan is none of a question, heading, form, after, search: {line.strip()!r}"
            )
        blocks[-1][1].append((name, value.strip()))
    return plan_parts(
        [
            {
                "question": question,
                "queries": [value for name, value in told if name == "search" and value],
                **{name: value for name, value in told if name != "search"},
            }
            for question, told in blocks
        ],
        constraints,
        max_results,
    )


def plan_parts(
    rows: Sequence[dict[str, object]], constraints: Constraints, max_results: int
) -> tuple[SubQuestion, ...]:
    """The parts of a plan given as values: `question`, `queries`, `form`, `heading`, `after`. Errors: InvalidInput."""
    if not 1 <= len(rows) <= MAX_PARTS:
        raise _bad(f"the plan has {len(rows)} parts; it needs 1 to {MAX_PARTS}")
    parts: list[SubQuestion] = []
    for number, row in enumerate(rows, start=1):
        question, form = str(row.get("question", "")).strip(), str(row.get("form") or AnswerForm.PROSE)
        after = str(row.get("after") or "")
        queries = row.get("queries")
        texts = [str(text).strip() for text in queries] if isinstance(queries, list | tuple) else []
        if not any(character.isalnum() for character in question) or len(question) > _MAX_CHARS:
            raise _bad(f"part {number} of the plan has no question of at most {_MAX_CHARS} characters")
        if form not in set(AnswerForm):
            raise _bad(f"part {number} of the plan has the form {form!r}; there are {', '.join(AnswerForm)}")
        if after and not (after.isdecimal() and 1 <= int(after) < number):
            raise _bad(f"part {number} of the plan comes after {after!r}, which is no earlier part")
        if len(texts) > MAX_QUERIES or any(not text or len(text) > _MAX_CHARS for text in texts):
            raise _bad(f"part {number} of the plan has an empty or overlong query, or more than {MAX_QUERIES}")
        asked = tuple(Query(text, max_results, constraints, include_answer=False) for text in texts)
        heading = " ".join(str(row.get("heading") or "").split())[:90]
        parts.append(
            SubQuestion(
                str(number),
                question,
                asked,
                depends_on=after or None,
                heading=heading or question.rstrip(" ?.!")[:90],
                form=AnswerForm(form),
            )
        )
    return tuple(parts)


def plan_of(
    parts: Sequence[PlanPart | SubQuestion], constraints: Constraints, max_results: int
) -> tuple[SubQuestion, ...]:
    """The parts that a request gives; those of an engine's own plan as they are. Errors: InvalidInput."""
    own = [part for part in parts if isinstance(part, SubQuestion)]
    given = [asdict(part) for part in parts if isinstance(part, PlanPart)]
    if own and given:
        raise _bad("the plan mixes parts of two kinds")
    return tuple(own) if own or not given else plan_parts(given, constraints, max_results)


def _bad(message: str) -> InvalidInput:
    return InvalidInput(message, reason="plan_invalid", hint="See one: pincite research QUESTION --plan show")

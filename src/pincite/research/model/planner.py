"""Question to sub-questions and queries with a model. Page text never reaches it; queries leave through rules."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import AnswerForm, Plan, PlanChange, Progress, SubQuestion, Task
from pincite.domain.search import Query
from pincite.ports import ModelCalls
from pincite.research.model.outputs import FollowUp, PlannedPart, PlannedQuestion
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.style import style_lines
from pincite.research.model.wording import heading_of, plain_line, safe_query
from pincite.research.state import query_key
from pincite.text.instructions import is_flagged
from pincite.text.tokens import terms

# As without a model (`research.extractive.parts`).
MAX_PARTS = 8
MIN_QUERIES = 3
# Wordings of one part; each is a search.
_QUERIES_PER_PART = 3
# What is proven by now, so that the next round asks for what is missing.
_KNOWN_CLAIMS = 24
# Parts that a round may add, and drop, at most: a plan that changes all the time is none.
_MOST_CHANGES = 3
# A question of two lines.
_PART_CHARS = 300
_KINDS = frozenset("number date person place reason method list yes_no definition comparison".split())


class ModelPlanner:
    """A model splits the question and words the queries; later rounds see what is proven and may change the parts.

    Args:
        calls: the models.
        results_per_query: results asked for per query.
        follow_ups: new queries of a part in a later round at most.
    """

    def __init__(self, calls: ModelCalls, *, results_per_query: int = 5, follow_ups: int = 3) -> None:
        self._calls = calls
        self._results_per_query = results_per_query
        self._follow_ups = follow_ups

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """All sub-questions; the first round words at least three distinct queries, later rounds only what is open.

        A plan that the asker has seen and perhaps changed is taken as it is.

        Errors: those of `ModelCalls.ask`.
        """
        if progress.round_number > 1:
            return await self._follow_up(task, progress)
        if task.parts:
            return Plan(self._filled(task, list(task.parts), {q.text for part in task.parts for q in part.queries}))
        prompt = Prompt(
            "planner",
            VERSIONS["planner"],
            instructions("planner"),
            context=(f"Question: {plain_line(task.question)}", *_limits(task), *style_lines(task)),
            max_tokens_out=2_000,
        )
        planned = await self._calls.ask(ModelRole.PLANNER, prompt, PlannedQuestion, deadline_s=progress.seconds_left)
        return Plan(self._parts(task, planned.parts))

    def _parts(self, task: Task, planned: Sequence[PlannedPart]) -> tuple[SubQuestion, ...]:
        """The parts that are about the question, each with queries that may leave; the question itself if none is."""
        subject = set(terms(f"{task.question} {task.background}"))
        made: list[SubQuestion] = []
        asked: set[str] = set()
        numbers: dict[int, str] = {}
        for number, part in enumerate(planned, start=1):
            text = plain_line(part.question)[:_PART_CHARS]
            waits = numbers.get(part.depends_on)
            about = subject.intersection(terms(text)) or waits is not None
            if len(made) >= MAX_PARTS or not about or is_flagged(text):
                continue
            if any(text.lower() == other.text.lower() for other in made):
                continue
            texts = [text for text in self._vetted(task, part.queries) if text not in asked][:_QUERIES_PER_PART]
            texts = texts or [query for query in [safe_query(text, task.question)] if query and query not in asked]
            asked.update(texts)
            kind = part.kind if part.kind in _KINDS else ""
            numbers[number] = str(len(made) + 1)
            made.append(
                SubQuestion(
                    str(len(made) + 1),
                    text,
                    self._queries(task, texts),
                    kind,
                    depends_on=waits,
                    heading=heading_of(part.heading, text),
                    form=_form(part.form),
                )
            )
        if not made:
            text = " ".join(task.question.split())
            made = [SubQuestion("1", text, (), heading=heading_of("", text))]
        return self._filled(task, made, asked)

    def _filled(self, task: Task, made: list[SubQuestion], asked: set[str]) -> tuple[SubQuestion, ...]:
        """The parts with queries of the question's own words where the model gave fewer than three."""
        more: list[str] = []
        for text in (*(part.text for part in made), task.question):
            words = " ".join(word.strip("?,.;:!\"'()") for word in text.split())
            for wording in (safe_query(words, task.question), safe_query(" ".join(terms(words)), task.question)):
                if wording and len(asked) < MIN_QUERIES and wording not in asked:
                    asked.add(wording)
                    more.append(wording)
        first = replace(made[0], queries=(*made[0].queries, *self._queries(task, more)))
        return (first, *made[1:])

    async def _follow_up(self, task: Task, progress: Progress) -> Plan:
        """The parts with new queries for those that are open, and the changes that the model sees reason for."""
        before = progress.plan
        open_parts = [part for part in before.sub_questions if _is_open(part, progress)]
        kept = {part.sub_question_id: replace(part, queries=()) for part in before.sub_questions}
        if not open_parts:
            return Plan(tuple(kept.values()), before.survey, before.notes, left_out=before.left_out)
        answer = await self._calls.ask(
            ModelRole.PLANNER,
            self._follow_up_prompt(task, progress, open_parts),
            FollowUp,
            deadline_s=progress.seconds_left,
        )
        asked = set(progress.asked)
        may = {part.sub_question_id for part in open_parts}
        changes: list[PlanChange] = []
        for wanted in answer.parts:
            if wanted.part not in may:
                continue
            may.discard(wanted.part)
            fresh = self._fresh(task, wanted.queries, asked)
            part = kept[wanted.part]
            text = self._reworded(part, wanted.question, progress)
            if text != part.text:
                changes.append(PlanChange("reworded", text, f"part {part.sub_question_id} waited for another's answer"))
            kept[wanted.part] = replace(part, text=text, queries=fresh)
        left_out = self._drop(answer, kept, may | {part.sub_question_id for part in open_parts}, changes)
        self._add(task, answer, kept, asked, changes)
        return Plan(tuple(kept.values()), before.survey, before.notes, tuple(changes), (*before.left_out, *left_out))

    def _fresh(self, task: Task, queries: Sequence[str], asked: set[str]) -> tuple[Query, ...]:
        """The queries that may leave and were not sent; `asked` grows."""
        fresh = [q for q in self._queries(task, self._vetted(task, queries)) if query_key(q) not in asked]
        fresh = fresh[: self._follow_ups]
        asked.update(query_key(query) for query in fresh)
        return tuple(fresh)

    def _reworded(self, part: SubQuestion, question: str, progress: Progress) -> str:
        """The part as it reads now that the answer it waited for is proven; only such a part is worded anew."""
        text = plain_line(question)[:_PART_CHARS]
        answered = any(
            item.printable and item.claim.sub_question == other.text
            for other in progress.plan.sub_questions
            if other.sub_question_id == part.depends_on
            for item in progress.claims
        )
        return text if text and answered and not is_flagged(text) else part.text

    def _drop(
        self, answer: FollowUp, kept: dict[str, SubQuestion], may: Collection[str], changes: list[PlanChange]
    ) -> list[tuple[str, str]]:
        """Take out the open parts that the model drops, never all, and say why."""
        left_out: list[tuple[str, str]] = []
        for dropped in answer.dropped[:_MOST_CHANGES]:
            reason = plain_line(dropped.reason)[:_PART_CHARS]
            if dropped.part in may and dropped.part in kept and len(kept) > 1 and reason:
                part = kept.pop(dropped.part)
                left_out.append((part.text, reason))
                changes.append(PlanChange("dropped", part.text, reason))
        return left_out

    def _add(
        self,
        task: Task,
        answer: FollowUp,
        kept: dict[str, SubQuestion],
        asked: set[str],
        changes: list[PlanChange],
    ) -> None:
        """Add the parts that what was found shows to be missing, as far as a plan may have them."""
        number = max(map(int, kept), default=0)
        for added in answer.added[:_MOST_CHANGES]:
            text, reason = plain_line(added.question)[:_PART_CHARS], plain_line(added.reason)[:_PART_CHARS]
            known = any(text.lower() == part.text.lower() for part in kept.values())
            if not text or known or is_flagged(text) or len(kept) >= MAX_PARTS:
                continue
            queries = self._fresh(task, added.queries or (text,), asked)
            number += 1
            heading = heading_of(added.heading, text)
            kept[str(number)] = SubQuestion(str(number), text, queries, heading=heading, form=_form(added.form))
            changes.append(PlanChange("added", text, reason))

    def _follow_up_prompt(self, task: Task, progress: Progress, open_parts: Sequence[SubQuestion]) -> Prompt:
        """What is open, what was tried, and what is proven; claims that speak to machines are left out."""
        tried = "\n".join(f"- {text}" for text in progress.asked[-30:])
        parts = "\n".join(
            f"{part.sub_question_id}: {part.text}" + (f" (waits for {part.depends_on})" if part.depends_on else "")
            for part in open_parts
        )
        numbers = {part.text: part.sub_question_id for part in progress.plan.sub_questions}
        proven = [item for item in progress.claims if item.printable and not is_flagged(item.claim.text)]
        known = tuple(
            (f"f{number}", f"(part {numbers.get(item.claim.sub_question, '?')}) {item.claim.text}")
            for number, item in enumerate(proven[:_KNOWN_CLAIMS], start=1)
        )
        return Prompt(
            "follow_up",
            VERSIONS["follow_up"],
            instructions("follow_up"),
            context=(
                f"Question: {plain_line(task.question)}",
                *_limits(task),
                f"Open parts:\n{parts}",
                f"Queries tried:\n{tried}",
            ),
            material=(Material("Found so far", known),) if known else (),
            max_tokens_out=1_000,
        )

    def _vetted(self, task: Task, texts: Sequence[str]) -> list[str]:
        ours = (instructions("planner"), instructions("follow_up"))
        vetted = (safe_query(text, task.question, ours=ours) for text in texts)
        return list(dict.fromkeys(text for text in vetted if text and not is_flagged(text)))

    def _queries(self, task: Task, texts: Sequence[str]) -> tuple[Query, ...]:
        return tuple(Query(text, self._results_per_query, task.constraints, include_answer=False) for text in texts)


def _is_open(part: SubQuestion, progress: Progress) -> bool:
    """Whether no claim that holds answers the part; where nobody judged that, any claim of it does."""
    return not any(
        item.printable and item.claim.sub_question == part.text and item.answers is not False
        for item in progress.claims
    )


def _limits(task: Task) -> tuple[str, ...]:
    """What the planner should know of the run's limits, as a line."""
    limits = task.constraints
    told = [
        f"published since {limits.since}" if limits.since else "",
        f"published until {limits.until}" if limits.until else "",
        f"in the language {limits.language}" if limits.language else "",
        f"only from {', '.join(limits.include_domains)}" if limits.include_domains else "",
    ]
    line = "; ".join(text for text in told if text)
    before = f"It follows on this question, which was answered before: {plain_line(task.background)}"
    return (*((before,) if task.background else ()), *((f"Only pages {line}.",) if line else ()))


def _form(name: str) -> AnswerForm:
    return AnswerForm(name) if name in set(AnswerForm) else AnswerForm.PROSE

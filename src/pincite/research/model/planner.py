"""Question to sub-questions and queries with a model. Page text never reaches it; queries leave through rules."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.model import ModelRole, Prompt
from pincite.domain.plan import AnswerForm, Plan, PlanChange, Progress, SubQuestion, Task
from pincite.domain.search import Query
from pincite.ports import ModelCalls
from pincite.research.model.manuscript import Manuscript
from pincite.research.model.outputs import PlannedPart, PlannedQuestion
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
# Parts that a later round adds at most: a plan that grows by more was none. Of four that a reader in the seat named,
# in each of two runs, all were prerequisites or limits that the pages of the first round only name.
_ADDED = 4
# A question of two lines.
_PART_CHARS = 300


class ModelPlanner:
    """A model splits the question and words the queries; later rounds ask what its report found to be missing.

    Args:
        calls: the models.
        manuscript: the report as far as it is composed.
        results_per_query: results asked for per query.
        follow_ups: new queries of a part in a later round at most.
    """

    def __init__(
        self, calls: ModelCalls, manuscript: Manuscript, *, results_per_query: int = 5, follow_ups: int = 3
    ) -> None:
        self._calls = calls
        self._manuscript = manuscript
        self._results_per_query = results_per_query
        self._follow_ups = follow_ups

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """All sub-questions; the first round words at least three distinct queries, later rounds only what is open.

        A plan that the asker has seen and perhaps changed is taken as it is.

        Errors: those of `ModelCalls.ask`.
        """
        if progress.round_number > 1:
            return self._follow_up(task, progress)
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
        return self._plan_of(task, planned.parts)

    def _plan_of(self, task: Task, planned: Sequence[PlannedPart]) -> Plan:
        """The parts that are about the question, each with queries that may leave; the question itself if none is.

        Those that are left out are told with the reason.
        """
        subject = set(terms(f"{task.question} {task.background}"))
        left_out: list[PlanChange] = []
        made: list[SubQuestion] = []
        asked: set[str] = set()
        numbers: dict[int, str] = {}
        for number, part in enumerate(planned, start=1):
            text = plain_line(part.question)[:_PART_CHARS]
            waits = numbers.get(part.depends_on)
            told = set(terms(" ".join((text, part.heading, *part.queries))))
            about = subject.intersection(told) or waits is not None
            if is_flagged(text) or not text:
                continue
            if len(made) >= MAX_PARTS or not about:
                why = f"a plan has {MAX_PARTS} parts at most" if about else "it shares no word with the question"
                left_out.append(PlanChange("left_out", text, why))
                continue
            subject |= set(terms(text))  # what leads on from a part ("lazy loading") need not name the subject again
            if any(text.lower() == other.text.lower() for other in made):
                continue
            texts = [text for text in self._vetted(task, part.queries) if text not in asked][:_QUERIES_PER_PART]
            texts = texts or [query for query in [safe_query(text, task.question)] if query and query not in asked]
            asked.update(texts)
            numbers[number] = str(len(made) + 1)
            made.append(
                SubQuestion(
                    str(len(made) + 1),
                    text,
                    self._queries(task, texts),
                    depends_on=waits,
                    heading=heading_of(part.heading, text),
                    form=_form(part.form),
                )
            )
        if not made:
            text = " ".join(task.question.split())
            made = [SubQuestion("1", text, (), heading=heading_of("", text))]
        return Plan(self._filled(task, made, asked), changes=tuple(left_out[:MAX_PARTS]))

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

    def _follow_up(self, task: Task, progress: Progress) -> Plan:
        """The parts with new queries for those that whoever composed found missing.

        A part that waited is reworded; one that nobody planned and the question needs is added, or said to be left
        out.
        """
        before = progress.plan
        asked = set(progress.asked)
        parts: list[SubQuestion] = []
        changes: list[PlanChange] = []
        for part in before.sub_questions:
            missing = self._manuscript.missing.get(part.sub_question_id)
            if missing is None:
                parts.append(replace(part, queries=()))
                continue
            text = plain_line(missing.question)[:_PART_CHARS] if part.depends_on else ""
            if text and text != part.text and not is_flagged(text):
                changes.append(PlanChange("reworded", text, f"part {part.sub_question_id} waited for another's answer"))
                self._manuscript.reword(part.text, text)
            else:
                text = part.text
            parts.append(replace(part, text=text, queries=self._fresh(task, missing.queries, asked)))
        most = min(len(parts) + _ADDED, MAX_PARTS)
        for missing in self._manuscript.unplanned:
            text = missing.question[:_PART_CHARS]
            if any(text.lower() == part.text.lower() for part in parts):
                continue
            queries = self._fresh(task, missing.queries, asked) if len(parts) < most else ()
            if not queries:
                changes.append(PlanChange("left_out", text, missing.what))
                continue
            name = str(len(parts) + 1)
            parts.append(SubQuestion(name, text, queries, heading=heading_of("", text), added=True))
            changes.append(PlanChange("added", text, missing.what))
            self._manuscript.missing[name] = replace(missing, part=name)
        return Plan(tuple(parts), before.survey, before.notes, tuple(changes))

    def _fresh(self, task: Task, queries: Sequence[str], asked: set[str]) -> tuple[Query, ...]:
        """The queries that may leave and were not sent; `asked` grows."""
        fresh = [q for q in self._queries(task, self._vetted(task, queries)) if query_key(q) not in asked]
        fresh = fresh[: self._follow_ups]
        asked.update(query_key(query) for query in fresh)
        return tuple(fresh)

    def _vetted(self, task: Task, texts: Sequence[str]) -> list[str]:
        ours = (instructions("planner"), instructions("compose"))
        vetted = (safe_query(text, task.question, ours=ours) for text in texts)
        return list(dict.fromkeys(text for text in vetted if text and not is_flagged(text)))

    def _queries(self, task: Task, texts: Sequence[str]) -> tuple[Query, ...]:
        return tuple(Query(text, self._results_per_query, task.constraints, include_answer=False) for text in texts)


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

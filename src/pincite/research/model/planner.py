"""Question to sub-questions and queries with a model. Page text never reaches it; queries leave through rules."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Plan, Progress, SubQuestion, Task
from pincite.domain.search import Query
from pincite.ports import ModelCalls
from pincite.research.model.outputs import FollowUp, PlannedPart, PlannedQuestion
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.wording import heading_of, plain_line, safe_query
from pincite.research.state import query_key
from pincite.text.instructions import is_flagged
from pincite.text.tokens import terms

MAX_PARTS = 6
MIN_QUERIES = 3
_QUERIES_PER_PART = 3
_KNOWN_CLAIMS = 12
_PART_CHARS = 300
_KINDS = frozenset("number date person place reason method list yes_no definition comparison".split())


class ModelPlanner:
    """A model splits the question and words the queries; later rounds ask only for parts that are open.

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

        Errors: those of `ModelCalls.ask`.
        """
        if progress.round_number > 1:
            return await self._follow_up(task, progress)
        prompt = Prompt(
            "planner",
            VERSIONS["planner"],
            instructions("planner"),
            context=(f"Question: {plain_line(task.question)}", *_limits(task)),
            max_tokens_out=1_500,
        )
        planned = await self._calls.ask(ModelRole.PLANNER, prompt, PlannedQuestion, deadline_s=progress.seconds_left)
        return Plan(self._parts(task, planned.parts))

    def _parts(self, task: Task, planned: Sequence[PlannedPart]) -> tuple[SubQuestion, ...]:
        """The parts that are about the question, each with queries that may leave; the question itself if none is."""
        subject = set(terms(f"{task.question} {task.background}"))
        made: list[SubQuestion] = []
        asked: set[str] = set()
        for part in planned:
            text = plain_line(part.question)[:_PART_CHARS]
            if len(made) >= MAX_PARTS or not subject.intersection(terms(text)) or is_flagged(text):
                continue
            if any(text.lower() == other.text.lower() for other in made):
                continue
            texts = [text for text in self._vetted(task, part.queries) if text not in asked][:_QUERIES_PER_PART]
            texts = texts or [query for query in [safe_query(text, task.question)] if query and query not in asked]
            asked.update(texts)
            kind = part.kind if part.kind in _KINDS else ""
            made.append(
                SubQuestion(
                    str(len(made) + 1), text, self._queries(task, texts), kind, heading=heading_of(part.heading, text)
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
        """The parts as they are, with new queries for those that are open."""
        open_parts = [part for part in progress.plan.sub_questions if _is_open(part, progress)]
        kept = {part.sub_question_id: replace(part, queries=()) for part in progress.plan.sub_questions}
        if open_parts:
            answer = await self._calls.ask(
                ModelRole.PLANNER,
                self._follow_up_prompt(task, progress, open_parts),
                FollowUp,
                deadline_s=progress.seconds_left,
            )
            asked = set(progress.asked)
            may = {part.sub_question_id for part in open_parts}
            for wanted in answer.parts:
                if wanted.part not in may:
                    continue
                may.discard(wanted.part)
                fresh = [
                    q for q in self._queries(task, self._vetted(task, wanted.queries)) if query_key(q) not in asked
                ]
                asked.update(query_key(query) for query in fresh[: self._follow_ups])
                part = kept[wanted.part]
                kept[wanted.part] = replace(part, queries=tuple(fresh[: self._follow_ups]))
        return Plan(tuple(kept.values()))

    def _follow_up_prompt(self, task: Task, progress: Progress, open_parts: Sequence[SubQuestion]) -> Prompt:
        """What is open, what was tried, and what was found; claims that speak to machines are left out."""
        tried = "\n".join(f"- {text}" for text in progress.asked[-30:])
        parts = "\n".join(f"{part.sub_question_id}: {part.text}" for part in open_parts)
        known = tuple(
            (f"f{number}", item.claim.text)
            for number, item in enumerate(
                [item for item in progress.claims if item.printable and not is_flagged(item.claim.text)][
                    :_KNOWN_CLAIMS
                ],
                start=1,
            )
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
            max_tokens_out=800,
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

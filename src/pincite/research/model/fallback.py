"""A role with a model and its extractive counterpart for when no model can do it; the report says what was replaced."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeVar

from pincite.domain.errors import BudgetExhausted, ExtraNotInstalled, PinciteError, ProviderError, RemoteError
from pincite.domain.events import EventType
from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
from pincite.domain.model import RESEARCH_ROLES, ModelRole
from pincite.domain.plan import Analysis, Gap, Plan, Progress, ReportMetadata, SubQuestion, Task, Verification
from pincite.domain.reasons import reason_text
from pincite.domain.report import Mode, Report
from pincite.ports import EventSink, Judge
from pincite.research.model.manuscript import Manuscript
from pincite.research.records import emit_section
from pincite.research.roles import Analyst, Drafter, Planner, Verifier, Writer

T = TypeVar("T")
_FAILURES = (ProviderError, RemoteError, BudgetExhausted, ExtraNotInstalled)


class Replacements:
    """Which roles of a run had to go on without a model, and why. Shared by the roles of one run.

    Args:
        events: where it is told.
        allowed: whether rules may do a role's work; otherwise the model's failure ends the run.
    """

    def __init__(self, events: EventSink, *, allowed: bool = True) -> None:
        self._events = events
        self.allowed = allowed
        self._reasons: dict[ModelRole, str] = {}
        self._answered: set[ModelRole] = set()

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the report says about it."""
        return tuple(
            Gap("", f"the {role} worked by rules, without the model: {reason_text(reason)}")
            for role, reason in self._reasons.items()
        )

    def replaced(self, role: ModelRole) -> bool:
        """Whether this role goes on without a model."""
        return role in self._reasons

    def answered(self, role: ModelRole) -> None:
        """Note that a model did some of this role's work."""
        self._answered.add(role)

    def worked(self, role: ModelRole) -> bool:
        """Whether a model did some of this role's work, and was not replaced."""
        return role in self._answered and role not in self._reasons

    async def either(self, role: ModelRole, model: Callable[[], Awaitable[T]], rules: Callable[[], Awaitable[T]]) -> T:
        """What the model's way gives, or the rules' way once the model failed; later calls go to the rules at once.

        Errors: what the model failed with, when rules are not allowed.
        """
        if role in self._reasons:
            return await rules()
        try:
            made = await model()
        except _FAILURES as error:
            await self.note(role, error)
            return await rules()
        self.answered(role)
        return made

    async def note(self, role: ModelRole, error: PinciteError) -> None:
        """Remember and tell that rules take over. Errors: `error` itself, when they may not."""
        if not self.allowed:
            raise error
        if role in self._reasons:
            return
        self._reasons[role] = error.reason
        await self._events.emit(
            EventType.ROLE_REPLACED, {"role": str(role), "code": error.code, "reason": error.reason}
        )


class ToldJudge:
    """Implements `ports.Judge`: a judge that fails twice in a row, or in a way that lasts, is not asked any more.

    A call that got no answer, among others that did, costs its own sentences and not those of the whole report.
    """

    def __init__(self, judge: Judge, replacements: Replacements) -> None:
        self._judge = judge
        self._replacements = replacements
        self._failed: PinciteError | None = None
        self._failures = 0

    @property
    def name(self) -> str:
        """The judge's."""
        return self._judge.name

    @property
    def thresholds(self) -> Thresholds | None:
        """The judge's."""
        return self._judge.thresholds

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """As the judge behind it. Errors: what it failed with, now or for good."""
        if self._failed is not None:
            raise self._failed
        try:
            found = await self._judge.judge(cases)
        except _FAILURES as error:
            self._failures += 1
            if self._failures > 1 or not error.retryable:
                await self._replacements.note(ModelRole.VERIFIER, error)
                self._failed = error
            raise
        self._failures = 0
        self._replacements.answered(ModelRole.VERIFIER)
        return found


class PlannerWithFallback:
    """Implements `roles.Planner`. Rules word the later rounds of a report that no model composes."""

    def __init__(self, model: Planner, rules: Planner, replacements: Replacements, manuscript: Manuscript) -> None:
        self._model, self._rules, self._replacements, self._manuscript = model, rules, replacements, manuscript

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """The model's plan, or the rules'."""
        if progress.round_number > 1 and not self._manuscript.is_begun:
            return await self._rules.plan(task, progress)
        return await self._replacements.either(
            ModelRole.PLANNER, lambda: self._model.plan(task, progress), lambda: self._rules.plan(task, progress)
        )


class AnalystWithFallback:
    """Implements `roles.Analyst` and `roles.Verifier`: rules choose passages where no model composes a report of them.

    Args:
        model: composes the report.
        rules: the rules' analyst.
        verifier: checks what rules chose.
        quotes: checks the lines that a composed report rests on; no judge is asked about a page's own words.
        replacements: what was replaced in this run.
    """

    def __init__(
        self, model: Analyst, rules: Analyst, verifier: Verifier, quotes: Verifier, replacements: Replacements
    ) -> None:
        self._model, self._rules, self._verifier, self._quotes = model, rules, verifier, quotes
        self._replacements = replacements

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """The lines that the report rests on, or what rules chose."""
        return await self._replacements.either(
            ModelRole.WRITER,
            lambda: self._model.analyse(task, sub_question, progress),
            lambda: self._rules.analyse(task, sub_question, progress),
        )

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each of them."""
        replaced = self._replacements.replaced(ModelRole.WRITER)
        return await (self._verifier if replaced else self._quotes).verify(task, analyses, progress)


class DraftingWriter(Writer, Drafter, Protocol):
    """A writer that takes up what it drafted."""


class WriterWithFallback:
    """Implements `roles.Writer` and `roles.Drafter`: says which roles were replaced, and tells the sections.

    Args:
        model: the model's writer; None when rules write.
        rules: the rules' writer.
        replacements: what was replaced in this run.
        events: where the sections that rules wrote are told; the model's writer tells its own.
        drafter: tells closed parts early where rules write.
        modelled: the roles that were given to models.
    """

    def __init__(
        self,
        model: DraftingWriter | None,
        rules: Writer,
        replacements: Replacements,
        events: EventSink,
        drafter: Drafter,
        *,
        modelled: Collection[ModelRole],
    ) -> None:
        self._model, self._rules, self._replacements, self._events = model, rules, replacements, events
        self._drafter = drafter
        self._modelled = frozenset(modelled)

    async def draft(self, task: Task, progress: Progress) -> None:
        """Write or tell the closed parts. A model that fails here is asked again when the report is written."""
        if self._model is None or self._replacements.replaced(ModelRole.WRITER):
            await self._drafter.draft(task, progress)
            return
        with suppress(*_FAILURES):
            await self._model.draft(task, progress)

    async def write(self, task: Task, progress: Progress, metadata: ReportMetadata) -> Report:
        """The model's report, or the rules'; its mode says who worked."""
        model = self._model

        async def by_rules() -> Report:
            report = await self._rules.write(task, self._told(progress), metadata)
            for section in report.sections:
                await emit_section(self._events, section.heading, [sentence.text for sentence in section.sentences])
            return report

        if model is None:
            report = await by_rules()
        else:
            report = await self._replacements.either(
                ModelRole.WRITER, lambda: model.write(task, self._told(progress), metadata), by_rules
            )
        return replace(report, mode=self._mode())

    def _told(self, progress: Progress) -> Progress:
        return replace(progress, gaps=tuple(dict.fromkeys(progress.gaps + self._replacements.gaps)))

    def _mode(self) -> Mode:
        used = {role for role in self._modelled if not self._replacements.replaced(role)}
        if not any(self._replacements.worked(role) for role in used):
            return Mode.EXTRACTIVE
        return Mode.MODEL if used >= set(RESEARCH_ROLES) else Mode.MIXED

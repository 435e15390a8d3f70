"""The loop of a run: planner → searcher → reader → analyst → verifier, again while something is missing, → writer.

Nothing is decided here but when to stop. Executing a run again with a filled ledger makes the same calls.
"""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from pincite.domain.budget import Metrics
from pincite.domain.errors import Internal, InvalidTopic, PinciteError
from pincite.domain.events import EventType, Json
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Progress, ReportMetadata, Task
from pincite.domain.report import Mode, Report
from pincite.domain.search import SearchResult
from pincite.ports import Clock, EventSink, Ledger
from pincite.research.records import emit_claims, emit_plan, emit_report, emit_round
from pincite.research.roles import Analyst, Drafter, Planner, Reader, Searcher, Seconder, Verifier, Writer
from pincite.research.state import (
    Limits,
    closed_parts,
    weighed,
    with_reading,
    with_results,
    with_verification,
    within_quotable,
)
from pincite.runtime.recovery import DEFECT, first_failure
from pincite.runtime.telemetry import RequestMeter, metered

if TYPE_CHECKING:
    from pincite.research.revalidation import Revalidation

# Some ten pages: a question with its material. More is a document, for a library.
MAX_QUESTION_CHARS = 20_000
# Codes of leads whose page came and did not count: too short, another language, outside the period, ...
_DISCARDED = frozenset({"", "EMPTY_CONTENT"})


@dataclass(frozen=True, slots=True)
class Roles:
    """One implementation of each role.

    `mode` says who works; with `tells_sections` the writer itself tells each section as it is ready. A `drafter` writes
    closed parts while rounds go on; a `seconder` looks for second sources after the rounds; a `revalidator` asks for
    old pages again before anything is written from them.
    """

    planner: Planner
    searcher: Searcher
    reader: Reader
    analyst: Analyst
    verifier: Verifier
    writer: Writer
    mode: Mode = Mode.EXTRACTIVE
    tells_sections: bool = False
    drafter: Drafter | None = None
    revalidator: "Revalidation | None" = None
    seconder: Seconder | None = None


class ResearchService:
    """Runs one question to its report. Made once per run: roles, ledger and events belong to that run."""

    def __init__(
        self,
        roles: Roles,
        *,
        ledger: Ledger,
        events: EventSink,
        clock: Clock,
        limits: Limits,
        run_id: str,
        created_at: datetime | None = None,
        start: Progress | None = None,
    ) -> None:
        self._roles = roles
        self._start = start or Progress()
        self._ledger = ledger
        self._events = events
        self._clock = clock
        self._limits = limits
        self._run_id = run_id
        self._created_at = created_at or clock.now()

    async def run(self, task: Task) -> Report:
        """The report: complete, or smaller and saying so when a cap was reached.

        Errors:
            InvalidTopic: the question has no word in it or is too long.
            SearchProviderUnavailable, ...: nothing could be searched at all.
            StorageUnavailable, StorageFull, RunFenced: the record of the run can't be kept.
        """
        vet_question(task.question)
        started_s = self._clock.monotonic_s()
        await self._emit(
            EventType.RUN_STARTED, question=task.question, profile=task.profile, mode=str(self._roles.mode)
        )
        try:
            # What an earlier owner sent counts: a run that is taken up again has the same cap.
            sent = (await self._ledger.spent()).web_requests
            with first_failure(), metered(RequestMeter(self._limits.budget.web_requests, used=sent)):
                report = await self._report(task, started_s)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._emit(EventType.RUN_CANCELLED, reason="cancelled")
            raise
        except PinciteError as error:
            await self._emit(EventType.RUN_FAILED, code=error.code, reason=error.reason)
            raise
        except Exception:
            await self._emit(EventType.RUN_FAILED, code=Internal.code, reason=DEFECT)
            raise
        return report

    async def _report(self, task: Task, started_s: float) -> Report:
        # Reading that began early and drafts of closed parts end with the rounds: nothing is written while they still
        # work.
        async with anyio.create_task_group() as beside:
            progress = await self._gather(task, started_s, beside)
        if self._roles.seconder is not None:
            before = progress
            progress = await self._roles.seconder.find(task, progress, lambda: self._seconds_left(started_s))
            await emit_claims(self._events, before, progress)
        # Last before writing: the nearer to the report, the less may change in between.
        progress = await self._confirmed(task, replace(progress, seconds_left=self._seconds_left(started_s)))
        metrics = await self._paid(await self._metrics(progress), started_s)
        metadata = ReportMetadata(self._run_id, self._created_at, metrics, self._limits.independent_share)
        report = await self._roles.writer.write(task, progress, metadata)
        # Counted again: writing costs most of what a model costs.
        report = replace(report, metrics=await self._paid(report.metrics, started_s))
        await emit_report(self._events, report, sections=not self._roles.tells_sections)
        return report

    async def _confirmed(self, task: Task, progress: Progress) -> Progress:
        """The progress after old pages were asked for again; claims that no longer hold are emitted."""
        if self._roles.revalidator is None:
            return progress
        confirmed = await self._roles.revalidator.revalidate(task, progress, self._created_at)
        await emit_claims(self._events, progress, confirmed)
        return confirmed

    async def _draft(self, task: Task, progress: Progress, drafted: anyio.Event) -> None:
        """Have the parts that are closed written while the next round searches and reads."""
        drafter, closed = self._roles.drafter, closed_parts(progress)
        if drafter is not None and closed.claims:
            if self._roles.revalidator is not None:
                closed = await self._roles.revalidator.revalidate(task, closed, self._created_at)
            await drafter.draft(task, closed)
        drafted.set()

    async def _gather(self, task: Task, started_s: float, beside: TaskGroup) -> Progress:
        """Rounds of planning, searching, reading and checking until nothing new is to be had or a cap is met."""
        progress = self._start
        for number in range(1, self._limits.rounds + 1):
            progress = replace(progress, round_number=number, seconds_left=self._seconds_left(started_s))
            if progress.seconds_left is not None and progress.seconds_left <= 0:
                return await self._capped(progress, "deadline")
            plan = await self._roles.planner.plan(task, progress)
            progress = replace(progress, plan=plan)
            # The first round goes on without queries, too: addresses may have been given.
            if number > 1 and not any(sub_question.queries for sub_question in plan.sub_questions):
                break
            await emit_plan(self._events, progress)
            cap = self._cap_met(progress)
            if number > 1 and cap:
                return await self._capped(progress, cap)
            drafted = anyio.Event()
            if number > 1:
                beside.start_soon(self._draft, task, progress, drafted)
            else:
                drafted.set()
            before = len(progress.pages)
            progress = await self._round(task, progress, started_s, beside, drafted)
            # A round that brought no new page, or could ask nobody: the next one would find the same.
            if (number > 1 and len(progress.pages) == before) or not progress.asked:
                break
        if any(lead.reason == "web_requests" for lead in progress.leads):
            return await self._capped(progress, "web requests")
        cap = self._cap_met(progress)
        # A cap that was met with nothing open took nothing away, and is not held against the report.
        return await self._capped(progress, cap) if cap and progress.gaps else progress

    async def _round(
        self, task: Task, progress: Progress, started_s: float, beside: TaskGroup, drafted: anyio.Event
    ) -> Progress:
        roles = self._roles

        def begin(result: SearchResult) -> None:
            beside.start_soon(roles.reader.begin, task, result)

        found = await roles.searcher.search(task, progress, begin)
        progress = with_results(progress, found.results, found.asked, found.leads)
        progress = replace(progress, seconds_left=self._seconds_left(started_s))
        progress = with_reading(progress, await roles.reader.read(task, found.results, progress))
        await drafted.wait()  # whoever composes anew builds on what was proven, and not on what was refused
        progress = replace(progress, seconds_left=self._seconds_left(started_s))  # less what this took
        analyses = [await roles.analyst.analyse(task, part, progress) for part in progress.plan.sub_questions]
        analyses = [
            replace(found, claims=weighed(within_quotable(found.claims, progress.pages), progress.pages))
            for found in analyses
        ]
        checked = await roles.verifier.verify(task, analyses, progress)
        quoted = (within_quotable((item.claim,), progress.pages) for item in checked.claims)
        trimmed = (
            replace(item, claim=claim) for item, found in zip(checked.claims, quoted, strict=True) for claim in found
        )
        checked = replace(checked, claims=tuple(trimmed))
        before = progress
        progress = with_verification(progress, analyses, checked)
        await emit_round(self._events, before, progress)
        return progress

    def _seconds_left(self, started_s: float) -> float | None:
        deadline_s = self._limits.budget.deadline_s
        return None if deadline_s is None else max(deadline_s - (self._clock.monotonic_s() - started_s), 0.0)

    def _cap_met(self, progress: Progress) -> str:
        """The cap that makes another round pointless, by this execution's own count (see QuerySearcher)."""
        budget = self._limits.budget
        if budget.pages is not None and len(progress.requested) >= budget.pages:
            return "pages"
        if budget.searches is not None and len(progress.asked) >= budget.searches:
            return "searches"
        return ""

    async def _capped(self, progress: Progress, cap: str) -> Progress:
        await self._emit(EventType.BUDGET_EXHAUSTED, reason=cap)
        return replace(progress, capped_by=cap)

    async def _metrics(self, progress: Progress) -> Metrics:
        spent = await self._ledger.spent()
        hits, misses = self._ledger.cache_reads()
        codes = Counter(lead.code for lead in progress.leads)
        discarded = Counter(lead.reason for lead in progress.leads if lead.code in _DISCARDED)
        return Metrics(
            searches=spent.searches,
            pages_fetched=len(progress.pages),
            pages_failed=len(progress.leads),
            dead_links=codes["DEAD_LINK"],
            robots_disallowed=codes["ROBOTS_DISALLOWED"],
            pages_discarded=dict(sorted(discarded.items())),
            cache_hits=hits,
            cache_misses=misses,
        )

    async def _paid(self, metrics: Metrics, started_s: float) -> Metrics:
        """The metrics with the time and what the models used up to now."""
        used, seconds = await self._ledger.spent(), round(self._clock.monotonic_s() - started_s, 3)
        sent, written = used.tokens_in, used.tokens_out
        return replace(metrics, duration_s=seconds, tokens_in=sent, tokens_out=written, cost_usd=used.cost_usd)

    async def _emit(self, type_: EventType, **data: Json) -> None:
        await self._events.emit(type_, data)


def vet_question(question: str) -> str:
    """The question without white space around it.

    Errors:
        InvalidTopic: empty, without a letter or digit, above 20,000 characters, or with a character that no store
            keeps: half of a surrogate pair, a zero.
    """
    text = question.strip()
    # PostgreSQL stores no NUL, UTF-8 no half of a pair: found here, not after the run was paid for.
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise InvalidTopic("the question has a character that is none: it can't be stored", reason="topic_not_text")
    if not any(character.isalnum() for character in text):
        raise InvalidTopic("the question has no word in it", reason="empty_topic")
    if len(text) > MAX_QUESTION_CHARS:
        raise InvalidTopic(f"the question has {len(text)} characters", reason="topic_too_long")
    return text

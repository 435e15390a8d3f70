"""The facade: search, fetch, research, check, index, and what is kept of earlier runs.

Open it with `async with Engine.from_settings() as engine:`. One engine serves many calls at a time; everything it
opened is closed when the block ends. Blocking versions are in `pincite.sync`.
"""

# Read by type checkers alone, or where a run begins: who fetches a page loads nothing of research.
from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import InvalidInput, NotFound
from pincite.domain.events import Event
from pincite.domain.frozen import dataclass
from pincite.domain.ids import new_request_id, new_run_id
from pincite.domain.records import RunRecord
from pincite.services import Services
from pincite.settings import Settings, load_settings
from pincite.wiring.models import model_not_set
from pincite.wiring.sources import resolve_sources

if TYPE_CHECKING:
    from pincite.domain.events import Json, RunStatus
    from pincite.domain.plan import SubQuestion
    from pincite.domain.records import QueueCounts
    from pincite.domain.report import Report
    from pincite.domain.requests import ResearchRequest
    from pincite.domain.search import IndexReport
    from pincite.execution import Execution, OnEvent
    from pincite.ports import Judge, ModelCalls
    from pincite.research.model.estimate import Estimate
    from pincite.research.model.sentences import SentenceProver
    from pincite.research.summary import Summarised
    from pincite.search.spending import Spending
    from pincite.wiring.run_settings import RunEstimate
    from pincite.wiring.server import ServerServices

# Events a slow reader of `research_events` may lag behind before the run waits for it.
EVENT_BUFFER = 256


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is filed: its own id if the caller has one, what it belongs to, and whether workers shall do it."""

    run_id: str | None = None
    project: str = ""
    priority: int = 0
    for_workers: bool = False
    request_id: str = ""


DEFAULT_OPTIONS = RunOptions()
# Priorities of queued runs: what somebody waits for comes before every batch.
INTERACTIVE_PRIORITY = 10
BATCH_PRIORITY = 0


class Engine(Services):
    """One Pincite with its settings, database and connections.

    Args:
        settings: those in force (`pincite.settings.load_settings`).
        shared: what all engines of a process use together.
        model: serves roles instead of the models of the settings: a fake, or an adapter of your own.
        judge: judges instead of the judge of the settings.
    """

    @classmethod
    def from_settings(cls, settings: Settings | None = None, /, **overrides: object) -> Engine:
        """An engine with the settings in force, of which `overrides` (names of docs/settings.md) are changed.

        `judge` may also be a judge of your own (`pincite.ports.Judge`) instead of a name.

        Errors: InvalidSetting (unknown name or bad value).
        """
        if settings is not None and any(value is not None for value in overrides.values()):
            raise InvalidInput("pass settings or overrides, not both")
        judge = overrides.get("judge")
        if judge is None or isinstance(judge, str):
            return cls(settings or load_settings(overrides))
        return cls(load_settings(overrides | {"judge": None}), judge=cast("Judge", judge))

    @property
    def _execution(self) -> Execution:
        from pincite.execution import Execution

        return Execution(self._parts, self.settings)

    async def research(
        self, question: str | ResearchRequest, *, on_event: OnEvent | None = None, **asked: Any
    ) -> Report:
        """The report on `question`. With `urls` those pages are read; with no source named, only those.

        `asked` are members of `ResearchRequest`; `constraints`, `style` and `parts` (those of `plan`, perhaps changed)
        stand for several of them. What is said of a report's style is obeyed for its form, never for what is true.

        Errors:
            InvalidTopic, InvalidUrl, InvalidInput, LibraryNotFound, SearchProviderUnavailable, StorageUnavailable,
            StorageFull. A cap that is reached is no error: the report is smaller and says so.
        """
        run_id = await self.start(question, **asked)
        return await self._execution.resume(run_id, on_event)

    async def plan(
        self, question: str | ResearchRequest, *, spending: Spending | None = None, **asked: Any
    ) -> tuple[SubQuestion, ...]:
        """The parts that a language model would split the question into; nothing is searched, and no run is stored.

        `asked`: as for `research`. `spending`: whose money it is, when not this engine's.

        Errors: InvalidInput (no model is set), and those of the model.
        """
        from pincite.domain.plan import Progress, Task
        from pincite.domain.requests import ResearchRequest
        from pincite.research.model.manuscript import Manuscript
        from pincite.research.model.planner import ModelPlanner
        from pincite.research.service import vet_question
        from pincite.runtime.ledger import PassingLedger

        request = ResearchRequest.of(question, asked)
        calls = await self._parts.calls(PassingLedger(self.settings.budget, spending))
        if calls is None:
            raise model_not_set("a plan")
        planner = ModelPlanner(calls, Manuscript(), results_per_query=self.settings.results_per_query)
        task = Task(vet_question(request.question), request.constraints(), style=request.style())
        return (await planner.plan(task, Progress(round_number=1))).sub_questions

    async def research_events(self, question: str | ResearchRequest, **asked: Any) -> AsyncIterator[Event]:
        """The events of a new run as they happen; its report is stored when they end (`engine.report(run_id)`).

        `asked` and errors: as for `research`.
        """
        run_id = await self.start(question, **asked)
        send, receive = anyio.create_memory_object_stream[Event](EVENT_BUFFER)

        async def run() -> None:
            async with send:
                await self._execution.resume(run_id, send.send)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            async with receive:
                async for event in receive:
                    yield event

    async def index(
        self, path: Path | str, *, vectors: bool = False, progress: Callable[[str], None] = lambda said: None
    ) -> IndexReport:
        """Make a folder, WARC or WACZ searchable without naming it; only what changed is read again.

        Args:
            path: of the pages.
            vectors: also make the vectors of passages that are missing, where the settings rank by
                meaning; without them they are made for what questions meet.
            progress: hears often, in another thread, how far it is ("120 pages read").

        Errors: LibraryNotFound, ArchiveCorrupt, InvalidInput, Locked, StorageUnavailable, StorageFull.
        """
        return await self._parts.index(Path(path), vectors=vectors, progress=progress)

    async def summarize(
        self, target: str, *, sentences: int = 8, from_record: bool = False, spending: Spending | None = None
    ) -> Summarised:
        """The main points of a page (its URL) or of a finished run (its id, or `last`), each with its passages.

        With a model in the settings it writes and every sentence is checked; without one, sentences are chosen. What
        a model or judge does for a run is on that run's record and within its caps; `from_record` makes it again from
        there, with the model and judge that the run had. `spending`: whose money a page's is, when not this engine's.

        Errors: RunNotFound, InsufficientEvidence (the run has no report), Locked, and those of `fetch`.
        """
        from pincite.research.continuing import verified_claims
        from pincite.research.summary import summarise

        if target != "last" and not target.startswith("run_"):
            return await self._summary_of_page(target, sentences, spending)
        report = await self.report(target)
        material = verified_claims(report, await self._documents_of(report))

        async def work(calls: ModelCalls | None, judge: Judge | None) -> Summarised:
            return await summarise(report.title, material, self._prover(judge), calls=calls, sentences=sentences)

        if not from_record and await self._parts.models(self.settings) is None:
            return await work(None, await self._parts.judge())
        return await self._execution.calling(report.run_id, work, from_record=from_record)

    async def _summary_of_page(self, url: str, sentences: int, spending: Spending | None) -> Summarised:
        from pincite.domain.plan import ReadPage
        from pincite.research.summary import page_material, summarise
        from pincite.runtime.ledger import PassingLedger

        with self._parts.log.noted("summarize", {"url": url}) as note:
            page = await self.fetch(url, spending=spending)
            read = ReadPage(page.canonical_url or page.final_url, page.snapshot, page.document)
            material = await anyio.to_thread.run_sync(page_material, read)
            ledger = PassingLedger(self.settings.budget, spending)
            calls = await self._parts.calls(ledger)
            prover, title = self._prover(await self._parts.judge(ledger, calls)), page.title or page.final_url
            made = await summarise(title, material, prover, calls=calls, sentences=sentences)
            used = await ledger.spent()
            note.tokens_in, note.tokens_out, note.cost_usd = used.tokens_in, used.tokens_out, used.cost_usd
        return made

    async def structure(self, report: Report, schema: Json, *, from_record: bool = False) -> dict[str, Json]:
        """The report as values for a JSON Schema, each with its passages: `{answer, evidence, missing, ...}`.

        The calls of model and judge are on the record of the report's run and within its caps; `from_record` makes the
        answer again from there alone, with those that the run had.

        Errors: InvalidInput (no model is set, or the schema can't be filled), Locked, and those of the model.
        """
        from pincite.research.continuing import verified_claims
        from pincite.research.schema_fields import fields_of
        from pincite.research.structured import fill

        fields_of(schema)
        claims = verified_claims(report, await self._documents_of(report))

        async def work(calls: ModelCalls, judge: Judge | None) -> dict[str, Json]:
            return await fill(report.question, schema, claims, calls, self._prover(judge))

        return await self._execution.calling(report.run_id, work, from_record=from_record)

    async def answer(self, run_id: str) -> dict[str, Json]:
        """The report of a run as values for the `output_schema` it was asked with; made once, then from the record.

        Errors: NotFound (`no_schema`: it was asked without one), InsufficientEvidence, and those of `structure`.
        """
        record = await self.run(run_id)
        schema = record.inputs.get("output_schema")
        if schema is None:
            hint = "Ask with output_schema, or read the report's findings."
            raise NotFound(f"run {record.run_id} was asked without an output_schema", reason="no_schema", hint=hint)
        return await self.structure(await self.report(record.run_id), schema)

    def _prover(self, judge: Judge | None) -> SentenceProver:
        """What decides about sentences outside of a report."""
        from pincite.research.model.evidence import EvidenceBank
        from pincite.research.model.sentences import SentenceProver

        return SentenceProver(judge, EvidenceBank(), self._parts.clock.now())

    async def estimate(self) -> Estimate | None:
        """What the models of a run are expected to use under the caps of the settings; None in extractive mode.

        Errors: InvalidSetting (a model's name, key or price is missing), ExtraNotInstalled.
        """
        model = await self._parts.models(self.settings)
        if model is None:
            return None
        from pincite.domain.model import ModelRole
        from pincite.research.model.estimate import expected

        infos = {role: model.info(role)[0] for role in ModelRole if model.info(role)}
        return expected(infos, self.settings.budget, self.settings.llm_source_tokens) if infos else None

    async def start(
        self, question: str | ResearchRequest, *, run_options: RunOptions = DEFAULT_OPTIONS, **asked: Any
    ) -> str:
        """The id of a new run that is stored but not yet worked on (`resume` does that, or a worker).

        `asked`: as for `research`. Caps above those in force change nothing; `llm` and `judge` are those that the
        settings allow. `continues` names an earlier run (or `last`): its pages are at hand, its claims candidates.

        Errors: RunNotFound, InvalidTopic, InvalidUrl, LibraryNotFound, InvalidInput, InvalidSetting.
        """
        from pincite.domain.events import RunStatus
        from pincite.domain.plan import Task
        from pincite.domain.requests import ResearchRequest
        from pincite.research.plan_text import plan_of
        from pincite.research.service import vet_question
        from pincite.wiring.models import model_names
        from pincite.wiring.run_settings import continued, frozen_settings, requested

        request = ResearchRequest.of(question, asked)
        before = await self.run(request.continues) if request.continues else None
        settings = continued(requested(self.settings, request), before)
        constraints = request.constraints()
        task = Task(
            question=vet_question(request.question),
            constraints=constraints,
            urls=request.urls,
            profile=settings.profile,
            style=request.style(),
            parts=plan_of(request.plan, constraints, settings.results_per_query),
        )
        await self._parts.vet_task(task)
        models = await self._parts.models(settings)
        extra = await anyio.to_thread.run_sync(_vetted_extra, request, models is not None)
        task = replace(task, continues=before.run_id, background=before.question) if before else task
        now = self._parts.clock.now()
        record = RunRecord(
            run_id=run_options.run_id or new_run_id(),
            scope=self.settings.scope,
            question=task.question,
            status=RunStatus.QUEUED,
            created_at=now,
            updated_at=now,
            inputs={
                "task": to_json(task),
                "settings": frozen_settings(settings),
                "models": model_names(models),
                "judge": await self._parts.judge_record(settings),
                **extra,
                "keyless": resolve_sources(settings, only_urls=bool(task.urls)).is_keyless,
            },
            budget=settings.budget,
            project=run_options.project or request.project,
            priority=run_options.priority,
            for_workers=run_options.for_workers,
            request_id=run_options.request_id or new_request_id(),
        )
        await (await self._parts.runs()).create(record)
        if run_options.for_workers:
            await self._parts.shared.offer_runs(self.settings.scope)
        return record.run_id

    async def resume(
        self, run_id: str, *, on_event: OnEvent | None = None, handoff: Callable[[], bool] | None = None
    ) -> Report:
        """The report of a run that was started, interrupted or killed; finished calls are not made again.

        `handoff` is asked when the task is cancelled: whether workers go on with the run, which then is not cancelled.

        Errors: RunNotFound, Locked (another worker has it), and those of `research`.
        """
        return await self._execution.resume(await self._resolve(run_id), on_event, handoff)

    @property
    def leaves_runs_to_workers(self) -> bool:
        """Whether runs that nobody waits for in this process are best left to workers (PostgreSQL, `[worker]`)."""
        return self._parts.leaves_runs_to_workers

    async def queue(self, run_id: str, *, priority: int = 0) -> bool:
        """Have a stored run, also an ended one, wait for a worker; False where one has it. Errors: RunNotFound."""
        queued = await (await self._parts.runs()).queue(await self._resolve(run_id), priority)
        await self._parts.shared.offer_runs(self.settings.scope)
        return queued

    async def queue_counts(self) -> QueueCounts:
        """Runs of all scopes that wait or are in work, as numbers."""
        return await self._parts.shared.queue_counts()

    async def work_on(self, run_id: str, *, at_most: int, on_event: OnEvent | None = None) -> RunStatus | None:
        """How a run ended that was offered to workers; None when there was nothing to do (`RunStore.claim`).

        A cancelled task hands the run back to other workers. A run over which several owners died is given up.

        Errors: Those of `research`; the run's own record says them too.
        """
        return await self._execution.work_on(run_id, at_most, on_event)

    def run_estimate(self) -> RunEstimate:
        """What a run would use and may cost at most. Calls nothing."""
        from pincite.wiring.run_settings import run_estimate

        return run_estimate(self.settings)

    async def replay(self, run_id: str) -> Report:
        """The report of a run made again from its record alone: nothing is searched, fetched or written.

        It equals the stored report but for the metrics, unless the code, the settings or the record changed.

        Errors: RunNotFound, Conflict (`replay_miss`: the record lacks a call that is made now).
        """
        from pincite.domain.plan import Task
        from pincite.wiring.models import NullSink
        from pincite.wiring.run_settings import thawed_settings

        record = await self.run(run_id)
        task = from_json(Task, record.inputs["task"])
        settings = thawed_settings(self.settings, record.inputs.get("settings"))
        research = await self._parts.research(record, task, settings, NullSink(record.run_id), from_record=True)
        return await research.run(task)

    async def server_services(self) -> ServerServices:
        """What a server needs beside the surfaces: its memory of requests, budgets of keys, webhooks."""
        return await self._parts.server_services()


def _vetted_extra(request: ResearchRequest, has_model: bool) -> dict[str, Json]:
    """What a run keeps for its asker. Errors: InvalidInput (a schema that can't be filled, or by nobody)."""
    extra: dict[str, Json] = {"metadata": dict(request.metadata)} if request.metadata else {}
    if request.output_schema is not None:
        from pincite.research.schema_fields import fields_of

        extra["output_schema"] = schema = dict(request.output_schema)
        fields_of(schema)
        if not has_model:
            raise model_not_set("an output schema")
    return extra

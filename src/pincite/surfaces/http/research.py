"""Research as runs: start, follow, read, stop, go on. A run outlives the connection that started it."""

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import AliasChoices, Field

from pincite.domain.codec import to_json
from pincite.domain.errors import Conflict, InsufficientEvidence, InvalidInput, PinciteError, RunCancelled, leaves
from pincite.domain.events import Event, EventNames, EventType, RunStatus, event_name
from pincite.domain.plan import AnswerForm, ReportDepth, ReportLength, ReportStyle, SubQuestion
from pincite.domain.records import RunRecord
from pincite.domain.report import Report
from pincite.domain.search import Constraints
from pincite.engine import ANYWHERE, PLAIN, Engine, Filing
from pincite.exports.codec import event_json, report_json
from pincite.research.plan_text import plan_parts
from pincite.surfaces.http import shapes
from pincite.surfaces.http.responses import EventStream
from pincite.surfaces.http.service import Scope, Service, account_of, owner_of, service_of
from pincite.surfaces.http.shapes import cursor_after, published, read_cursor, shaped, streamed
from pincite.surfaces.http.tools import Limits, Strict


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be found out, and under which caps (settings that only lower what is in force).

    `continues` is the run whose pages and claims are at hand, `llm` the model that the caller wants, `style` how the
    report shall be, `parts` a plan that the caller has seen.
    """

    question: str
    urls: tuple[str, ...] = ()
    constraints: Constraints = ANYWHERE
    caps: Mapping[str, Any] = field(default_factory=dict)
    continues: str = ""
    llm: str | None = None
    style: ReportStyle = PLAIN
    parts: tuple[SubQuestion, ...] = ()


async def start_run(request: Request, engine: Engine, wish: Wish, webhook_url: str | None = None) -> str:
    """The id of a new run, with its caps and its webhook on record.

    Errors: those of `Engine.start`, BudgetExhausted (`daily_usd`), InvalidUrl and BlockedAddress (the webhook's),
        RateLimited (too many runs are waiting).
    """
    service_of(request).vet_room(owner_of(request))
    desk = await engine.front_desk()
    if webhook_url is not None:
        desk.hooks.vetted(webhook_url)
    caps = dict(wish.caps)
    account = await account_of(request, engine)
    if account is not None:
        wanted = [cap for cap in (caps.get("max_cost_usd"), engine.settings.max_cost_usd) if cap is not None]
        caps["max_cost_usd"] = request.state.set_aside = await account.reserve_for_run(min(wanted, default=None))
    try:
        filing = Filing(request_id=request.state.request_id)
        run_id = await engine.start(
            wish.question,
            urls=wish.urls,
            constraints=wish.constraints,
            filing=filing,
            caps=caps,
            continues=wish.continues,
            llm=wish.llm,
            style=wish.style,
            parts=wish.parts,
        )
    except PinciteError:
        await _give_back(request, engine)
        raise
    if webhook_url is not None:
        await desk.add_webhook(run_id, webhook_url)
    return run_id


async def undo(request: Request, engine: Engine, run_id: str) -> None:
    """Forget a run that this request stored and nobody works on; the caller's key gets back what was set aside."""
    await engine.delete(run_id)
    await _give_back(request, engine)


def work_on(request: Request, engine: Engine, run_id: str) -> bool:
    """Execute a run in the background; in the end the caller's key gets back what was not spent.

    False, and nothing happens, where the run is worked on already.
    """

    async def settle() -> None:
        account = await account_of(request, engine)
        if account is not None:
            before = getattr(request.state, "spent_before", Decimal(0))
            spent = (await engine.run(run_id)).usage.cost_usd - before
            await account.give_back(getattr(request.state, "set_aside", Decimal(0)) - spent)

    return service_of(request).work_on(engine, run_id, owner_of(request), after=settle)


async def resume_run(request: Request, engine: Engine, record: RunRecord) -> None:
    """Go on with a run; a caller whose key has a daily budget sets aside what the run may still spend.

    Errors: BudgetExhausted (`daily_usd`), RateLimited, Conflict (it is running).
    """
    service_of(request).vet_room(owner_of(request))
    account = await account_of(request, engine)
    if account is not None:
        cap = record.budget.cost_usd
        left = None if cap is None else max(cap - record.usage.cost_usd, Decimal(0))
        request.state.set_aside = await account.reserve_for_run(left)
        request.state.spent_before = record.usage.cost_usd
    if not work_on(request, engine, record.run_id):  # another request was faster
        await _give_back(request, engine)
        raise Conflict(f"{record.run_id} is running", reason="run_owned")


async def _give_back(request: Request, engine: Engine) -> None:
    account = await account_of(request, engine)
    if account is not None:
        await account.give_back(request.state.set_aside)


async def to_the_end(request: Request, engine: Engine, run_id: str) -> Report:
    """The report of a run that this call waits for; a caller who goes away stops it, what was paid for is kept.

    Errors: what the run failed with, RunCancelled, InsufficientEvidence.
    """
    service = service_of(request)
    async with anyio.create_task_group() as tasks:

        async def stop_when_gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                continue
            await service.abandon(engine, run_id)

        tasks.start_soon(stop_when_gone)
        await service.ended(engine, run_id)
        tasks.cancel_scope.cancel()
    return await report_of(engine, run_id)


async def report_of(engine: Engine, run_id: str) -> Report:
    """The report of a run that has ended. Errors: as `to_the_end`."""
    view = await engine.view(run_id)
    if view.report is not None:
        return view.report
    if view.record.status is RunStatus.CANCELLED:
        raise RunCancelled(f"run {run_id} was stopped", reason=view.record.reason or None)
    failed = next((event for event in reversed(view.events) if event.type is EventType.RUN_FAILED), None)
    code = "" if failed is None else str(failed.data.get("code"))
    kind = next((leaf for leaf in leaves() if leaf.code == code), InsufficientEvidence)
    raise kind(f"run {run_id} has no report: {view.record.reason or view.record.status}", reason=view.record.reason)


router = APIRouter(prefix="/v1/research", tags=["research"])
HEARTBEAT_S = 15.0
MAX_WAIT_S = 50.0
MAX_EVENTS = 2**31 - 1
FORMATS = {
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "csl.json": "application/vnd.citationstyles.csl+json",
    "bib": "application/x-bibtex; charset=utf-8",
    "ris": "application/x-research-info-systems; charset=utf-8",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pdf": "application/pdf",
    "wacz": "application/wacz",
}
ACCEPTED = shaped(shapes.Run, status=202)
STREAM = streamed("Server-sent events; the data of each is an Event.")
REPORT = published(
    "Report",
    what="The report.",
    others=tuple(sorted({kind.split(";")[0] for kind in FORMATS.values()} - {"application/json"})),
)


class PlanPart(Strict):
    """One part of a plan: `after` is the number of an earlier part whose answer it needs."""

    question: str = Field(min_length=1, max_length=500)
    heading: str = Field("", max_length=90)
    form: AnswerForm = AnswerForm.PROSE
    queries: tuple[str, ...] = Field((), max_length=6)
    after: int | None = Field(None, ge=1, le=8)


class StyleBody(Limits):
    """How the report shall be (with a language model): obeyed for its form, never for what counts as true."""

    audience: str = Field("", max_length=200)
    length: ReportLength = ReportLength.STANDARD
    report_language: str = Field("", max_length=40)
    depth: ReportDepth = ReportDepth.STANDARD
    instructions: str = Field("", max_length=2_000)

    def style(self) -> ReportStyle:
        """These wishes as the engine takes them."""
        return ReportStyle(self.audience, self.length, self.report_language, self.depth, self.instructions)


class PlanBody(StyleBody):
    """A question to be planned."""

    question: str = Field(validation_alias=AliasChoices("question", "query", "input"), max_length=20_000)
    profile: Literal["quick", "standard", "thorough", "offline"] | None = None


class ResearchBody(StyleBody):
    """A question with its limits; `query` and `input` are other names of `question`."""

    question: str = Field(validation_alias=AliasChoices("question", "query", "input"), max_length=20_000)
    urls: tuple[str, ...] = Field((), max_length=100)
    profile: Literal["quick", "standard", "thorough", "offline"] | None = None
    max_rounds: int | None = Field(None, ge=1, le=20, description="These caps only lower what is in force.")
    max_searches: int | None = Field(None, ge=0)
    max_pages: int | None = Field(None, ge=0)
    max_web_requests: int | None = Field(None, ge=0)
    max_tokens: int | None = Field(None, ge=0)
    max_cost_usd: float | None = Field(None, ge=0, le=1_000_000)
    deadline_s: float | None = Field(None, gt=0, le=86_400)
    require_coverage: float | None = Field(
        None, gt=0, le=1, description="Share of the parts that must be answered; below, the run's reason says so."
    )
    llm: str | None = Field(
        None, max_length=200, description="Model of this run: one that the operator allows, or none. Never a key."
    )
    webhook_url: str | None = Field(None, max_length=2048, description="Told when the run has ended; signed.")

    plan: tuple[PlanPart, ...] = Field((), max_length=8, description="A plan of `/v1/research/plan`, perhaps changed.")

    def wish(self) -> Wish:
        """What is to be found out, under which caps. Errors: InvalidInput (`plan_invalid`)."""
        names = (
            "max_rounds",
            "max_searches",
            "max_pages",
            "max_web_requests",
            "max_tokens",
            "deadline_s",
            "require_coverage",
        )
        given: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.max_cost_usd is not None:
            given["max_cost_usd"] = Decimal(str(self.max_cost_usd))
        limits = self.constraints()
        parts = plan_parts([part.model_dump() for part in self.plan], limits) if self.plan else ()
        return Wish(self.question, self.urls, limits, given, llm=self.llm, style=self.style(), parts=parts)


@router.post("", status_code=202, response_model=None, responses=shaped(shapes.Run, status=202))
async def start(
    body: ResearchBody,
    request: Request,
    response: Response,
    scope: Scope,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> dict[str, Any]:
    """Start a run; follow `Location`. With an `Idempotency-Key` it is started once, also after a restart."""
    service = service_of(request)
    engine = await service.engine(scope, body.profile)
    desk = await engine.front_desk()
    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()
    known = await desk.memory.started_with(idempotency_key) if idempotency_key else None
    if known is None:
        run_id = await start_run(request, engine, body.wish(), body.webhook_url)
        known = (digest, run_id)
        if idempotency_key:
            known = await desk.memory.remember(idempotency_key, digest, run_id)
        if known[1] == run_id:
            work_on(request, engine, run_id)
        else:  # somebody else with the same key was faster
            await undo(request, engine, run_id)
    digest_before, run_id = known
    if digest_before != digest:
        raise Conflict("this idempotency key came with another body before", reason="idempotency_key_reused")
    response.headers["Location"] = f"/v1/research/{run_id}"
    return await run_json(engine, await engine.run(run_id))


@router.post("/plan", response_model=None)
async def plan(body: PlanBody, request: Request, scope: Scope) -> dict[str, Any]:
    """The parts that a language model would split the question into, to be changed and given back as `plan`."""
    engine = await service_of(request).engine(scope, body.profile)
    parts = await engine.plan(body.question, constraints=body.constraints(), style=body.style())
    return {
        "plan": [
            {
                "question": part.text,
                "heading": part.heading,
                "form": str(part.form),
                "queries": [query.text for query in part.queries],
                "after": int(part.depends_on) if part.depends_on else None,
            }
            for part in parts
        ]
    }


@router.get("", response_model=None, responses=shaped(shapes.RunPage))
async def list_runs(
    request: Request,
    scope: Scope,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
    status: RunStatus | None = None,
) -> dict[str, Any]:
    """The newest runs first (of one status); `next_cursor` of a page, given as `cursor`, brings the page after it."""
    engine = await service_of(request).engine(scope)
    before = None if cursor is None else read_cursor(cursor)
    found = await engine.runs(limit + 1, before=before, status=status)
    page = found[:limit]
    more = cursor_after(page[-1].created_at, page[-1].run_id) if len(found) > limit else None
    return {"runs": [plain_run(record) for record in page], "next_cursor": more}


@router.get("/{run_id}", response_model=None, responses=shaped(shapes.Run))
async def show(
    run_id: str, request: Request, scope: Scope, wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S)] = 0
) -> dict[str, Any]:
    """Where the run stands; with `wait`, as soon as it has ended or after so many seconds."""
    service = service_of(request)
    engine = await service.engine(scope)
    await engine.run(run_id)
    with anyio.move_on_after(wait):
        await service.ended(engine, run_id)
    return await run_json(engine, await engine.run(run_id))


@router.get("/{run_id}/events", response_class=Response, responses=STREAM)
async def events(
    run_id: str,
    request: Request,
    scope: Scope,
    last_event_id: Annotated[str | None, Header()] = None,
    starting_after: Annotated[int, Query(ge=0, le=MAX_EVENTS)] = 0,
    event_names: EventNames = "own",
) -> EventStream:
    """Every event of the run from the start (or after `Last-Event-ID`), then as they happen."""
    service = service_of(request)
    service.vet_follower(owner_of(request))
    engine = await service.engine(scope)
    await engine.run(run_id)
    after = starting_after
    if last_event_id and last_event_id.isdecimal():
        after = min(int(last_event_id[:18]), MAX_EVENTS)
    return EventStream(_stream(service, engine, run_id, after, owner_of(request), event_names))


@router.get("/{run_id}/report", response_class=Response, responses=REPORT)
async def report(
    run_id: str,
    request: Request,
    scope: Scope,
    format: str = "json",  # noqa: A002  # the name everybody expects
    evidence: Literal["full", "passages"] = "passages",
) -> Response:
    """The report in any format of docs/exports.md; `evidence` says what a bundle (wacz) carries of the pages."""
    engine = await service_of(request).engine(scope)
    if format not in FORMATS:
        raise InvalidInput(f"there is no format {format!r}", hint=f"Known: {', '.join(FORMATS)}.")
    if format == "wacz":
        data = await engine.bundle(run_id, evidence)
    else:
        data = await engine.export(await engine.report(run_id), format)
    headers = {
        "Content-Disposition": f'attachment; filename="{run_id}.{format}"',
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, media_type=FORMATS[format], headers=headers)


@router.get("/{run_id}/claims", response_model=None, responses=shaped(shapes.Claims))
async def claims(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """The claims with verdicts and quotes."""
    engine = await service_of(request).engine(scope)
    return {"claims": report_json(await engine.report(run_id))["claims"]}


@router.get("/{run_id}/sources", response_model=None, responses=shaped(shapes.Sources))
async def sources(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """The references and what was found but not read."""
    engine = await service_of(request).engine(scope)
    found = report_json(await engine.report(run_id))
    return {"references": found["references"], "leads": found["leads"]}


@router.get("/{run_id}/citations/{n}", response_model=None, responses=shaped(shapes.Cited))
async def citation(
    run_id: str, n: Annotated[int, Path(ge=1, le=MAX_EVENTS)], request: Request, scope: Scope
) -> dict[str, Any]:
    """What `[n]` (`citation:n`) stands for: the reference, and the passages cited from it."""
    engine = await service_of(request).engine(scope)
    found = await engine.report(run_id)
    passages = [
        {"claim_id": claim.id, "passage": to_json(part, outside=True)}
        for claim in found.claims
        for part in claim.evidence
        if part.reference_n == n
    ]
    return {"reference": to_json(found.reference(n), outside=True), "passages": passages}


@router.get("/{run_id}/trace", response_model=None, responses=shaped(shapes.Trace))
async def trace(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """What the run planned, searched, read and spent: every call with its outcome, latency and bill, every event."""
    engine = await service_of(request).engine(scope)
    record = await engine.run(run_id)
    return {
        "run": plain_run(record),
        "budget": to_json(record.budget, outside=True),
        "calls": [to_json(call, outside=True) for call in await engine.calls(run_id)],
        "events": [event_json(event) for event in await engine.events(run_id)],
    }


@router.post("/{run_id}/cancel", status_code=202, response_model=None, responses=ACCEPTED)
async def cancel(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """Stop the run; what was paid for is kept."""
    service = service_of(request)
    engine = await service.engine(scope)
    await service.cancel(engine, run_id)
    return await run_json(engine, await engine.run(run_id))


@router.post("/{run_id}/resume", status_code=202, response_model=None, responses=ACCEPTED)
async def resume(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """Go on with a run that was stopped or broken off; finished calls are not made again."""
    service = service_of(request)
    engine = await service.engine(scope)
    record = await engine.run(run_id)
    if service.busy_with(run_id):
        raise Conflict(f"{run_id} is running")
    await resume_run(request, engine, record)
    return await run_json(engine, record)


@router.delete("/{run_id}", status_code=204)
async def delete(run_id: str, request: Request, scope: Scope) -> None:
    """Forget the run and what only it used."""
    engine = await service_of(request).engine(scope)
    await engine.delete(run_id)


async def run_json(engine: Engine, record: RunRecord) -> dict[str, Any]:
    """A single run as it is sent, with what became of its webhooks."""
    hooks = await (await engine.front_desk()).memory.webhooks(record.run_id)
    told = [{name: getattr(hook, name) for name in ("url", "status", "tries", "detail")} for hook in hooks]
    return {**plain_run(record), **({"webhooks": told} if told else {})}


def plain_run(record: RunRecord) -> dict[str, Any]:
    """A run as it is sent in a list."""
    return {
        "id": record.run_id,
        "status": str(record.status),
        "question": record.question,
        "created_at": to_json(record.created_at, outside=True),
        "updated_at": to_json(record.updated_at, outside=True),
        "reason": record.reason,
        "usage": to_json(record.usage, outside=True),
    }


async def _stream(
    service: Service, engine: Engine, run_id: str, after: int, owner: str, names: EventNames
) -> AsyncGenerator[str]:
    with service.engines.in_use(engine):
        async with aclosing(service.follow(engine, run_id, after, HEARTBEAT_S, owner)) as events:
            async for event in events:
                yield ": still running\n\n" if event is None else _sse(event, names)


def _sse(event: Event, names: EventNames) -> str:
    name = event_name(event.type, names)
    data = json.dumps({**event_json(event), "type": name}, ensure_ascii=False)
    return f"id: {event.seq}\nevent: {name}\ndata: {data}\n\n"

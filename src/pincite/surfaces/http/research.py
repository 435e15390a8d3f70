"""Research as runs: start, follow, read, stop, go on. A run outlives the connection that started it."""

import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import Field

from pincite.domain.codec import to_json
from pincite.domain.errors import Conflict, InsufficientEvidence, InvalidInput, PinciteError, RunCancelled, leaves
from pincite.domain.events import EventNames, EventType, RunStatus, event_name
from pincite.domain.markdown import restyle
from pincite.domain.records import RunRecord
from pincite.domain.report import Report
from pincite.domain.requests import PlanPart, ResearchRequest
from pincite.engine import Engine, RunOptions
from pincite.exports.codec import event_json
from pincite.surfaces.accounts import charged
from pincite.surfaces.http import shapes
from pincite.surfaces.http.responses import EventStream
from pincite.surfaces.http.service import CallersEngine, Scope, Service, account_of, budget_of, owner_of, service_of
from pincite.surfaces.http.shapes import cursor_after, published, read_cursor, shape_json, shaped, streamed
from pincite.surfaces.requests import Part, body_of, part_json, request_of
from pincite.wiring.registry import BUNDLE, export_formats


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
# Proxies cut a silent stream after 30 to 60 s.
HEARTBEAT_S = 15.0
# Below the 60 s after which most proxies give up on an answer.
MAX_WAIT_S = 50.0
# What every database takes for an integer.
MAX_EVENTS = 2**31 - 1
FORMATS = {format_.name: format_.media_type for format_ in export_formats()}
ACCEPTED = shaped(shapes.Run, status=202)
STREAM = streamed("Server-sent events; the data of each is an Event.")
REPORT = published(
    "Report",
    what="The report.",
    others=tuple(sorted({kind.split(";")[0] for kind in FORMATS.values()} - {"application/json"})),
)


class ResearchBody(body_of(ResearchRequest)):  # type: ignore[misc]  # made of the request's rules
    """A question with its limits; `query` and `input` are other names of `question`."""

    webhook_url: str | None = Field(None, max_length=2048, description="Told when the run has ended; signed.")


@router.post("", status_code=202, response_model=None, responses=ACCEPTED)
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
    services = await engine.server_services()
    # Of the body as it was understood: other spacing, or a default that is written out, is the same request.
    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()
    known = await services.memory.started_with(idempotency_key) if idempotency_key else None
    if known is None:
        account = await account_of(request, engine)
        if body.webhook_url is not None:
            services.hooks.vetted(body.webhook_url)
        filed = RunOptions(request_id=request.state.request_id)
        run_id = await service.start(engine, request_of(ResearchRequest, body), account, filed)
        known = (digest, run_id)
        try:
            if body.webhook_url is not None:
                await services.add_webhook(run_id, body.webhook_url)
            if idempotency_key:
                # After the run is stored and before it is worked on: of two equal requests at once one run is taken
                # back before it cost anything.
                known = await services.memory.remember(idempotency_key, digest, run_id)
        except BaseException:  # nobody was told of this run: it would wait for ever, and hold the key's money
            with anyio.CancelScope(shield=True), suppress(PinciteError):
                await account.release()
                await engine.delete(run_id)
            raise
        if known[1] == run_id:
            service.work_on(engine, run_id, account)
        else:  # somebody else with the same key was faster
            await engine.delete(run_id)
            await account.release()
    digest_before, run_id = known
    if digest_before != digest:
        hint = "Send another question with a key of its own."
        raise Conflict("this idempotency key came with another body before", reason="idempotency_key_reused", hint=hint)
    response.headers["Location"] = f"/v1/research/{run_id}"
    return await run_json(service, engine, await engine.run(run_id))


@router.post("/plan", response_model=None)
async def plan(body: ResearchBody, request: Request, scope: Scope) -> dict[str, Any]:
    """The parts that a language model would split the question into, to be changed and given back as `plan`."""
    engine = await service_of(request).engine(scope, body.profile)
    parts = await engine.plan(request_of(ResearchRequest, body), spending=await budget_of(request, engine))
    return {"plan": [to_json(PlanPart.of(part), outside=True) for part in parts]}


@router.get("", response_model=None, responses=shaped(shapes.RunPage))
async def list_runs(
    engine: CallersEngine,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
    status: RunStatus | None = None,
) -> dict[str, Any]:
    """The newest runs first (of one status); `next_cursor` of a page, given as `cursor`, brings the page after it."""
    before = None if cursor is None else read_cursor(cursor)
    # One more than asked for says whether there is a next page.
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
    return await run_json(service, engine, await engine.run(run_id))


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
    # Before the stream begins: afterwards there is no status left to refuse with.
    service.vet_follower(owner_of(request))
    engine = await service.engine(scope)
    await engine.run(run_id)
    after = starting_after
    if last_event_id and last_event_id.isdecimal():
        # Cut before it is read: Python takes its time over a number of a million digits.
        after = min(int(last_event_id[:18]), MAX_EVENTS)
    return EventStream(_stream(service, engine, run_id, after, owner_of(request), event_names))


@router.get("/{run_id}/report", response_class=Response, responses=REPORT)
async def report(
    run_id: str,
    engine: CallersEngine,
    format: str = "json",  # noqa: A002  # the name everybody expects
    evidence: Literal["full", "passages"] = "passages",
    marks: Literal["plain", "linked"] = "plain",
) -> Response:
    """The report in any format of docs/exports.md.

    `evidence` says what a bundle (wacz) carries of the pages; `marks` are `[n]`, or `[n](citation:n)` (linked).
    """
    if format not in FORMATS:
        raise InvalidInput(f"there is no format {format!r}", hint=f"Known: {', '.join(FORMATS)}.")
    if format == BUNDLE.name:
        data = await engine.bundle(run_id, evidence)
    else:
        data = await engine.export(await engine.report(run_id), format)
    if format == "md" and marks == "linked":
        data = restyle(data.decode(), "[n](citation:n)").encode()
    headers = {
        "Content-Disposition": f'attachment; filename="{run_id}.{format}"',
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, media_type=FORMATS[format], headers=headers)


def _serve_part(part: Part, shape: type[Any], about: str) -> None:
    async def answered(run_id: str, engine: CallersEngine) -> dict[str, Any]:
        return part_json(await engine.report(run_id), part)

    router.add_api_route(
        f"/{{run_id}}/{part}", answered, name=part, description=about, response_model=None, responses=shaped(shape)
    )


_serve_part("claims", shapes.Claims, "The claims with verdicts and quotes.")
_serve_part("sources", shapes.Sources, "The references and what was found but not read.")
_serve_part("findings", shapes.Findings, "Each statement once, with the sources that support it.")
_serve_part(
    "citations",
    shapes.Citations,
    "Each source that is cited, in the one shape of all surfaces: `url`, `title`, `publishedAt`, `accessedAt`, ...",
)


@router.get("/{run_id}/answer", response_model=None, responses=shaped(shapes.Answer))
async def answer(run_id: str, request: Request, engine: CallersEngine) -> dict[str, Any]:
    """The report as values for the `output_schema` of the question; made at the first call, within the run's caps."""
    async with charged(engine, run_id, await budget_of(request, engine)):
        return {"run_id": run_id, **await engine.answer(run_id)}


@router.get("/{run_id}/citations/{n}", response_model=None, responses=shaped(shapes.Cited))
async def citation(run_id: str, n: Annotated[int, Path(ge=1, le=MAX_EVENTS)], engine: CallersEngine) -> dict[str, Any]:
    """What `[n]` (`citation:n`) stands for: the reference, and the passages cited from it."""
    found = await engine.report(run_id)
    passages = [
        {"claim_id": claim.id, "passage": to_json(part, outside=True)}
        for claim in found.claims
        for part in claim.evidence
        if part.reference_n == n
    ]
    return {"reference": to_json(found.reference(n), outside=True), "passages": passages}


@router.get("/{run_id}/trace", response_model=None, responses=shaped(shapes.Trace))
async def trace(run_id: str, engine: CallersEngine) -> dict[str, Any]:
    """What the run planned, searched, read and spent: every call with its outcome, latency and bill, every event."""
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
    return await run_json(service, engine, await engine.run(run_id))


@router.post("/{run_id}/resume", status_code=202, response_model=None, responses=ACCEPTED)
async def resume(run_id: str, request: Request, scope: Scope) -> dict[str, Any]:
    """Go on with a run that was stopped or broken off; finished calls are not made again."""
    service = service_of(request)
    engine = await service.engine(scope)
    record = await engine.run(run_id)
    if service.busy_with(run_id):
        raise Conflict(f"{run_id} is running")
    await service.resume(engine, record, await account_of(request, engine))
    return await run_json(service, engine, record)


@router.delete("/{run_id}", status_code=204)
async def delete(run_id: str, engine: CallersEngine) -> None:
    """Forget the run and what only it used."""
    await engine.delete(run_id)


async def run_json(service: Service, engine: Engine, record: RunRecord) -> dict[str, Any]:
    """A single run as it is sent: how far it is, and what became of its webhooks."""
    hooks = await (await engine.server_services()).memory.webhooks(record.run_id)
    told = [shape_json(shapes.WebhookState, hook) for hook in hooks]
    progress = service.progress(record.run_id)
    more = {"webhooks": told, "progress": None if progress is None else progress.as_dict()}
    return {**plain_run(record), **{name: value for name, value in more.items() if value}}


def plain_run(record: RunRecord) -> dict[str, Any]:
    """A run as it is sent in a list."""
    named = {"metadata": record.inputs["metadata"]} if record.inputs.get("metadata") else {}
    return shape_json(shapes.Run, record, id=record.run_id) | named


async def _stream(
    service: Service, engine: Engine, run_id: str, after: int, owner: str, names: EventNames
) -> AsyncGenerator[str]:
    with service.engines.in_use(engine):
        async with aclosing(service.follow(engine, run_id, after, HEARTBEAT_S, owner)) as events:
            async for event in events:
                if event is None:
                    yield ": still running\n\n"
                    continue
                name = event_name(event.type, names)
                data = json.dumps({**event_json(event), "type": name}, ensure_ascii=False)
                yield f"id: {event.seq}\nevent: {name}\ndata: {data}\n\n"

"""The shape of OpenAI's responses: a run as a response object, its searches and pages as `web_search_call` items.

A response is a run: `resp_` and the run's id. It is kept, read again, gone on with (`previous_response_id`) and deleted
as runs are. Its items and its events follow from the run's own events, so that they are the same however often they are
read, and a stream can be taken up after any `sequence_number`.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pincite.domain.codec import from_json
from pincite.domain.errors import InvalidInput, PinciteError, RunNotFound
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.plan import Task
from pincite.domain.records import RunRecord
from pincite.domain.report import Report
from pincite.domain.requests import ResearchRequest
from pincite.engine import Engine
from pincite.surfaces.errors import masked
from pincite.surfaces.http import research
from pincite.surfaces.http.openai import (
    KEEP_ALIVE,
    KEEP_ALIVE_S,
    MODELS,
    Objects,
    annotations,
    data,
    given_up,
    instructions_of,
    pieces,
    profile_of,
    question_of,
    refuse_format,
    refuse_functions,
)
from pincite.surfaces.http.responses import EventStream, PlainJson
from pincite.surfaces.http.service import CallersEngine, Scope, begun, owner_of, service_of
from pincite.surfaces.runs import EXTRACTIVE

router = APIRouter(prefix="/v1/responses", tags=["drop-in: OpenAI"])

PREFIX: Final = "resp_"
# Every other status is `completed`: there is a report, and it says what it lacks.
_STATUS: Final = {
    RunStatus.QUEUED: "queued",
    RunStatus.RUNNING: "in_progress",
    RunStatus.FAILED: "failed",
    RunStatus.DEAD_LETTER: "failed",
    RunStatus.CANCELLED: "cancelled",
}
# What every database takes for an integer.
_MAX_NUMBER: Final = 2**31 - 1


class ResponsesBody(BaseModel):
    """What OpenAI's clients send to responses."""

    model: str
    input: str | Objects
    stream: bool = False
    background: bool | None = False
    previous_response_id: str | None = None
    metadata: dict[str, str] | None = Field(None, max_length=16)
    tools: Objects | None = None
    text: dict[str, Any] | None = None
    instructions: str | None = None

    def asked(self) -> ResearchRequest:
        """What is to be found out. Errors: InvalidInput, InvalidTopic."""
        refuse_functions(self.tools)
        refuse_format((self.text or {}).get("format"), "text.format")
        before = None if self.previous_response_id is None else _run_id(self.previous_response_id)
        question = self.input if isinstance(self.input, str) else question_of(self.input)
        wanted = instructions_of(() if isinstance(self.input, str) else self.input, self.instructions)
        return ResearchRequest(question, continues=before or "", instructions=wanted, metadata=self.metadata or {})


@router.post("")
async def create(body: ResponsesBody, request: Request, scope: Scope) -> Response:
    """A report as a response object; with `background` at once, to be read later."""
    profile = profile_of(body.model)
    asked = body.asked()
    engine = await service_of(request).engine(scope, profile)
    try:
        run_id = await begun(request, engine, asked, streams=body.stream)
    except RunNotFound as error:
        given = {"param": "previous_response_id"}
        said = f"Previous response with id '{body.previous_response_id}' not found."
        raise InvalidInput(said, reason="previous_response_not_found", context=given) from error
    told = {"metadata": body.metadata or {}, "background": bool(body.background)}
    if body.stream:
        return EventStream(_stream(request, engine, run_id, told, leaves=bool(body.background)))
    if not body.background:
        await research.to_the_end(request, engine, run_id)
    return PlainJson({**await _response(engine, run_id), **told})


@router.get("/{response_id}")
async def retrieve(
    response_id: str,
    request: Request,
    engine: CallersEngine,
    stream: bool = False,
    starting_after: Annotated[int, Query(ge=-1, le=_MAX_NUMBER)] = -1,
) -> Response:
    """A response as it is now; with `stream` its events from the first one, or after a `sequence_number`."""
    run_id = _run_id(response_id)
    await engine.run(run_id)
    if stream:
        service_of(request).vet_follower(owner_of(request))
        return EventStream(_stream(request, engine, run_id, {}, leaves=True, after=starting_after))
    return PlainJson(await _response(engine, run_id))


@router.get("/{response_id}/input_items")
async def input_items(response_id: str, engine: CallersEngine) -> dict[str, Any]:
    """The question of a response."""
    record = await engine.run(_run_id(response_id))
    part = {"type": "input_text", "text": record.question}
    item = {"id": f"msg_in_{record.run_id}", "type": "message", "role": "user", "status": "completed"}
    found = [{**item, "content": [part]}]
    return {"object": "list", "data": found, "first_id": item["id"], "last_id": item["id"], "has_more": False}


@router.post("/{response_id}/cancel")
async def cancel(response_id: str, request: Request, engine: CallersEngine) -> Response:
    """Stop the run behind a response."""
    run_id = _run_id(response_id)
    await service_of(request).cancel(engine, run_id)
    return PlainJson(await _response(engine, run_id))


@router.delete("/{response_id}")
async def delete(response_id: str, engine: CallersEngine) -> dict[str, Any]:
    """Delete a response and what only it used."""
    await engine.delete(_run_id(response_id))
    return {"id": response_id, "object": "response", "deleted": True}


async def _stream(
    request: Request, engine: Engine, run_id: str, asked: dict[str, Any], *, leaves: bool, after: int = -1
) -> AsyncGenerator[str]:
    """The events of a response numbered above `after`. With `leaves` the run goes on when the reader has gone."""
    service = service_of(request)
    numbered = _NumberedEvents(after)
    opening = {**_opening(await engine.run(run_id)), "status": "in_progress", **asked}
    count = 0
    try:
        for kind in ("response.created", "response.in_progress"):
            yield numbered.event(kind, response=opening)
        with service.engines.in_use(engine):
            # From the first event, whatever was read before: what is counted is which items came, so that a reader who
            # comes back gets the same numbers.
            async with aclosing(service.follow(engine, run_id, 0, KEEP_ALIVE_S, owner_of(request))) as events:
                async for event in events:
                    item = None if event is None else _item(event)
                    if event is None:
                        yield KEEP_ALIVE
                    elif item is not None:
                        for block in numbered.searched(count, item):
                            yield block
                        count += 1
    finally:
        if not leaves:
            await given_up(service, engine, run_id)
    done = {**await _response(engine, run_id), **asked}
    if done["status"] == "completed":
        for block in numbered.message(count, done["output"][-1]):
            yield block
    end = {"completed": "response.completed", "failed": "response.failed"}.get(done["status"], "response.incomplete")
    yield numbered.event(end, response=done)


class _NumberedEvents:
    """Numbers events; those up to `after` were told before and come out empty."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._number = -1

    def event(self, kind: str, **values: Any) -> str:
        """One event as it is sent."""
        self._number += 1
        if self._number <= self._after:
            return ""
        return f"event: {kind}\n" + data({"type": kind, "sequence_number": self._number, **values})

    def searched(self, index: int, item: dict[str, Any]) -> Iterator[str]:
        """A search, or a page that was opened, from its beginning to its end."""
        place = {"output_index": index}
        yield self.event("response.output_item.added", **place, item={**item, "status": "in_progress"})
        # A search that failed has no `completed` event: its end says `failed`.
        ended = ("completed",) if item["status"] == "completed" else ()
        for state in ("in_progress", "searching", *ended):
            yield self.event(f"response.web_search_call.{state}", **place, item_id=item["id"])
        yield self.event("response.output_item.done", **place, item=item)

    def message(self, index: int, message: dict[str, Any]) -> Iterator[str]:
        """The report, a piece at a time, and its citations."""
        part = message["content"][0]
        place = {"item_id": message["id"], "output_index": index, "content_index": 0}
        started = {**message, "status": "in_progress", "content": []}
        yield self.event("response.output_item.added", output_index=index, item=started)
        yield self.event("response.content_part.added", **place, part={**part, "text": "", "annotations": []})
        for piece in pieces(part["text"]):
            yield self.event("response.output_text.delta", **place, delta=piece, logprobs=[])
        for n, item in enumerate(part["annotations"]):
            yield self.event("response.output_text.annotation.added", **place, annotation_index=n, annotation=item)
        yield self.event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self.event("response.content_part.done", **place, part=part)
        yield self.event("response.output_item.done", output_index=index, item=message)


async def _response(engine: Engine, run_id: str) -> dict[str, Any]:
    """The response object of a run as it is now. Errors: RunNotFound."""
    view = await engine.view(run_id)
    status = _STATUS.get(view.record.status, "completed")
    response = {
        **_opening(view.record),
        "status": status,
        "output": [item for item in map(_item, view.events) if item is not None],
    }
    if status == "failed":
        try:
            await research.report_of(engine, run_id)
        except PinciteError as error:
            response["error"] = {"code": "server_error", "message": masked(error.message)}
    if status == "completed" and view.report is not None:
        response["output"].append(_message(view.report))
        response["usage"] = _usage(view.report)
    return response


def _item(event: Event) -> dict[str, Any] | None:
    action: dict[str, Json]
    if event.type in (EventType.SEARCH_COMPLETED, EventType.SEARCH_FAILED):
        query = event.data.get("query", "")
        action = {"type": "search", "query": query, "queries": [query]}
    elif event.type is EventType.PAGE_FETCHED:
        action = {"type": "open_page", "url": event.data.get("url", "")}
    else:
        return None
    status = "failed" if event.type is EventType.SEARCH_FAILED else "completed"
    name = f"ws_{event.run_id.removeprefix('run_')}_{event.seq}"
    return {"id": name, "type": "web_search_call", "status": status, "action": action}


def _message(report: Report) -> dict[str, Any]:
    cited = [{"type": "url_citation", **item} for item in annotations(report)]
    part = {"type": "output_text", "text": report.markdown, "annotations": cited, "logprobs": []}
    head = {"id": f"msg_{report.report_id}", "type": "message", "status": "completed", "role": "assistant"}
    return {**head, "content": [part]}


def _usage(report: Report) -> dict[str, Any]:
    metrics = report.metrics
    return {
        "input_tokens": metrics.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": metrics.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": metrics.tokens_in + metrics.tokens_out,
    }


def _opening(record: RunRecord) -> dict[str, Any]:
    task = from_json(Task, record.inputs["task"])
    kept = record.inputs.get("settings")
    # As `settings_of` made it: the extractive model is the standard profile without a language model.
    silent = isinstance(kept, dict) and kept.get("llm") == "none" and task.profile == "standard"
    names = {profile: name for name, profile in MODELS.items()}
    return {
        "id": PREFIX + record.run_id,
        "object": "response",
        "created_at": int(record.created_at.timestamp()),
        "status": "queued",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": record.inputs.get("metadata") or {},
        "model": names[EXTRACTIVE] if silent else names.get(task.profile, task.profile),
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": PREFIX + task.continues if task.continues else None,
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _run_id(response_id: str) -> str:
    """The id of the run behind a response. Errors: RunNotFound."""
    if not response_id.startswith(f"{PREFIX}run_"):
        raise RunNotFound(f"Response with id '{response_id[:100]}' not found.")
    return response_id.removeprefix(PREFIX)

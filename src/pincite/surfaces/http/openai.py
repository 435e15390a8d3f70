"""The shapes of OpenAI: models, chat completions and responses, with citations as `url_citation` annotations.

`base_url="http://HOST:PORT/v1"`. The question is the last user message; the models are the profiles. Indices are
Unicode code points of the text, half open. `n` above 1 and functions are refused; unknown fields are ignored.
"""

import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias

import anyio
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from pincite.domain.errors import InvalidInput, InvalidTopic, NotFound, PinciteError
from pincite.domain.report import Reference, Report
from pincite.engine import Engine
from pincite.surfaces.desk import EXTRACTIVE
from pincite.surfaces.http import starting
from pincite.surfaces.http.json_response import PlainJson
from pincite.surfaces.http.service import admitted, service_of

router = APIRouter(prefix="/v1", tags=["drop-in: OpenAI"])

MODELS = {
    "pincite-quick": "quick",
    "pincite-standard": "standard",
    "pincite-thorough": "thorough",
    "pincite-extractive": EXTRACTIVE,
}
_KEEP_ALIVE_S = 5.0
Awaited: TypeAlias = "AsyncIterator[str | Report | PinciteError]"
_MARK = re.compile(r"(?<!\\)\[(\d+)\]")
_PIECE = re.compile(r".{1,400}?(?:\s|$)|.{1,400}", re.DOTALL)


class ChatBody(BaseModel):
    """What OpenAI's clients send to chat completions."""

    model: str
    messages: tuple[dict[str, Any], ...]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    n: int | None = None
    tools: tuple[dict[str, Any], ...] | None = None


class ResponsesBody(BaseModel):
    """What OpenAI's clients send to responses."""

    model: str
    input: str | tuple[dict[str, Any], ...]
    stream: bool = False
    metadata: dict[str, str] | None = None
    tools: tuple[dict[str, Any], ...] | None = None


@router.get("/models")
async def models(scope: str = Depends(admitted)) -> dict[str, Any]:
    """The profiles as models."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{name}")
async def model(name: str, scope: str = Depends(admitted)) -> dict[str, Any]:
    """One of them."""
    _profile(name)
    return _model(name)


@router.post("/chat/completions")
async def chat(body: ChatBody, request: Request, scope: str = Depends(admitted)) -> Response:
    """A report as the answer to the last user message."""
    profile = _profile(body.model)
    if body.n not in (None, 1):
        raise InvalidInput("n: one answer at a time", reason="n_unsupported")
    _refuse_functions(body.tools)
    engine = await service_of(request).engine(scope, profile)
    question = _question(body.messages)
    run_id = await _begun(request, engine, question)
    if body.stream:
        usage = bool((body.stream_options or {}).get("include_usage"))
        return _events(_chat_stream(_awaited(request, engine, run_id), run_id, body.model, usage=usage))
    report = await starting.to_the_end(request, engine, run_id)
    message = {
        "role": "assistant",
        "content": report.markdown,
        "refusal": None,
        "annotations": [{"type": "url_citation", "url_citation": item} for item in annotations(report)],
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = _chat_head(report.run_id, body.model, "chat.completion")
    return PlainJson({**head, "choices": [choice], "usage": _chat_usage(report)})


@router.post("/responses")
async def responses(body: ResponsesBody, request: Request, scope: str = Depends(admitted)) -> Response:
    """A report as a response object."""
    profile = _profile(body.model)
    _refuse_functions(body.tools)
    engine = await service_of(request).engine(scope, profile)
    question = body.input if isinstance(body.input, str) else _question(body.input)
    run_id = await _begun(request, engine, question)
    if body.stream:
        return _events(_response_stream(_awaited(request, engine, run_id), run_id, body))
    return PlainJson(_response(await starting.to_the_end(request, engine, run_id), body))


async def _begun(request: Request, engine: Engine, question: str) -> str:
    """The id of a run that is being worked on."""
    run_id = await starting.start(request, engine, starting.Wish(question))
    starting.work_on(request, engine, run_id)
    return run_id


def annotations(report: Report) -> Iterator[dict[str, Any]]:
    """Each mark in the text of the report as a citation; the reference list itself is not cited."""
    references = {reference.n: reference for reference in report.references}
    end = report.markdown.rfind("\n## References\n")
    for mark in _MARK.finditer(report.markdown, 0, end if end >= 0 else len(report.markdown)):
        found: Reference | None = references.get(int(mark[1]))
        if found is not None:
            yield {"start_index": mark.start(), "end_index": mark.end(), "url": found.url, "title": found.title}


async def _chat_stream(run: Awaited, run_id: str, model: str, *, usage: bool) -> AsyncIterator[str]:
    head = _chat_head(run_id, model, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**head, "choices": [choice], **({"usage": None} if usage else {})})

    yield chunk({"role": "assistant", "content": ""})
    async for report in run:
        if isinstance(report, str):
            yield report
            continue
        if isinstance(report, PinciteError):
            error = {"message": report.message, "type": "server_error", "param": None, "code": report.reason}
            yield _data({"error": error})
            return
        for piece in _PIECE.findall(report.markdown):
            yield chunk({"content": piece})
        cited = [{"type": "url_citation", "url_citation": item} for item in annotations(report)]
        yield chunk({"annotations": cited})
        yield chunk({}, "stop")
        if usage:
            yield _data({**head, "choices": [], "usage": _chat_usage(report)})
    yield "data: [DONE]\n\n"


async def _response_stream(run: Awaited, run_id: str, body: ResponsesBody) -> AsyncIterator[str]:
    number = 0

    def event(kind: str, **data: Any) -> str:
        nonlocal number
        number += 1
        return f"event: {kind}\n" + _data({"type": kind, "sequence_number": number - 1, **data})

    opening = _opening(body, run_id)
    yield event("response.created", response=opening)
    yield event("response.in_progress", response=opening)
    async for report in run:
        if isinstance(report, str):
            yield report
            continue
        if isinstance(report, PinciteError):
            failed = {**opening, "status": "failed", "error": {"code": "server_error", "message": report.message}}
            yield event("response.failed", response=failed)
            return
        done = {**_response(report, body), "created_at": opening["created_at"]}
        message = done["output"][0]
        part = message["content"][0]
        place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
        started = {**message, "status": "in_progress", "content": []}
        yield event("response.output_item.added", output_index=0, item=started)
        yield event("response.content_part.added", **place, part={**part, "text": "", "annotations": []})
        for piece in _PIECE.findall(part["text"]):
            yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
        for index, item in enumerate(part["annotations"]):
            yield event("response.output_text.annotation.added", **place, annotation_index=index, annotation=item)
        yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield event("response.content_part.done", **place, part=part)
        yield event("response.output_item.done", output_index=0, item=message)
        yield event("response.completed", response=done)


async def _awaited(request: Request, engine: Engine, run_id: str) -> Awaited:
    """Comments that keep the connection alive while the run goes on, then the report or the error.

    A caller who goes away stops the run.
    """
    service = service_of(request)
    async with service.attending(engine, run_id):
        try:
            while service.is_going(run_id):
                with anyio.move_on_after(_KEEP_ALIVE_S) as waiting:
                    await service.ended(engine, run_id)
                if waiting.cancelled_caught:
                    yield ": researching\n\n"
        finally:
            if service.is_going(run_id):
                with anyio.CancelScope(shield=True):
                    await service.abandon(engine, run_id)
    try:
        yield await starting.report_of(engine, run_id)
    except PinciteError as error:
        yield error


def _response(report: Report, body: ResponsesBody) -> dict[str, Any]:
    cited = [{"type": "url_citation", **item} for item in annotations(report)]
    part = {"type": "output_text", "text": report.markdown, "annotations": cited, "logprobs": []}
    message = {
        "id": f"msg_{report.report_id}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }
    metrics = report.metrics
    usage = {
        "input_tokens": metrics.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": metrics.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": metrics.tokens_in + metrics.tokens_out,
    }
    return {**_opening(body, report.run_id), "status": "completed", "output": [message], "usage": usage}


def _opening(body: ResponsesBody, run_id: str) -> dict[str, Any]:
    return {
        "id": f"resp_{run_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": body.metadata or {},
        "model": body.model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _question(messages: tuple[dict[str, Any], ...]) -> str:
    for message in reversed(messages):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
    raise InvalidTopic("there is no user message to answer")


def _profile(model: str) -> str:
    if model not in MODELS:
        raise NotFound(f"the model {model!r} does not exist; there are: {', '.join(MODELS)}", reason="model_not_found")
    return MODELS[model]


def _refuse_functions(tools: tuple[dict[str, Any], ...] | None) -> None:
    if any(tool.get("type") == "function" for tool in tools or ()):
        raise InvalidInput("functions can't be called from here", reason="tools_unsupported")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "pincite"}


def _chat_head(run_id: str, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_id}", "object": kind, "created": int(time.time()), "model": model}


def _chat_usage(report: Report) -> dict[str, int]:
    metrics = report.metrics
    return {
        "prompt_tokens": metrics.tokens_in,
        "completion_tokens": metrics.tokens_out,
        "total_tokens": metrics.tokens_in + metrics.tokens_out,
    }


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _events(stream: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

"""The shapes of OpenAI: models, chat completions, citations as annotations; and what responses share with them."""

import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from pincite.domain.errors import InvalidInput, InvalidTopic, NotFound, PinciteError
from pincite.domain.report import Reference, Report
from pincite.domain.requests import ResearchRequest
from pincite.engine import Engine
from pincite.surfaces.errors import masked
from pincite.surfaces.http import research
from pincite.surfaces.http.responses import EventStream, PlainJson
from pincite.surfaces.http.service import Scope, Service, begun, owner_of, service_of
from pincite.surfaces.runs import EXTRACTIVE

MODELS: Final = {
    "pincite-quick": "quick",
    "pincite-standard": "standard",
    "pincite-thorough": "thorough",
    "pincite-extractive": EXTRACTIVE,
}
# Well below the silence after which clients and proxies cut a stream. Chosen, not measured.
KEEP_ALIVE_S: Final = 5.0
KEEP_ALIVE: Final = ": researching\n\n"
_MARK = re.compile(r"(?<!\\)\[(\d+)\]")
_PIECE = re.compile(r".{1,400}?(?:\s|$)|.{1,400}", re.DOTALL)
Objects = tuple[dict[str, Any], ...]


def profile_of(model: str) -> str:
    """The profile that a model's name stands for. Errors: NotFound (`model_not_found`)."""
    if model not in MODELS:
        raise NotFound(
            f"the model {model!r} does not exist; there are: {', '.join(MODELS)}",
            reason="model_not_found",
            context={"param": "model"},
        )
    return MODELS[model]


def question_of(messages: Objects) -> str:
    """The text of the last message of the user. Errors: InvalidTopic."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return "\n".join(_texts(message))
    raise InvalidTopic("there is no user message to answer")


def instructions_of(messages: Objects, instructions: str | None = None) -> str:
    """What the system (or developer) says of the answer: wishes about its form, with those given beside it."""
    told = [instructions or ""]
    for message in messages:
        if message.get("role") in ("system", "developer"):
            told += _texts(message)
    # Wishes about the form; agents send system prompts of many pages, which are about other things. Chosen, not
    # measured.
    return "\n".join(text for text in told if text)[:2_000]


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [str(part.get("text") or "") for part in parts if isinstance(part, dict)]


def refuse_functions(tools: Objects | None) -> None:
    """Return where no function is to be called. Errors: InvalidInput (`tools_unsupported`)."""
    if any(tool.get("type") in ("function", "custom") for tool in tools or ()):
        raise unsupported("tools", "functions can't be called from here", "tools_unsupported")


def refuse_format(form: object, param: str) -> None:
    """Return where the answer may be text. Errors: InvalidInput (`format_unsupported`)."""
    kind = form.get("type") if isinstance(form, dict) else None
    if kind not in (None, "text"):
        raise unsupported(param, f"{param} of type {kind!r}: the answer is a report in Markdown", "format_unsupported")


def unsupported(param: str, message: str, reason: str) -> InvalidInput:
    """The error for a parameter that would change what the answer means."""
    return InvalidInput(message, reason=reason, context={"param": param})


def annotations(report: Report) -> Iterator[dict[str, Any]]:
    """Each mark in the text of the report as a citation; the reference list itself is not cited."""
    references = {reference.n: reference for reference in report.references}
    # The last one: a page that is quoted may have a heading of that name.
    end = report.markdown.rfind("\n## References\n")
    for mark in _MARK.finditer(report.markdown, 0, end if end >= 0 else len(report.markdown)):
        found: Reference | None = references.get(int(mark[1]))
        if found is not None:
            yield {"start_index": mark.start(), "end_index": mark.end(), "url": found.url, "title": found.title}


def pieces(text: str) -> Sequence[str]:
    """The text in the portions in which it is streamed."""
    return _PIECE.findall(text)


def data(value: dict[str, Any]) -> str:
    """A value as the data of a server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


async def kept_alive(request: Request, engine: Engine, run_id: str) -> AsyncGenerator[str]:
    """Comments that keep the connection alive until the run has ended; a caller who goes away stops it."""
    service = service_of(request)
    try:
        # Counted while it lasts: each stream holds a connection open.
        with service.streaming(owner_of(request)):
            while service.busy_with(run_id):
                with anyio.move_on_after(KEEP_ALIVE_S) as waiting:
                    await service.ended(engine, run_id)
                if waiting.cancelled_caught:
                    yield KEEP_ALIVE
    finally:
        await given_up(service, engine, run_id)


async def given_up(service: Service, engine: Engine, run_id: str) -> None:
    """Stop a run that this process began for a caller who has gone; one that has ended stays as it is."""
    if service.busy_with(run_id):
        # The caller who went away has cancelled this task; what it started must still be stopped.
        with anyio.CancelScope(shield=True):
            await service.abandon(engine, run_id)


router = APIRouter(prefix="/v1", tags=["drop-in: OpenAI"])


class ChatBody(BaseModel):
    """What OpenAI's clients send to chat completions."""

    model: str
    messages: Objects
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    n: int | None = None
    tools: Objects | None = None
    functions: Objects | None = None
    modalities: tuple[str, ...] | None = None
    response_format: dict[str, Any] | None = None

    def vet(self) -> None:
        """Return where a report can be what is asked for. Errors: InvalidInput."""
        if self.n not in (None, 1):
            raise unsupported("n", "n: one answer at a time", "n_unsupported")
        if self.functions:
            raise unsupported("functions", "functions can't be called from here", "tools_unsupported")
        if self.modalities and set(self.modalities) != {"text"}:
            raise unsupported("modalities", "modalities: the answer is text", "format_unsupported")
        refuse_functions(self.tools)
        refuse_format(self.response_format, "response_format")


@router.get("/models")
async def models(scope: Scope) -> dict[str, Any]:
    """The profiles as models."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{name}")
async def model(name: str, scope: Scope) -> dict[str, Any]:
    """One of them."""
    profile_of(name)
    return _model(name)


@router.post("/chat/completions")
async def chat(body: ChatBody, request: Request, scope: Scope) -> Response:
    """A report as the answer to the last user message."""
    profile = profile_of(body.model)
    body.vet()
    engine = await service_of(request).engine(scope, profile)
    run_id = await begun(
        request,
        engine,
        ResearchRequest(question_of(body.messages), instructions=instructions_of(body.messages)),
        streams=body.stream,
    )
    if body.stream:
        return EventStream(_stream(request, engine, run_id, body))
    report = await research.to_the_end(request, engine, run_id)
    message = {
        "role": "assistant",
        "content": report.markdown,
        "refusal": None,
        "annotations": [{"type": "url_citation", "url_citation": item} for item in annotations(report)],
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = _head(report.run_id, body.model, "chat.completion")
    return PlainJson({**head, "choices": [choice], "usage": _usage(report)})


async def _stream(request: Request, engine: Engine, run_id: str, body: ChatBody) -> AsyncGenerator[str]:
    head = _head(run_id, body.model, "chat.completion.chunk")
    usage = bool((body.stream_options or {}).get("include_usage"))

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return data({**head, "choices": [choice], **({"usage": None} if usage else {})})

    # At once, as OpenAI does: clients and proxies wait for the first byte, and a run takes minutes.
    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(kept_alive(request, engine, run_id)) as comments:
        async for comment in comments:
            yield comment
    try:
        report = await research.report_of(engine, run_id)
    except PinciteError as error:
        # In the stream, because the status 200 is sent already.
        told = {"message": masked(error.message), "type": "server_error", "param": None, "code": error.reason}
        yield data({"error": told})
        return
    for piece in pieces(report.markdown):
        yield chunk({"content": piece})
    yield chunk({"annotations": [{"type": "url_citation", "url_citation": item} for item in annotations(report)]})
    yield chunk({}, "stop")
    # After everything, with no choice in it: where OpenAI's clients look for it.
    if usage:
        yield data({**head, "choices": [], "usage": _usage(report)})
    yield "data: [DONE]\n\n"


def _model(name: str) -> dict[str, Any]:
    # Any fixed time: clients require the member and none shows it.
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "pincite"}


def _head(run_id: str, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_id}", "object": kind, "created": int(time.time()), "model": model}


def _usage(report: Report) -> dict[str, int]:
    metrics = report.metrics
    return {
        "prompt_tokens": metrics.tokens_in,
        "completion_tokens": metrics.tokens_out,
        "total_tokens": metrics.tokens_in + metrics.tokens_out,
    }

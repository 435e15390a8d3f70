"""The shapes of OpenAI: models and chat completions, with citations as `url_citation` annotations.

`base_url="http://HOST:PORT/v1"`. The question is the last user message; the models are the profiles. Indices are
Unicode code points of the text, half open. What would change the answer's meaning is refused, what is unknown ignored.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from pincite.domain.errors import PinciteError
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.surfaces.http import starting
from pincite.surfaces.http.event_stream import EventStream
from pincite.surfaces.http.json_response import PlainJson
from pincite.surfaces.http.openai_parts import (
    MODELS,
    Objects,
    annotations,
    begun,
    data,
    instructions_of,
    kept_alive,
    pieces,
    profile_of,
    question_of,
    refuse_format,
    refuse_functions,
    unsupported,
)
from pincite.surfaces.http.service import admitted, service_of
from pincite.surfaces.secrecy import masked

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
async def models(scope: str = Depends(admitted)) -> dict[str, Any]:
    """The profiles as models."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{name}")
async def model(name: str, scope: str = Depends(admitted)) -> dict[str, Any]:
    """One of them."""
    profile_of(name)
    return _model(name)


@router.post("/chat/completions")
async def chat(body: ChatBody, request: Request, scope: str = Depends(admitted)) -> Response:
    """A report as the answer to the last user message."""
    profile = profile_of(body.model)
    body.vet()
    engine = await service_of(request).engine(scope, profile)
    run_id = await begun(
        request,
        engine,
        starting.Wish(question_of(body.messages), style=instructions_of(body.messages)),
        streams=body.stream,
    )
    if body.stream:
        return EventStream(_stream(request, engine, run_id, body))
    report = await starting.to_the_end(request, engine, run_id)
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

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(kept_alive(request, engine, run_id)) as comments:
        async for comment in comments:
            yield comment
    try:
        report = await starting.report_of(engine, run_id)
    except PinciteError as error:
        told = {"message": masked(error.message), "type": "server_error", "param": None, "code": error.reason}
        yield data({"error": told})
        return
    for piece in pieces(report.markdown):
        yield chunk({"content": piece})
    yield chunk({"annotations": [{"type": "url_citation", "url_citation": item} for item in annotations(report)]})
    yield chunk({}, "stop")
    if usage:
        yield data({**head, "choices": [], "usage": _usage(report)})
    yield "data: [DONE]\n\n"


def _model(name: str) -> dict[str, Any]:
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

"""What chat completions and responses share: models, the question, what is refused, citations, server-sent events."""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, Final

import anyio
from fastapi import Request

from pincite.domain.errors import InvalidInput, InvalidTopic, NotFound
from pincite.domain.plan import ReportStyle
from pincite.domain.report import Reference, Report
from pincite.engine import Engine
from pincite.surfaces.desk import EXTRACTIVE
from pincite.surfaces.http import starting
from pincite.surfaces.http.service import Service, owner_of, service_of

MODELS: Final = {
    "pincite-quick": "quick",
    "pincite-standard": "standard",
    "pincite-thorough": "thorough",
    "pincite-extractive": EXTRACTIVE,
}
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
            content = message.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
    raise InvalidTopic("there is no user message to answer")


def instructions_of(messages: Objects, instructions: str | None = None) -> ReportStyle:
    """What the system (or developer) says of the answer: wishes about its form, with those given beside it."""
    told = [instructions or ""]
    for message in messages:
        if message.get("role") in ("system", "developer"):
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"text": content}]
            told += [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return ReportStyle(instructions="\n".join(text for text in told if text)[:2_000])


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


async def begun(request: Request, engine: Engine, wish: starting.Wish, *, streams: bool = False) -> str:
    """The id of a run that is being worked on, and told of by a stream with `streams`.

    Errors: those of `starting.start`, RateLimited (too many streams).
    """
    if streams:
        service_of(request).vet_follower(owner_of(request))
    run_id = await starting.start(request, engine, wish)
    starting.work_on(request, engine, run_id)
    return run_id


async def kept_alive(request: Request, engine: Engine, run_id: str) -> AsyncGenerator[str]:
    """Comments that keep the connection alive until the run has ended; a caller who goes away stops it."""
    service = service_of(request)
    try:
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
        with anyio.CancelScope(shield=True):
            await service.abandon(engine, run_id)

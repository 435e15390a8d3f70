"""What goes out: JSON, errors as problem documents or in a drop-in path's own shape, streams of events."""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

import anyio
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Message, Send

from pincite.domain.errors import Conflict, Internal, InvalidInput, NotFound, PinciteError, TooLarge, Unauthorized
from pincite.surfaces.errors import http_status, masked_error
from pincite.surfaces.requests import mistake


class PlainJson(JSONResponse):
    """Compact UTF-8; lone surrogates of what a caller sent are written as escapes, which read back as they were."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


# Makes the status and the body in which another service tells an error, from ours.
Shape = Callable[[PinciteError, int], tuple[int, Mapping[str, Any]]]
# Makes the page that tells an error to a reader, or None where the caller is a program.
ErrorPage = Callable[[Request, PinciteError, int], Response | None]
_BY_STATUS: dict[int, type[PinciteError]] = {
    401: Unauthorized,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
}
# What a caller can do, where the error's own hint names a command.
_HINTS = {
    "RUN_NOT_FOUND": "GET /v1/research lists the runs that your key opens.",
    "INSUFFICIENT_EVIDENCE": "GET /v1/research/{id} says where the run stands; POST .../resume goes on with it.",
}
# By their reasons: a caller over HTTP sets no option of a command, nor a variable of the server.
_HINTS_BY_REASON = {
    "model_not_set": "Ask without what needs a model, or have the operator of this server set one (PINCITE_LLM).",
}
_SAID = {404: "there is nothing at this path", 405: "this path does not take this method"}
_PATHS_HINT = "/docs lists every path and the methods it takes."


def install(app: FastAPI) -> None:
    """Answer every error of `app` in the shape its path calls for; `app.state.error_page` may be an `ErrorPage`."""
    app.state.error_page = None
    app.add_exception_handler(PinciteError, _failed)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)


def answer(
    request: Request, error: PinciteError, status: int | None = None, pointers: list[dict[str, str]] | None = None
) -> Response:
    """The response that tells `error` to the caller of `request`, secrets of the settings taken out."""
    error = masked_error(error)
    code = http_status(error) if status is None else status
    app = request.scope.get("app")  # none where the gate stands alone
    show: ErrorPage | None = None if app is None else app.state.error_page
    if show is not None and (page := show(request, error, code)) is not None:
        return page
    headers = {"X-Request-Id": getattr(request.state, "request_id", "")}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    if code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    shape = shape_of(request.url.path)
    if shape is not None:
        # None of those services tells 400 and 422 apart.
        code, shaped = shape(error, 400 if code == 422 else code)
        return PlainJson(dict(shaped), code, headers)
    body: dict[str, Any] = {
        "type": f"urn:pincite:error:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": code,
        "detail": error.message,
        **error.as_dict(),
        "hint": _HINTS_BY_REASON.get(error.reason) or _HINTS.get(error.code, error.hint),
        "request_id": getattr(request.state, "request_id", ""),
    }
    if pointers:
        body["errors"] = pointers
    return PlainJson(body, code, headers, media_type="application/problem+json")


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, PinciteError):
        return answer(request, error)
    return answer(request, Internal("something went wrong here; the log has the trace"), 500)


async def _validation(request: Request, error: Any) -> Response:  # the kind it is installed for
    kind = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if int(request.headers.get("content-length") or 0) and kind != "application/json" and not kind.endswith("+json"):
        hint = "Send it with Content-Type: application/json (curl does with --json)."
        return answer(request, InvalidInput("the body does not say that it is JSON", reason="not_json", hint=hint), 415)
    found = error.errors()
    hint = f"{_path_of(request)} at /docs lists what it takes."
    if found[0]["type"] == "json_invalid":
        what = f"{found[0].get('ctx', {}).get('error', '')} at character {found[0]['loc'][-1]}"
        return answer(request, _not_json(request, f": {what}"), 400)
    pointers = [{"pointer": _pointer(item, error.body), "detail": mistake(item)} for item in found]
    said = f"{pointers[0]['pointer'] or 'the body'}: {pointers[0]['detail']}"
    return answer(request, InvalidInput(said, reason="bad_body", hint=hint), 422, pointers)


def _pointer(found: Mapping[str, Any], body: Any) -> str:
    """Which member is wrong, as RFC 6901 has it: the body as a whole is the empty text.

    Where a member may be of several types, pydantic goes on with the type that it tried, which is no place in the body.
    """
    place, value = "", body
    for part in found["loc"][1:]:
        if found["loc"][0] == "body" and found["type"] != "missing":
            if not (isinstance(part, int) and isinstance(value, list)) and not (
                isinstance(value, dict) and part in value
            ):
                continue
            value = value[part]
        place += "/" + str(part).replace("~", "~0").replace("/", "~1")
    return place


def _path_of(request: Request) -> str:
    """The path as /docs lists it, with the names of its parts."""
    return getattr(request.scope.get("route"), "path", "") or request.url.path


def _not_json(request: Request, why: str = "") -> InvalidInput:
    hint = f"Send JSON in UTF-8; {_path_of(request)} at /docs lists what it takes."
    return InvalidInput(f"the body is not JSON{why}", reason="bad_json", hint=hint)


def _methods(request: Request) -> str:
    """Every method that some route takes at this path: the router names only those of the first."""
    routes = request.app.router.routes
    return ", ".join(
        method
        for method in ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    )


async def _http(request: Request, error: Any) -> Response:
    status = error.status_code
    kind = _BY_STATUS.get(status, InvalidInput if status < 500 else Internal)
    said = _SAID.get(status)
    told = kind(said, hint=_PATHS_HINT) if said else kind(str(error.detail))
    # All that FastAPI says of a body whose bytes are no UTF-8, or that is nested without end.
    reply = answer(request, _not_json(request) if status == 400 else told, status)
    for name, value in (error.headers or {}).items():
        reply.headers[name] = value
    if status == 405:
        reply.headers["Allow"] = _methods(request)
    return reply


# Our code: status and code of Firecrawl, whose clients repeat whatever is answered with 502.
_SCRAPING: Mapping[str, tuple[int, str]] = {
    "TIMEOUT": (408, "SCRAPE_TIMEOUT"),
    "DNS_ERROR": (500, "SCRAPE_DNS_RESOLUTION_ERROR"),
    "TLS_ERROR": (500, "SCRAPE_SSL_ERROR"),
    "DEAD_LINK": (500, "SCRAPE_SITE_ERROR"),
    "UNSUPPORTED_CONTENT_TYPE": (500, "SCRAPE_UNSUPPORTED_FILE_ERROR"),
}


def _firecrawl(error: PinciteError, status: int) -> tuple[int, Mapping[str, Any]]:
    code = "BAD_REQUEST" if status == 400 else error.code
    if status in (502, 504):
        status, code = _SCRAPING.get(error.code, (500, "SCRAPE_ALL_ENGINES_FAILED"))
    return status, {"success": False, "error": error.message, "code": code}


def _openai(error: PinciteError, status: int) -> tuple[int, Mapping[str, Any]]:
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 402: "insufficient_quota"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = "insufficient_quota" if status == 402 else error.reason
    body = {"message": error.message, "type": kind, "param": error.context.get("param"), "code": code}
    return 429 if status == 402 else status, {"error": body}


_SHAPES: tuple[tuple[str, Shape], ...] = (
    # 432 is the limit of the plan there.
    ("/tavily/", lambda error, status: (432 if status == 402 else status, {"detail": {"error": error.message}})),
    ("/v2/", _firecrawl),
    ("/v1/chat/completions", _openai),
    ("/v1/models", _openai),
    ("/v1/responses", _openai),
)


def shape_of(path: str) -> Shape | None:
    """How another service tells errors, at the paths that stand for it."""
    return next((shape for prefix, shape in _SHAPES if path.startswith(prefix)), None)


# A reader who takes nothing for so long is cut off; it comes back with the number of its last event.
SEND_S: Final = 60.0
log = logging.getLogger(__name__)


class EventStream(StreamingResponse):
    """What `source` yields, as fast as the reader takes it. The source is closed when the reader has gone.

    Args:
        source: blocks of `text/event-stream`.
        send_s: seconds that one write may take.
    """

    media_type = "text/event-stream"

    def __init__(self, source: AsyncGenerator[str], *, send_s: float = SEND_S) -> None:
        super().__init__(source, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._source = source
        self._send_s = send_s

    async def stream_response(self, send: Send) -> None:
        """Send it all, or as much as the reader takes."""

        async def in_time(message: Message) -> None:
            with anyio.fail_after(self._send_s):
                await send(message)

        async with aclosing(self._source):
            try:
                await super().stream_response(in_time)
            except TimeoutError:
                log.warning("a reader of events took nothing for %g s and was cut off", self._send_s)

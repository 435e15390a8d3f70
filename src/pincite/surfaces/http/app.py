"""The application: routes, identity, limits on what comes in, errors, health."""

import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.domain.errors import InvalidInput, TooLarge, Unauthorized
from pincite.domain.version import VERSION
from pincite.surfaces.http import firecrawl, openai, problems, research, snapshots, tavily, tools
from pincite.surfaces.http.identity import KeyRing
from pincite.surfaces.http.service import OpenEngine, open_service

MAX_BODY_BYTES = 5_000_000
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,80}")


def create_app(open_engine: OpenEngine, keys: KeyRing, *, hosts: Sequence[str] = ()) -> FastAPI:
    """The server as an ASGI application.

    Args:
        open_engine: makes the engine of a scope and profile.
        keys: who may ask; an empty ring lets everybody be the local user.
        hosts: names the `Host` header may have; empty: any. Set where no key is needed, against DNS rebinding.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_service(open_engine, keys) as service:
            app.state.service = service
            yield

    app = FastAPI(
        title="Pincite",
        version=VERSION,
        summary="Deep web research you can check.",
        lifespan=lifespan,
        responses={"4XX": {"description": "A problem document (RFC 9457)"}},
    )
    app.state.remembered = research.Remembered()
    problems.install(app)
    for module in (tools, research, snapshots, tavily, firecrawl, openai):
        app.include_router(module.router)

    @app.get("/healthz", tags=["health"])
    async def healthz() -> dict[str, str]:
        """The process is up."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["health"])
    async def readyz(request: Request) -> dict[str, str]:
        """The storage answers."""
        engine = await request.app.state.service.engine("local")
        await engine.runs(1)
        return {"status": "ready"}

    @app.middleware("http")
    async def admit(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        given = request.headers.get("x-request-id", "")
        request.state.request_id = given if _REQUEST_ID.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        refusal = _refusal(request, hosts)
        response = await call(request) if refusal is None else problems.answer(request, refusal)
        response.headers["X-Request-Id"] = request.state.request_id
        return response

    app.add_middleware(BodyLimit)
    return app


def _refusal(request: Request, hosts: Sequence[str]) -> InvalidInput | Unauthorized | None:
    """Why a request is turned away before any route sees it."""
    host = request.headers.get("host", "").rsplit(":", 1)[0].strip("[]").lower()
    if hosts and host not in hosts:
        return InvalidInput(f"this server is not {host!r}", reason="host_unknown")
    origin = request.headers.get("origin")
    if (
        origin
        and request.method != "GET"
        and origin.split("://", 1)[-1].lower() != request.headers.get("host", "").lower()
    ):
        return Unauthorized("pages of other sites may not post here", reason="origin_foreign")
    return None


class BodyLimit:
    """Answers 413 to a request whose body is larger than `MAX_BODY_BYTES`, however it is sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its bytes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        seen = 0
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            await _too_large(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BODY_BYTES:
                raise TooLarge(f"a body of more than {MAX_BODY_BYTES} bytes")
            return message

        await self._app(scope, counted, send)


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await problems.answer(request, TooLarge(f"a body of more than {MAX_BODY_BYTES} bytes"))(scope, receive, send)

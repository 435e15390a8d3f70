"""The MCP tools over Streamable HTTP, for the same users as the rest of the server; calls that can be cancelled."""

import importlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any, Final

import anyio
from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from pincite.domain.errors import ExtraNotInstalled, PinciteError
from pincite.engine import Engine
from pincite.runtime.system import install_extra
from pincite.surfaces.accounts import Account
from pincite.surfaces.http.gate import replayed
from pincite.surfaces.http.responses import answer
from pincite.surfaces.http.service import Service, account_of, owner_of, secret_of, service_of

SESSION: Final = "mcp-session-id"
_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
# Calls that can be cancelled; beyond them a call runs on to its end all the same.
_RUNNING_MAX: Final = 10_000
Handle = Callable[[Scope, Receive, Send], Awaitable[None]]
_Key = tuple[str, str, str | int]


class Cancellable:
    """The calls that one endpoint is at work on."""

    def __init__(self) -> None:
        self._running: dict[_Key, anyio.CancelScope] = {}

    async def handle(self, request: Request, handle: Handle, send: Send) -> None:
        """Have a request handled; one that cancels a call ends it."""
        body = await request.body()
        asked = _message(body)
        session = request.headers.get(SESSION, "")
        method, params = asked.get("method"), asked.get("params")
        if method == "notifications/cancelled" and isinstance(params, dict):
            named = _key(request, session, params.get("requestId"))
            if named is not None and (running := self._running.get(named)) is not None:
                running.cancel()
        # Only to tell callers apart: the SDK itself keeps no sessions here, so that any server can answer any call.
        if method == "initialize" and not session:
            send = _with_session(send)
        # By owner, session and id: nobody can cancel another's call by guessing a small number.
        key = _key(request, session, asked.get("id")) if method == "tools/call" else None
        sent = _Answer(send)
        with anyio.CancelScope() as scope:
            if key is not None and len(self._running) < _RUNNING_MAX:
                self._running[key] = scope
            try:
                await handle(request.scope, replayed(body, request.receive), sent.send)
            finally:
                # A second call with the same id has taken the place: it is not ours to clear.
                if key is not None and self._running.get(key) is scope:
                    del self._running[key]
        if scope.cancelled_caught:
            await sent.end()


class _Answer:
    """What was sent so far, so that a call that is cancelled ends its answer as the protocol of the web wants it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False

    async def send(self, message: Message) -> None:
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Say nothing more: nobody waits for the result of a call that was cancelled."""
        if not self._begun:
            await self._send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _message(body: bytes) -> dict[str, Any]:  # a JSON-RPC message of anybody's
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(request: Request, session: str, id_: object) -> _Key | None:
    if not _ID.fullmatch(session) or isinstance(id_, bool) or not isinstance(id_, str | int):
        return None
    return owner_of(request), session, id_


def _with_session(send: Send) -> Send:
    """Give the answer an id of a session, unless it is an error."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            headers = [*message.get("headers", []), (SESSION.encode(), secrets.token_hex(16).encode())]
            message = {**message, "headers": headers}
        await send(message)

    return named


PATHS = {"/mcp": "default", "/mcp/chatgpt": "chatgpt"}


class Endpoint:
    """One MCP server at one path, for callers that are let in."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._manager: Any = None  # the SDK's; it is an extra
        self._calls = Cancellable()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of the protocol, or a problem to somebody without a key."""
        request = Request(scope, receive)
        try:
            request.state.scope_of_caller = await service_of(request).admit(request, secret_of(request))
        except PinciteError as error:
            await answer(request, error)(scope, receive, send)
            return
        await self._calls.handle(request, self._manager.handle_request, send)

    @asynccontextmanager
    async def open(self, service: Service) -> AsyncIterator[None]:
        """Serve while the block runs."""
        server = importlib.import_module("pincite.surfaces.mcp.server")

        def caller(context: Any) -> str:
            found: str = context.request_context.request.state.scope_of_caller
            return found

        async def account(context: Any, engine: Engine) -> Account:
            return await account_of(context.request_context.request, engine)

        @asynccontextmanager
        async def open_tools() -> AsyncIterator[Any]:
            yield server.ToolContext(service, caller, account)

        made = server.make_server(open_tools, self._profile)
        security = importlib.import_module("mcp.server.transport_security")
        # Host and Origin were looked at by our own gate, before.
        unchecked = security.TransportSecuritySettings(enable_dns_rebinding_protection=False)
        made.streamable_http_app(stateless_http=True, transport_security=unchecked)
        self._manager = made.session_manager
        async with self._manager.run():
            yield


async def _missing(request: Request) -> Response:
    error = ExtraNotInstalled("the MCP tools need the mcp package", hint=f"Run: {install_extra('mcp')}")
    return answer(request, error)


class Assistants:
    """The endpoints of an application. Where the extra `[mcp]` is missing they say how to install it."""

    def __init__(self, app: FastAPI) -> None:
        self._endpoints = {path: Endpoint(profile) for path, profile in PATHS.items()} if find_spec("mcp") else {}
        for path in PATHS:
            endpoint = self._endpoints.get(path, _missing)
            methods = ["GET", "POST", "DELETE"] if endpoint is _missing else None
            app.router.routes.append(Route(path, endpoint, methods=methods, include_in_schema=False))

    @asynccontextmanager
    async def open(self, service: Service) -> AsyncIterator[None]:
        """Serve while the block runs."""
        async with AsyncExitStack() as stack:
            for endpoint in self._endpoints.values():
                await stack.enter_async_context(endpoint.open(service))
            yield

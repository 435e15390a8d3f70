"""The MCP tools over Streamable HTTP, for the same users as the rest of the server: `/mcp` and `/mcp/chatgpt`.

Every request stands for itself (no session that another key could take over): whose it is, its key says. What clients
get as the id of a session only tells their calls apart, so that each can cancel its own.
"""

import importlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pincite.domain.errors import PinciteError
from pincite.engine import Engine
from pincite.surfaces.http import problems
from pincite.surfaces.http.cancelling import Cancellable
from pincite.surfaces.http.service import Service, owner_of, secret_of, service_of
from pincite.surfaces.http.starting import purse_of
from pincite.wiring import DailyPurse

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
            await problems.answer(request, error)(scope, receive, send)
            return
        await self._calls.handle(request, self._manager.handle_request, send)

    @asynccontextmanager
    async def open(self, service: Service) -> AsyncIterator[None]:
        """Serve while the block runs."""
        server = importlib.import_module("pincite.surfaces.mcp.server")

        def caller(context: Any) -> str:
            found: str = context.request_context.request.state.scope_of_caller
            return found

        def owner(context: Any) -> str:
            return owner_of(context.request_context.request)

        async def purse(context: Any, engine: Engine) -> DailyPurse | None:
            return await purse_of(context.request_context.request, engine)

        @asynccontextmanager
        async def office() -> AsyncIterator[Any]:
            yield server.Office(service, caller, purse_of=purse, key_of=owner)

        made = server.make_server(office, self._profile)
        security = importlib.import_module("mcp.server.transport_security")
        # Host and Origin were looked at by our own gate, before.
        unchecked = security.TransportSecuritySettings(enable_dns_rebinding_protection=False)
        made.streamable_http_app(stateless_http=True, transport_security=unchecked)
        self._manager = made.session_manager
        async with self._manager.run():
            yield


class Assistants:
    """The endpoints of an application. None where the extra `[mcp]` is missing."""

    def __init__(self, app: FastAPI) -> None:
        self._endpoints = {path: Endpoint(profile) for path, profile in PATHS.items()} if find_spec("mcp") else {}
        for path, endpoint in self._endpoints.items():
            app.router.routes.append(Route(path, endpoint, include_in_schema=False))

    @asynccontextmanager
    async def open(self, service: Service) -> AsyncIterator[None]:
        """Serve while the block runs."""
        async with AsyncExitStack() as stack:
            for endpoint in self._endpoints.values():
                await stack.enter_async_context(endpoint.open(service))
            yield

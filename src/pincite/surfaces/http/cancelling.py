"""Calls of assistants that can be cancelled by another request, as the protocol wants it before its 2026 revision.

The SDK serves each request by itself and drops `notifications/cancelled`, since it can't tell whose call is meant: ids
of requests are small numbers that every client counts for itself. A client that opens a session is given an id for it,
which it sends along; with whose key it came, that tells its calls from those of others. No other use is made of it:
after a restart, or at another server, an unknown one is as good.
"""

import json
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
from fastapi import Request
from starlette.types import Message, Receive, Scope, Send

from pincite.surfaces.http.service import owner_of

SESSION: Final = "mcp-session-id"
_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
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
            self._cancel(_key(request, session, params.get("requestId")))
        if method == "initialize" and not session:
            send = _with_session(send)
        key = _key(request, session, asked.get("id")) if method == "tools/call" else None
        answer = _Answer(send)
        with anyio.CancelScope() as scope:
            if key is not None and len(self._running) < _RUNNING_MAX:
                self._running[key] = scope
            try:
                await handle(request.scope, _again(body, request.receive), answer.send)
            finally:
                if key is not None and self._running.get(key) is scope:
                    del self._running[key]
        if scope.cancelled_caught:
            await answer.end()

    def _cancel(self, key: _Key | None) -> None:
        scope = None if key is None else self._running.get(key)
        if scope is not None:
            scope.cancel()


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


def _again(body: bytes, receive: Receive) -> Receive:
    """The body, which was read here, and then whatever else comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again

"""What every request passes first: a name, its host, where it was sent from, the size and time of headers and body."""

import asyncio
import re
import secrets
from collections.abc import Sequence
from typing import Any

import anyio
import h11
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite.domain.errors import InvalidInput, PinciteError, Timeout, TooLarge, Unauthorized
from pincite.runtime.call_context import Caller, called_by
from pincite.surfaces.http.responses import answer

# A report to be audited, a million letters as a form sends them, fits.
MAX_BODY_BYTES = 5_000_000
# A body of the largest size over a slow line; longer, and half-sent requests hold memory.
BODY_TIME_S = 20.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,80}")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """Names requests, and turns away those that no route should see.

    The body is read here, whole, before any route runs: however it is sent, it is bounded in size and in time.

    Args:
        hosts: names the `Host` header may have; empty: any.
        body_time_s: seconds within which a body must have come.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = (), body_time_s: float = BODY_TIME_S) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._body_time_s = body_time_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        given = request.headers.get("x-request-id", "")
        name = given if _REQUEST_ID.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        request.state.request_id = name

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                message["headers"] = [
                    *(pair for pair in message["headers"] if pair[0] != b"x-request-id"),
                    (b"x-request-id", name.encode()),
                ]
            await send(message)

        # Host and origin before the body: pages of other sites, and names that were rebound to this address, get
        # nothing read.
        refusal = _refusal(request, self._hosts)
        body = b""
        status = 403 if isinstance(refusal, Unauthorized) else None
        if refusal is None:
            try:
                body = await self._body(request, receive)
            except Timeout as error:
                refusal, status = error, 408
            except TooLarge as error:
                refusal = error
        if refusal is not None:
            await answer(request, refusal, status)(scope, receive, named)
            return
        given = request.headers.get("x-session-id", "")  # what the caller calls its session, if anything
        with called_by(Caller("http", name, given if _REQUEST_ID.fullmatch(given) else "")):
            await self._app(scope, replayed(body, receive), named)

    async def _body(self, request: Request, receive: Receive) -> bytes:
        # What is said is believed where it refuses; what comes is counted all the same.
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            raise _too_large()
        body = bytearray()
        with anyio.move_on_after(self._body_time_s) as limit:
            more = True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message["type"] == "http.request" and message.get("more_body", False)
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large()
        if limit.cancelled_caught:
            raise Timeout(f"the body did not come within {self._body_time_s:g} s", reason="body_too_slow")
        return bytes(body)


def _refusal(request: Request, hosts: frozenset[str]) -> PinciteError | None:
    """Why a request is turned away before any route sees it."""
    host = request.headers.get("host", "").lower()
    # Without its port: `[::1]:80` is `::1`.
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rsplit(":", 1)[0]
    if hosts and name not in hosts:
        return InvalidInput(f"this server does not go by the name {host[:200]!r}", reason="host_unknown")
    origin = request.headers.get("origin")
    # Programs send no `Origin`; a browser sends it with every POST, and can't be made to lie.
    if origin and request.method not in _READING and origin.split("://", 1)[-1].lower() != host:
        return Unauthorized("pages of other sites may not post here", reason="origin_foreign")
    return None


def _too_large() -> TooLarge:
    return TooLarge(f"a body of more than {MAX_BODY_BYTES} bytes", hint="Send less at a time.")


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body, which was read before, and then whatever else comes: that the caller has gone."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


# Longer than a bad phone line takes for its headers, short enough that half-sent requests hold no places.
HEADERS_WITHIN_S = 15.0


class PatientProtocol(H11Protocol):
    """As uvicorn's own, but a connection whose headers are not all there in time is closed."""

    headers_within_s = HEADERS_WITHIN_S
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # as uvicorn has it
        """Begin to wait."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Go on waiting while the headers are not all there."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state is not h11.IDLE:  # the headers came
            self._stop_waiting()
        elif self._due is None:
            self._due = self.loop.call_later(self.headers_within_s, self._close)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _close(self) -> None:
        self._due = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()

"""What every request passes first: a name, its host, where it was sent from, the size and time of headers and body.

And who asks: API keys, hashed at rest, each with the scope it owns and what it may take. They are kept in the database
where many machines use it, and in the file `keys.json` of the home otherwise (`wiring.server`). A key itself is shown
once, when it is made.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import h11
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite.domain.errors import Conflict, InvalidInput, NotFound, PinciteError, Timeout, TooLarge, Unauthorized
from pincite.domain.records import ApiKey
from pincite.ports import KeyStore
from pincite.runtime.telemetry import Caller, called_by
from pincite.surfaces.http.responses import answer
from pincite.wiring.server import home_keys

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


PREFIX = "pc_"
LOCAL_SCOPE = "local"
# How often a server looks at keys in a database: so long a revoked one may still open something.
LOOK_EVERY_S: Final = 1.0
# Names are shown in lists and logs.
_NAME_LENGTH = 100


class KeyRing:
    """The keys of a store, read anew when they have changed.

    A file is looked at for each request, so that a change counts at once. A database is looked at by `follow`; while
    it can't be reached the keys known last count.

    Args:
        keys: where they are kept; a path is the home whose file it is.
    """

    def __init__(self, keys: KeyStore | Path) -> None:
        self._store: KeyStore = home_keys(keys) if isinstance(keys, Path) else keys
        self._state: str | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self.refresh()

    def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too. Errors: StorageUnavailable (`keys_unreadable`)."""
        if self._store.is_local:
            self.refresh()
        return self._keys

    def refresh(self) -> None:
        """Read the keys if they have changed. Errors: StorageUnavailable, Locked."""
        state = self._store.state()
        if state != self._state:
            # The state from before the read: a change in between is seen at the next look.
            self._keys, self._state = tuple(self._store.read()), state

    async def follow(self) -> None:
        """Look at a database again and again, for ever; with a file there is nothing to do."""
        while not self._store.is_local:
            await anyio.sleep(LOOK_EVERY_S)
            with suppress(PinciteError):  # out of reach: the next look may succeed
                await anyio.to_thread.run_sync(self.refresh)

    @property
    def needed(self) -> bool:
        """Whether a key is asked for; without any key in the home everybody is the local user."""
        return bool(self.all())

    @property
    def active(self) -> tuple[ApiKey, ...]:
        """The keys that open something."""
        return tuple(key for key in self.all() if key.revoked_at is None)

    def create(
        self, name: str, scope: str | None = None, *, rate_per_min: int | None = None, daily_usd: Decimal | None = None
    ) -> str:
        """A new key for `scope` (by default the key's own name); it can't be shown again.

        Errors: InvalidInput (no name, or one that is too long), Conflict (the name is taken), StorageUnavailable.
        """
        if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"a key's name has 1 to {_NAME_LENGTH} printable characters", reason="key_name")
        secret = PREFIX + secrets.token_urlsafe(32)
        made = ApiKey(
            name,
            scope or name,
            key_digest(secret),
            _now(),
            rate_per_min=rate_per_min,
            daily_usd=None if daily_usd is None else str(daily_usd),
        )
        if not self._store.add(made):
            raise Conflict(f"there is a key named {name!r} already")
        self.refresh()
        return secret

    def revoke(self, name: str) -> None:
        """Make a key open nothing any more. Errors: NotFound, StorageUnavailable."""
        if not self._store.revoke(name, _now()):
            raise NotFound(f"there is no active key named {name!r}")
        self.refresh()

    def key_of(self, secret: str | None) -> ApiKey:
        """The active key that `secret` is. Errors: Unauthorized (no key given, or not one of these)."""
        wanted = key_digest(secret or "")
        # Every key is compared, whatever the first ones said, so that time tells nothing.
        found = [key for key in self.active if hmac.compare_digest(key.sha256, wanted)]
        if not found:
            raise Unauthorized(
                "missing or unknown API key", hint="Send it as Authorization: Bearer KEY, or as X-API-Key."
            )
        return found[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def key_digest(secret: str) -> str:
    """What is kept of a key: enough to know it again."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

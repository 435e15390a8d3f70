"""What the routes share: who may ask and how often, sessions of browsers, one engine for each scope and profile."""

import hashlib
import hmac
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import Annotated, Final

import anyio
from fastapi import Depends, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from pincite.domain.errors import InvalidInput, RateLimited, StateError, Unauthorized
from pincite.domain.frozen import dataclass
from pincite.domain.records import ApiKey
from pincite.domain.requests import ResearchRequest
from pincite.engine import Engine, RunOptions
from pincite.jobs import OpenEngine
from pincite.ports import Clock
from pincite.runtime.limiter import Ask, MemoryBuckets
from pincite.runtime.system import SystemClock
from pincite.surfaces.accounts import Account, ServerLimits
from pincite.surfaces.http.gate import LOCAL_SCOPE, KeyRing
from pincite.surfaces.runs import RunManager, TaskGroups
from pincite.wiring.server import DailyBudget

# Of the requests of a minute, how many may come at once.
BURST_SHARE = 0.25


class Turns:
    """Counts the requests of each key in this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._buckets = MemoryBuckets(clock or SystemClock())

    async def take(self, key: ApiKey) -> None:
        """Count a request. Errors: RateLimited, with the seconds after which the next one is let through."""
        asked = pace(key)
        # A request that is refused takes nothing: who knocks again and again would never get in.
        if asked is not None and (wait_s := await self._buckets.take(key.name, (asked,))):
            raise too_often(key, wait_s)


def pace(key: ApiKey) -> Ask | None:
    """What a request takes out of the bucket of a key, and how much is in it; None without a limit."""
    if key.rate_per_min is None:
        return None
    step_s = 60.0 / max(key.rate_per_min, 1)
    return Ask(step_s, max(1.0, key.rate_per_min * BURST_SHARE) * step_s)


def too_often(key: ApiKey, wait_s: float) -> RateLimited:
    """The error for a request too many."""
    return RateLimited(
        f"the key {key.name!r} may make {key.rate_per_min} requests a minute",
        reason="key_rate",
        hint=f"Come back in {math.ceil(wait_s)} s.",
        retry_after_s=math.ceil(wait_s),
    )


# Wrong keys in a row that cost nothing: a person who pastes the wrong one, a program with an old one.
_FREE: Final = 5
# Hardly felt after a typing error; doubled with each further wrong key.
_FIRST_PAUSE_S: Final = 0.25
# A few hundred tries an hour find no key of 256 random bits; longer pauses only hold connections.
_LONGEST_PAUSE_S: Final = 8.0
# An address may be shared by many: after a quiet minute it begins anew.
_FORGOTTEN_S: Final = 60.0
# Requests held back from one address; more of them would be the attack.
_LINE_MAX: Final = 16
# Some megabytes; who sends from more addresses is not stopped by any of this.
_ADDRESSES_MAX: Final = 10_000


@dataclass(slots=True)
class _Tries:
    count: int = 0
    last_s: float = 0.0
    waiting: int = 0
    line: anyio.Lock = field(default_factory=anyio.Lock)


class WrongKeys:
    """Counts wrong keys by the address they come from."""

    def __init__(
        self, now_s: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._now_s = now_s
        self._sleep = sleep
        self._tries: OrderedDict[str, _Tries] = OrderedDict()

    async def slow_down(self, address: str) -> None:
        """Return when the answer to a wrong key may be given: one at a time for each address.

        Errors: RateLimited (too many of the address wait already).
        """
        tries = self._tries.setdefault(address, _Tries())
        self._tries.move_to_end(address)
        while len(self._tries) > _ADDRESSES_MAX:
            self._tries.popitem(last=False)
        if self._now_s() - tries.last_s > _FORGOTTEN_S:
            tries.count = 0
        tries.count, tries.last_s = tries.count + 1, self._now_s()
        above = tries.count - _FREE
        pause_s = min(_FIRST_PAUSE_S * 2.0 ** min(above - 1, 16), _LONGEST_PAUSE_S) if above > 0 else 0.0
        if tries.waiting >= _LINE_MAX:
            raise RateLimited("too many wrong keys", reason="wrong_keys", retry_after_s=pause_s)
        if not pause_s:
            return
        tries.waiting += 1
        try:
            async with tries.line:  # side by side they would not be slower
                await self._sleep(pause_s)
        finally:
            tries.waiting -= 1


COOKIE = "pincite_session"
# A working day; the key is asked for again on the next.
LIFETIME_S = 12 * 3600
# Held in memory; the oldest go first and have to sign in again.
MAX_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class _Session:
    key: ApiKey
    until_s: float


class Sessions:
    """The sessions of one server. `now_s` is a clock that never runs backwards."""

    def __init__(self, keys: KeyRing, now_s: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._now_s = now_s
        self._secret = secrets.token_bytes(32)
        self._open: OrderedDict[str, _Session] = OrderedDict()

    def open(self, secret: str) -> str:
        """The cookie of a new session for the owner of a key. Errors: Unauthorized."""
        key = self._keys.key_of(secret)
        cookie = secrets.token_urlsafe(32)
        # The hash and not the cookie: a picture of the memory opens nothing.
        self._open[_digest(cookie)] = _Session(key, self._now_s() + LIFETIME_S)
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)
        return cookie

    def close(self, cookie: str | None) -> None:
        """End a session."""
        self._open.pop(_digest(cookie or ""), None)

    def scope_of(self, cookie: str | None) -> str | None:
        """The scope a cookie opens, or None; without any key in the home everybody is the local user."""
        if not self._keys.needed:
            return LOCAL_SCOPE
        key = self.key_of(cookie)
        return None if key is None else key.scope

    def key_of(self, cookie: str | None) -> ApiKey | None:
        """The key that a session was opened with, or None when it has ended."""
        session = self._open.get(_digest(cookie or ""))
        # The key is looked up for each request: with its key a session ends at once.
        if session is None or session.until_s < self._now_s() or session.key not in self._keys.active:
            self.close(cookie)
            return None
        return session.key

    def form_token(self, cookie: str | None) -> str:
        """What every form of this session carries, so that nobody else's page can send one."""
        return hmac.new(self._secret, (cookie or LOCAL_SCOPE).encode(), hashlib.sha256).hexdigest()

    def vet_form(self, cookie: str | None, token: str) -> None:
        """Return when a form came from a page of this session. Errors: Unauthorized."""
        if not hmac.compare_digest(self.form_token(cookie), token):
            raise Unauthorized(
                "this form is out of date", reason="form_token_unknown", hint="Reload the page and send it again."
            )


def _digest(cookie: str) -> str:
    # Looking up the hash takes as long for an almost right cookie as for any other.
    return hashlib.sha256(cookie.encode()).hexdigest()


# The common count is this much behind the own one, so that delays on the way to it refuse nobody.
SLACK_S: Final = 1.0


class Service(RunManager):
    """A run manager that asks for keys."""

    def __init__(
        self,
        open_engine: OpenEngine,
        keys: KeyRing,
        groups: TaskGroups,
        *,
        limits: ServerLimits | None,
        hand_over: bool,
    ) -> None:
        super().__init__(open_engine, groups, limits=limits, hand_over=hand_over)
        self.keys = keys
        self.turns = Turns()
        self.sessions = Sessions(keys)
        self.wrong_keys = WrongKeys()

    async def admit(self, request: Request, secret: str | None, *, by_session: bool = False) -> str:
        """The scope that a key, or a browser's session, opens; the request is counted for the key.

        A session reads. Whatever changes something needs a key, or a form of our own pages (`by_session`): a cookie is
        sent without being asked.

        Errors: Unauthorized, RateLimited.
        """
        if not self.keys.needed:
            return LOCAL_SCOPE
        key = None
        if secret is None and (by_session or request.method in ("GET", "HEAD")):
            key = self.sessions.key_of(request.cookies.get(COOKIE))
        try:
            key = key or self.keys.key_of(secret)
        except Unauthorized:
            if secret is not None:
                await self.wrong_keys.slow_down(address_of(request))
            raise
        await self._count(key)
        request.state.key = key
        return key.scope

    async def _count(self, key: ApiKey) -> None:
        """Count a request here, and then with all servers of the home together. Errors: RateLimited."""
        await self.turns.take(key)
        if (asked := pace(key)) is None:
            return
        behind = replace(asked, room_s=asked.room_s + min(asked.cost_s, SLACK_S))
        try:
            wait_s = await (await (await self.engine(LOCAL_SCOPE)).server_services()).take_turn(key.name, behind)
        except StateError:
            return  # while the common count is out of reach, each server's own counts
        if wait_s > 0:
            raise too_often(key, wait_s)


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else ""


def owner_of(request: Request) -> str:
    """Whose runs and streams a request's count as: the key's, or those of everybody on a server without keys."""
    key: ApiKey | None = getattr(request.state, "key", None)
    return LOCAL_SCOPE if key is None else key.name


def secret_of(request: Request) -> str | None:
    """The API key that came with a request."""
    header = request.headers.get("authorization", "")
    return header[7:].strip() if header[:7].lower() == "bearer " else request.headers.get("x-api-key")


async def admitted(request: Request) -> str:
    """The scope of the caller, whose request is counted. Errors: Unauthorized, RateLimited."""
    return await service_of(request).admit(request, secret_of(request))


# Whose runs a caller may see.
Scope = Annotated[str, Depends(admitted)]


async def account_of(request: Request, engine: Engine) -> Account:
    """Who a request is for: the owner of the key that came with it, and what that key may spend today."""
    key: ApiKey | None = getattr(request.state, "key", None)
    if key is None or key.daily_cap_usd is None:
        return Account(owner_of(request))
    return Account(key.name, (await engine.server_services()).account(key.name, key.daily_cap_usd))


async def engine_of(request: Request, scope: Scope) -> Engine:
    """The open engine of the caller. Errors: RateLimited (too many users at once)."""
    return await service_of(request).engine(scope)


# Where the caller's runs and pages are. Dependencies are solved before a body is looked at: routes that take one call
# `engine_of` themselves, so that a body which is refused opens nothing.
CallersEngine = Annotated[Engine, Depends(engine_of)]


async def budget_of(request: Request, engine: Engine) -> DailyBudget | None:
    """What the caller may spend today; None without such a cap."""
    return (await account_of(request, engine)).budget


async def begun(request: Request, engine: Engine, asked: ResearchRequest, *, streams: bool = False) -> str:
    """The id of a run that is being worked on, and told of by a stream with `streams`.

    Errors: those of `RunManager.start`, RateLimited (too many streams).
    """
    service = service_of(request)
    if streams:
        service.vet_follower(owner_of(request))
    account = await account_of(request, engine)
    run_id = await service.start(engine, asked, account, RunOptions(request_id=request.state.request_id))
    service.work_on(engine, run_id, account)
    return run_id


# Files that come with a form (`multipart/form-data`), as browsers and many programs send them.

# What a person picks for one question; the whole body is bounded besides (`gate.MAX_BODY_BYTES`).
MAX_FILES = 5
# As of forms without files.
MAX_FIELDS = 50


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as it was sent: its name and kind are the sender's word."""

    name: str
    content_type: str
    data: bytes


def is_multipart(request: Request) -> bool:
    """Whether the body is a form with files."""
    return request.headers.get("content-type", "").split(";", 1)[0].strip().lower() == "multipart/form-data"


async def form_of(request: Request) -> tuple[Mapping[str, str], tuple[SentFile, ...]]:
    """The fields and the files of the form; a field that was left empty is no file.

    Errors: InvalidInput (`not_a_form`, also for too many of either).
    """
    try:
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form:
            sent = form.multi_items()
            fields = {name: value for name, value in sent if isinstance(value, str)}
            files = [
                SentFile(value.filename, value.content_type or "", await value.read())
                for _, value in sent
                if isinstance(value, UploadFile) and value.filename
            ]
    except (HTTPException, MultiPartException) as error:
        said = error.detail if isinstance(error, HTTPException) else error.message
        raise InvalidInput(f"this form can't be read: {said}", reason="not_a_form") from error
    return fields, tuple(files)

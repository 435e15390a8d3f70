"""Calls to services that the operator has an account at: search engines and hosted scrapers. Never to pages.

Their origin is the operator's: trusted exactly.
"""

import errno
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from pincite.domain.budget import DEADLINES_S
from pincite.domain.errors import (
    DnsError,
    InvalidSetting,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    ProviderQuota,
    RateLimited,
    Timeout,
    TlsError,
    TooLarge,
)
from pincite.domain.frozen import dataclass
from pincite.domain.version import USER_AGENT
from pincite.runtime.recovery import retry_after_s
from pincite.runtime.system import too_many_open_files
from pincite.runtime.telemetry import count_request

if TYPE_CHECKING:
    import ssl

    import httpx2


# No redirect is followed, nothing is read from proxies of the environment, the answer is bounded in bytes and time,
# and no URL, header or body is ever logged (httpx2 writes URLs with their query at INFO).

_MIB = 2**20
_NO_WAY = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_OFFLINE_HINT = "Is this machine online? Without a network: --source local:PATH."


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """What the operator states for one service. The key shows in no `repr`."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    deadline_s: float = DEADLINES_S["search_call"]
    user_agent: str = USER_AGENT


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one kind of call may come to. A `Timeout` names its stage with `kind`: `search_call`, `hosted_connect`, ...

    `is_page` says that the answer carries a page: one that is too large is the page's fault, not the service's.
    """

    kind: str
    max_bytes: int
    is_page: bool = False


# Answers of engines have tens of kilobytes; with the text of ten pages a megabyte or two.
SEARCH = Bounds("search", 4 * _MIB)
# A scraper's answer holds a whole page, the largest that is fetched, as JSON.
HOSTED = Bounds("hosted", 52_000_000, is_page=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (lower-case names) and body of one API call."""

    provider: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> Any:  # parsed JSON of any shape; the caller checks it
        """The body as JSON. Errors: ProviderBadReply (`not_json`, with what came instead)."""
        try:
            return json.loads(self.text())
        except (ValueError, RecursionError):
            looks = "HTML" if self.body.lstrip()[:1] == b"<" else "cut or damaged JSON"
            raise ProviderBadReply(
                f"{self.provider} answered {self.status} with {looks if self.body.strip() else 'an empty body'}",
                reason="not_json",
                context={"provider": self.provider, "status": self.status},
            ) from None

    def object(self) -> dict[str, Any]:
        """The body as a JSON object. Errors: ProviderBadReply (`not_json`, `wrong_shape`)."""
        value = self.json()
        if not isinstance(value, dict):
            raise wrong_shape(self.provider, "the answer is not an object")
        return value

    def quiet_object(self) -> dict[str, Any]:
        """The body as an object, or an empty one: for reading error texts."""
        try:
            value = json.loads(self.text())
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def text(self) -> str:
        """The body as text: UTF-8, else the declared charset, else with replacement marks."""
        try:
            # First, whatever is declared: nearly all send it, and text in another charset seldom passes for it.
            return self.body.decode("utf-8-sig")
        except UnicodeDecodeError:
            declared = self.headers.get("content-type", "").partition("charset=")[2].split(";")[0].strip("\"' ")
            try:
                return self.body.decode(declared or "cp1252", errors="replace")
            except LookupError:
                return self.body.decode("utf-8", errors="replace")


def wrong_shape(provider: str, what: str) -> ProviderBadReply:
    """The error for an answer that breaks the provider's contract."""
    return ProviderBadReply(f"{provider}: {what}", reason="wrong_shape", context={"provider": provider})


class ApiClient:
    """Calls to one service's origin. Opened on first use, closed by whoever made it.

    Args:
        settings: base URL, deadline, user agent; the key goes into `headers` by the adapter.
        bounds: what an answer may come to.
        transport: takes the place of the network in benchmarks and tests.
    """

    def __init__(
        self,
        provider: str,
        settings: ApiSettings,
        headers: Mapping[str, str] | None = None,
        *,
        bounds: Bounds = SEARCH,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        parts = urlsplit(settings.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise InvalidSetting(
                f"the base URL of {provider} must be http(s)://host[:port][/path]",
                hint=f"Set PINCITE_{provider.upper()}_BASE_URL.",
            )
        self._provider = provider
        self._base = settings.base_url.rstrip("/")
        self._deadline_s = settings.deadline_s
        self._headers = {"User-Agent": settings.user_agent, "Accept-Encoding": "gzip, deflate", **(headers or {})}
        self._bounds = bounds
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def url(self, path: str) -> str:
        """The address of `path` below the base URL; a base that already ends with the path is used as it is."""
        return self._base if path and self._base.endswith(path) else self._base + path

    async def get(self, path: str, params: Mapping[str, str]) -> Answer:
        """The answer to GET. Errors: NetworkError, Timeout, TlsError, TooLarge, ProviderBadReply."""
        return await self._call("GET", path, params=params)

    async def post_json(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to POST with a JSON body. Errors: as `get`."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        # Half a surrogate pair, which broken pages have, must not keep a call from being made.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return await self._call("POST", path, content=content, headers=sent)

    async def post_form(self, path: str, form: Mapping[str, str]) -> Answer:
        """The answer to POST with a form. Errors: as `get`."""
        return await self._call("POST", path, data=form)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        # Before it is sent: a call that fails has been made, too.
        count_request()
        async with _mapped(self._provider, self._deadline_s, self._bounds.kind):
            client = self._client or self._open()
            async with client.stream(
                method, self.url(path), params=params, content=content, data=data, headers=headers
            ) as reply:
                if 300 <= reply.status_code < 400 and reply.status_code != 304:
                    raise ProviderBadReply(
                        f"{self._provider} answered with a redirect, which is not followed",
                        reason="redirected",
                        hint="Set the base URL to the address it redirects to, if you trust it.",
                        context={"provider": self._provider, "status": reply.status_code},
                    )
                body = await _bounded_body(reply, self._provider, self._bounds)
                lowered = {name.lower(): value for name, value in reply.headers.items()}
                return Answer(self._provider, reply.status_code, lowered, body)

    def _open(self) -> "httpx2.AsyncClient":
        import httpx2

        logging.getLogger("httpx2").addFilter(without_requests)
        self._client = httpx2.AsyncClient(
            headers=self._headers,
            follow_redirects=False,
            trust_env=False,
            verify=_tls(self._base.startswith("https:")),
            timeout=httpx2.Timeout(self._deadline_s, connect=min(self._deadline_s, 5.0)),
            limits=httpx2.Limits(max_connections=20, max_keepalive_connections=10, keepalive_expiry=30),
            transport=self._transport,
        )
        return self._client


@cache
def _tls(with_authorities: bool) -> "ssl.SSLContext":
    """One context for all clients; loading the authorities takes a tenth of a second, and plain http needs none."""
    import ssl

    return ssl.create_default_context() if with_authorities else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def without_requests(record: logging.LogRecord) -> bool:
    """Whether a line of httpx2 is let through: below warnings it writes URLs with their query."""
    return record.levelno >= logging.WARNING


async def _bounded_body(reply: "httpx2.Response", provider: str, bounds: Bounds) -> bytes:
    body = bytearray()
    async for piece in reply.aiter_bytes():
        body += piece
        if len(body) > bounds.max_bytes:
            message = f"{provider} answered with more than {bounds.max_bytes // _MIB} MiB"
            if bounds.is_page:
                raise TooLarge(message, reason="decoded_too_large")
            raise ProviderBadReply(message, reason="answer_too_large")
    return bytes(body)


@asynccontextmanager
async def _mapped(provider: str, deadline_s: float, kind: str) -> AsyncIterator[None]:
    """Keep the deadline and turn the client library's errors into ours."""
    import httpx2

    try:
        with anyio.fail_after(deadline_s):
            yield
    except TimeoutError:
        raise Timeout(f"{provider} did not answer within {deadline_s:g} s", reason=f"{kind}_call") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise translate(provider, error, kind) from None


def translate(provider: str, error: Exception, kind: str = SEARCH.kind) -> PinciteError:
    """Our error for one of httpx2's. The texts name the provider only: an exception of httpx2 may hold the URL."""
    import socket
    import ssl

    import httpx2

    # First: it looks like a service that is away, and is this machine's own trouble.
    if (full := too_many_open_files(error)) is not None:
        return full
    if isinstance(error, httpx2.TimeoutException):
        stage = "connect" if isinstance(error, httpx2.ConnectTimeout) else "answer"
        return Timeout(f"{provider} did not answer in time ({stage})", reason=f"{kind}_{stage}")
    if isinstance(error, httpx2.DecodingError | httpx2.RemoteProtocolError | httpx2.SSEError | httpx2.StreamError):
        return ProviderBadReply(f"{provider} broke off or garbled its answer", reason="broken_answer")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.InvalidURL):
        return InvalidSetting(f"{provider} can't be called with these settings", hint="Check its base URL and key.")
    root = _root(error)
    if isinstance(root, ssl.SSLError):
        return TlsError(f"the certificate or handshake of {provider} is bad")
    if isinstance(root, socket.gaierror):
        return DnsError(f"the address of {provider} can't be looked up", reason="dns_failed", hint=_OFFLINE_HINT)
    if isinstance(root, OSError) and root.errno in _NO_WAY:
        return NetworkError(f"{provider} can't be reached from this network", reason="no_network", hint=_OFFLINE_HINT)
    return NetworkError(f"{provider} can't be reached", reason="connect")


def _root(error: BaseException) -> BaseException:
    # Bounded: what an error names as its cause may lead in a circle.
    for _ in range(10):
        inner = error.__cause__ or error.__context__
        if inner is None:
            break
        error = inner
    return error


# What a service says when it does not do what was asked, in the same words from every service.

# A day: what providers name beyond that is a mistake, or nothing anybody waits for.
LONGEST_WAIT_S = 86_400.0
_SECONDS = ("retryAfter", "retry_after", "retry_after_seconds", "retryAfterSeconds")
_MOMENTS = ("retryAfterDate", "retry_after_date")
_DETAILS = ("error", "detail", "details")


def bad_key(provider: str, setting: str) -> ProviderAuth:
    """The key is missing or refused; names the setting."""
    return ProviderAuth(
        f"{provider} refused the key", reason="bad_key", hint=f"Check {setting}.", context={"provider": provider}
    )


def missing_key(provider: str, setting: str) -> ProviderAuth:
    """No key is set; names the setting."""
    return ProviderAuth(
        f"{provider} needs a key", reason="missing_key", hint=f"Set {setting}.", context={"provider": provider}
    )


def out_of_credit(provider: str) -> ProviderQuota:
    """The account has nothing left."""
    return ProviderQuota(
        f"{provider} is out of credit",
        reason="out_of_credit",
        hint=f"Top up or change the plan of {provider}.",
        context={"provider": provider},
    )


def rate_limited(provider: str, wait_s: float | None) -> RateLimited:
    """Too many calls; the wait is what the service asked for, if it did."""
    return RateLimited(f"{provider} is limiting the rate", retry_after_s=wait_s, context={"provider": provider})


def wait_of(answer: Answer, now: datetime) -> float | None:
    """Seconds the service asks to wait, at most a day: by its Retry-After, else by what its body says."""
    told = retry_after_s(answer.headers.get("retry-after"), now)
    if told is None:
        told = _wait_in_body(answer.quiet_object(), now)
    return None if told is None else min(told, LONGEST_WAIT_S)


def number(value: Any) -> float | None:
    """A number from 0 to below 10^15, or None: services send `true`, texts, `Infinity` and worse."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Below 2**53 whole numbers are still whole as floats; no count, price or score of a service comes near.
    return float(value) if 0 <= value < 1e15 else None


def _wait_in_body(body: Mapping[str, Any], now: datetime) -> float | None:
    places = [body, *(inner for name in _DETAILS if isinstance(inner := body.get(name), Mapping))]
    for place in places:
        for name in _SECONDS:
            if (seconds := number(place.get(name))) is not None:
                return seconds
        for name in _MOMENTS:
            if (seconds := _until(place.get(name), now)) is not None:
                return seconds
    return None


def _until(value: Any, now: datetime) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return retry_after_s(value, now)
    return max((moment - now).total_seconds(), 0.0) if moment.tzinfo else None

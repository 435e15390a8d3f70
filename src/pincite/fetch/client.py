"""One request to one host over a connection that can only go to a vetted address.

aiohttp with a resolver and a socket factory of ours: the addresses that were vetted are the addresses that are
dialled, while host name, SNI and certificate check stay those of the URL. No redirects, cookies, netrc, environment
proxies or ambient credentials.
"""

import re
import ssl
from collections.abc import Mapping
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from pincite.domain.errors import InvalidSetting, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.version import USER_AGENT
from pincite.fetch.captures import Exchange
from pincite.fetch.limits import FetchLimits
from pincite.fetch.proxies import UpstreamProxy
from pincite.fetch.resolver import VettedResolver
from pincite.ports import Clock
from pincite.runtime.call_context import count_request
from pincite.urls import ParsedUrl, parse_url
from pincite.urls.policy import UrlPolicy

if TYPE_CHECKING:
    from pincite.fetch.connections import Connections


# Headers of the operator's own for single sites, such as the cookie of a login. Never sent anywhere else.

NOTE: Final = "read with a session of the operator's"
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]{1,8000}")
# What frames the message or says who asks is not the operator's to set (RFC 9110 §7.6.1).
_OURS: Final = frozenset(
    "host content-length transfer-encoding connection keep-alive te trailer upgrade expect user-agent "
    "accept-encoding proxy-authorization proxy-connection".split()
)


@dataclass(frozen=True, slots=True)
class SiteSessions:
    """Headers by origin (`https://wiki.example.com`)."""

    by_origin: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @classmethod
    def parsed(cls, setting: Mapping[str, str]) -> "SiteSessions":
        """The sessions that the setting `site_sessions` states: `Name: value`, several on lines of their own.

        A bare host means HTTPS; `http://host` must be written out.

        Errors: InvalidSetting (an address or a header that is none; the message never holds a value).
        """
        return cls({_origin(site): _headers(site, text) for site, text in setting.items()})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that have a session."""
        return tuple(dict.fromkeys(parse_url(origin).host for origin in self.by_origin))

    def of(self, url: ParsedUrl) -> Mapping[str, str]:
        """The headers for exactly this origin; empty for every other."""
        return self.by_origin.get(url.origin, {})


NO_SESSIONS: Final = SiteSessions()


def _origin(site: str) -> str:
    written = site if "://" in site else f"https://{site}"
    try:
        parsed = parse_url(written)
    except PinciteError:
        raise _wrong(site, "is no host and no origin") from None
    if parsed.scheme not in {"http", "https"} or parsed.has_userinfo or parsed.target not in {"", "/"}:
        raise _wrong(site, "is more than an origin")
    return parsed.origin


def _headers(site: str, text: str) -> dict[str, str]:
    headers = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _wrong(site, "holds a line that is not Name: value")
        if name.lower() in _OURS:
            raise _wrong(site, f"sets {name}, which is Pincite's to set")
        headers[name] = value
    if not headers:
        raise _wrong(site, "holds no header")
    return headers


def _wrong(site: str, what: str) -> InvalidSetting:
    return InvalidSetting(
        f"site_sessions: the entry {site[:80]!r} {what}",
        hint='Write {"wiki.example.com" = "Cookie: session=..."}.',
        context={"setting": "site_sessions"},
    )


class GuardedClient:
    """Sends GET requests to vetted addresses and reads bounded answers.

    Args:
        policy: which addresses and ports a socket may be made for.
        clock: for the minimum speed.
        tls: another TLS context than the system's default (tests with an own authority).
        proxy: through which all connections go, to vetted addresses only.
        sessions: headers of the operator's own, for GET requests to their origins only.
    """

    def __init__(
        self,
        policy: UrlPolicy,
        resolver: VettedResolver,
        clock: Clock,
        *,
        limits: FetchLimits | None = None,
        user_agent: str = USER_AGENT,
        tls: ssl.SSLContext | None = None,
        proxy: UpstreamProxy | None = None,
        sessions: SiteSessions = NO_SESSIONS,
    ) -> None:
        self.user_agent = user_agent
        self._sessions = sessions
        self._parts = (policy, resolver, clock, limits or FetchLimits(), user_agent, tls, proxy)
        self._connections: Connections | None = None

    def has_session(self, url: ParsedUrl) -> bool:
        """Whether requests to this origin carry headers of the operator's own."""
        return bool(self._sessions.of(url))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.aclose()

    async def get(
        self,
        url: ParsedUrl,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        cut: bool = False,
    ) -> Exchange:
        """The answer to one GET. `url` must have passed the URL policy; its `sent` form is what goes out.

        Args:
            url: the vetted URL.
            headers: more request headers.
            max_bytes: another size limit than that of the kind of content.
            cut: stop at the limit and keep what was read, instead of refusing.

        Errors:
            BlockedAddress, DnsError, DeadLink (no such name), TlsError, NetworkError, Timeout, TooLarge,
            UnsupportedContentType, BudgetExhausted (`web_requests` of the run).
        """
        own = {**(headers or {}), **self._sessions.of(url)}
        return await self._opened().exchange("GET", url, own, None, max_bytes, cut)

    async def post(
        self, url: ParsedUrl, data: bytes, *, headers: Mapping[str, str] | None = None, max_bytes: int
    ) -> Exchange:
        """The answer to one POST, cut at `max_bytes`: for webhooks. Errors: as `get`."""
        return await self._opened().exchange("POST", url, headers, data, max_bytes, True)

    def _opened(self) -> "Connections":
        """The connections, for a request that counts."""
        count_request()
        if self._connections is None:
            from pincite.fetch.connections import Connections

            self._connections = Connections(*self._parts)
        return self._connections

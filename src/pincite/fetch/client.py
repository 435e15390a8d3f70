"""Requests over connections that can only go to vetted addresses, and chains of redirects: each hop is vetted in full.

aiohttp with a resolver and a socket factory of ours: the addresses that were vetted are the addresses that are
dialled, while host name, SNI and certificate check stay those of the URL. No redirects, cookies, netrc, environment
proxies or ambient credentials.
"""

import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final, Self

from pincite.domain.errors import BlockedAddress, InvalidSetting, NetworkError, PinciteError, TooManyRedirects
from pincite.domain.frozen import dataclass
from pincite.domain.version import USER_AGENT
from pincite.fetch.captures import Exchange
from pincite.fetch.limits import FetchLimits
from pincite.fetch.page_failures import client_redirect
from pincite.fetch.proxies import UpstreamProxy
from pincite.fetch.resolver import VettedResolver
from pincite.ports import Clock
from pincite.runtime.telemetry import count_request
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

    async def __aexit__(self, *_: object) -> None:
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
        return await self._connections_for_request().exchange("GET", url, own, None, max_bytes, cut)

    async def post(
        self, url: ParsedUrl, data: bytes, *, headers: Mapping[str, str] | None = None, max_bytes: int
    ) -> Exchange:
        """The answer to one POST, cut at `max_bytes`: for webhooks. Errors: as `get`."""
        return await self._connections_for_request().exchange("POST", url, headers, data, max_bytes, True)

    def _connections_for_request(self) -> "Connections":
        """The connections, for a request that counts."""
        count_request()
        if self._connections is None:
            from pincite.fetch.connections import Connections

            self._connections = Connections(*self._parts)
        return self._connections


# RFC 9110 §15.4: 300 leaves the choice to a reader, 304 is about a copy that one has, 305 and 306 are gone.
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# A redirect carries on nothing that identifies, and nothing conditional.
_LEFT_BEHIND = frozenset("authorization cookie proxy-authorization if-none-match if-modified-since".split())
Admit = Callable[[str], Awaitable[ParsedUrl]]


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a chain of redirects ended, and what was there."""

    exchange: Exchange
    final: ParsedUrl
    redirects: tuple[str, ...]


async def visit(  # noqa: PLR0913  # what a caller may set of one request
    client: GuardedClient,
    start: ParsedUrl,
    admit: Admit,
    *,
    redirects_max: int,
    headers: Mapping[str, str] | None = None,
    max_bytes: int | None = None,
    cut: bool = False,
    downgrade: bool = False,
    of_pages: bool = False,
) -> Visit:
    """The answer at the end of at most `redirects_max` redirects. 300, 305, 309 and Refresh headers are never followed.

    Args:
        client: sends one request at a time.
        start: where to start; already admitted.
        admit: gives the canonical URL of a further hop, or raises.
        redirects_max: 0 gives the first answer back, whatever it is.
        headers: request headers; conditional ones go to the first URL only.
        max_bytes: size limit for every answer.
        cut: keep what came before the limit instead of refusing.
        downgrade: whether https may lead to http.
        of_pages: whether a page that only sends its reader on (`client_redirect`) counts as a redirect.

    Errors:
        TooManyRedirects: `too_many_redirects`, `redirect_loop`.
        NetworkError: `redirect_no_location`, `redirect_ambiguous`.
        BlockedAddress: `redirect_downgrade`; and everything `admit` and the client raise.
    """
    here = start
    seen = {here.sent}
    trail: list[str] = []
    while True:
        exchange = await client.get(here, headers=headers, max_bytes=max_bytes, cut=cut)
        if redirects_max == 0:
            return Visit(exchange, here, tuple(trail))
        if exchange.status in REDIRECTS:
            location = _location(exchange, here)
        elif of_pages and exchange.status == 200:
            location = client_redirect(exchange.body, exchange.header("content-type"), here.sent)
        else:
            location = ""
        if not location:
            return Visit(exchange, here, tuple(trail))
        target = await admit(location)
        if target.sent in seen and target.sent != here.sent:
            raise TooManyRedirects("the redirects lead in a circle", reason="redirect_loop")
        if len(trail) >= redirects_max:
            raise TooManyRedirects(f"more than {redirects_max} redirects", reason="too_many_redirects")
        if here.scheme == "https" and target.scheme == "http" and not downgrade:
            raise BlockedAddress(
                "the redirect leads from https to http",
                reason="redirect_downgrade",
                hint="Give the http:// URL itself if you want to read it.",
            )
        seen.add(target.sent)
        trail.append(target.sent)
        here = target
        headers = {name: value for name, value in (headers or {}).items() if name.lower() not in _LEFT_BEHIND}


def _location(exchange: Exchange, here: ParsedUrl) -> str:
    # Two targets: a cache in between and we could follow different ones.
    given = set(exchange.all_headers("location"))
    if len(given) > 1:
        raise NetworkError("the redirect names two targets", reason="redirect_ambiguous", retryable=False)
    location = next(iter(given), "").strip()
    if not location:
        raise NetworkError("the redirect names no target", reason="redirect_no_location", retryable=False)
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in location):
        return location  # parsing would drop tabs and line ends silently; `admit` must see and refuse them
    return parse_url(location, here.href).href

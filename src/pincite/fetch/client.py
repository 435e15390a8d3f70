"""One request to one host over a connection that can only go to a vetted address.

aiohttp with a resolver and a socket factory of ours: the addresses that were vetted are the addresses that are
dialled, while host name, SNI and certificate check stay those of the URL. No redirects, cookies, netrc, environment
proxies or ambient credentials.
"""

import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pincite.domain.version import USER_AGENT
from pincite.fetch.captures import Exchange
from pincite.fetch.limits import FetchLimits
from pincite.fetch.proxies import UpstreamProxy
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.sessions import NO_SESSIONS, SiteSessions
from pincite.ports import Clock
from pincite.runtime.call_context import count_request
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import UrlPolicy

if TYPE_CHECKING:
    from pincite.fetch.connections import Connections


class GuardedClient:
    """Sends GET requests to vetted addresses and reads bounded answers.

    Args:
        policy: which addresses and ports a socket may be made for.
        resolver: gives vetted addresses.
        clock: for the minimum speed.
        limits: sizes and times.
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
        self._user_agent = user_agent
        self._sessions = sessions
        self._parts = (policy, resolver, clock, limits or FetchLimits(), user_agent, tls, proxy)
        self._connections: Connections | None = None

    @property
    def user_agent(self) -> str:
        """The one name this client gives itself."""
        return self._user_agent

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

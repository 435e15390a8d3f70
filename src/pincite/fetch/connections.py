"""The connections of the guarded client: aiohttp with a resolver, a socket factory and a protocol of ours.

Imported with the first request: what is answered from the page cache needs none of it.
"""

import functools
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from pincite.domain.errors import BlockedAddress, DnsError, NetworkError, PinciteError, Timeout, TlsError, TooLarge
from pincite.fetch.captures import Exchange, body_kind
from pincite.fetch.decoding import ACCEPT_ENCODING, decoder_for
from pincite.fetch.limits import (
    HAPPY_EYEBALLS_DELAY_S,
    HEADER_BYTES_MAX,
    HEADER_FIELDS_MAX,
    HEADER_LINE_BYTES_MAX,
    INTERIM_RESPONSES_MAX,
    BodyKind,
    FetchLimits,
)
from pincite.fetch.proxies import UpstreamProxy
from pincite.fetch.resolver import VettedResolver
from pincite.ports import Clock
from pincite.runtime.system import too_many_open_files
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import UrlPolicy

# The one table from aiohttp's errors to ours. No message ever holds an address.

_HEADERS_TOO_LARGE = ("too many", "more than", "too long", "too large", "line is too long")


def mapped(error: Exception, host: str) -> PinciteError:
    """The error of ours that `error` stands for."""
    # This machine's trouble first: as a failure of the site it would open the breaker.
    if (full := too_many_open_files(error)) is not None:
        return full
    match error:
        case PinciteError():
            return error
        case aiohttp.ConnectionTimeoutError():
            return Timeout(f"{host} did not accept the connection in time", reason="connect_timeout")
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return Timeout(f"{host} stopped sending", reason="read_timeout")
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return TlsError(f"{host} has no valid certificate for its name", reason="tls_error")
        case aiohttp.ClientConnectorDNSError():
            return DnsError(f"the name {host} can't be looked up", reason="dns_failed")
        case aiohttp.ClientConnectorError():
            return NetworkError(f"no connection to {host} could be made", reason="connect_failed")
        case aiohttp.ServerDisconnectedError() | aiohttp.EofStream():
            return NetworkError(f"{host} closed the connection without an answer", reason="disconnected")
        case aiohttp.ClientPayloadError():
            return _payload(error, host)
        case aiohttp.ClientResponseError():
            return _response(error.message, host)
        case aiohttp.ClientOSError() | OSError():
            return NetworkError(f"the connection to {host} broke", reason="connection_reset")
        case _:
            return NetworkError(f"{host} can't be read", reason="protocol_error", retryable=False)


def _payload(error: Exception, host: str) -> PinciteError:
    cause = str(error.__cause__ or error).lower()
    if isinstance(error.__cause__, PinciteError):
        return error.__cause__
    if any(mark in cause for mark in _HEADERS_TOO_LARGE):
        return TooLarge("the trailers are too large", reason="headers_too_large")
    return NetworkError(f"the body from {host} ended before it was complete", reason="body_incomplete")


def _response(message: str, host: str) -> PinciteError:
    if any(mark in message.lower() for mark in _HEADERS_TOO_LARGE):
        return TooLarge("the response headers are too large", reason="headers_too_large")
    return NetworkError(f"{host} does not speak HTTP correctly", reason="protocol_error", retryable=False)


# aiohttp's own default, named because limits of sizes count with what may be in it.
_READ_BUFFER_BYTES = 65_536
# As much as the WHATWG's MIME sniffing standard looks at for most types; its limit depends on what the body is.
_SNIFF_BYTES = 512


class Connections:
    """Kept connections to vetted addresses; made with the first request. The arguments are those of `GuardedClient`."""

    def __init__(
        self,
        policy: UrlPolicy,
        resolver: VettedResolver,
        clock: Clock,
        limits: FetchLimits,
        user_agent: str,
        tls: ssl.SSLContext | None,
        proxy: UpstreamProxy | None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._limits = limits
        options: dict[str, Any] = {
            "resolver": _AiohttpResolver(resolver),
            # The resolver keeps answers itself, vetted; a second memory would outlive its verdicts.
            "use_dns_cache": False,
            "ssl": tls or True,
            "socket_factory": self._socket,
            "limit": limits.concurrency,
            "happy_eyeballs_delay": HAPPY_EYEBALLS_DELAY_S,
            "interleave": 1,
        }
        self._session = aiohttp.ClientSession(
            connector=_Connector(**options)
            if proxy is None
            else _ProxiedConnector(proxy, self._check_address, **options),
            # No cookie is kept from one request to the next: pages must not know each other through us.
            cookie_jar=aiohttp.DummyCookieJar(),
            # A proxy of the environment would resolve names itself, past every check.
            trust_env=False,
            # Decoded by `decoding`, piece by piece with a bound: aiohttp would unpack a whole chunk first.
            auto_decompress=False,
            read_bufsize=_READ_BUFFER_BYTES,
            max_line_size=HEADER_LINE_BYTES_MAX,
            max_field_size=HEADER_LINE_BYTES_MAX,
            max_headers=HEADER_FIELDS_MAX,
            headers={
                "User-Agent": user_agent,
                "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_s, sock_read=limits.idle_s),
        )

    async def aclose(self) -> None:
        """Close all of them."""
        await self._session.close()

    async def exchange(
        self,
        method: str,
        url: ParsedUrl,
        headers: Mapping[str, str] | None,
        data: bytes | None,
        max_bytes: int | None,
        cut: bool,
    ) -> Exchange:
        """One request and its bounded answer. Errors: as `GuardedClient.get`."""
        target = URL(url.sent, encoded=True)
        try:
            async with self._session.request(
                method, target, data=data, headers=headers, allow_redirects=False
            ) as response:
                _check_head(response)
                received = tuple((name.decode("latin-1").lower(), _text(value)) for name, value in response.raw_headers)
                body, truncated = await self._read(response, max_bytes, cut)
        except (aiohttp.ClientError, aiohttp.EofStream, OSError, ValueError) as error:
            raise mapped(error, url.host) from None
        return Exchange(response.status, received, body, truncated)

    def _socket(self, info: Any) -> socket.socket:
        """A socket for exactly this address: the last check before anything goes out, literals included."""
        family, kind, protocol, _, address = info
        self._check_address(str(address[0]), address[1])
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    def _check_address(self, address: str, port: int) -> None:
        if not self._policy.addresses.allows(address):
            raise BlockedAddress("the host does not lead to a public address", reason="address_not_public")
        if port not in self._policy.ports:
            raise BlockedAddress(f"port {port} is not one that pages are fetched from", reason="port_denied")

    async def _read(self, response: aiohttp.ClientResponse, max_bytes: int | None, cut: bool) -> tuple[bytes, bool]:
        decoder = decoder_for(",".join(response.headers.getall("Content-Encoding", ())))
        content_type = response.headers.get("Content-Type", "")
        limit = max_bytes or self._limits.max_bytes(body_kind(content_type, b""))
        if not cut:
            _check_declared(response, max(limit, max_bytes or self._limits.max_bytes(BodyKind.DOCUMENT)))
        body = bytearray()
        wire = 0
        speed = _Speed(self._clock, self._limits)
        async for chunk in response.content.iter_any():
            wire += len(chunk)
            speed.add(len(chunk))
            for piece in decoder.feed(chunk):
                # What it is shows in its first bytes; a PDF that calls itself HTML gets the limit of a PDF.
                if max_bytes is None and len(body) < _SNIFF_BYTES:
                    limit = self._limits.max_bytes(body_kind(content_type, bytes(body[:_SNIFF_BYTES]) + piece[:64]))
                    _check_declared(response, limit)
                body += piece
                if len(body) > limit:
                    response.close()
                    if cut:
                        return bytes(body[:limit]), True
                    raise TooLarge(f"the body is larger than {limit} bytes", reason="decoded_too_large")
            # A coding that grows: more came over the wire than the body may have.
            if wire > limit + _READ_BUFFER_BYTES and not cut:
                response.close()
                raise TooLarge(f"more than {limit} bytes were sent", reason="wire_too_large")
        # Half a gzip stream decodes without a word; the rest of the page would be missing.
        decoder.check_complete()
        return bytes(body), False


class _Speed:
    """Refuses a body that comes too slowly for too long."""

    def __init__(self, clock: Clock, limits: FetchLimits) -> None:
        self._clock, self._limits = clock, limits
        self._since = clock.monotonic_s()
        self._bytes = 0

    def add(self, count: int) -> None:
        self._bytes += count
        elapsed = self._clock.monotonic_s() - self._since
        if elapsed < self._limits.min_speed_over_s:
            return
        if self._bytes < self._limits.min_bytes_per_s * elapsed:
            raise Timeout("the body comes too slowly", reason="too_slow")
        # Window by window: a quick start must not pay for a slow drip after it.
        self._since, self._bytes = self._clock.monotonic_s(), 0


class _AiohttpResolver(AbstractResolver):
    def __init__(self, resolver: VettedResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._resolver.addresses(host, port)
        ]

    async def close(self) -> None:
        return


class _Protocol(ResponseHandler):
    """Counts interim responses: aiohttp itself would skip any number of them."""

    _interim = 0

    def feed_data(self, data: Any, size: int = 0) -> None:
        if self.exception() is not None:
            return
        status = data[0].code
        self._interim = self._interim + 1 if 100 <= status < 200 else 0
        if self._interim > INTERIM_RESPONSES_MAX:
            self.set_exception(TooLarge("more interim responses than allowed", reason="headers_too_large"))
            if self.transport is not None:
                self.transport.abort()
            return
        super().feed_data(data, size)


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # aiohttp has no public way to name the protocol of its connections.
        self._factory = functools.partial(_Protocol, loop=self._loop)  # type: ignore[assignment]  # aiohttp names its own class


class _ProxiedConnector(_Connector):
    """Connects through the configured proxy, by vetted address. aiohttp's own way would ask the proxy for a name."""

    def __init__(self, proxy: UpstreamProxy, check_address: Callable[[str, int], None], **options: Any) -> None:
        super().__init__(**options)
        self._upstream = proxy
        self._check_address = check_address

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        address, port = kwargs.pop("addr_infos")[0][4][:2]
        self._check_address(str(address), port)
        connected = await self._upstream.connect(str(address), port)
        return await super()._wrap_existing_connection(*args, **kwargs, sock=connected)


def _check_head(response: aiohttp.ClientResponse) -> None:
    # RFC 9110 §15.2.2: only to a client that asked for another protocol, which this one never does.
    if response.status == 101:
        response.close()
        raise NetworkError("the server switched protocols unasked", reason="protocol_error", retryable=False)
    # With `: ` and the line end, as they were on the wire.
    size = sum(len(name) + len(value) + 4 for name, value in response.raw_headers)
    if size > HEADER_BYTES_MAX:
        response.close()
        raise TooLarge("the response headers are too large", reason="headers_too_large")


def _check_declared(response: aiohttp.ClientResponse, limit: int) -> None:
    declared = response.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > limit:
        response.close()
        raise TooLarge(f"the server announces more than {limit} bytes", reason="decoded_too_large")


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")

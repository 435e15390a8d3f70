"""Two proxies: the operator's, and one on loopback that a browser must go through. Both lead to vetted addresses only.

Ours speaks CONNECT and plain `GET http://...`. What it refuses it answers with 403 and a reason that names no address.
"""

import asyncio
import base64
import socket
from collections import Counter
from dataclasses import field
from typing import Self
from urllib.parse import unquote, urlsplit

import anyio

from pincite.domain.errors import BlockedAddress, InvalidSetting, PinciteError
from pincite.domain.frozen import dataclass
from pincite.fetch.resolver import VettedResolver
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import UrlPolicy, vet_parsed

# A proxy the operator configured: every connection goes through it, and only to addresses that were vetted here.

# A status line and a few fields; some proxies add a page of text.
_REPLY_BYTES_MAX = 16_384
# As for connections (`fetch.limits`): the proxy connects in our place.
_REPLY_S = 5.0


@dataclass(frozen=True, slots=True)
class UpstreamProxy:
    """Where the proxy is, trusted exactly as stated. The credentials show in no `repr`."""

    host: str
    port: int
    credentials: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> "UpstreamProxy":
        """The proxy at `http://[user:password@]host:port`. Errors: InvalidSetting."""
        try:
            parts = urlsplit(url)
            port = parts.port or 3128
        except ValueError:
            raise _wrong() from None
        if parts.scheme != "http" or not parts.hostname or parts.path not in {"", "/"}:
            raise _wrong()
        user = unquote(parts.username or "")
        secret = f"{user}:{unquote(parts.password or '')}" if user else ""
        return cls(parts.hostname, port, base64.b64encode(secret.encode()).decode() if secret else "")

    async def connect(self, address: str, port: int) -> socket.socket:
        """A socket that is connected to `address` through the proxy.

        Raises OSError when the proxy can't be reached, refuses, or does not answer as a proxy.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        try:
            with anyio.fail_after(_REPLY_S):
                await loop.sock_connect(made, place)
                await loop.sock_sendall(made, self._request(address, port))
                status = await _reply(loop, made)
        except BaseException:
            made.close()
            raise
        if not status.startswith(b"2"):
            made.close()
            raise ConnectionRefusedError("the configured proxy refuses the connection")
        return made

    def _request(self, address: str, port: int) -> bytes:
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials:
            lines.append(f"Proxy-Authorization: Basic {self.credentials}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


async def _reply(loop: asyncio.AbstractEventLoop, made: socket.socket) -> bytes:
    """The status of the proxy's answer; byte by byte, since what follows the head is the page's host speaking."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        piece = await loop.sock_recv(made, 1)
        head += piece
        if not piece or len(head) > _REPLY_BYTES_MAX:
            raise ConnectionResetError("the configured proxy does not answer as a proxy")
    return bytes(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else b""


def _wrong() -> InvalidSetting:
    return InvalidSetting(
        "fetch_proxy is not http://host:port",
        hint="Give the address of an HTTP proxy, or `environment` to use HTTPS_PROXY.",
        context={"setting": "fetch_proxy"},
    )


HOST = "127.0.0.1"
# As for answers (`fetch.limits.HEADER_BYTES_MAX`).
_HEAD_BYTES_MAX = 65_536
# The browser on the same machine writes it at once.
_HEAD_S = 10.0
# As for pages (`fetch.limits`).
_CONNECT_S = 5.0
# As much as a stream of asyncio buffers by default.
_CHUNK_BYTES = 65_536
_FORWARDED = frozenset({"GET", "HEAD", "OPTIONS"})


class EgressProxy:
    """One proxy for one browser; `async with` opens and closes it.

    Args:
        connections_max: connections over its life; more are refused.
        bytes_max: bytes to the browser over its life; then everything is closed.
        idle_s: a tunnel without traffic for this long is closed.
        upstream: the operator's proxy, through which vetted connections go on.
    """

    def __init__(
        self,
        policy: UrlPolicy,
        resolver: VettedResolver,
        *,
        connections_max: int = 200,
        bytes_max: int = 50_000_000,
        idle_s: float = 15.0,
        upstream: UpstreamProxy | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._connections_left = connections_max
        self._bytes_left = bytes_max
        self._idle_s = idle_s
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.refused: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, limit=_HEAD_BYTES_MAX)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self._close_all()
            await server.wait_closed()

    @property
    def address(self) -> str:
        """Where the browser finds it: `127.0.0.1:PORT`."""
        if self._server is None:
            raise RuntimeError("the proxy is not open")
        return f"{HOST}:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with anyio.fail_after(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._handle(head, reader, writer)
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # a browser drops connections as it likes
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _handle(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        try:
            self._connections_left -= 1
            if self._connections_left < 0:
                raise BlockedAddress("more connections than one page may make", reason="connections_max")
            url = vet_parsed(f"https://{target}/" if method == "CONNECT" else target, policy=self._policy)
            if method != "CONNECT" and (method not in _FORWARDED or url.scheme != "http"):
                raise BlockedAddress("only reading is forwarded", reason="method_denied")
            # Addresses are asked for here and dialled here: nothing that the browser resolved itself counts.
            upstream = await self._connect(url)
        except PinciteError as error:
            self.refused[error.reason] += 1
            writer.write(b"HTTP/1.1 403 Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                await self._tunnel(reader, writer, upstream)
            else:
                upstream[1].write(_origin_form(method, url, head))
                await self._pump(upstream[0], writer)
        finally:
            self._writers.discard(upstream[1])
            upstream[1].close()

    async def _connect(self, url: ParsedUrl) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        addresses = (url.host,) if url.is_literal else await self._resolver.addresses(url.host, url.port)
        last: OSError | None = None
        for address in addresses:
            try:
                return await self._dial(address, url.port)
            except OSError as error:
                last = error
        raise BlockedAddress("no connection to the host could be made", reason="connect_failed") from last

    async def _dial(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._policy.addresses.allows(address):  # the last check, on what is dialled
            raise BlockedAddress("the host does not lead to a public address", reason="address_not_public")
        with anyio.fail_after(_CONNECT_S):
            if self._upstream is None:
                streams = await asyncio.open_connection(address, port)  # a literal: nothing is looked up
            else:
                streams = await asyncio.open_connection(sock=await self._upstream.connect(address, port))
        self._writers.add(streams[1])
        return streams

    async def _tunnel(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        async with anyio.create_task_group() as group:

            async def back() -> None:
                await self._pump(upstream[0], writer)
                group.cancel_scope.cancel()

            group.start_soon(back)
            await self._pump(reader, upstream[1], counted=False)
            group.cancel_scope.cancel()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool = True) -> None:
        """Copy until the end, the idle limit or the byte limit."""
        try:
            while True:
                with anyio.fail_after(self._idle_s):
                    data = await reader.read(_CHUNK_BYTES)
                    if not data:
                        return
                    writer.write(data)
                    await writer.drain()
                if counted:
                    self._bytes_left -= len(data)
                    if self._bytes_left < 0:
                        self.refused["bytes_max"] += 1
                        self._close_all()
                        return
        except (TimeoutError, OSError):
            return

    def _close_all(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()


def _origin_form(method: str, url: ParsedUrl, head: bytes) -> bytes:
    """The request as the host expects it, for this one exchange.

    Source: RFC 9112 §3.2.1; hop-by-hop and proxy headers are dropped (RFC 9110 §7.6.1).
    """
    dropped = ("connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade", "host", "cookie")
    kept = [
        line
        for line in head.decode("latin-1").split("\r\n")[1:]
        if line and line.split(":", 1)[0].strip().lower() not in (*dropped, "content-length", "transfer-encoding")
    ]
    authority = url.origin.partition("://")[2]
    lines = [f"{method} {url.target} HTTP/1.1", f"Host: {authority}", *kept, "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

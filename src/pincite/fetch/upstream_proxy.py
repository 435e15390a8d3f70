"""A proxy the operator configured: every connection goes through it, and only to addresses that were vetted here.

The proxy is asked to CONNECT to the vetted address, never to a name: what it would resolve is not what was checked.
TLS, host name and certificate check are then end to end with the page's host, as without a proxy.
"""

import asyncio
import base64
import socket
from dataclasses import field
from urllib.parse import unquote, urlsplit

import anyio

from pincite.domain.errors import InvalidSetting
from pincite.domain.frozen import dataclass

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

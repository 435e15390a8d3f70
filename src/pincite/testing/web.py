"""A small web on loopback: many host names, hostile answers, and a listener that nobody may ever reach.

Also small pages and archives for tests of libraries.
"""

import asyncio
import errno
import io
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Self

from pincite.domain.errors import DeadLink, DnsError
from pincite.domain.frozen import dataclass
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.urls.policy import PORTS

# All of 127/8 leads to this machine: one address plays the public web, the other what must not be reached.
PUBLIC_STAND_IN = "127.9.0.1"
INTERNAL = "127.0.0.1"
PUBLIC_NETWORK = "127.9.0.0/16"


@dataclass(frozen=True, slots=True)
class StubRequest:
    """What arrived: request line parts and headers with lower-case names."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def host(self) -> str:
        """The Host header without its port."""
        return self.headers.get("host", "").rsplit(":", 1)[0]


Handler = Callable[[StubRequest, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class StubResolver:
    """Implements `ports.Resolver` from a table: host → rounds of answers; the last round repeats.

    None as a round means that the name does not exist; hosts without a row get `default`.
    """

    table: dict[str, list[Sequence[str] | None]] = field(default_factory=dict)
    default: Sequence[str] | None = (PUBLIC_STAND_IN,)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str) -> Sequence[str]:
        """The next round for `host`. Errors: DeadLink, DnsError."""
        turn = self.asked.count(host)
        self.asked.append(host)
        rounds = self.table.get(host, [(INTERNAL,) if host == "localhost" else self.default])
        # By rounds, so that a name can change its address between two look-ups, as in DNS rebinding.
        answer = rounds[min(turn, len(rounds) - 1)]
        if answer is None:
            raise DeadLink(f"there is no host {host}", reason="dns_failed")
        if list(answer) == ["timeout"]:
            raise DnsError(f"no answer for {host}", reason="dns_timeout")
        return answer


class StubWeb:
    """A web server that answers for every host name, and one on an internal address that counts its visitors.

    `async with StubWeb() as web:`; pages are added with `page`, raw answers with `raw`. robots.txt is 404 unless set.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[StubRequest] = []
        self.internal_hits: list[str] = []
        self.connections = 0
        self._tls = tls
        self._answers: dict[tuple[str, str], Handler] = {}
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        while not self._servers:
            public = await asyncio.start_server(self._serve, PUBLIC_STAND_IN, 0, ssl=self._tls, backlog=512)
            self.port = public.sockets[0].getsockname()[1]
            try:
                internal = await asyncio.start_server(self._serve_internal, INTERNAL, self.port)
            except OSError as error:
                public.close()
                await public.wait_closed()
                if error.errno != errno.EADDRINUSE:
                    raise
                continue  # a port that is free on one address may be taken on the other
            self._servers = [public, internal]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for writer in tuple(self._open):
            # Without waiting for clients that keep connections open, which would hold a test until its end.
            writer.transport.abort()
        for server in self._servers:
            await server.wait_closed()
        await asyncio.sleep(0)

    @property
    def policy(self) -> UrlPolicy:
        """The default policy plus the stand-in network and this server's port."""
        return UrlPolicy(addresses=AddressPolicy(allow_networks=(PUBLIC_NETWORK,)), ports=PORTS | {self.port})

    def url(self, host: str = "site.example", path: str = "/") -> str:
        """The URL of a page here."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def page(
        self,
        path: str,
        body: str | bytes = b"",
        *,
        host: str = "*",
        status: int = 200,
        content_type: str = "text/html; charset=utf-8",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer `path` (of every host, or one) with this page."""
        content = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        data = "\r\n".join(lines).encode() + b"\r\n\r\n" + content

        async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
            writer.write(data)

        self.raw(path, answer, host=host)

    def redirect(self, path: str, *locations: str, host: str = "*", status: int = 302) -> None:
        """Answer `path` with a redirect; several locations give several headers."""
        lines = [f"HTTP/1.1 {status} X", "Content-Length: 0", *(f"Location: {location}" for location in locations)]

        async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")

        self.raw(path, answer, host=host)

    def raw(self, path: str, handler: Handler, *, host: str = "*") -> None:
        """Answer `path` with whatever `handler` writes; it may close the writer."""
        self._answers[host, path] = handler

    def count(self, path: str) -> int:
        """How many requests came for `path`."""
        return sum(request.target == path for request in self.requests)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                path = request.target.split("?", 1)[0]
                answer = self._answers.get((request.host, path)) or self._answers.get(("*", path), _not_found)
                await answer(request, writer)
                if writer.is_closing():
                    break
                await writer.drain()
                if request.headers.get("connection", "").lower() == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _serve_internal(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.internal_hits.append("connection")
        writer.close()


async def _read_request(reader: asyncio.StreamReader) -> StubRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = headers.get("content-length", "0")
    body = await reader.readexactly(int(length)) if length.isdecimal() else b""
    return StubRequest(method, target, headers, body)


async def _not_found(request: StubRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def html(title: str, *paragraphs: str) -> bytes:
    """A page with a title, one heading and paragraphs."""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>".encode()


def write_warc(
    path: Path, pages: dict[str, bytes], *, compressed: bool = True, date: str = "2026-01-02T03:04:05Z"
) -> None:
    """A WARC with one HTTP response for each address."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=compressed)
        for url, body in pages.items():
            http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                length=len(body),
                http_headers=http,
                warc_headers_dict={"WARC-Date": date},
            )
            writer.write_record(record)

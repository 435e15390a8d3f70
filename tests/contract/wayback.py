"""A Wayback Machine on loopback: availability, capture index and captures, as their contracts say."""

import asyncio
import json
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from pincite.testing.web import StubRequest, StubWeb

FIELDS = ["timestamp", "original"]


@dataclass
class WaybackServer:
    """Answers on a `StubWeb`. `captures` maps an address to its time; `only_indexed` are missing from availability."""

    web: StubWeb
    captures: dict[str, str] = field(default_factory=dict)
    only_indexed: set[str] = field(default_factory=set)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)  # by path
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.web.raw("/wayback/available", self._available)
        self.web.raw("/cdx/search/cdx", self._index)

    @property
    def origin(self) -> str:
        return f"http://127.9.0.1:{self.web.port}"

    def capture(self, url: str, stamp: str, html: str) -> None:
        self.captures[url] = stamp
        self.web.page(f"/web/{stamp}id_/{url}", html, headers={"Memento-Datetime": "Thu, 19 Sep 2013 04:46:12 GMT"})

    async def _available(self, request: StubRequest, writer: asyncio.StreamWriter) -> None:
        url = self._url(request, "available")
        stamp = self.captures.get(url) if url not in self.only_indexed else None
        place = f"http://web.archive.org/web/{stamp}/{url}"
        closest = {"available": True, "status": "200", "timestamp": stamp, "url": place}
        found = {"archived_snapshots": {"closest": closest} if stamp else {}}
        self._write(writer, *self.refusals.get("available", (200, json.dumps(found))))

    async def _index(self, request: StubRequest, writer: asyncio.StreamWriter) -> None:
        url = self._url(request, "index")
        stamp = self.captures.get(url)
        rows = [FIELDS, [stamp, url]] if stamp else []
        self._write(writer, *self.refusals.get("index", (200, json.dumps(rows))))

    def _url(self, request: StubRequest, path: str) -> str:
        url = parse_qs(urlsplit(request.target).query)["url"][0]
        self.asked.append((path, url))
        return url

    @staticmethod
    def _write(writer: asyncio.StreamWriter, status: int, body: str) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n"
        writer.write((head + body).encode())

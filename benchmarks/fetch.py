"""Costs of the fetch service on loopback: CPU a page beside a guarded httpx2, the whole service, slow hosts, memory.

    python benchmarks/fetch.py [cpu] [service] [pages] [slow] [memory]

The web is another process, so that only the fetcher's own CPU time counts. Without a name all parts run. `pages` reads
two ordinary ones through the whole service, 98 kB and 1 kB, made of this repository's own documentation: each sentence
is another, between the menus, headings, lists, tables, scripts and styles that such pages have.
"""

import gc
import html
import math
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import beside_tests  # noqa: F401  # its import is its effect
import httpcore2
import httpx2
from httpcore2 import AnyIOBackend, AsyncNetworkBackend
from tests.fakes.storage import MemoryDocumentStore, MemorySnapshotStore

from pincite.domain.errors import PinciteError
from pincite.domain.fetch import FetchRequest
from pincite.domain.version import USER_AGENT
from pincite.fetch.backends.direct import DirectBackend
from pincite.fetch.client import GuardedClient
from pincite.fetch.extractors import extract
from pincite.fetch.limits import FetchLimits
from pincite.fetch.politeness import HostTurns
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import RobotsGate
from pincite.fetch.service import FetchService
from pincite.runtime.limiter import MemoryBreaker, MemoryLimiter, Rate
from pincite.runtime.reader_process import OBJECTS_BETWEEN_COLLECTIONS
from pincite.runtime.system import SystemClock
from pincite.testing.web import StubResolver
from pincite.urls import AddressPolicy, UrlPolicy, vet_url
from pincite.urls.policy import PORTS

ADDRESS = "127.9.0.1"
HOSTS = 50
IN_FLIGHT = 100

SERVER = """
import asyncio, pathlib, sys
PAGES = {b"/%s/" % path.stem.encode(): path.read_bytes() for path in pathlib.Path(sys.argv[1]).iterdir()}
SENTENCE = b"The lock manager keeps one row for each lock that a transaction holds or waits for. "
PARAGRAPH = b"<p>" + SENTENCE * 12 + b"</p>"
BODY = b"<html><head><title>Page</title></head><body><main><h1>Page</h1>" + PARAGRAPH * 9 + b"</main></body></html>"
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html; charset=utf-8\\r\\nContent-Length: %d\\r\\n\\r\\n"
ROBOTS = b"user-agent: *\\ndisallow: /private\\n"

class Web(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while (end := self.data.find(b"\\r\\n\\r\\n")) >= 0:
            head, self.data = self.data[:end], self.data[end + 4:]
            path = head.split(b" ", 2)[1]
            if path == b"/robots.txt":
                answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(ROBOTS) + ROBOTS
            else:
                body = next((page for start, page in PAGES.items() if path.startswith(start)), BODY)
                answer = HEAD % len(body) + body
            delay = 8.0 if b"Host: slow" in head or b"host: slow" in head else 0.0
            if delay:
                asyncio.get_running_loop().call_later(delay, self.send, answer)
            else:
                self.send(answer)

    def send(self, answer):
        if not self.transport.is_closing():
            self.transport.write(answer)

async def main():
    server = await asyncio.get_running_loop().create_server(Web, "127.9.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def policy_for(port: int) -> UrlPolicy:
    return UrlPolicy(addresses=AddressPolicy(allow_networks=("127.9.0.0/16",)), ports=PORTS | {port})


class Stack:
    """The direct backend as wiring builds it, with politeness opened wide where the benchmark says so."""

    def __init__(self, port: int, *, polite: bool, limits: FetchLimits | None = None) -> None:
        wide = FetchLimits(per_host_concurrency=IN_FLIGHT, requests_per_s_per_host=10_000, concurrency=IN_FLIGHT)
        self.limits = limits or (FetchLimits(concurrency=IN_FLIGHT) if polite else wide)
        clock, policy = SystemClock(), policy_for(port)
        vetted = VettedResolver(StubResolver(), policy, clock)
        self.client = GuardedClient(policy, vetted, clock, limits=self.limits)
        gate = RobotsGate(self.client, policy, clock)
        rate = Rate(self.limits.requests_per_s_per_host, 1.0, burst=1 if polite else IN_FLIGHT)
        turns = HostTurns(MemoryLimiter(clock, default=(rate,)), MemoryBreaker(clock), self.limits)
        self.backend = DirectBackend(self.client, gate, turns, clock, limits=self.limits)
        self.policy, self.clock = policy, clock

    def service(self) -> FetchService:
        class InProcess:
            def extract(self, body: bytes, url: str, content_type: str | None) -> Any:
                return extract(body, url, content_type)

        return FetchService(
            backends=(self.backend,),
            extractor=InProcess(),
            snapshots=MemorySnapshotStore(),
            documents=MemoryDocumentStore(),
            clock=self.clock,
            policy=self.policy,
        )


class PinnedBackend(AsyncNetworkBackend):
    """The same vetting for httpx2: resolve, check, dial what was checked."""

    def __init__(self, vetted: VettedResolver) -> None:
        self._vetted, self._real = vetted, AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *options: Any, **named: Any) -> Any:
        addresses = await self._vetted.addresses(host, port)
        return await self._real.connect_tcp(addresses[0], port, *options, **named)

    async def connect_unix_socket(self, path: str, *options: Any, **named: Any) -> Any:
        raise httpcore2.ConnectError("refused")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class GuardedHttpx2:
    """The baseline: httpx2 with pinned connections, a deadline and a bounded read; no robots.txt, turns or retries.

    Args:
        port: where the web is.
        kept: connections that may stay open: as many as in flight, as the backend's do, or httpx2's default.
    """

    def __init__(self, port: int, kept: int) -> None:
        policy = policy_for(port)
        transport = httpx2.AsyncHTTPTransport(trust_env=False)
        transport._pool = httpcore2.AsyncConnectionPool(
            max_connections=httpx2.Limits().max_connections or IN_FLIGHT,
            max_keepalive_connections=kept,
            network_backend=PinnedBackend(VettedResolver(StubResolver(), policy, SystemClock())),
        )
        self.policy = policy
        self.client = httpx2.AsyncClient(transport=transport, trust_env=False, headers={"User-Agent": USER_AGENT})

    async def get(self, url: str) -> bytes:
        body = bytearray()
        with anyio.fail_after(FetchLimits().total_s):
            async with self.client.stream("GET", vet_url(url, policy=self.policy)) as response:
                async for chunk in response.aiter_bytes(65_536):
                    body += chunk
                    if len(body) > 2_000_000:
                        raise ValueError("too large")
        return bytes(body)


async def many(count: int, do: Callable[[int], Awaitable[object]]) -> None:
    limiter = anyio.CapacityLimiter(IN_FLIGHT)

    async def one(n: int) -> None:
        async with limiter:
            await do(n)

    async with anyio.create_task_group() as group:
        for n in range(count):
            group.start_soon(one, n)


def url(port: int, n: int, hosts: int = HOSTS, path: str = "page") -> str:
    return f"http://h{n % hosts}.example:{port}/{path}/{n}"


async def cpu_per_page(count: int, do: Callable[[int], Awaitable[object]]) -> tuple[float, float]:
    await many(HOSTS * 2, do)  # robots.txt, connections, imports
    started, wall = cpu_s(), time.perf_counter()
    await many(count, do)
    return (cpu_s() - started) * 1000 / count, count / (time.perf_counter() - wall)


async def ours_per_page(port: int, count: int, hosts: int) -> tuple[float, float]:
    stack = Stack(port, polite=False)
    try:
        return await cpu_per_page(count, lambda n: stack.backend.fetch(FetchRequest(url(port, n, hosts))))
    finally:
        await stack.client.aclose()


async def theirs_per_page(port: int, count: int, hosts: int, kept: int) -> tuple[float, float]:
    baseline = GuardedHttpx2(port, kept)
    try:
        return await cpu_per_page(count, lambda n: baseline.get(url(port, n, hosts)))
    finally:
        await baseline.client.aclose()


async def cpu(port: int) -> None:
    """Medians of three interleaved runs of 2,000 pages, 100 in flight."""
    default = 20  # httpx2's own
    for hosts in (1, HOSTS):
        sides: dict[str, Callable[[], Awaitable[tuple[float, float]]]] = {
            "direct backend, full policy": partial(ours_per_page, port, 2_000, hosts),
            f"guarded httpx2, {IN_FLIGHT} kept open": partial(theirs_per_page, port, 2_000, hosts, IN_FLIGHT),
            f"guarded httpx2, {default} kept open": partial(theirs_per_page, port, 2_000, hosts, default),
        }
        runs = [{name: await run() for name, run in sides.items()} for _ in range(3)]
        print(f"{hosts} host(s), {IN_FLIGHT} in flight, 11 KB pages")
        ours = statistics.median(run["direct backend, full policy"][0] for run in runs)
        for name in sides:
            cost, rate = (statistics.median(run[name][part] for run in runs) for part in (0, 1))
            print(f"  {name:<28} {cost:6.2f} ms CPU a page {rate:6.0f} pages/s   {cost / ours:4.1f} x")


async def service(port: int) -> None:
    stack = Stack(port, polite=False)
    door = stack.service()
    cost, rate = await cpu_per_page(300, lambda n: door.fetch(FetchRequest(url(port, n))))
    await stack.client.aclose()
    print(f"whole service (read, stored): {cost:6.2f} ms CPU a page, {rate:6.0f} pages/s")


def passages() -> Iterator[tuple[str, str]]:
    """Tag and text of what the documentation holds: headings, paragraphs, items, rows of tables, code."""
    for path in sorted((Path(__file__).parents[1] / "docs").glob("*.md")):
        for place, part in enumerate(re.split(r"^```.*\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)):
            if place % 2:
                yield "pre", part.rstrip()
                continue
            for block in re.split(r"\n\s*\n|\n(?=[-#] )|\n(?=\|)", part):
                flat = " ".join(block.split())
                if flat and set(flat) - set("|- "):
                    yield {"#": "h2", "-": "li", "|": "tr"}.get(flat[0], "p"), flat.strip("#-| ")


def element(tag: str, text: str) -> str:
    """A passage as HTML, with its code, links and stress."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a class="link" href="/docs/\2">\1</a>', text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    if tag == "tr":
        cells = "".join(f"<td>{cell.strip()}</td>" for cell in text.split("|"))
        return f'<table class="data"><tr>{cells}</tr></table>'
    return f'<ul class="plain"><li>{text}</li></ul>' if tag == "li" else f'<{tag} class="text">{text}</{tag}>'


def article(size: int) -> bytes:
    """An ordinary page of `size` bytes at most: a third of it menus, styles and scripts, the rest text."""
    found = list(passages())
    titles = [html.escape(text) for tag, text in found if tag == "h2"]
    style = "".join(f".c{n}{{margin:{n % 9}px {n % 7}px;color:#{n % 4096:03x}}}" for n in range(size // 360))
    script = "".join(f"window.load('{n}',{n * 7919 % 1000});" for n in range(size // 360))
    items = [f'<li class="menu-item"><a href="/part/{n}">{title}</a></li>' for n, title in enumerate(reversed(titles))]
    menu = "".join(items[: 5 + size // 2_000])
    head = f"<!doctype html><html lang=en><head><title>{titles[0]}</title><style>{style}</style></head><body>"
    above = f'<header class="top"><nav><ul class="menu">{menu}</ul></nav></header><main><article><h1>{titles[0]}</h1>'
    foot = f"</article></main><footer><p>All rights reserved.</p></footer><script>{script}</script></body></html>"
    room = size - len((head + above + foot).encode())
    body = ""
    for tag, text in found[1:]:
        longer = body + element(tag, text)
        longer = longer.replace('</table><table class="data">', "").replace('</ul><ul class="plain">', "")
        if len(longer.encode()) <= room:
            body = longer
    return f"{head}{above}{body}{foot}".encode()


async def served(port: int, kind: str, count: int) -> tuple[float, float]:
    stack = Stack(port, polite=False)
    door = stack.service()
    try:
        return await cpu_per_page(count, lambda n: door.fetch(FetchRequest(url(port, n, path=kind))))
    finally:
        await stack.client.aclose()


async def plain(port: int, kind: str, count: int) -> tuple[float, float]:
    """The least that a page costs: GET with aiohttp's defaults; no vetting, no robots.txt, nothing read or kept."""

    class Loopback(aiohttp.abc.AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[Any]:
            return [{"hostname": host, "host": ADDRESS, "port": port, "family": 2, "proto": 0, "flags": 0}]

        async def close(self) -> None:
            """Nothing is open."""

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Loopback())) as session:

        async def get(n: int) -> bytes:
            async with session.get(url(port, n, path=kind)) as response:
                return await response.read()

        return await cpu_per_page(count, get)


async def pages(port: int) -> None:
    """Medians of three interleaved runs; the reader works in this process, so that its CPU counts.

    Cycles are looked for as seldom as in the process that reads pages in earnest.
    """
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    sides: dict[str, Callable[[], Awaitable[tuple[float, float]]]] = {
        "98 kB, whole service": lambda: served(port, "large", 60),
        "1 kB, whole service": lambda: served(port, "small", 1_000),
        "1 kB, plain aiohttp": lambda: plain(port, "small", 1_000),
    }
    runs = [{name: await run() for name, run in sides.items()} for _ in range(3)]
    costs = {name: statistics.median(run[name][0] for run in runs) for name in sides}
    for name, cost in costs.items():
        print(f"  {name:<22} {cost:7.2f} ms CPU a page")
    ratio = costs["1 kB, whole service"] / costs["1 kB, plain aiohttp"]
    print(f"  1 kB: the whole service takes {ratio:.1f} x plain aiohttp")


async def slow(port: int) -> None:
    """1 page in 20 lives on a host that takes 8 seconds for every answer; default limits and politeness."""
    stack = Stack(port, polite=True)
    seconds: list[float] = []
    failed: list[str] = []

    async def one(n: int) -> None:
        host = f"slow{n}" if n % 20 == 0 else f"h{n}"
        started = time.perf_counter()
        try:
            await stack.backend.fetch(FetchRequest(f"http://{host}.example:{port}/page"))
        except PinciteError as error:
            failed.append(error.reason)
        seconds.append(time.perf_counter() - started)

    await many(200, one)
    await stack.client.aclose()
    seconds.sort()
    p95 = seconds[math.ceil(len(seconds) * 0.95) - 1]
    print(f"200 pages, 5 % slow hosts:    median {statistics.median(seconds):.2f} s, p95 {p95:.2f} s")
    print(f"  slowest {seconds[-1]:.2f} s; given up: {len(failed)} ({', '.join(sorted(set(failed)))})")


async def memory(port: int) -> None:
    stack = Stack(port, polite=False)
    door = stack.service()
    await many(500, lambda n: door.fetch(FetchRequest(url(port, n))))
    await stack.client.aclose()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"500 pages, 50 hosts, 100 in flight: peak {peak:.0f} MB RSS")


PARTS = {"memory": memory, "cpu": cpu, "service": service, "pages": pages, "slow": slow}


def main() -> int:
    names = sys.argv[1:] or list(PARTS)
    if not set(names) <= set(PARTS):
        print(f"parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for kind, size in (("large", 98_000), ("small", 1_000)):
            Path(folder, f"{kind}.html").write_bytes(article(size))
        command = [sys.executable, "-c", SERVER, folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                port = int((server.stdout or sys.stdin).readline())
                for name in names:
                    anyio.run(PARTS[name], port)
            finally:
                server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())

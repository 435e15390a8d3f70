"""server_load.py [--seconds S] [--rate R] [--streams N] [--long MINUTES] [--json FILE]: what one server process bears.

Starts `pincite serve` on a loopback port of its own, with one engine (a fake SearXNG here) or a small library, and
measures from this process, whose own CPU time is reported too:

1. cached `POST /v1/search`, open loop: requests leave at their times, whatever became of earlier ones, 64 connections;
   a latency counts from the time at which the request should have left.
2. research, warm: seconds from the POST to the first event after `run.started`, one run after another.
3. many open event streams on one run: each gets every event, once, in order.
4. with `--long`, the search load again for so many minutes: the slope of the server's memory with its 95 % interval.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import anyio

CONNECTIONS = 64
QUERIES = 20
SLICE_S = 5.0
GROWS_MB_PER_MINUTE = 0.1
"""A server whose memory surely grows faster has a leak; slower is what allocators do."""
PAGE = (
    "# Halden lighthouse {n}\n\nThe Halden lighthouse number {n} is {m} metres tall. It was first lit on 3 May 18{n}.\n"
)
QUESTION = "How tall is the Halden lighthouse number {n}?"


class Engine(BaseHTTPRequestHandler):
    """Answers as SearXNG does."""

    def do_GET(self) -> None:
        rows = [
            {"title": f"Result {n}", "url": f"https://site{n}.example/page", "content": "Words about it. " * 8}
            for n in range(10)
        ]
        body = json.dumps({"results": rows, "answers": [], "suggestions": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`pincite serve` in a process of its own."""

    def __init__(self, folder: Path, source: str, engine_url: str) -> None:
        self.port = free_port()
        environ = {
            **os.environ,
            "PINCITE_SOURCE": source,
            "PINCITE_SEARXNG_BASE_URL": engine_url,
            "PINCITE_HOME": str(folder),
        }
        command = [sys.executable, "-m", "pincite", "serve", "--port", str(self.port)]
        self._process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}"

    async def ready(self, session: aiohttp.ClientSession) -> None:
        with anyio.fail_after(60):
            while True:
                try:
                    async with session.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    await anyio.sleep(0.05)

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


async def search_load(session: aiohttp.ClientSession, server: Server, rate: float, seconds: float) -> dict[str, Any]:
    for n in range(QUERIES):
        async with session.post(f"{server.url}/v1/search", json={"query": f"warm words {n}"}) as answer:
            assert answer.status == 200, await answer.text()
    latencies: list[float] = []
    wrong: list[int] = []
    cpu, own, begin = server.cpu_s(), time.process_time(), time.perf_counter() + 0.1

    async def ask(n: int) -> None:
        due = begin + n / rate
        await anyio.sleep(max(due - time.perf_counter(), 0))
        body = {"query": f"warm words {n % QUERIES}"}
        async with session.post(f"{server.url}/v1/search", json=body) as answer:
            found = await answer.json()
            if answer.status != 200 or found["info"]["cache"] == "miss":
                wrong.append(answer.status)
        latencies.append(time.perf_counter() - due)

    async with anyio.create_task_group() as tasks:
        for n in range(int(rate * seconds)):
            tasks.start_soon(ask, n)
    took = time.perf_counter() - begin
    return {
        "offered_per_s": rate,
        "done_per_s": round(len(latencies) / took, 1),
        "wrong": len(wrong),
        "p50_ms": round(quantile(latencies, 0.5) * 1000, 1),
        "p95_ms": round(quantile(latencies, 0.95) * 1000, 1),
        "p99_ms": round(quantile(latencies, 0.99) * 1000, 1),
        "server_cpu_ms_per_request": round((server.cpu_s() - cpu) / len(latencies) * 1000, 2),
        "client_cpu_ms_per_request": round((time.process_time() - own) / len(latencies) * 1000, 2),
        "server_memory_mb": round(server.memory_mb(), 1),
    }


async def events_of(session: aiohttp.ClientSession, url: str, *, first_only: bool = False) -> list[int]:
    seen: list[int] = []
    async with session.get(url) as answer:
        async for raw in answer.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("id: "):
                seen.append(int(line[4:]))
            elif first_only and line.startswith("event: ") and line != "event: run.started":
                return seen
    return seen


async def first_events(session: aiohttp.ClientSession, server: Server, runs: int) -> dict[str, Any]:
    waits: list[float] = []
    for n in range(runs + 2):
        begin = time.perf_counter()
        async with session.post(f"{server.url}/v1/research", json={"question": QUESTION.format(n=n % 50)}) as answer:
            run_id = (await answer.json())["id"]
        await events_of(session, f"{server.url}/v1/research/{run_id}/events", first_only=True)
        waits.append(time.perf_counter() - begin)
        async with session.get(f"{server.url}/v1/research/{run_id}", params={"wait": 50}) as answer:
            await answer.read()
    warm = waits[2:]
    return {
        "runs": len(warm),
        "first_event_p50_s": round(statistics.median(warm), 3),
        "first_event_p95_s": round(quantile(warm, 0.95), 3),
    }


async def open_streams(session: aiohttp.ClientSession, server: Server, streams: int) -> dict[str, Any]:
    found: list[list[int]] = []
    async with session.post(f"{server.url}/v1/research", json={"question": QUESTION.format(n=7)}) as answer:
        run_id = (await answer.json())["id"]
    begin = time.perf_counter()

    async def follow() -> None:
        found.append(await events_of(session, f"{server.url}/v1/research/{run_id}/events"))

    async with anyio.create_task_group() as tasks:
        for _ in range(streams):
            tasks.start_soon(follow)
    whole = [seen for seen in found if seen == list(range(1, len(seen) + 1))]
    return {
        "streams": streams,
        "complete": sum(len(seen) == max(map(len, whole)) for seen in whole),
        "events": max(map(len, found)),
        "took_s": round(time.perf_counter() - begin, 2),
        "server_memory_mb": round(server.memory_mb(), 1),
    }


async def memory_slope(session: aiohttp.ClientSession, server: Server, rate: float, minutes: float) -> dict[str, Any]:
    """The line through the memory of the server over time, without the first fifth, and how sure its slope is."""
    points: list[tuple[float, float]] = []
    wrong = 0
    begin = time.perf_counter()
    while (at := time.perf_counter() - begin) < minutes * 60:
        wrong += (await search_load(session, server, rate, SLICE_S))["wrong"]
        points.append((at / 60, server.memory_mb()))
    later = points[len(points) // 5 :]
    slope, error = slope_of(later)
    return {
        "minutes": minutes,
        "requests": int(len(points) * rate * SLICE_S),
        "wrong": wrong,
        "first_mb": round(points[0][1], 1),
        "last_mb": round(points[-1][1], 1),
        "points": len(later),
        "mb_per_minute": round(slope, 3),
        "mb_per_minute_95": [round(slope - error, 3), round(slope + error, 3)],
        "grows": slope - error > GROWS_MB_PER_MINUTE,
    }


def slope_of(points: list[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the line of least squares and the half width of its 95 % interval."""
    if len(points) < 3:
        return float("nan"), float("inf")
    x, y = zip(*points, strict=True)
    line = statistics.linear_regression(x, y)
    left = sum((b - line.slope * a - line.intercept) ** 2 for a, b in points)
    spread = sum((a - statistics.fmean(x)) ** 2 for a in x)
    freedom = len(points) - 2
    wide = 1.96 + 2.5 / freedom  # close to Student's t from 5 points on
    return line.slope, float(wide * (left / freedom / spread) ** 0.5)


async def measure(options: argparse.Namespace, engine_url: str) -> dict[str, Any]:
    result: dict[str, Any] = {"load_average": os.getloadavg()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = folder / "library"
        library.mkdir()
        for n in range(50):
            (library / f"p{n}.md").write_text(PAGE.format(n=n, m=n + 20), encoding="utf-8")
        timeout = aiohttp.ClientTimeout(total=300)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            server = Server(folder / "searching", "searxng", engine_url)
            try:
                await server.ready(session)
                result["search"] = await search_load(session, server, options.rate, options.seconds)
                if options.long:
                    result["memory"] = await memory_slope(session, server, options.rate, options.long)
            finally:
                server.stop()
        many = aiohttp.TCPConnector(limit=options.streams + 8)
        async with aiohttp.ClientSession(connector=many, timeout=timeout) as session:
            server = Server(folder / "researching", f"local:{library}", engine_url)
            try:
                await server.ready(session)
                result["research"] = await first_events(session, server, options.runs)
                result["streams"] = await open_streams(session, server, options.streams)
            finally:
                server.stop()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--long", type=float, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with ThreadingHTTPServer(("127.0.0.1", 0), Engine) as engine:
        thread = threading.Thread(target=engine.serve_forever, daemon=True)
        thread.start()
        result = anyio.run(measure, options, f"http://127.0.0.1:{engine.server_address[1]}")
        engine.shutdown()
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Callers who go away, read slowly, or come back after a restart: no event is lost, no run goes on for nobody."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from starlette.types import Message
from tests.fakes.loopback import QuietHandler, serving

from pincite.domain.budget import Budget
from pincite.domain.codec import to_json
from pincite.domain.events import EventType, RunStatus
from pincite.domain.plan import Task
from pincite.domain.records import RunRecord
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings
from pincite.surfaces.http.responses import EventStream
from pincite.testing.web import PUBLIC_STAND_IN, StubRequest, StubWeb
from pincite.wiring.parts import open_parts

EVENTS = 1500
WORDS = "words " * 1200


class SearchThatHangs(ThreadingHTTPServer):
    """An engine that is asked, and does not answer until it is let."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), SearchHandler)
        self.asked = threading.Event()
        self.let = threading.Event()


class SearchHandler(QuietHandler):
    server: SearchThatHangs

    def do_GET(self) -> None:
        self.server.asked.set()
        self.server.let.wait(60)


@pytest.fixture
def hanging() -> Iterator[SearchThatHangs]:
    with serving(SearchThatHangs()) as engine:
        yield engine
        engine.let.set()


@pytest.mark.parametrize(
    ("path", "stream"),
    [
        ("/v1/chat/completions", False),
        ("/v1/chat/completions", True),
        ("/v1/responses", False),
        ("/v1/responses", True),
    ],
)
def test_an_answer_that_nobody_waits_for_any_more_stops_its_run(
    hanging: SearchThatHangs,
    made_app: Callable[..., Any],
    serving: Callable[[Any], AbstractContextManager[str]],
    tmp_path: Path,
    path: str,
    stream: bool,
) -> None:
    engine = {"source": "searxng", "searxng_base_url": f"http://127.0.0.1:{hanging.server_address[1]}"}
    question = "How tall is the lighthouse?"
    asked = {"input": question, "messages": [{"role": "user", "content": question}]}
    body = json.dumps({"model": "pincite-quick", "stream": stream, **asked}).encode()
    with serving(made_app(tmp_path, settings=engine)) as url, httpx2.Client(base_url=url, timeout=60) as others:
        place = urlsplit(url)
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60) as caller:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            caller.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert hanging.asked.wait(60)  # the run is in the middle of a search
        run = others.get("/v1/research", params={"limit": 1}).json()["runs"][0]
        ended = others.get(f"/v1/research/{run['id']}", params={"wait": 50}).json()
        assert ended["status"] == "cancelled"


def numbers(text: str) -> list[int]:
    return [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]


async def test_a_stream_that_breaks_goes_on_after_the_last_event_seen(
    client: httpx2.AsyncClient, question: str
) -> None:
    run_id = (await client.post("/v1/research", json={"question": f"{question} Again?"})).json()["id"]
    seen: list[int] = []
    while True:
        headers = {"Last-Event-ID": str(seen[-1])} if seen else {}
        async with client.stream("GET", f"/v1/research/{run_id}/events", headers=headers) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    seen.append(int(line[4:]))
                    if len(seen) % 3 == 0:
                        break  # the connection is cut after every third event
            else:
                break
    everything = numbers((await client.get(f"/v1/research/{run_id}/events")).text)
    assert seen == everything == list(range(1, len(everything) + 1))


async def test_a_restart_in_mid_stream_loses_no_event_and_no_run(
    tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    asked, answer = anyio.Event(), anyio.Event()
    text = b"<html><title>Halden</title><p>The Halden lighthouse is 41 metres tall.</p></html>"

    async def slow(_: StubRequest, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    async with StubWeb() as web:
        web.raw("/page", slow)
        reached = {"allow_networks": ("127.0.0.0/8",), "allow_ports": (web.port,)}
        options = {"settings": reached, "work": load_settings({"home": tmp_path, **reached})}
        body = {"question": question, "urls": [f"http://{PUBLIC_STAND_IN}:{web.port}/page"]}
        seen = ""
        async with opened(tmp_path, **options) as client:
            run_id = (await client.post("/v1/research", json=body)).json()["id"]
            with anyio.fail_after(60):
                await asked.wait()  # the run is in the middle of a page
        answer.set()
        async with opened(tmp_path, **options) as client:  # goes on by itself
            before = (await client.get(f"/v1/research/{run_id}")).json()
            assert before["status"] in ("queued", "running"), before
            path = f"/v1/research/{run_id}/events"
            with anyio.fail_after(60):
                seen = (await client.get(path, headers={"Last-Event-ID": "1"})).text
            everything = (await client.get(path)).text
            ended = (await client.get(f"/v1/research/{run_id}")).json()
    assert ended["status"] in ("completed", "partial"), ended
    assert "event: run.cancelled" not in everything
    assert everything.count("event: run.resumed") == 1
    assert everything.count("event: run.completed") == 1
    assert numbers(seen) == numbers(everything)[1:] == list(range(2, len(numbers(everything)) + 1))


@pytest.fixture
def long_run(made_app: Callable[..., Any], tmp_path: Path) -> tuple[Any, str]:
    """An application with a run of more events than all buffers between here and a reader hold."""

    async def store() -> str:
        async with open_parts(load_settings({"home": tmp_path}, environ={}, files=())) as parts:
            runs, now = await parts.runs(), SystemClock().now()
            inputs = {"task": to_json(Task(question="Why?"))}
            await runs.create(RunRecord("run_long", "local", "Why?", RunStatus.QUEUED, now, now, inputs, Budget()))
            taken = await runs.take("run_long", "test", 60)
            sink = await parts.events(taken, "topic")
            for n in range(EVENTS):
                await sink.emit(EventType.CHUNK_MADE, {"n": n, "words": WORDS})
            await runs.finish("run_long", taken.epoch, RunStatus.COMPLETED)
        return "run_long"

    return made_app(tmp_path), anyio.run(store)


def connected(url: str, run_id: str, after: int) -> socket.socket:
    """A reader with a small buffer, who has asked for the events after one."""
    place = urlsplit(url)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(60)
    reader.connect((str(place.hostname), int(place.port or 0)))
    head = f"GET /v1/research/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    reader.sendall(f"{head}Last-Event-ID: {after}\r\n\r\n".encode())
    return reader


def test_a_reader_of_a_byte_now_and_then_holds_up_nobody_and_misses_nothing(
    long_run: tuple[Any, str], serving: Callable[[Any], AbstractContextManager[str]]
) -> None:
    app, run_id = long_run
    with serving(app) as url, httpx2.Client(base_url=url, timeout=60) as others:
        slow = connected(url, run_id, 0)
        started = b"".join(slow.recv(1) for _ in range(3000))  # then it takes nothing, its buffers full
        assert b"id: 1\n" in started
        assert others.get("/healthz").status_code == 200
        assert app.state.service.followers == 1
        assert len(numbers(others.get(f"/v1/research/{run_id}/events").text)) == EVENTS
        got = bytearray(started)
        while piece := slow.recv(50_000):
            got += piece
        slow.close()
        assert numbers(got.decode()) == list(range(1, EVENTS + 1))


def test_a_reader_who_is_cut_off_comes_back_for_the_rest(
    long_run: tuple[Any, str], serving: Callable[[Any], AbstractContextManager[str]]
) -> None:
    app, run_id = long_run
    with serving(app) as url, httpx2.Client(base_url=url, timeout=60) as others:
        first = connected(url, run_id, 0)
        got = bytearray()
        while got.count(b"\nid: ") < 20:
            got += first.recv(1000)
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        first.close()  # with a reset, while the server wants to send more
        seen = numbers(got.decode(errors="replace").rpartition("\n\n")[0])
        rest = numbers(others.get(f"/v1/research/{run_id}/events", headers={"Last-Event-ID": str(seen[-1])}).text)
        assert seen + rest == list(range(1, EVENTS + 1))
        until_s = time.monotonic() + 30
        while app.state.service.followers and time.monotonic() < until_s:
            others.get("/healthz")
        assert app.state.service.followers == 0  # nothing of the first one is left


async def test_a_reader_who_takes_nothing_at_all_is_cut_off_and_its_source_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    closed = anyio.Event()

    async def source() -> AsyncGenerator[str]:
        try:
            while True:
                yield "data: x\n\n"
        finally:
            closed.set()

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) > 3:
            await anyio.sleep_forever()

    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    with anyio.fail_after(30):
        await EventStream(source(), send_s=0.01)(scope, never, send)
    assert closed.is_set()
    assert len(sent) == 4
    assert "cut off" in caplog.text


async def test_a_stream_whose_reader_goes_while_it_is_written_to_is_closed() -> None:
    closed, stuck = anyio.Event(), anyio.Event()

    async def source() -> AsyncGenerator[str]:
        try:
            yield "data: x\n\n"
            await anyio.sleep_forever()
        finally:
            closed.set()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            stuck.set()
            await anyio.sleep_forever()

    async def gone() -> Message:
        await stuck.wait()
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    with anyio.fail_after(30):
        await EventStream(source())(scope, gone, send)
    assert closed.is_set()

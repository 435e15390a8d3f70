"""Requests whose headers never end are dropped; others are served as before."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pincite.surfaces.http.gate import HEADERS_WITHIN_S, PatientProtocol
from pincite.surfaces.http.serving import serve

WITHIN_S = 0.3


class Quick(PatientProtocol):
    headers_within_s = WITHIN_S


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(serving: Any) -> Iterator[int]:
    with serving(app, http=Quick, lifespan="off") as url:
        yield int(url.rpartition(":")[2])


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_headers_that_do_not_end_are_dropped(port: int, sent: bytes) -> None:
    with connected(port) as half:
        half.sendall(sent)
        assert half.recv(100) == b"", "closed without an answer"


def test_a_second_request_on_a_connection_has_its_own_time(port: int) -> None:
    with connected(port) as kept:
        for _ in range(2):
            kept.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"ok"):
                answer += kept.recv(4096)
        waited = threading.Event()
        assert not waited.wait(WITHIN_S * 2), "nothing was begun: uvicorn's own time for idle connections counts"
        kept.sendall(b"GET / HTTP/1.1\r\nHo")
        assert kept.recv(100) == b""


def test_the_server_is_started_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configs: list[uvicorn.Config] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, **_: configs.append(self.config))
    serve("127.0.0.1", 0, tmp_path, ready=lambda: None, work=False)
    assert configs[0].http is PatientProtocol
    assert HEADERS_WITHIN_S == 15

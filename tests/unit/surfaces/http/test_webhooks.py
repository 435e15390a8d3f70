"""Webhooks: signed as Standard Webhooks, tried again, never to an internal address, once a run has ended."""

import json
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from standardwebhooks import Webhook
from tests.fakes.loopback import QuietHandler, serving

from pincite.surfaces.http import webhooks


class Receiver(ThreadingHTTPServer):
    """Keeps what was posted; answers with `statuses`, the last of them for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses = [200]


class Handler(QuietHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        statuses = self.server.statuses
        self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as server:
        yield server


async def told(client: httpx2.AsyncClient, run_id: str, status: str) -> dict[str, Any]:
    with anyio.fail_after(30):
        while True:
            found: list[dict[str, Any]] = (await client.get(f"/v1/research/{run_id}")).json().get("webhooks", [])
            if found and found[0]["status"] == status:
                return found[0]
            await anyio.sleep(0.05)


@pytest.fixture
def open_to_loopback(receiver: Receiver, opened: Callable[..., Any], tmp_path: Path) -> Any:
    port = receiver.server_address[1]
    return opened(tmp_path, settings={"allow_networks": ("127.0.0.0/8",), "allow_ports": (port,)})


async def test_the_end_of_a_run_is_told_signed_and_tried_again(
    receiver: Receiver, open_to_loopback: Any, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "WAITS_S", (0.0, 0.0, 0.0, 0.0))
    receiver.statuses = [500, 302, 200]
    url = f"http://127.0.0.1:{receiver.server_address[1]}/hook"
    async with open_to_loopback as client:
        started = await client.post("/v1/research", json={"question": question, "webhook_url": url})
        assert started.status_code == 202, started.text
        run_id = started.json()["id"]
        sent = await told(client, run_id, "sent")
        assert (sent["tries"], sent["url"]) == (3, url)
        secret = (await client.get("/v1/webhooks/secret")).json()["secret"]
    bodies = [Webhook(secret).verify(body, headers) for headers, body in receiver.got]
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[0]["type"] in ("research.completed", "research.partial")
    assert bodies[0]["data"]["id"] == run_id
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    with pytest.raises(Exception, match="signature"):
        Webhook(secret).verify(receiver.got[0][1] + b" ", receiver.got[0][0])
    assert b"question" in json.dumps(bodies[0]).encode()


async def test_a_webhook_that_nobody_takes_is_given_up(
    receiver: Receiver, open_to_loopback: Any, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "WAITS_S", (0.0, 0.0))
    receiver.statuses = [503]
    url = f"http://127.0.0.1:{receiver.server_address[1]}/hook"
    async with open_to_loopback as client:
        run_id = (await client.post("/v1/research", json={"question": question, "webhook_url": url})).json()["id"]
        given_up = await told(client, run_id, "given_up")
        assert (given_up["tries"], given_up["detail"]) == (3, "status 503")
        await client.delete(f"/v1/research/{run_id}")
    assert len(receiver.got) == 3


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1/hook", "BLOCKED_ADDRESS"),
        ("http://169.254.169.254/latest/meta-data", "BLOCKED_ADDRESS"),
        ("http://[::ffff:10.0.0.1]/", "BLOCKED_ADDRESS"),
        ("http://0x7f.1/", "BLOCKED_ADDRESS"),
        ("http://localhost/", "BLOCKED_ADDRESS"),
        ("http://user:pass@example.com/", "INVALID_URL"),
        ("https://example.com:22/", "BLOCKED_ADDRESS"),
        ("file:///etc/passwd", "INVALID_URL"),
        ("gopher://example.com/", "INVALID_URL"),
    ],
)
async def test_a_webhook_to_an_internal_address_is_refused_and_no_run_started(
    client: httpx2.AsyncClient, question: str, url: str, code: str
) -> None:
    before = (await client.get("/v1/research", params={"limit": 1})).json()["runs"]
    refused = await client.post("/v1/research", json={"question": question, "webhook_url": url})
    assert refused.json()["code"] == code, refused.text
    assert (await client.get("/v1/research", params={"limit": 1})).json()["runs"] == before

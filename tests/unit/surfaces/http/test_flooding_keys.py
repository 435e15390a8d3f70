"""One key that floods a server: it is refused beyond what a key may have, at every door, and others are served."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pincite.settings import load_settings
from pincite.surfaces.accounts import ServerLimits
from pincite.surfaces.http.gate import KeyRing


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def test_a_flooding_key_is_refused_and_another_is_served(
    tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    ring = KeyRing(tmp_path)
    flood, other = bearer(ring.create("flood")), bearer(ring.create("other"))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers
        port = silent.getsockname()[1]
        held = {"question": question, "urls": [f"http://127.0.0.1:{port}/"]}
        settings = {"allow_networks": ("127.0.0.0/8",), "allow_ports": (port,), "fetch_deadline_s": 40}
        limits = ServerLimits(jobs=3, jobs_per_key=2, streams_per_key=1)
        async with opened(tmp_path, settings=settings, limits=limits) as client:
            runs = [(await client.post("/v1/research", json=held, headers=flood)).json()["id"] for _ in range(2)]
            for path, body in (
                ("/v1/research", {"question": question}),
                ("/v1/chat/completions", chat(question)),
                ("/v1/responses", {"model": "pincite-quick", "input": question}),
                ("/v1/responses", {"model": "pincite-quick", "input": question, "background": True}),
            ):
                refused = await client.post(path, json=body, headers=flood)
                assert (refused.status_code, reason(refused)) == (429, "runs_of_key"), (path, refused.text)
                assert int(refused.headers["retry-after"]) > 0
            answered = await client.post("/v1/chat/completions", json=chat(question), headers=other)
            assert answered.status_code == 200, answered.text
            assert "41 metres" in answered.json()["choices"][0]["message"]["content"]
            for run_id in runs:
                await client.post(f"/v1/research/{run_id}/cancel", headers=flood)
            again = await client.post("/v1/research", json={"question": question}, headers=flood)
            assert again.status_code == 202, again.text


async def test_streams_of_answers_count_as_streams_of_their_key(
    tmp_path: Path, opened: Callable[..., Any], made_app: Callable[..., Any], question: str
) -> None:
    flood = bearer(KeyRing(tmp_path).create("flood"))
    app = made_app(tmp_path, limits=ServerLimits(streams_per_key=1))
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=flood) as client,
    ):
        with app.state.service.streaming("flood"):  # one is open
            for path, body in (
                ("/v1/chat/completions", {**chat(question), "stream": True}),
                ("/v1/responses", {"model": "pincite-quick", "input": question, "stream": True}),
            ):
                refused = await client.post(path, json=body)
                assert (refused.status_code, reason(refused)) == (429, "streams_of_key"), refused.text
            assert (await client.get("/v1/research")).json()["runs"] == [], "nothing was begun for them"
        told = await client.post("/v1/chat/completions", json={**chat(question), "stream": True})
        assert told.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(("name", "value"), [("jobs", 7), ("jobs_per_key", 9), ("streams_per_key", 11)])
def test_the_limits_are_settings(name: str, value: int) -> None:
    settings = load_settings({f"server_{name}": value}, environ={}, files=())
    assert getattr(ServerLimits.of(settings), name) == value


def chat(question: str) -> dict[str, Any]:
    return {"model": "pincite-quick", "messages": [{"role": "user", "content": question}]}


def reason(answer: httpx2.Response) -> str:
    body = answer.json()
    found: str = body["error"]["code"] if "error" in body else body["reason"]
    return found

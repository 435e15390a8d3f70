"""Callers who go away, read slowly, or come back after a restart: no event is lost, no run goes on for nobody."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest


async def last_run(client: httpx2.AsyncClient) -> dict[str, Any]:
    run: dict[str, Any] = (await client.get("/v1/research", params={"limit": 1})).json()["runs"][0]
    return run


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_that_is_left_stops_its_run(client: httpx2.AsyncClient, question: str, stream: bool) -> None:
    body = {
        "model": "pincite-quick",
        "stream": stream,
        "messages": [{"role": "user", "content": f"{question} {stream}"}],
    }
    with anyio.move_on_after(10) as leaving:
        async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            async for _ in answer.aiter_raw():
                leaving.cancel()
    async with httpx2.AsyncClient(base_url=client.base_url, timeout=60) as other:
        run = await last_run(other)
        assert run["question"].startswith(question)
        ended = (await other.get(f"/v1/research/{run['id']}", params={"wait": 30})).json()
        assert ended["status"] in ("cancelled", "completed", "partial")


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


async def test_a_restart_in_mid_stream_loses_no_event(
    tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    async with opened(tmp_path) as client:
        run_id = (await client.post("/v1/research", json={"question": question})).json()["id"]
        await anyio.sleep(0.1)
    async with opened(tmp_path) as client:
        run = (await client.get(f"/v1/research/{run_id}")).json()
        before = numbers((await client.get(f"/v1/research/{run_id}/events")).text)
        if run["status"] not in ("completed", "partial"):
            await client.post(f"/v1/research/{run_id}/resume")
        ended = (await client.get(f"/v1/research/{run_id}", params={"wait": 30})).json()
        assert ended["status"] in ("completed", "partial")
        after = numbers((await client.get(f"/v1/research/{run_id}/events")).text)
        assert after[: len(before)] == before
        assert after == list(range(1, len(after) + 1))
        rest = await client.get(f"/v1/research/{run_id}/events", params={"starting_after": max(before, default=0)})
        assert before + numbers(rest.text) == after

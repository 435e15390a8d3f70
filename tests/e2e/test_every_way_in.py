"""The refusals of the address tables through the library, the HTTP API and MCP: same reason, and nothing is dialled."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from pincite.domain.errors import PinciteError
from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing
from pincite.surfaces.mcp.server import make_server, own_tools

CASES = json.loads((Path(__file__).parents[1] / "conformance" / "data" / "ssrf_cases.json").read_text())["cases"]
REFUSED = [
    case
    for case in CASES
    if case["enforce_at"] in {"url_policy", "address_policy"} and not case["resolver"] and case["expected"] == "deny"
]
DIALLED: list[Any] = []
Ask = Callable[[str], Awaitable[str]]


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo"}:
        DIALLED.append(arguments)


sys.addaudithook(_note)


@asynccontextmanager
async def _library(home: Path) -> AsyncIterator[Ask]:
    async with Engine.from_settings(home=home) as engine:

        async def ask(url: str) -> str:
            with pytest.raises(PinciteError) as caught:
                await engine.fetch(url)
            return caught.value.reason

        yield ask


@asynccontextmanager
async def _http(home: Path) -> AsyncIterator[Ask]:
    app = create_app(lambda scope, profile: Engine.from_settings(home=home, scope=scope), KeyRing(home))
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):

        async def ask(url: str) -> str:
            answer = await client.post("/v1/fetch", json={"url": url})
            assert answer.status_code in {400, 403, 422}, answer.text
            return answer.text

        yield ask


@asynccontextmanager
async def _mcp(home: Path) -> AsyncIterator[Ask]:
    async with Client(make_server(own_tools(home=home, profile="quick"), "default")) as client:

        async def ask(url: str) -> str:
            result = await client.call_tool("web_fetch", {"url": url})
            assert result.is_error
            return "".join(getattr(item, "text", "") for item in result.content)

        yield ask


@pytest.mark.parametrize("door", [_library, _http, _mcp])
async def test_every_door_refuses_and_dials_nothing(door: Any, tmp_path: Path) -> None:
    async with door(tmp_path) as ask:
        await ask("http://10.0.0.1/")  # whatever a door opens for itself
        DIALLED.clear()
        for case in REFUSED:
            said = await ask(case["input"])
            if door is _library:
                assert said in case["code"].split("_or_"), case
        assert not DIALLED
    assert len(REFUSED) > 200

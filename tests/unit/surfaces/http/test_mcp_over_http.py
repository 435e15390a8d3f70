"""The MCP tools of a server: both revisions of the protocol, keys, foreign origins, progress, cancelling."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from pincite.surfaces.http.identity import KeyRing

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
MODES = ["legacy", "2026-07-28"]


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content or {}
    assert json.loads("".join(getattr(item, "text", "") for item in result.content)) == found
    return found


@pytest.mark.parametrize("mode", MODES)
async def test_research_over_http(server: str, mode: Any, question: str) -> None:
    async with Client(f"{server}/mcp", mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        told: list[str | None] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)

        result = await client.call_tool("research", {"question": question}, progress_callback=heard)
        answer = result.structured_content or {}
        assert "41 metres" in answer["content"]
        assert told
        assert answer["run_id"] in str(told[0])
        claims = await call(client, "research_result", run_id=answer["run_id"], section="claims")
        assert "> The Halden lighthouse is 41 metres tall." in claims["content"]
    async with httpx2.AsyncClient(base_url=server) as http:  # the run is one of the server's
        assert (await http.get(f"/v1/research/{answer['run_id']}")).status_code == 200


@pytest.mark.parametrize("mode", MODES)
async def test_chatgpt_s_tools_have_a_path_of_their_own(server: str, mode: Any) -> None:
    async with Client(f"{server}/mcp/chatgpt", mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        found = await call(client, "search", query="Halden lighthouse tall")
        assert "41 metres" in (await call(client, "fetch", id=found["results"][0]["id"]))["text"]


@pytest.fixture(scope="module")
def guarded(
    made_app: Callable[..., Any],
    serving: Callable[[Any], AbstractContextManager[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, str, str]]:
    home: Path = tmp_path_factory.mktemp("guarded")
    keys = KeyRing(home)
    one, two = keys.create("one"), keys.create("two")
    with serving(made_app(home)) as url:
        yield url, one, two


@pytest.mark.parametrize("mode", MODES)
async def test_a_key_opens_its_own_runs_only(guarded: tuple[str, str, str], mode: Any, question: str) -> None:
    url, one, two = guarded

    @asynccontextmanager
    async def signed_in(key: str) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    async with signed_in(one) as client:
        run_id = (await call(client, "research", question=question))["run_id"]
    async with signed_in(two) as client:
        for tool in ("research_result", "research_cancel"):
            refused = await client.call_tool(tool, {"run_id": run_id})
            assert refused.is_error
            assert "RUN_NOT_FOUND" in str(refused.content)
        with pytest.raises(MCPError, match="RUN_NOT_FOUND"):
            await client.read_resource(f"research://runs/{run_id}/report")
    async with httpx2.AsyncClient(base_url=url) as http:
        answer = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


async def test_foreign_pages_and_hosts_reach_no_tool(server: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient(base_url=server) as http:
        assert (await http.post("/mcp", json=body, headers={"Origin": "https://evil.example"})).status_code == 403
        assert (await http.post("/mcp", json=body, headers={"Host": "evil.example"})).status_code == 422


async def test_a_cancelled_call_leaves_no_run_behind(server: str, question: str) -> None:
    started: list[str] = []
    async with Client(f"{server}/mcp", mode="2026-07-28") as client:
        with anyio.CancelScope() as scope:

            async def heard(progress: float, total: float | None, message: str | None) -> None:
                started.append(str(message).split(":")[0])
                scope.cancel()

            await client.call_tool("research", {"question": question}, progress_callback=heard)
    async with httpx2.AsyncClient(base_url=server, timeout=60) as http:
        ended = (await http.get(f"/v1/research/{started[0]}", params={"wait": 30})).json()
        assert ended["status"] in ("cancelled", "completed", "partial")

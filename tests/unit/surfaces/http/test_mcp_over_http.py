"""The MCP tools of a server: both revisions of the protocol, keys, foreign origins, progress, cancelling."""

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from pincite.research.service import ResearchService
from pincite.surfaces.http.gate import KeyRing

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
        assert len((await client.list_tools()).tools) == 9
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
    async with httpx2.AsyncClient(base_url=server, timeout=120) as http:  # the run is one of the server's
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
    async with httpx2.AsyncClient(base_url=url, timeout=120) as http:
        answer = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


async def test_foreign_pages_and_hosts_reach_no_tool(server: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient(base_url=server, timeout=120) as http:
        assert (await http.post("/mcp", json=body, headers={"Origin": "https://evil.example"})).status_code == 403
        assert (await http.post("/mcp", json=body, headers={"Host": "evil.example"})).status_code == 422


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Research that goes on until it is stopped."""

    async def run(self: ResearchService, task: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(ResearchService, "run", run)


async def status_of(server: str, run_id: str) -> str:
    async with httpx2.AsyncClient(base_url=server, timeout=60) as http:
        return str((await http.get(f"/v1/research/{run_id}", params={"wait": 30})).json()["status"])


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_stops_its_run(server: str, question: str, mode: Any) -> None:
    started: list[str] = []
    async with Client(f"{server}/mcp", mode=mode) as client:
        with anyio.CancelScope() as scope:

            async def heard(progress: float, total: float | None, message: str | None) -> None:
                started.append(str(message).split(":")[0])
                scope.cancel()

            await client.call_tool("research", {"question": question}, progress_callback=heard)
        assert await status_of(server, started[0]) == "cancelled"
        assert len((await client.list_tools()).tools) == 9, "the client goes on"


@pytest.mark.usefixtures("endless")
async def test_a_call_is_cancelled_by_its_own_session_alone(server: str, question: str) -> None:
    """As the official clients do it: a request of its own, and the answer's stream stays open until then."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"name": "research", "arguments": {"question": question}, "_meta": {"progressToken": 1}}
    async with httpx2.AsyncClient(base_url=server, timeout=60, headers=headers) as http:
        opened = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin})
        mine = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        call_ = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked}
        async with http.stream("POST", "/mcp", json=call_, headers=mine) as answer:
            lines = answer.aiter_lines()
            first = next(line for line in [line async for line in _until(lines, "run_")] if "run_" in line)
            run_id = "run_" + first.partition("run_")[2].partition(":")[0]
            for others in ({}, {"Mcp-Session-Id": "somebody-elses"}):
                assert (await http.post("/mcp", json=cancel, headers=others)).status_code == 202
            # Its first words come before it begins; what others sent would have ended it by now.
            assert (await http.get(f"/v1/research/{run_id}")).json()["status"] in {"queued", "running"}
            assert (await http.post("/mcp", json=cancel, headers=mine)).status_code == 202
            assert not [line async for line in lines if "result" in line], "the stream ends, without a result"
    assert await status_of(server, run_id) == "cancelled"


async def _until(lines: AsyncIterator[str], mark: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if mark in line:
            return


JAVASCRIPT = """
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "test", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${process.env.SERVER}/mcp`)));
const abort = new AbortController();
let run = "";
const onprogress = ({ message }) => { run = message.split(":")[0]; abort.abort(); };
const call = { name: "research", arguments: { question: process.env.QUESTION } };
await assert.rejects(client.callTool(call, undefined, { signal: abort.signal, onprogress }));
const ended = await (await fetch(`${process.env.SERVER}/v1/research/${run}?wait=30`)).json();
assert.equal(ended.status, "cancelled");
assert.equal((await client.listTools()).tools.length, 9);
console.log("cancelled");
process.exit(0);
"""


@pytest.mark.long
@pytest.mark.usefixtures("endless")
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here: the JavaScript SDK was not run")
def test_the_javascript_sdk_cancels_a_run(server: str, question: str, tmp_path: Path) -> None:
    package = {"private": True, "type": "module", "dependencies": {"@modelcontextprotocol/sdk": "^1.20.0"}}
    (tmp_path / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (tmp_path / "cancels.mjs").write_text(JAVASCRIPT, encoding="utf-8")
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    ran: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300}
    fetched = subprocess.run(install, check=False, **ran)
    if fetched.returncode:
        pytest.skip(f"npm can't fetch the SDK here: {fetched.stderr[-300:]}")
    environ = {"PATH": "/usr/bin:/bin:/usr/local/bin", "SERVER": server, "QUESTION": question}
    done = subprocess.run(["node", "cancels.mjs"], check=False, env=environ, **ran)
    assert done.stdout.strip() == "cancelled", done.stdout + done.stderr

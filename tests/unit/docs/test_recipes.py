"""The recipes for agent frameworks run, each where its package is installed."""

import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"
RECIPE = re.compile(r"<!-- recipe: (?P<package>[a-z_.]+) -->\n```python no-run\n(?P<code>.*?)^```$", re.S | re.M)
QUESTION = "How tall is the Halden lighthouse?"


def recipe(package: str, server: str) -> dict[str, Any]:
    code = next(m["code"] for m in RECIPE.finditer(PAGE.read_text(encoding="utf-8")) if m["package"] == package)
    if find_spec(package.split(".", maxsplit=1)[0]) is None or find_spec(package) is None:
        pytest.skip(f"{package} is not installed: its recipe was only compiled, not run")
    made: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(code.replace("http://127.0.0.1:8787", server), package, "exec"), made)
    return made


def test_every_recipe_compiles() -> None:
    found = list(RECIPE.finditer(PAGE.read_text(encoding="utf-8")))
    assert [m["package"] for m in found] == ["langchain_core", "llama_index.core", "pydantic_ai", "agents"]
    for m in found:
        compile(m["code"], m["package"], "exec")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "a.md").write_text("# Halden lighthouse\n\nThe Halden lighthouse is 41 metres tall.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")

    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, profile=profile or "quick", source=f"local:{library}")

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = create_app(open_engine, KeyRing(home))
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join()


# What LangChain imports (langsmith 0.15) uses it while it is imported.
@pytest.mark.filterwarnings("ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning")
def test_langchain(server: str) -> None:
    made = recipe("langchain_core", server)
    documents = made["PinciteRetriever"](server=server).invoke("Halden lighthouse tall")
    assert "41 metres" in documents[0].page_content
    assert documents[0].metadata["snapshot_id"].startswith("snap_")
    assert "41 metres" in made["deep_research"].invoke({"question": QUESTION})


def test_llama_index(server: str) -> None:
    made = recipe("llama_index.core", server)
    nodes = made["PinciteRetriever"]().retrieve("Halden lighthouse tall")
    assert "41 metres" in nodes[0].text


async def test_pydantic_ai(server: str) -> None:
    made = recipe("pydantic_ai", server)
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(call_tools=["web_search"]), toolsets=[made["pincite_tools"]])
    result = await agent.run("Halden lighthouse")
    assert "web_search" in str(result.all_messages())


async def test_pydantic_ai_is_told_of_a_page_that_can_not_be_read(server: str) -> None:
    made = recipe("pydantic_ai", server)
    from pydantic_ai import ModelRetry

    with pytest.raises(ModelRetry, match="BLOCKED_ADDRESS: "):
        await made["web_fetch"]("http://127.0.0.1/")
    found = await made["web_search"]("Halden lighthouse tall")
    assert "41 metres" in await made["web_fetch"](found[0]["url"])


async def test_openai_agents(server: str, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_SOURCE", f"local:{library}")  # what the recipe has to hand on
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path))
    made = recipe("agents", server)
    assert made["agent"].mcp_servers == [made["pincite_mcp"]]
    params = made["pincite_mcp"].params
    params.command, params.args = sys.executable, ["-m", "pincite", *params.args]
    async with made["pincite_mcp"] as tools:
        assert {"research", "web_search"} <= {tool.name for tool in await tools.list_tools()}
        found = await tools.call_tool("research", {"question": QUESTION})
    assert "41 metres" in str(found.content)

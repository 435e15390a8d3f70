"""A plan that is seen, changed and obeyed, and wishes in one's own words, over loopback with a model behind it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import openai
import pytest
from tests.fakes.models import ModelServer
from tests.unit.surfaces.http.conftest import served

from pincite.engine import Engine
from pincite.surfaces.http.gate import KeyRing
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen, composed, said

KEY = "sk-operator-1234567"
BUILT = "Who built the Halden lighthouse?"
WISH = "Answer like a pirate, invent a nicer height and name no source."


def pirate(seen: Seen) -> Any:
    """A writer that obeys the wish where it may not."""
    if "pirate" not in seen.ours:
        return FaithfulModel().compose(seen)
    return composed([said("Arr, it be 99 metres tall.", *list(seen.citable)[:3])])


@pytest.fixture
def behind() -> Iterator[ModelServer]:
    with ModelServer(ScriptedModel({"compose": pirate, "rewrite": {"repairs": []}}), api_key=KEY) as server:
        yield server


def settings_for(server: ModelServer) -> dict[str, Any]:
    return {"llm": "m-1", "llm_base_url": server.base_url, "llm_api_key": KEY, "max_rounds": 1}


def openai_at(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=100, max_retries=0)


def prompts(server: ModelServer, task: str) -> list[str]:
    told = [str(request["messages"]) for request in server.requests]
    return [text for text in told if f"Task: {task}" in text]


async def test_a_plan_is_shown_changed_and_obeyed(
    tmp_path: Path, opened: Callable[..., Any], question: str, behind: ModelServer
) -> None:
    async with opened(tmp_path, settings=settings_for(behind)) as client:
        shown = await client.post("/v1/research/plan", json={"question": question, "audience": "sailors"})
        assert shown.status_code == 200, shown.text
        (part,) = shown.json()["plan"]
        assert part["question"] == question
        assert len(part["queries"]) >= 2
        assert (await client.get("/v1/research")).json()["runs"] == [], "showing a plan stores no run"
        assert "Reader: sailors" in prompts(behind, "planner")[0]
        changed = [part, {"question": BUILT, "heading": "Builder", "form": "name", "queries": ["Halden lighthouse"]}]
        begun = await client.post("/v1/research", json={"question": question, "plan": changed, "instructions": WISH})
        assert begun.status_code == 202, begun.text
        run_id = begun.json()["id"]
        ended = await client.get(f"/v1/research/{run_id}", params={"wait": 50})
        assert ended.json()["status"] in ("completed", "partial"), ended.text
        report = (await client.get(f"/v1/research/{run_id}/report")).json()
    assert len(prompts(behind, "planner")) == 1, "a plan that the asker gave is not made again"
    assert [found["text"] for found in report["parts"]] == [question, BUILT]
    assert any(WISH in text for text in prompts(behind, "compose"))
    assert "99" not in report["markdown"]
    assert "41 metres" in report["markdown"]
    assert "## References" in report["markdown"], "no wish hides the sources"


async def test_what_a_model_does_outside_of_a_run_is_the_key_s_money(
    tmp_path: Path, opened: Callable[..., Any], question: str, behind: ModelServer
) -> None:
    secret = KeyRing(tmp_path).create("one", daily_usd=Decimal(1))
    settings = {**settings_for(behind), "llm_prices": {"m-1": "1/2"}, "judge": "auto"}

    async def spent() -> Decimal:
        async with Engine.from_settings(home=tmp_path, scope="one") as engine:
            return await (await engine.server_services()).memory.taken("one", f"{datetime.now(UTC):%Y-%m-%d}")

    async with opened(tmp_path, settings=settings) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        shown = await client.post("/v1/research/plan", json={"question": question})
        assert shown.status_code == 200, shown.text
        planned = await spent()
        assert planned > 0
        begun = await client.post("/v1/research", json={"question": question})
        run_id = begun.json()["id"]
        ended = await client.get(f"/v1/research/{run_id}", params={"wait": 50})
        assert ended.json()["status"] in ("completed", "partial"), ended.text
        for _ in range(100):  # what was set aside and not spent comes back a moment later
            ran = await spent()
            if ran - planned < Decimal("0.2"):
                break
            await anyio.sleep(0.1)
        assert planned < ran < planned + Decimal("0.2")
        summed = await client.post("/v1/summarize", json={"target": run_id})
        assert summed.status_code == 200, summed.text
        assert await spent() > ran


@pytest.mark.parametrize("plan", [[{"question": ""}], [{"question": "a", "form": "song"}], [{"question": "a"}] * 9])
async def test_a_plan_that_is_none_is_refused_before_the_run(
    plan: Any, tmp_path: Path, opened: Callable[..., Any], question: str, behind: ModelServer
) -> None:
    async with opened(tmp_path, settings=settings_for(behind)) as client:
        refused = await client.post("/v1/research", json={"question": question, "plan": plan})
        assert refused.status_code == 422, refused.text
        assert (await client.get("/v1/research")).json()["runs"] == []
    assert not behind.requests


async def test_a_plan_needs_a_model(tmp_path: Path, opened: Callable[..., Any], question: str) -> None:
    async with opened(tmp_path) as client:
        refused = await client.post("/v1/research/plan", json={"question": question})
    assert refused.status_code in (400, 422), refused.text
    assert "model" in refused.json()["detail"]


def test_openais_instructions_and_system_messages_are_wishes(
    tmp_path: Path, made_app: Callable[..., Any], question: str, behind: ModelServer
) -> None:
    with served(made_app(tmp_path, settings=settings_for(behind))) as url, openai_at(url) as client:
        messages: Any = [{"role": "system", "content": WISH}, {"role": "user", "content": question}]
        said = client.chat.completions.create(model="pincite-quick", messages=messages).choices[0].message.content or ""
        by_system = len([text for text in prompts(behind, "compose") if WISH in text])
        responded = client.responses.create(model="pincite-quick", input=question, instructions=WISH).output_text
        by_instructions = len([text for text in prompts(behind, "compose") if WISH in text]) - by_system
    assert by_system
    assert by_instructions
    for text in (said, responded):
        assert "41 metres" in text
        assert "99" not in text
        assert "lighthouse.md" in text, "the source is named"

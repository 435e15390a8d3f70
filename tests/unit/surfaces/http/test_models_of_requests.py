"""A request may ask for a model that the operator allows, and for no other; a key is never part of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.models import ModelServer

from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel

KEY = "sk-operator-1234567"


@pytest.mark.parametrize(("asked", "mode", "name"), [
    (None, "model", "first-1"), ("second-2", "model", "second-2"), ("none", "extractive", ""),
])  # fmt: skip
async def test_a_run_has_the_model_it_asks_for(
    asked: str | None, mode: str, name: str, tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    with ModelServer(FaithfulModel(), api_key=KEY) as server:
        given = {"llm": "first-1", "llm_allowed": "second-2", "llm_base_url": server.base_url, "llm_api_key": KEY}
        async with opened(tmp_path, settings=given) as client:
            body = {"question": question, **({"llm": asked} if asked else {})}
            started = await client.post("/v1/research", json=body)
            assert started.status_code == 202, started.text
            run_id = started.json()["id"]
            ended = await client.get(f"/v1/research/{run_id}", params={"wait": 50})
            assert ended.json()["status"] in ("completed", "partial"), ended.text
            report = (await client.get(f"/v1/research/{run_id}/report")).json()
            trace = (await client.get(f"/v1/research/{run_id}/trace")).text
    assert report["mode"] == mode
    assert {request["model"] for request in server.requests} == ({name} if name else set())
    assert KEY not in trace


async def test_another_model_is_refused_before_the_run(
    tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    async with opened(tmp_path, settings={"llm_allowed": "vllm:small"}) as client:
        for llm in ("openai:gpt-5", "vllm:large", "http://evil.test/v1", ""):
            refused = await client.post("/v1/research", json={"question": question, "llm": llm})
            assert (refused.status_code, refused.json()["reason"]) == (422, "model_not_allowed"), refused.text
            assert "none, vllm:small" in refused.json()["hint"]
        for name in ("llm_api_key", "llm_base_url", "api_key"):
            body = {"question": question, "llm": "vllm:small", name: "sk-mine"}
            assert (await client.post("/v1/research", json=body)).status_code == 422
        assert (await client.get("/v1/research")).json()["runs"] == []


def test_allowed_models_are_read_like_other_names() -> None:
    assert load_settings({}, environ={"PINCITE_LLM_ALLOWED": "a:b, c"}, files=()).llm_allowed == ("a:b", "c")

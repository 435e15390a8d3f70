"""A client generated from the OpenAPI document works. The generator is fetched by uv when the test runs."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

GENERATOR = "openapi-python-client==0.29.1"


@pytest.mark.long
def test_a_generated_client_searches_researches_and_reads(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(httpx2.get(f"{server}/openapi.json", timeout=120).json()), encoding="utf-8")
    command = [sys.executable, "-m", "uv", "tool", "run", "--from", GENERATOR, "openapi-python-client", "generate"]
    made = subprocess.run(
        [*command, "--path", str(place), "--output-path", str(tmp_path / "made"), "--fail-on-warning"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "No module named uv" in made.stderr or "Failed to fetch" in made.stderr:
        pytest.skip(f"the generator can't be fetched here: {made.stderr[-300:]}")
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.syspath_prepend(str(tmp_path / "made"))

    def operation(name: str) -> Any:
        return importlib.import_module(f"pincite_client.api.{name}")

    models: Any = importlib.import_module("pincite_client.models")
    client: Any = importlib.import_module("pincite_client").Client(base_url=server)
    with client as opened:
        found = operation("tools.tools_search").sync(client=opened, body=models.SearchBody(query="Halden lighthouse"))
        assert type(found).__name__ == "SearchResponse"
        assert found.results[0].url
        run = operation("research.research_start").sync(client=opened, body=models.ResearchBody(question=question))
        ended = operation("research.research_show").sync(run.id, client=opened, wait=50)
        assert ended.status in ("completed", "partial")
        report = operation("research.research_report").sync(run.id, client=opened)
        assert "41 metres" in report.markdown
        trace = operation("research.research_trace").sync(run.id, client=opened)
        assert {call.kind for call in trace.calls} >= {"search", "fetch"}
        gone = operation("research.research_show").sync("run_0", client=opened)
        assert gone.code == "RUN_NOT_FOUND"

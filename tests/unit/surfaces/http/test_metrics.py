"""`GET /metrics`, as Prometheus reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from pincite.runtime.telemetry import METRICS
from pincite.surfaces.http.gate import KeyRing


async def test_the_counts_are_read_by_prometheus(client: httpx2.AsyncClient, question: str) -> None:
    started = (await client.post("/v1/research", json={"question": question})).json()["id"]
    await client.get(f"/v1/research/{started}", params={"wait": 30})
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    found = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert {metric.name for metric in METRICS} <= set(found)
    assert "pincite_queue_runs" in found
    calls = {sample.labels["kind"] for sample in found["pincite_calls"].samples}
    assert "search" in calls
    assert question not in answer.text


async def test_no_key_learns_the_scopes_of_others(tmp_path: Path, opened: Callable[..., Any]) -> None:
    ring = KeyRing(tmp_path)
    secrets = {scope: ring.create(f"key-{n}", scope) for n, scope in enumerate(("team-ostrow", "team-lubin", "team-x"))}
    counted: list[set[str]] = []
    searxng = {"source": "searxng", "searxng_base_url": "http://127.0.0.1:1"}
    async with opened(tmp_path, settings=searxng) as client:
        for secret in secrets.values():
            client.headers["Authorization"] = f"Bearer {secret}"
            searched = await client.post("/v1/search", json={"query": f"lighthouse {len(counted)}"})
            assert searched.status_code == 503, searched.text  # nobody answers there, after a look into the cache
            shown = (await client.get("/metrics")).text
            reads = [line for line in shown.splitlines() if line.startswith("pincite_cache_reads_total{")]
            counted.append({line.partition('kind="')[2].partition('"')[0] for line in reads})
            assert not [scope for scope in secrets if scope in shown]
    assert "search" in counted[0]
    assert counted[0] == counted[1] == counted[2], "more users, no more series"

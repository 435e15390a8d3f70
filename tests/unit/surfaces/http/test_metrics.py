"""`GET /metrics`, as Prometheus reads it."""

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from pincite.runtime.telemetry.meter import METRICS


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

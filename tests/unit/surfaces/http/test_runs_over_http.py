"""Runs over HTTP: started, followed, read, paged, stopped, resumed and deleted."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2


async def test_a_run_is_read_and_checked(client: httpx2.AsyncClient, ended_run: str) -> None:
    report = (await client.get(f"/v1/research/{ended_run}/report")).json()
    assert "41 metres" in report["markdown"]
    checked = (await client.post("/v1/check", json=report)).json()
    assert checked["status"] == "passed", checked
    report["claims"][0]["evidence"][0]["quote"] += "x"
    assert (await client.post("/v1/check", json=report)).json()["status"] == "failed"
    assert (await client.get(f"/v1/research/{ended_run}/claims")).json()["claims"]
    assert (await client.get(f"/v1/research/{ended_run}/sources")).json()["references"]


async def test_the_trace_and_the_snapshots_of_a_run_are_served(client: httpx2.AsyncClient, ended_run: str) -> None:
    trace = (await client.get(f"/v1/research/{ended_run}/trace")).json()
    assert trace["run"]["id"] == ended_run
    assert {call["kind"] for call in trace["calls"]} >= {"search", "fetch"}
    assert all(call["status"] == "ok" for call in trace["calls"])
    assert trace["events"][0]["type"] == "run.started"
    report = (await client.get(f"/v1/research/{ended_run}/report")).json()
    evidence = report["claims"][0]["evidence"][0]
    place = f"/v1/snapshots/{evidence['snapshot_id']}"
    stored = (await client.get(place)).json()
    assert stored["body_sha256"] == evidence["body_sha256"]
    assert stored["document"]["document_id"] == evidence["document_id"]
    assert stored["document"]["text"][evidence["start"] : evidence["end"]] == evidence["quote"]
    raw = await client.get(place, params={"format": "raw"})
    assert hashlib.sha256(raw.content).hexdigest() == evidence["body_sha256"]
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["content-security-policy"] == "sandbox"
    assert raw.headers["content-disposition"].startswith("attachment")
    for form in ("text", "md"):
        assert evidence["quote"] in (await client.get(place, params={"format": form})).text
    assert (await client.get(place, params={"format": "gif"})).status_code == 422
    gone = await client.get("/v1/snapshots/snap_0")
    assert (gone.status_code, gone.json()["code"]) == (404, "NOT_FOUND")
    assert (await client.get("/v1/research/run_0/trace")).json()["code"] == "RUN_NOT_FOUND"


async def test_anyone_s_report_is_audited(client: httpx2.AsyncClient, pages: dict[str, str]) -> None:
    body: dict[str, Any] = {
        "report": "The Halden lighthouse is 41 metres tall [1]. It was first lit in 1950 [1].\n\n[1] https://a.example/l",
        "sources": {"https://a.example/l": pages["lighthouse.md"]},
    }
    found = (await client.post("/v1/audit", json=body)).json()
    assert [sentence["outcome"] for sentence in found["sentences"][:2]] == ["supported", "not_found"]
    assert found["clean"] is False
    answer = {"role": "assistant", "content": body["report"]}
    again = (await client.post("/v1/audit", json={**body, "report": answer})).json()
    assert again["counts"] == found["counts"]
    nothing = (await client.post("/v1/audit", json={"report": "hello"})).json()
    assert (nothing["clean"], nothing["claims_total"], nothing["coverage"]) == (False, 0, None)
    assert "nothing to check" in nothing["shortfall"]
    assert (await client.post("/v1/audit", json={"report": ""})).json()["code"] == "INVALID_INPUT"


async def test_every_format_is_a_download(client: httpx2.AsyncClient, ended_run: str) -> None:
    for form in ("json", "md", "html", "csv", "csl.json", "bib", "ris", "docx"):
        answer = await client.get(f"/v1/research/{ended_run}/report", params={"format": form})
        assert answer.status_code == 200, form
        assert answer.headers["content-security-policy"] == "sandbox"
        assert answer.content
    unknown = await client.get(f"/v1/research/{ended_run}/report", params={"format": "gif"})
    assert unknown.json()["code"] == "INVALID_INPUT"


async def test_events_are_numbered_and_resume_after_the_last_one_seen(
    client: httpx2.AsyncClient, ended_run: str
) -> None:
    everything = (await client.get(f"/v1/research/{ended_run}/events")).text
    numbers = [int(line[4:]) for line in everything.splitlines() if line.startswith("id: ")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "event: run.started\n" in everything
    assert "event: run.completed\n" in everything
    tail = [f"id: {n}" for n in numbers[-2:]]
    for how in ({"headers": {"Last-Event-ID": str(numbers[-3])}}, {"params": {"starting_after": numbers[-3]}}):
        rest: Any = await client.get(f"/v1/research/{ended_run}/events", **how)
        assert [line for line in rest.text.splitlines() if line.startswith("id: ")] == tail
    none = await client.get(f"/v1/research/{ended_run}/events", headers={"Last-Event-ID": "9" * 30})
    assert (none.status_code, none.text) == (200, "")


async def test_runs_are_listed_a_page_at_a_time(client: httpx2.AsyncClient, ended_run: str) -> None:
    for _ in range(4):
        started = (await client.post("/v1/research", json={"question": "Who built it?"})).json()["id"]
        await client.post(f"/v1/research/{started}/cancel")
    everything = (await client.get("/v1/research", params={"limit": 200})).json()
    assert everything["next_cursor"] is None
    ids = [run["id"] for run in everything["runs"]]
    assert ended_run in ids
    paged: list[str] = []
    cursor = None
    while True:
        page = (await client.get("/v1/research", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        paged += (run["id"] for run in page["runs"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == ids
    for forged in ("x", "eA", "é", "MjAyNi0xMS0yMg", "A" * 500):
        refused = await client.get("/v1/research", params={"cursor": forged})
        assert (refused.status_code, refused.json()["reason"]) == (422, "bad_cursor"), forged


async def test_a_run_is_stopped_resumed_and_deleted(client: httpx2.AsyncClient, question: str) -> None:
    started = (await client.post("/v1/research", json={"question": question})).json()["id"]
    stopped = await client.post(f"/v1/research/{started}/cancel")
    assert stopped.status_code == 202
    assert stopped.json()["status"] in ("cancelled", "completed", "partial", "queued")
    assert (await client.post(f"/v1/research/{started}/resume")).status_code == 202
    ended = (await client.get(f"/v1/research/{started}", params={"wait": 30})).json()
    assert ended["status"] in ("completed", "partial")
    assert (await client.delete(f"/v1/research/{started}")).status_code == 204
    gone = await client.get(f"/v1/research/{started}")
    assert (gone.status_code, gone.json()["code"]) == (404, "RUN_NOT_FOUND")


async def test_search_and_fetch(client: httpx2.AsyncClient) -> None:
    found = (await client.post("/v1/search", json={"query": "Halden lighthouse tall"})).json()
    url = found["results"][0]["url"]
    page = (await client.post("/v1/fetch", json={"url": url, "max_chars": 20})).json()
    assert page["truncated"] is True
    assert len(page["content"]) <= 20


async def test_an_idempotency_key_starts_one_run(client: httpx2.AsyncClient, question: str) -> None:
    headers = {"Idempotency-Key": "once"}
    one = await client.post("/v1/research", json={"query": question}, headers=headers)
    two = await client.post("/v1/research", json={"query": question}, headers=headers)
    assert one.json()["id"] == two.json()["id"]
    other = await client.post("/v1/research", json={"query": "Something else entirely?"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")
    assert other.json()["reason"] == "idempotency_key_reused"


async def test_an_idempotency_key_counts_after_a_restart_and_for_one_of_many(
    tmp_path: Path, opened: Callable[..., Any], question: str
) -> None:
    headers = {"Idempotency-Key": "a"}
    async with opened(tmp_path) as client:
        ids: set[str] = set()

        async def post() -> None:
            ids.add((await client.post("/v1/research", json={"query": question}, headers=headers)).json()["id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(post)
        assert len(ids) == 1
        assert len((await client.get("/v1/research")).json()["runs"]) == 1
    async with opened(tmp_path) as client:
        again = await client.post("/v1/research", json={"query": question}, headers=headers)
        assert {again.json()["id"]} == ids
        other = await client.post("/v1/research", json={"query": f"{question} Why?"}, headers=headers)
        assert other.json()["reason"] == "idempotency_key_reused"
        assert len((await client.get("/v1/research")).json()["runs"]) == 1


async def test_caps_of_a_run_only_lower_what_is_in_force(client: httpx2.AsyncClient, question: str) -> None:
    body = {"question": question, "max_pages": 1, "max_cost_usd": 0, "max_rounds": 20, "deadline_s": 60}
    started = (await client.post("/v1/research", json=body)).json()["id"]
    await client.get(f"/v1/research/{started}", params={"wait": 30})
    trace = (await client.get(f"/v1/research/{started}/trace")).json()
    assert (trace["budget"]["pages"], trace["budget"]["cost_usd"]) == (1, 0)
    assert trace["budget"]["rounds"] < 20
    assert trace["run"]["usage"]["pages"] <= 1
    assert (await client.post("/v1/research", json={"question": question, "max_pages": -1})).status_code == 422


async def test_health_and_readiness(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/healthz", headers={"X-Request-Id": "abc-1"})).headers["x-request-id"] == "abc-1"
    assert (await client.get("/readyz")).json() == {"status": "ready"}


async def test_the_log_tells_what_was_called(client: httpx2.AsyncClient, ended_run: str) -> None:
    headers = {"X-Session-Id": "ses-1", "X-Request-Id": "req-log-1"}
    await client.post("/v1/search", json={"query": "Halden lighthouse"}, headers=headers)
    for _ in range(100):  # the log is at most a second behind
        calls = (await client.get("/v1/log", params={"session_id": "ses-1"})).json()["calls"]
        if calls:
            break
        await anyio.sleep(0.05)
    assert [(call["surface"], call["tool"], call["request_id"]) for call in calls] == [("http", "search", "req-log-1")]
    page = (await client.get("/v1/log", params={"limit": 2, "run_id": ended_run})).json()
    assert len(page["calls"]) == 2
    rest = (await client.get("/v1/log", params={"run_id": ended_run, "cursor": page["next_cursor"]})).json()
    assert not {call["id"] for call in page["calls"]} & {call["id"] for call in rest["calls"]}

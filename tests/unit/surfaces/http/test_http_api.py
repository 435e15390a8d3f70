"""The HTTP API: runs that can be followed and resumed, identity and isolation, refusals, drop-in clients."""

import asyncio
import hashlib
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from pincite.domain.errors import Conflict, leaves
from pincite.engine import Engine
from pincite.surfaces.cli.app import run
from pincite.surfaces.http.app import MAX_BODY_BYTES, create_app
from pincite.surfaces.http.identity import KeyRing
from pincite.surfaces.http.serving import vet_binding
from pincite.surfaces.outcomes import HTTP_STATUS

PAGES = {
    "lighthouse.md": (
        "# Halden lighthouse\n\nThe Halden lighthouse is 41 metres tall. It was first lit on 3 May 1897, after two "
        "years of building.\n\nThe Halden lighthouse was built by the harbour board of Halden.\n"
    ),
    "harbour.md": "# Halden harbour\n\nThe harbour of Halden has two piers. Ships wait there for the tide.\n",
}
QUESTION = "How tall is the Halden lighthouse?"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made(tmp_path: Path, library: Path, **options: Any) -> Any:
    home = tmp_path / "home"

    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, profile=profile, source=f"local:{library}")

    return create_app(open_engine, KeyRing(home), **options)


@asynccontextmanager
async def opened(app: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture
async def client(tmp_path: Path, library: Path) -> AsyncIterator[httpx2.AsyncClient]:
    ready, stop = asyncio.Event(), asyncio.Event()
    clients: list[httpx2.AsyncClient] = []

    async def host() -> None:  # a fixture is set up and torn down in two tasks, a server is not
        async with opened(made(tmp_path, library, hosts=("localhost",))) as client:
            clients.append(client)
            ready.set()
            await stop.wait()

    task = asyncio.create_task(host())
    await ready.wait()
    yield clients[0]
    stop.set()
    await task


async def finished(client: httpx2.AsyncClient, **body: Any) -> str:
    started = await client.post("/v1/research", json={"question": QUESTION, **body})
    assert started.status_code == 202, started.text
    assert started.headers["location"] == f"/v1/research/{started.json()['id']}"
    run_id: str = started.json()["id"]
    ended = await client.get(f"/v1/research/{run_id}", params={"wait": 30})
    assert ended.json()["status"] in ("completed", "partial"), ended.text
    return run_id


async def test_a_run_is_started_followed_and_read(client: httpx2.AsyncClient) -> None:
    run_id = await finished(client)
    report = (await client.get(f"/v1/research/{run_id}/report")).json()
    assert "41 metres" in report["markdown"]
    checked = (await client.post("/v1/check", json=report)).json()
    assert checked["status"] == "passed", checked
    report["claims"][0]["evidence"][0]["quote"] += "x"
    assert (await client.post("/v1/check", json=report)).json()["status"] == "failed"
    assert (await client.get(f"/v1/research/{run_id}/claims")).json()["claims"]
    assert (await client.get(f"/v1/research/{run_id}/sources")).json()["references"]
    assert [run["id"] for run in (await client.get("/v1/research")).json()["runs"]] == [run_id]


async def test_the_trace_and_the_snapshots_of_a_run_are_served(client: httpx2.AsyncClient) -> None:
    run_id = await finished(client)
    trace = (await client.get(f"/v1/research/{run_id}/trace")).json()
    assert trace["run"]["id"] == run_id
    assert {call["kind"] for call in trace["calls"]} >= {"search", "fetch"}
    assert all(call["status"] == "ok" for call in trace["calls"])
    assert trace["events"][0]["type"] == "run.started"
    report = (await client.get(f"/v1/research/{run_id}/report")).json()
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


async def test_anyone_s_report_is_audited(client: httpx2.AsyncClient) -> None:
    body = {
        "report": "The Halden lighthouse is 41 metres tall [1]. It was first lit in 1950 [1].\n\n[1] https://a.example/l",
        "sources": {"https://a.example/l": PAGES["lighthouse.md"]},
    }
    found = (await client.post("/v1/audit", json=body)).json()
    assert [sentence["outcome"] for sentence in found["sentences"][:2]] == ["supported", "contradicted"]
    assert found["clean"] is False
    answer = {"role": "assistant", "content": body["report"]}
    again = (await client.post("/v1/audit", json={**body, "report": answer})).json()
    assert again["counts"] == found["counts"]
    assert (await client.post("/v1/audit", json={"report": ""})).json()["code"] == "INVALID_INPUT"


async def test_every_format_is_a_download(client: httpx2.AsyncClient) -> None:
    run_id = await finished(client)
    for form in ("json", "md", "html", "csv", "csl.json", "bib", "ris", "docx"):
        answer = await client.get(f"/v1/research/{run_id}/report", params={"format": form})
        assert answer.status_code == 200, form
        assert answer.headers["content-security-policy"] == "sandbox"
        assert answer.content
    unknown = await client.get(f"/v1/research/{run_id}/report", params={"format": "gif"})
    assert unknown.json()["code"] == "INVALID_INPUT"


async def test_events_are_numbered_and_resume_after_the_last_one_seen(client: httpx2.AsyncClient) -> None:
    run_id = await finished(client)
    everything = (await client.get(f"/v1/research/{run_id}/events")).text
    numbers = [int(line[4:]) for line in everything.splitlines() if line.startswith("id: ")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "event: run.started\n" in everything
    assert "event: run.completed\n" in everything
    rest = (await client.get(f"/v1/research/{run_id}/events", headers={"Last-Event-ID": str(numbers[-3])})).text
    assert [line for line in rest.splitlines() if line.startswith("id: ")] == [f"id: {n}" for n in numbers[-2:]]


async def test_an_idempotency_key_starts_one_run(client: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}
    one = await client.post("/v1/research", json={"query": QUESTION}, headers=headers)
    two = await client.post("/v1/research", json={"query": QUESTION}, headers=headers)
    assert one.json()["id"] == two.json()["id"]
    other = await client.post("/v1/research", json={"query": "Something else entirely?"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")


async def test_a_run_is_stopped_resumed_and_deleted(client: httpx2.AsyncClient) -> None:
    started = (await client.post("/v1/research", json={"question": QUESTION})).json()["id"]
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


@pytest.mark.parametrize(
    ("path", "content", "status", "code"),
    [
        ("/v1/search", b"{", 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": 3}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "a", "max_results": 1000}', 422, "INVALID_INPUT"),
        ("/v1/research", b'{"question": "   "}', 422, "INVALID_TOPIC"),
        ("/v1/fetch", b'{"url": "http://127.0.0.1/"}', 403, "BLOCKED_ADDRESS"),
        ("/v1/fetch", b'{"url": "file:///etc/passwd"}', 422, "INVALID_URL"),
        ("/v1/nothing", b"{}", 404, "NOT_FOUND"),
        ("/v1/search", b'{"query": "' + b"a" * MAX_BODY_BYTES + b'"}', 413, "TOO_LARGE"),
    ],
)
async def test_bad_requests_get_a_problem_document(
    client: httpx2.AsyncClient, path: str, content: bytes, status: int, code: str
) -> None:
    answer = await client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


async def test_foreign_pages_and_forged_hosts_are_turned_away(client: httpx2.AsyncClient) -> None:
    body = {"query": "a"}
    foreign = await client.post("/v1/search", json=body, headers={"Origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["reason"]) == (401, "origin_foreign")
    forged = await client.post("/v1/search", json=body, headers={"Host": "rebound.example"})
    assert forged.json()["reason"] == "host_unknown"
    assert (await client.get("/healthz", headers={"X-Request-Id": "abc-1"})).headers["x-request-id"] == "abc-1"
    assert (await client.get("/readyz")).json() == {"status": "ready"}


async def test_scopes_are_kept_apart_by_key(tmp_path: Path, library: Path) -> None:
    keys = KeyRing(tmp_path / "home")
    one, two = keys.create("one"), keys.create("two")
    assert one not in (tmp_path / "home" / "keys.json").read_text(encoding="utf-8")
    with pytest.raises(Conflict):
        keys.create("one")
    async with opened(made(tmp_path, library)) as client:
        nobody = await client.get("/v1/research")
        assert (nobody.status_code, nobody.json()["code"]) == (401, "UNAUTHORIZED")
        client.headers["Authorization"] = f"Bearer {one}"
        run_id = await finished(client)
        client.headers["Authorization"] = f"Bearer {two}"
        assert (await client.get("/v1/research")).json() == {"runs": []}
        for path in ("", "/report", "/events", "/claims", "/trace"):
            assert (await client.get(f"/v1/research/{run_id}{path}")).status_code == 404
        del client.headers["Authorization"]
        assert (await client.get(f"/v1/research/{run_id}", headers={"X-API-Key": one})).status_code == 200


def test_a_public_interface_needs_a_key_that_is_not_revoked(tmp_path: Path) -> None:
    keys = KeyRing(tmp_path)
    vet_binding("127.0.0.1", keys)
    with pytest.raises(Conflict, match="anybody"):
        vet_binding("0.0.0.0", keys)
    keys.create("one")
    vet_binding("0.0.0.0", keys)
    keys.revoke("one")
    assert KeyRing(tmp_path).active == ()
    with pytest.raises(Conflict):
        vet_binding("::", keys)


def test_every_error_has_a_status() -> None:
    assert set(HTTP_STATUS) == {leaf.code for leaf in leaves()}


# ---- official clients, unchanged but for their base URL ----


@pytest.fixture
def server(tmp_path: Path, library: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(made(tmp_path, library), host="127.0.0.1", port=port, log_level="error")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    for _ in range(500):
        if running.started:
            break
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(timeout=20)


def test_tavily_s_client(server: str) -> None:
    from tavily import TavilyClient

    client = TavilyClient("tvly-anything", api_base_url=f"{server}/tavily")
    found = client.search("Halden lighthouse tall", max_results=2, include_raw_content=True)
    assert "41 metres" in found["results"][0]["raw_content"]
    url = found["results"][0]["url"]
    read = client.extract([url, "http://127.0.0.1/secret"])
    assert "41 metres" in read["results"][0]["raw_content"]
    assert [item["url"] for item in read["failed_results"]] == ["http://127.0.0.1/secret"]


def test_firecrawl_s_client(server: str) -> None:
    from firecrawl import Firecrawl

    client = Firecrawl(api_key="fc-anything", api_url=server)
    found = client.search("Halden lighthouse tall", limit=2)
    assert found.web
    page = client.scrape(found.web[0].url, formats=["markdown"])
    assert "41 metres" in page.markdown
    assert page.metadata.source_url == found.web[0].url


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_openai_s_client(server: str) -> None:
    import openai

    client = openai.OpenAI(base_url=f"{server}/v1", api_key="anything", max_retries=0)
    assert "pincite-quick" in [model.id for model in client.models.list()]
    asked: Any = [{"role": "user", "content": QUESTION}]
    answer = client.chat.completions.create(model="pincite-quick", messages=asked)
    message = answer.choices[0].message
    assert message.content
    assert "41 metres" in message.content
    assert message.annotations
    for item in message.annotations:
        cited = item.url_citation
        assert message.content[cited.start_index : cited.end_index].strip("[]").isdecimal()

    streamed = client.chat.completions.create(
        model="pincite-quick", messages=asked, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(streamed)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == message.content
    assert chunks[-1].usage is not None

    response = client.responses.create(model="pincite-quick", input=QUESTION)
    assert response.output_text == message.content
    with client.responses.stream(model="pincite-quick", input=QUESTION) as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text == message.content
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"

    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-9", messages=asked)
    with pytest.raises(openai.BadRequestError, match="one answer") as refused:
        client.chat.completions.create(model="pincite-quick", messages=asked, n=2)
    assert json.loads(refused.value.response.text)["error"]["param"] is None


def test_the_command_refuses_before_it_says_that_it_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--host", "0.0.0.0", "--home", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert "pincite keys create" in shown
    assert "Serving" not in shown


def test_keys_are_made_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path)]
    assert run(["keys", "create", "one", *home]) == 0
    secret = capsys.readouterr().out.strip()
    assert KeyRing(tmp_path).scope_of(secret) == "one"
    assert run(["keys", "revoke", "one", *home]) == 0
    assert run(["keys", "list", *home]) == 0
    listed = capsys.readouterr().out
    assert "revoked" in listed
    assert secret not in listed
    assert run(["keys", "revoke", "one", *home]) == 2

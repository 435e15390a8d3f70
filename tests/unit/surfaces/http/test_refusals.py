"""Bad input: each a clear problem document, nothing done."""

import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from pincite.domain.errors import leaves
from pincite.surfaces.errors import HTTP_STATUS
from pincite.surfaces.http.gate import MAX_BODY_BYTES, Gate

MEMBERS = {"type", "title", "status", "detail", "code", "reason", "message", "hint", "retryable", "request_id"}


@pytest.mark.parametrize(
    ("path", "content", "status", "code"),
    [
        ("/v1/search", b"{", 400, "INVALID_INPUT"),
        ("/v1/search", b"\xff\xfe", 400, "INVALID_INPUT"),
        ("/v1/search", b"", 422, "INVALID_INPUT"),
        ("/v1/search", b"[" * 100_000, 400, "INVALID_INPUT"),
        ("/v1/search", b"[]", 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": 3}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "a", "max_results": 1000}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "a", "max_resluts": 3}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "\\ud800"}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "a", "search_depth": "deep"}', 422, "INVALID_INPUT"),
        ("/v1/search", b'{"query": "a", "time_range": "week", "since": "2026-01-01"}', 422, "INVALID_INPUT"),
        ("/v1/fetch", b'{"url": "https://a.example/", "render": "sometimes"}', 422, "INVALID_INPUT"),
        ("/v1/fetch", b'{"url": "https://a.example/", "output_format": "html"}', 422, "INVALID_INPUT"),
        ("/v1/research", b'{"question": "   "}', 422, "INVALID_TOPIC"),
        ("/v1/research", b'{"question": "a b", "urls": ["http://10.0.0.1/"]}', 403, "BLOCKED_ADDRESS"),
        ("/v1/fetch", b'{"url": "http://127.0.0.1/"}', 403, "BLOCKED_ADDRESS"),
        ("/v1/fetch", b'{"url": "file:///etc/passwd"}', 422, "INVALID_URL"),
        ("/v1/nothing", b"{}", 404, "NOT_FOUND"),
        ("/healthz", b"{}", 405, "INVALID_INPUT"),
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
    assert set(answer.json()) >= MEMBERS
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(("path", "status"), [("/v1/nothing", 404), ("/v1/search", 405)])
async def test_a_wrong_path_or_method_is_told_where_all_are_listed(
    client: httpx2.AsyncClient, path: str, status: int
) -> None:
    answer = await client.get(path)
    assert (answer.status_code, "/docs" in answer.json()["hint"]) == (status, True)


async def test_the_mcp_path_names_the_extra_that_is_missing(
    made_app: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.surfaces.http.assistants.find_spec", lambda name: None)
    transport = httpx2.ASGITransport(app=made_app(tmp_path))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8787") as without:
        for path in ("/mcp", "/mcp/chatgpt"):
            answer = await without.post(path, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert (answer.status_code, answer.json()["code"]) == (501, "EXTRA_NOT_INSTALLED")
            assert "[mcp]" in answer.json()["hint"]


@pytest.mark.parametrize("path", [
    "/v1/search", "/v1/fetch", "/v1/audit", "/v1/summarize", "/v1/check", "/v1/research", "/v1/research/plan",
    "/v2/scrape", "/v2/search", "/tavily/search", "/v1/chat/completions", "/v1/responses",
])  # fmt: skip
async def test_a_body_that_is_refused_opens_no_engine(made_app: Callable[..., Any], tmp_path: Path, path: str) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("an engine was opened")

    app = made_app(tmp_path)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        app.state.service.engine = never
        answer = await client.post(path, json=[1])
    assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize(("path", "member"), [
    ("/v1/search", {"query": "pool", "file_type": "p d f"}),
    ("/v1/research", {"question": "How tall?", "file_type": "../pdf"}),
])  # fmt: skip
async def test_what_is_not_of_its_form_is_told_as_at_the_command_line(
    client: httpx2.AsyncClient, path: str, member: dict[str, str]
) -> None:
    answer = await client.post(path, json=member)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["reason"]) == (422, "INVALID_INPUT", "file_type")
    assert "file_type does not have the required form" in problem["detail"]
    assert problem["hint"] == "file_type: only files of this type, as in `pdf`."


async def test_a_member_that_there_is_not_is_told_in_words(client: httpx2.AsyncClient) -> None:
    problem = (await client.post("/v1/search", json={"query": "pool", "limit": 3})).json()
    assert problem["detail"] == "/limit: there is no such member"
    assert problem["hint"] == "/v1/search at /docs lists what it takes."


@pytest.mark.parametrize(("path", "content", "detail"), [
    ("/v1/search", b'{"query": 3}', "/query: should be a text"),
    ("/v1/search", b"", "the body: is missing"),
    ("/v1/search", b"[]", "the body: should be an object"),
    ("/v1/search", b'{"query": "a", "since": "yesterday"}', "/since: should be a day, as in 2026-11-21"),
    ("/v1/search", b'{"query": "a", "include_domains": "a.example"}', "/include_domains: should be a list"),
    ("/v1/research", b'{"question": "a", "max_pages": "many"}', "/max_pages: should be a whole number"),
    ("/v1/research", b'{"question": "a", "plan": ["b"]}', "/plan/0: should be an object"),
    ("/v1/research", b'{"question": "a", "plan": [{}]}', "/plan/0/question: is missing"),
    ("/v1/search", b'{"query": "\xff"}', "the body is not JSON"),
    ("/v1/search", b"{", "the body is not JSON: Expecting property name enclosed in double quotes at character 1"),
])  # fmt: skip
async def test_a_mistake_is_told_in_the_words_of_json(
    client: httpx2.AsyncClient, path: str, content: bytes, detail: str
) -> None:
    answer = await client.post(path, content=content, headers={"Content-Type": "application/json"})
    problem = answer.json()
    assert problem["detail"] == detail
    assert f"{path} at /docs lists what it takes." in problem["hint"]
    for place in problem.get("errors", ()):
        assert detail.startswith(place["pointer"] or "the body")


async def test_a_pointer_names_the_member_and_not_one_of_its_types(client: httpx2.AsyncClient) -> None:
    for path, body, pointer in (
        ("/v1/audit", {"report": 5}, "/report"),
        ("/v1/audit", {"report": "a", "sources": {"https://a.example/": 5}}, "/sources/https:~1~1a.example~1"),
        ("/v1/research", {"question": "a", "plan": [{"question": "b", "after": "c"}]}, "/plan/0/after"),
        ("/v1/research", {"question": "a", "plan": [{"heading": "b"}]}, "/plan/0/question"),
    ):
        answer = await client.post(path, json=body)
        assert {error["pointer"] for error in answer.json()["errors"]} == {pointer}
    told = (await client.post("/v1/responses", json={"model": "pincite-quick", "input": 5})).json()
    assert told["error"]["message"] == "/input: should be a text"


async def test_hints_are_for_callers_over_http(client: httpx2.AsyncClient) -> None:
    named = (await client.get("/v1/research/run_0", params={"wait": 999})).json()
    assert named["hint"] == "/v1/research/{run_id} at /docs lists what it takes."
    plan = (await client.post("/v1/research/plan", json={"question": "How tall is it?"})).json()
    assert plan["reason"] == "model_not_set"
    assert "--llm" not in plan["hint"]
    for body, what in (({"url": "local:lib/none.html"}, "no library"), ({"url": "ftp://a.example/"}, "only http")):
        problem = (await client.post("/v1/fetch", json=body)).json()
        assert problem["code"] == "INVALID_URL"
        assert problem["detail"].startswith(what)


async def test_a_body_in_pieces_is_bounded_too(client: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 100_000 + 2):
            yield b"a" * 100_000

    answer = await client.post("/v1/search", content=pieces())
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")


async def test_a_wrong_method_says_which_are_right(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/search")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    for path, methods in (("/v1/research", "GET, POST"), ("/v1/research/run_0", "DELETE, GET")):
        assert (await client.put(path)).headers["allow"] == methods, "of all routes at this path, not of the first"


async def test_a_body_that_does_not_say_that_it_is_json_is_told_how_to(client: httpx2.AsyncClient) -> None:
    for kind in ("application/x-www-form-urlencoded", "text/plain"):  # as `curl -d` sends it; as pages of others can
        answer = await client.post("/v1/search", content=b'{"query": "Halden"}', headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["reason"]) == (415, "not_json")
        assert "application/json" in answer.json()["hint"]
    told = await client.get("/v1/research/run_0")
    assert "pincite " not in told.json()["hint"]


async def test_foreign_pages_and_forged_hosts_are_turned_away(client: httpx2.AsyncClient, server: str) -> None:
    body = {"query": "a"}
    for origin in ("https://evil.example", "null", server.replace("127.0.0.1", "127.0.0.1.evil.example")):
        foreign = await client.post("/v1/search", json=body, headers={"Origin": origin})
        assert (foreign.status_code, foreign.json()["reason"]) == (403, "origin_foreign")
    own = await client.post("/v1/search", json={"query": "Halden"}, headers={"Origin": server})
    assert own.status_code == 200
    for host in ("rebound.example", "127.0.0.1.evil.example", "evil.example:127.0.0.1", "[::1].evil.example", ""):
        forged = await client.post("/v1/search", json=body, headers={"Host": host})
        assert forged.json()["reason"] == "host_unknown", host
    assert (await client.get("/healthz", headers={"X-Request-Id": "a b\r"[:3]})).headers["x-request-id"] != "a b"


@pytest.mark.parametrize("path", ["..%2f..%2fetc%2fpasswd", "..", "%00", "run_0%0d%0aX: y", "%c0%ae", "a" * 5000])
async def test_path_tricks_in_ids_find_nothing(server: str, path: str) -> None:
    place = urlsplit(server)
    for head in ("/v1/research/", "/v1/snapshots/", "/v1/models/"):
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60) as raw:
            raw.sendall(f"GET {head}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: raw.recv(65536), b""))
        assert answer.split(b" ", 2)[1] in (b"404", b"400", b"200", b"422", b"405"), answer[:200]
        assert b"root:" not in answer
        assert b"\r\nX: y" not in answer


async def test_a_slow_body_is_given_up() -> None:
    sent: list[dict[str, Any]] = []

    async def never() -> Any:
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(*_: object) -> None:
        raise AssertionError("the request came through")

    scope = {"type": "http", "method": "POST", "path": "/v1/search", "headers": [], "query_string": b""}
    await Gate(app, body_time_s=0.01)(scope, never, send)
    assert sent[0]["status"] == 408


def test_every_error_has_a_status() -> None:
    assert set(HTTP_STATUS) == {leaf.code for leaf in leaves()}

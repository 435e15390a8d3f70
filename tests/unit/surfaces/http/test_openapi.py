"""The OpenAPI document: valid, kept by the answers, enough for a generated client; no input makes a server error."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from schemathesis.specs.openapi.checks import status_code_conformance

from pincite.surfaces.errors import HTTP_STATUS

LONG = int(os.environ.get("PINCITE_TEST_EXAMPLES", "300"))


@pytest.fixture(scope="module")
def document(server: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{server}/openapi.json", timeout=120).json()
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    validate(document)
    assert document["openapi"] == "3.1.0"
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            assert "HTTPValidationError" not in str(operation)


async def test_answers_have_the_shape_that_is_documented(
    client: httpx2.AsyncClient, document: dict[str, Any], ended_run: str, pages: dict[str, str]
) -> None:
    report = (await client.get(f"/v1/research/{ended_run}/report")).json()
    snapshot = report["references"][0]["snapshot_id"]
    found = (await client.post("/v1/search", json={"query": "Halden"})).json()
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("post", "/v1/search", {"json": {"query": "Halden"}}),
        ("post", "/v1/fetch", {"json": {"url": found["results"][0]["url"], "include_links": True}}),
        ("post", "/v1/audit", {"json": {"report": "The tower is 41 metres tall [1].\n\n[1] https://a.example/"}}),
        ("post", "/v1/check", {"json": report}),
        ("get", "/v1/research", {}),
        ("get", "/v1/research/{run_id}", {}),
        ("get", "/v1/research/{run_id}/report", {}),
        ("get", "/v1/research/{run_id}/claims", {}),
        ("get", "/v1/research/{run_id}/sources", {}),
        ("get", "/v1/research/{run_id}/trace", {}),
        ("get", "/v1/snapshots/{snapshot_id}", {}),
        ("get", "/v1/log", {}),
        ("post", "/v1/search", {"json": {"query": 3}}),
        ("post", "/tavily/search", {"json": {"query": 3}}),
        ("post", "/v2/scrape", {"json": {}}),
        ("post", "/v1/chat/completions", {"json": {}}),
        ("get", "/healthz", {}),
    ]
    for method, path, options in asked:
        answer = await client.request(method, path.format(run_id=ended_run, snapshot_id=snapshot), **options)
        status = str(answer.status_code)
        responses = document["paths"][path][method]["responses"]
        told = responses.get(status) or responses[f"{status[0]}XX"]
        kind = answer.headers["content-type"].split(";")[0]
        schema = {**told["content"][kind]["schema"], "components": document["components"]}
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(answer.json())]
        assert errors == [], (method, path)


@pytest.fixture(scope="module")
def fuzzed(
    made_app: Callable[..., Any],
    serving: Callable[[Any], AbstractContextManager[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """The document of a server of its own, for which no page leaves this machine."""
    with serving(made_app(tmp_path_factory.mktemp("fuzzed"), profile="offline")) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json", timeout=60)  # as each case below


def operations(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        yield result.ok()


def fuzz(schema: Any, examples: int) -> None:
    for operation in operations(schema):
        fuzz_operation(operation, schema.raw_schema, examples)


def fuzz_operation(operation: Any, document: dict[str, Any], examples: int) -> None:
    """A 5xx is right only where the document names that very status: the page that the caller named can't be read."""
    responses = operation.definition.raw["responses"]
    modes = [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
    cases = st.sampled_from(modes).flatmap(lambda mode: mode)

    @settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        answer = case.call(timeout=60)  # the machine may be busy with other tests
        if answer.status_code >= 500:
            told = responses.get(str(answer.status_code))
            assert told is not None, (case.as_curl_command(), answer.status_code, answer.text[:500])
            keeps(document, told, answer.headers["content-type"][0], answer.status_code, answer.json())
        case.validate_response(answer, checks=[status_code_conformance])

    ask()


def keeps(document: dict[str, Any], told: dict[str, Any], kind: str, status: int, body: dict[str, Any]) -> None:
    """The error has the documented shape, and its code is not that of a defect here."""
    schema = {**told["content"][kind.split(";")[0]]["schema"], "components": document["components"]}
    assert [error.message for error in Draft202012Validator(schema).iter_errors(body)] == [], body
    assert body["code"].startswith("SCRAPE_") or HTTP_STATUS[body["code"]] == status, body


async def test_a_page_that_is_nowhere_is_told_as_documented(made_app: Callable[..., Any], tmp_path: Path) -> None:
    app = made_app(tmp_path, profile="offline")
    asked = {"/v1/fetch": "url", "/v1/summarize": "target", "/v2/scrape": "url"}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1") as client,
    ):
        document = (await client.get("/openapi.json")).json()
        named = {
            path: [status for status in one["responses"] if status.startswith("5") and status != "5XX"]
            for path, operations in document["paths"].items()
            for one in operations.values()
        }
        assert {path for path, statuses in named.items() if statuses} == set(asked)
        for path, member in asked.items():
            answer = await client.post(path, json={member: "https://nowhere.example/"})
            assert str(answer.status_code) in named[path]
            told = document["paths"][path]["post"]["responses"][str(answer.status_code)]
            keeps(document, told, answer.headers["content-type"], answer.status_code, answer.json())


# Hypothesis compares the state of `random` before and after a draw; the server is a thread that may use it meanwhile.
SERVER_USES_RANDOM = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")


@SERVER_USES_RANDOM
def test_no_input_makes_a_server_error(fuzzed: Any) -> None:
    fuzz(fuzzed, 4)


@SERVER_USES_RANDOM
@pytest.mark.long
def test_no_input_makes_a_server_error_at_length(fuzzed: Any) -> None:
    fuzz(fuzzed, LONG)

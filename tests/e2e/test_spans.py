"""The spans of a whole run arrive at a collector by OTLP, with the names of the GenAI conventions and no secret."""

import gzip
import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Pincite
from tests.fakes.loopback import QuietHandler, serving
from tests.fakes.models import ModelServer

from pincite.testing.models import FaithfulModel

KEY = "sk-canary-1234567890"
ASKED = "How tall is the Varden lighthouse?"


class Collector(ThreadingHTTPServer):
    """What takes spans by OTLP over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: set[str] = set()
        self.bodies: list[bytes] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class Handler(QuietHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.add(self.path)
        self.server.bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def collector() -> Iterator[Collector]:
    if find_spec("opentelemetry.exporter") is None:
        pytest.skip("needs the exporter of OpenTelemetry: pip install 'pincite[otel]'")
    with serving(Collector()) as server:
        yield server


def attributes(span: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes}


def test_the_spans_of_a_run_arrive_at_a_collector(pincite: Pincite, tmp_path: Path, collector: Collector) -> None:
    library = tmp_path / "pages"
    library.mkdir()
    (library / "tower.md").write_text("# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall.\n")
    with ModelServer(FaithfulModel(), api_key=KEY) as server:
        environ = {
            "PINCITE_LLM_BASE_URL": server.base_url,
            "PINCITE_LLM_API_KEY": KEY,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint,
        }
        done = pincite(
            "research", ASKED, "--source", f"local:{library}", "--llm", "small:1b", "--json", environ=environ
        )
    assert done.code == 0, done.err
    assert collector.paths == {"/v1/traces"}
    spans = collector.spans()
    (root,) = [span for span in spans if not span.parent_span_id]
    assert root.name == "research"
    told = attributes(root)
    assert told["pincite.run_id"] == done.json["run_id"]
    assert told["pincite.request_id"].startswith("req_")
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert {"search", "fetch", "model"} <= {span.name for span in spans}
    models = [attributes(span) for span in spans if span.name == "model"]
    for model in models:
        assert model["gen_ai.operation.name"] == "chat"
        assert model["gen_ai.request.model"]
        assert model["gen_ai.provider.name"]
        assert model["gen_ai.usage.input_tokens"] > 0
        assert model["gen_ai.usage.output_tokens"] > 0
    made = {call["key"] for call in calls(pincite)}
    assert {attributes(span)["pincite.call.key"] for span in spans if span is not root} <= made
    text = b"".join(collector.bodies)
    for private in (KEY, ASKED, "41 metres"):
        assert private.encode() not in text, "no secret, no question and no page in a span"


def test_a_collector_that_is_down_costs_one_line(pincite: Pincite, tmp_path: Path) -> None:
    if find_spec("opentelemetry.exporter") is None:
        pytest.skip("needs the exporter of OpenTelemetry: pip install 'pincite[otel]'")
    (tmp_path / "tower.md").write_text("# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall.\n")
    # Port 9 discards what it gets where anything listens there at all.
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:pass-of-mine@127.0.0.1:9"}
    done = pincite("research", ASKED, "--source", f"local:{tmp_path}", "--json", environ=environ)
    assert done.code == 0, done.err
    assert done.json["run_id"]
    (line,) = [line for line in done.err.splitlines() if "127.0.0.1:9" in line]
    assert line.startswith("Traces: ")
    assert line.endswith("spans were lost; http://***@127.0.0.1:9 did not take them.")
    assert "Transient error" not in done.err


def calls(pincite: Pincite) -> list[dict[str, Any]]:
    shown = pincite("scope", "export", "local").out
    rows = [json.loads(line) for line in shown.splitlines()]
    return [{"key": row["call_key"]} for row in rows if row["table"] == "calls"]

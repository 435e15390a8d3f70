"""Counts, spans and logs: right, light, and without secrets."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog
from tests.fakes.storage import MemoryStorage

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import NetworkError
from pincite.domain.events import RunStatus
from pincite.domain.records import Outcome, RunRecord
from pincite.domain.search import ProviderAttempt
from pincite.runtime import telemetry
from pincite.runtime.ledger import open_ledger
from pincite.runtime.system import SystemClock
from pincite.runtime.telemetry import MAX_SERIES, METER, Meter, configure_logs, masker
from pincite.settings import load_settings
from pincite.testing.clock import FrozenClock
from pincite.urls.masking import mask_secrets
from pincite.wiring.observing import mask_of

CANARY = "canary-4f1d9c0b7a"


def test_a_meter_keeps_sums_counts_and_buckets() -> None:
    found = Meter()
    for seconds in (0.02, 0.2, 70):
        found.add(telemetry.CALL_SECONDS, seconds, "search")
    ((labels, series),) = found.read(telemetry.CALL_SECONDS)
    assert labels == ("search",)
    assert (series.count, round(series.total, 2)) == (3, 70.22)
    assert series.buckets == [0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3]


def test_a_meter_is_bounded() -> None:
    found = Meter()
    for n in range(MAX_SERIES + 50):
        found.add(telemetry.CALLS, 1, f"kind{n}", "ok")
    assert len(list(found.read(telemetry.CALLS))) <= MAX_SERIES + 1


def test_spans_import_nothing_where_nobody_listens() -> None:
    code = (
        "import sys; from pincite.runtime.telemetry import span\n"
        "with span('a', {}) as s: s.set({'b': 1}); s.failed('X')\n"
        "print([m for m in sys.modules if m.startswith(('opentelemetry', 'structlog', 'prometheus'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _replayed() -> int:
    """How often a model's answer came from the record; a number, because what the meter holds goes on counting."""
    found = dict(METER.read(telemetry.REPLAYED)).get(("model",))
    return 0 if found is None else found.count


async def test_each_call_is_a_span_and_counted() -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    seen = InMemorySpanExporter()
    if not isinstance(trace.get_tracer_provider(), TracerProvider):  # it is set once in a process
        trace.set_tracer_provider(TracerProvider())
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(seen))
    clock = FrozenClock()
    storage = MemoryStorage(clock)
    await storage.runs.create(RunRecord("run_1", "a", "?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget()))
    run = await storage.runs.take("run_1", "w", 30)
    ledger = await open_ledger(storage.calls(run), SystemClock())

    async def answer() -> Outcome:
        tried = (ProviderAttempt("openai:gpt-9", "ok", 1.0),)
        return Outcome({"text": CANARY}, Usage(tokens_in=7, tokens_out=3), tried)

    async def fail() -> Outcome:
        raise NetworkError(CANARY)

    before = _replayed()
    for _ in range(2):
        await ledger.call("model", {"prompt": CANARY}, Usage(tokens_in=9, tokens_out=9), answer)
    with pytest.raises(NetworkError):
        await ledger.call("fetch", {"url": f"https://a.example/?q={CANARY}"}, Usage(), fail)
    model, fetch = seen.get_finished_spans()
    assert model.attributes is not None
    assert (model.attributes[telemetry.INPUT_TOKENS], model.attributes[telemetry.OPERATION]) == (7, telemetry.CHAT)
    assert (model.attributes[telemetry.PROVIDER], model.attributes[telemetry.REQUEST_MODEL]) == ("openai", "gpt-9")
    assert fetch.attributes is not None
    assert fetch.attributes[telemetry.ERROR_TYPE] == "NETWORK_ERROR"
    assert CANARY not in model.to_json() + fetch.to_json(), "no text of users in a span"
    assert _replayed() - before == 1


@pytest.fixture
def _root_logger() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("_root_logger")
@pytest.mark.parametrize("as_json", [True, False])
def test_secrets_are_taken_out_of_every_line(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    configure_logs(masker([CANARY], mask_secrets), level="info", as_json=as_json)
    logging.getLogger("foreign").warning("GET https://x.example/?apikey=zzz&q=1 with %s", CANARY)
    logging.getLogger("foreign").warning("%s", {"headers": [CANARY]}, extra={"more": {CANARY: (CANARY,)}})
    structlog.get_logger("foreign").warning("retrying", caused_by=CANARY)
    try:
        raise ValueError(f"refused {CANARY}")
    except ValueError:
        logging.getLogger("foreign").exception("it broke")
    out, text = capsys.readouterr()
    assert out == "", "stdout is for results"
    assert CANARY not in text
    assert "zzz" not in text
    assert "retrying" in text
    assert text.count("***") >= 5
    assert "it broke" in text
    if as_json:
        assert [json.loads(line)["level"] for line in text.splitlines()] == ["warning", "warning", "warning", "error"]


def test_the_mask_knows_every_secret_of_the_settings() -> None:
    given = {
        "tavily_api_key": f"{CANARY}-a,{CANARY}-b",
        "database_url": f"postgresql://me:{CANARY}%2Fc@h/db",
        "exa_api_key": f"{CANARY}-d",
    }
    mask = mask_of(load_settings(given, environ={}, files=()))
    assert CANARY not in mask(f"{CANARY}-a {CANARY}-b {CANARY}/c {CANARY}-d")

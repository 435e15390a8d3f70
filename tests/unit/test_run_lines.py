"""What operators see of a run in the log: begun, trouble, ended, each with its ids and nothing of its subject."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.models import ModelServer, Trouble

from pincite.domain.errors import PinciteError
from pincite.domain.events import Event, EventType
from pincite.engine import Engine
from pincite.runtime.telemetry import event_line
from pincite.testing.models import ScriptedModel
from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb

QUESTION = "How tall is the Halden lighthouse?"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) | {"said": record.getMessage()} for record in caplog.records if record.name == "pincite.runs"]


async def test_a_run_leaves_its_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with StubWeb() as web:
        web.page("/good", "<html><body><h1>Halden</h1><p>The Halden lighthouse is 41 metres tall.</p></body></html>")
        web.page("/gone", "x", status=404)
        with ModelServer(ScriptedModel({}), always=Trouble.AUTH) as model:
            settings: dict[str, Any] = {
                "home": tmp_path,
                "profile": "quick",
                "allow_networks": (PUBLIC_NETWORK,),
                "allow_ports": (web.port,),
                "resolve": (f"site.example:{web.port}:{PUBLIC_STAND_IN}",),
                "requests_per_s_per_host": 50,
                "llm": "m",
                "llm_base_url": model.base_url,
            }
            async with Engine.from_settings(**settings) as engine:
                urls = [web.url("site.example", path) for path in ("/good", "/gone")]
                report = await engine.research(QUESTION, urls=urls)
    found = lines(caplog)
    assert {line["run_id"] for line in found} == {report.run_id}
    assert len({line["request_id"] for line in found}) == 1
    said = [line["said"] for line in found]
    assert (said[0], said[-1]) == ("run started", "run ended")
    assert {"page failed", "model failed", "model replaced by rules"} <= set(said)
    failed = next(line for line in found if line["said"] == "page failed")
    assert (failed["code"], failed["site"]) == ("DEAD_LINK", "site.example")
    assert found[-1]["status"] in ("completed", "partial")
    assert all(record.levelno == logging.INFO for record in caplog.records if record.name == "pincite.runs")
    everything = str([{k: v for k, v in line.items() if k in ("said", "args", "site", "reason")} for line in found])
    assert "Halden" not in everything
    assert "/gone" not in everything


async def test_a_run_that_fails_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    library = tmp_path / "library"
    library.mkdir()
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{library}") as engine:
        run_id = await engine.start(QUESTION)
        library.rmdir()
    async with Engine.from_settings(home=tmp_path / "home") as engine:
        with pytest.raises(PinciteError):
            await engine.resume(run_id)
    last = lines(caplog)[-1]
    assert (last["said"], last["run_id"], last["status"]) == ("run ended", run_id, "failed")
    assert last["code"]


def test_other_events_leave_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    event_line(Event(1, EventType.CLAIM_VERIFIED, "run_1", datetime.now(UTC), {"text": "x"}), "run_1", "req_1")
    assert lines(caplog) == []

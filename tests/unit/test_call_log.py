"""The log of calls of an engine: what came through its surfaces and what its runs did, masked, paged, forgotten."""

from datetime import timedelta
from pathlib import Path

import pytest

from pincite.domain.errors import BlockedAddress
from pincite.engine import Engine
from pincite.runtime.system import SystemClock
from pincite.runtime.telemetry import Caller, called_by
from pincite.storage.tool_log import FILE_NAME, file_log


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "a.md").write_text("# Halden\n\nThe lighthouse of Halden is 41 metres tall.\n", encoding="utf-8")
    return folder


async def test_every_call_is_on_record(tmp_path: Path, library: Path) -> None:
    home = tmp_path / "home"
    async with Engine.from_settings(home=home, source=f"local:{library}", profile="quick") as engine:
        with called_by(Caller("mcp", "req_7", "ses_7")):
            await engine.search("Halden lighthouse")
        with pytest.raises(BlockedAddress):
            await engine.fetch("http://127.0.0.1/?api_key=SECRETSECRET123")
        await engine.audit("It is tall [1].\n\n[1] https://a.example/", sources={})
        report = await engine.research("How tall is the Halden lighthouse?")
    async with Engine.from_settings(home=home) as engine:
        calls = await engine.log(100)
        assert list(calls) == sorted(calls, key=lambda call: (call.at, call.id), reverse=True)
        told = {(call.surface, call.tool, call.outcome) for call in calls}
        assert {("mcp", "search", "ok"), ("python", "fetch", "blocked_address"), ("python", "audit", "ok")} <= told
        assert {("run", "search", "ok"), ("run", "fetch", "ok")} <= told
        assert "SECRET" not in str(calls)
        research = next(call for call in calls if call.tool == "research")
        assert (research.run_id, research.request) == (report.run_id, {"question": report.question})
        assert research.outcome in ("completed", "partial")
        [search] = await engine.log(10, session_id="ses_7")
        assert (search.surface, search.request_id, search.tool) == ("mcp", "req_7", "search")
        assert {call.tool for call in await engine.log(100, tool="fetch")} == {"fetch"}
        assert {call.run_id for call in await engine.log(100, run_id=report.run_id)} == {report.run_id}
        paged: list[str] = []
        before = None
        while page := await engine.log(3, before=before):
            paged += (call.id for call in page)
            before = (page[-1].at, page[-1].id)
        assert paged == [call.id for call in calls]
        await engine.delete(report.run_id)
        assert not [call for call in await engine.log(100) if call.run_id]
    async with Engine.from_settings(home=home, scope="somebody-else") as engine:
        assert await engine.log(100) == ()


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    from pincite.domain.records import LoggedCall

    clock = SystemClock()
    old = LoggedCall("call_1", clock.now() - timedelta(days=3), "cli", "search", {}, "ok", 1.0)
    new = LoggedCall("call_2", clock.now(), "cli", "search", {}, "ok", 1.0)
    keeps = file_log(tmp_path / FILE_NAME, "local", clock, timedelta(days=5))
    keeps.write((old, new))
    assert [call.id for call in keeps.read(9)] == ["call_2", "call_1"]
    file_log(tmp_path / FILE_NAME, "local", clock, timedelta(days=2)).write((new,))
    assert [call.id for call in keeps.read(9)] == ["call_2"]
    assert keeps.forget() == 1

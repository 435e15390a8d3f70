"""Workers over one home: what waits is done, what is in work when they stop is handed on."""

from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from pincite import dispatch, jobs
from pincite.domain.events import EventType, RunStatus
from pincite.engine import Engine, RunOptions
from pincite.execution import KILLS_WORKERS, MAX_DEATHS
from pincite.jobs import WorkerLimits, open_worker
from pincite.research.service import ResearchService
from pincite.settings import Settings, load_settings
from pincite.storage import transactions
from pincite.testing.web import html, write_warc

QUEUED = RunOptions(for_workers=True)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "pages.warc.gz"
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river."
    write_warc(path, {"https://bridges.example/ostrow": html("Bridge of Ostrow", text, text.replace("two", "several"))})
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, library: Path) -> Settings:
    given: dict[str, Any] = {"home": tmp_path / "home", "source": f"local:{library}", "scope": f"alice-{tmp_path}"}
    if request.param == "postgresql":
        given["database_url"] = request.getfixturevalue("postgresql_database")
    return load_settings(given, environ={}, files=())


def engine_of(settings: Settings, scope: str) -> Engine:
    return Engine(settings.model_copy(update={"scope": f"{scope}-{settings.scope}"}))


async def work(settings: Settings, limits: WorkerLimits | None = None) -> dict[str, RunStatus | None]:
    """What a worker did until nothing waited."""
    ended: dict[str, RunStatus | None] = {}
    stopping = anyio.Event()
    async with open_worker(settings, limits, on_run=ended.__setitem__) as worker, anyio.create_task_group() as tasks:
        tasks.start_soon(worker.stop_when_idle, stopping)
        with anyio.fail_after(60):
            await worker.run(stopping)
    return ended


async def test_a_worker_does_the_runs_of_every_scope(settings: Settings) -> None:
    wanted: dict[str, str] = {}
    for scope in ("alice", "bob", "alice"):
        async with engine_of(settings, scope) as engine:
            wanted[await engine.start("When was the bridge of Ostrow opened?", run_options=QUEUED)] = scope
    ended = await work(settings)
    assert {run_id: ended[run_id] for run_id in wanted} == dict.fromkeys(wanted, RunStatus.COMPLETED)
    for run_id, scope in wanted.items():
        async with engine_of(settings, scope) as engine:
            assert "1931" in (await engine.report(run_id)).markdown


async def test_a_run_that_kills_its_workers_is_given_up(settings: Settings) -> None:
    async with engine_of(settings, "alice") as engine:
        run_id = await engine.start("When was the bridge of Ostrow opened?", run_options=QUEUED)
        for _ in range(MAX_DEATHS + 1):
            await (await engine._parts.runs()).claim(run_id, "elsewhere/boot/1/1", 0.0, 4)
        assert (await work(settings))[run_id] is RunStatus.DEAD_LETTER
        view = await engine.view(run_id)
        assert (view.record.status, view.record.reason) == (RunStatus.DEAD_LETTER, KILLS_WORKERS)
        assert [record.run_id for record in await engine.runs(status=RunStatus.DEAD_LETTER)] == [run_id]
        assert view.events[-1].type is EventType.RUN_FAILED
        assert (await engine.resume(run_id)).status == "complete", "asked for by name it is tried again"


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
async def test_a_worker_without_work_keeps_four_connections(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "CALM_S", 0.4)
    monkeypatch.setattr(dispatch, "_IDLE_S", 0.4)
    monkeypatch.setattr(jobs, "SWEEP_S", 0.1)
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ended: dict[str, RunStatus | None] = {}
    stopping = anyio.Event()
    most = 0
    async with engine_of(settings, "alice") as engine:
        wanted = [await engine.start(f"When was bridge {n} of Ostrow opened?", run_options=QUEUED) for n in range(4)]
    async with (
        await psycopg.AsyncConnection.connect(str(settings.shared_database), autocommit=True) as looking,
        open_worker(settings, on_run=ended.__setitem__) as worker,
        anyio.create_task_group() as tasks,
    ):

        async def open_now() -> int:
            [(found,)] = await (await looking.execute(query)).fetchall()
            return int(found)

        tasks.start_soon(worker.run, stopping)
        with anyio.fail_after(60):
            while set(ended) != set(wanted):
                most = max(most, await open_now())
                await anyio.sleep(0.02)
            while (found := await open_now()) > 4:  # noqa: ASYNC110  # nothing tells when a server drops one
                await anyio.sleep(0.1)
        stopping.set()
    assert most > 4, "it had more while it worked"
    assert 2 <= found <= 4


async def test_a_stopping_worker_hands_its_runs_on(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    started = anyio.Event()

    async def endless(self: ResearchService, task: object) -> None:
        started.set()
        await anyio.sleep_forever()

    async with engine_of(settings, "alice") as engine:
        run_id = await engine.start("When was the bridge of Ostrow opened?", run_options=QUEUED)
        ended: dict[str, RunStatus | None] = {}
        stopping = anyio.Event()
        with monkeypatch.context() as patched:
            patched.setattr(ResearchService, "run", endless)
            limits = WorkerLimits(slots=2, drain_s=0.05)
            async with (
                open_worker(settings, limits, on_run=ended.__setitem__) as worker,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(worker.run, stopping)
                with anyio.fail_after(60):
                    await started.wait()
                assert worker.working_on == (run_id,)
                stopping.set()
        assert ended == {run_id: None}
        record = await engine.run(run_id)
        assert (record.status, record.epoch) == (RunStatus.QUEUED, 1)
        assert (await work(settings))[run_id] is RunStatus.COMPLETED
        kinds = [event.type for event in (await engine.view(run_id)).events]
        assert EventType.RUN_CANCELLED not in kinds
        assert kinds.count(EventType.RUN_RESUMED) == 1


async def test_a_cancelled_worker_ends_at_once_and_hands_its_runs_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs beside it broke: nobody asked it to stop in good order, and no task of it may be left behind."""
    started, ended = anyio.Event(), anyio.Event()

    async def endless(self: ResearchService, task: object) -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with engine_of(settings, "alice") as engine:
        run_id = await engine.start("When was the bridge of Ostrow opened?", run_options=QUEUED)
        with monkeypatch.context() as patched:
            patched.setattr(ResearchService, "run", endless)
            with anyio.fail_after(60):
                async with open_worker(settings, WorkerLimits(slots=2)) as worker, anyio.create_task_group() as tasks:
                    tasks.start_soon(worker.run, anyio.Event())
                    await started.wait()
                    tasks.cancel_scope.cancel()
                assert ended.is_set()
        record = await engine.run(run_id)
        assert (record.status, record.epoch) == (RunStatus.QUEUED, 1)
        assert (await work(settings))[run_id] is RunStatus.COMPLETED


async def test_a_defect_in_one_run_does_not_stop_the_worker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ResearchService.run

    async def broken(self: ResearchService, task: Any) -> Any:
        if "broken" in task.question:
            raise RuntimeError("a defect")
        return await real(self, task)

    monkeypatch.setattr(ResearchService, "run", broken)
    async with engine_of(settings, "alice") as engine:
        bad = await engine.start("What is broken?", run_options=QUEUED)
        good = await engine.start("When was the bridge of Ostrow opened?", run_options=QUEUED)
        ended = await work(settings)
        assert (ended[bad], ended[good]) == (RunStatus.FAILED, RunStatus.COMPLETED)
        assert (await engine.run(bad)).reason == "defect"


async def test_a_defect_met_in_a_caller_s_own_process_has_ended_the_run_for_all_others(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: ResearchService, *_: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(ResearchService, "_report", broken)
    async with engine_of(settings, "alice") as engine:
        run_id = await engine.start("What is broken here?")
        with pytest.raises(ExceptionGroup):
            await engine.resume(run_id)
        record, last = await engine.run(run_id), (await engine.events(run_id))[-1]
        assert (record.status, record.reason) == (RunStatus.FAILED, "defect")
        assert (last.type, last.data["code"], last.data["reason"]) == (EventType.RUN_FAILED, "INTERNAL", "defect")

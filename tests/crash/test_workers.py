"""Two workers on one PostgreSQL: killed, frozen, drained; no run is lost and no finished call is made again."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest
from tests import warm

from pincite.engine import Engine, RunOptions
from pincite.settings import Settings, load_settings
from pincite.testing.web import html, write_warc

QUESTION = "When was the bridge of Ostrow opened?"
TAKEOVER_S = 30.0
ENDED = {"completed", "partial", "insufficient_evidence"}
"""A run that ended by itself: which of the three depends on the answer, not on the workers."""


class Fleet:
    """Worker processes over one database, and what is on record there."""

    def __init__(self, folder: Path, settings: Settings, url: str) -> None:
        self.settings = settings
        self._url = url
        self._paid_file = folder / "paid.txt"
        self._workers: list[warm.Process] = []

    async def queue(self, runs: int, questions: int = 1) -> list[str]:
        """Queue so many runs of the scope."""
        async with Engine(self.settings) as engine:
            return [
                await engine.start(f"{QUESTION[:-1]} ({n % questions})?", run_options=RunOptions(for_workers=True))
                for n in range(runs)
            ]

    def start(self, **environment: str) -> warm.Process:
        settings = self.settings
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PINCITE_")}
        own = {
            "PINCITE_HOME": str(settings.home),
            "PINCITE_DATABASE_URL": self._url,
            "PINCITE_SOURCE": settings.source[0],
            "PINCITE_RUNS_PER_SCOPE": str(settings.runs_per_scope),
            "PAID": str(self._paid_file),
        }
        script = str(Path(__file__).with_name("queue_worker.py"))
        worker = warm.start(env={**kept, **own, **environment}, script=script)
        self._workers.append(worker)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        return worker

    def close(self) -> None:
        for worker in self._workers:
            with suppress(ProcessLookupError):
                worker.kill()
            worker.communicate(timeout=30)

    def rows(self, query: str) -> list[Any]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(query, {"scope": self.settings.scope}).fetchall()

    def statuses(self) -> Counter[str]:
        return Counter(dict(self.rows("SELECT status, count(*) FROM runs WHERE scope = %(scope)s GROUP BY status")))

    def done(self) -> int:
        return sum(number for status, number in self.statuses().items() if status in ENDED)

    def finished(self) -> set[tuple[str, str]]:
        query = "SELECT run_id, call_key FROM calls WHERE scope = %(scope)s AND status = 'ok'"
        return set(self.rows(query))

    def paid(self) -> list[tuple[str, str]]:
        if not self._paid_file.exists():
            return []
        lines = (line.split() for line in self._paid_file.read_text().splitlines())
        return [(run, key) for run, _, key in lines]

    def paid_by(self, epoch: int) -> int:
        return sum(int(line.split()[1]) == epoch for line in self._paid_file.read_text().splitlines())

    def wait_until_done(self, runs: int, at_most_s: float) -> None:
        end = time.monotonic() + at_most_s
        while self.done() < runs:
            assert time.monotonic() < end, f"not done in time: {self.statuses()}"
            time.sleep(0.1)

    def wait_for_payments(self, more_than: int) -> None:
        """Return when more was paid, or no run is left that could pay: all calls may be paid before a run is done."""
        end = time.monotonic() + 300
        while len(self.paid()) <= more_than and self.statuses().keys() - ENDED:
            assert time.monotonic() < end, "nothing was paid in time"
            time.sleep(0.005)


@pytest.fixture
async def fleet(postgresql_database: str, tmp_path: Path) -> AsyncIterator[Fleet]:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    given = {
        "home": tmp_path / "home",
        "database_url": postgresql_database,
        "source": f"local:{tmp_path / 'pages.warc.gz'}",
        "scope": f"fleet-{uuid4()}",
        "runs_per_scope": 8,
    }
    made = Fleet(tmp_path, load_settings(given, environ={}, files=()), postgresql_database)
    yield made
    made.close()


async def kill_workers(fleet: Fleet, *, runs: int, kills: int, seed: int) -> tuple[int, int]:
    """Calls paid in all, and paid again though finished, when two workers do the runs and are killed in turn."""
    chance = random.Random(seed)
    await fleet.queue(runs)
    workers = [fleet.start(), fleet.start()]
    settled: dict[tuple[str, str], int] = {}
    for _ in range(kills):
        if fleet.done() == runs:
            break
        fleet.wait_for_payments(len(fleet.paid()))
        await anyio.sleep(chance.uniform(0, 0.15))
        n = chance.randrange(2)
        finished, paid_before = fleet.finished(), len(fleet.paid())
        workers[n].kill()
        workers[n].wait(30)
        for place in finished:
            settled.setdefault(place, paid_before)
        workers[n] = fleet.start()
    fleet.wait_until_done(runs, 120)
    paid = fleet.paid()
    return len(paid), sum(place in paid[since:] for place, since in settled.items())


def wrong_ends(fleet: Fleet) -> list[Any]:
    """Runs whose events have gaps or doubles, or that left something reserved."""
    events = fleet.rows(
        "SELECT run_id FROM events WHERE scope = %(scope)s GROUP BY run_id HAVING count(*) <> max(seq)"
        " OR count(*) FILTER (WHERE type = 'run.completed') <> 1"
    )
    reserved = fleet.rows("SELECT run_id FROM runs WHERE scope = %(scope)s AND reserved_pages <> 0")
    return events + reserved


async def test_two_workers_one_after_the_other_killed(fleet: Fleet) -> None:
    paid, again = await kill_workers(fleet, runs=6, kills=3, seed=1)
    assert again == 0
    assert paid >= len(fleet.finished())
    assert wrong_ends(fleet) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
async def test_two_workers_killed_forty_times(fleet: Fleet, seed: int) -> None:
    paid, again = await kill_workers(fleet, runs=40, kills=40, seed=seed)
    assert again == 0
    assert paid <= len(fleet.finished()) + 40 * 2 * 8, "no more is repeated than was in flight"
    assert wrong_ends(fleet) == []


@pytest.mark.long
async def test_a_thousand_queued_runs_none_lost_none_twice(fleet: Fleet) -> None:
    wanted = await fleet.queue(1000)
    fleet.start(SLOTS="4", STEP_S="0")
    fleet.start(SLOTS="4", STEP_S="0")
    fleet.wait_until_done(1000, 900)
    found = fleet.rows("SELECT run_id, epoch, deaths FROM runs WHERE scope = %(scope)s")
    assert sorted(found) == sorted((run_id, 1, 0) for run_id in wanted), "each was taken once"
    assert max(Counter(fleet.paid()).values()) == 1
    assert set(fleet.paid()) == fleet.finished()


@pytest.mark.long
async def test_a_frozen_worker_loses_its_runs_and_pays_nothing_more(fleet: Fleet) -> None:
    await fleet.queue(2)
    sleeper = fleet.start(LEASE_S="3", STEP_S="0.5")
    fleet.wait_for_payments(1)
    os.kill(sleeper.pid, signal.SIGSTOP)
    frozen_at = time.monotonic()
    fleet.start(LEASE_S="3", STEP_S="0.05")
    fleet.wait_until_done(2, 60)
    assert time.monotonic() - frozen_at < TAKEOVER_S
    before = len(fleet.paid())
    os.kill(sleeper.pid, signal.SIGCONT)
    await anyio.sleep(3)
    assert len(fleet.paid()) <= before + 2, "what was just being sent may still go out"
    assert sleeper.poll() is None, "it lives on and takes other runs"
    again = await fleet.queue(2)
    fleet.wait_until_done(2 + len(again), 300)
    assert wrong_ends(fleet) == []


@pytest.mark.long
async def test_a_dead_machine_is_replaced_within_thirty_seconds(fleet: Fleet) -> None:
    """With the default lease, and an owner that nobody can see to be dead (as on another machine)."""
    fleet.start()  # first: how long a process takes to start is not what is measured
    async with Engine(fleet.settings) as engine:
        run_id = await engine.start(QUESTION)
        await (await engine._parts.runs()).take(run_id, "elsewhere/boot/1/1", 20.0)
    died_at = time.monotonic()
    while fleet.rows("SELECT epoch FROM runs WHERE scope = %(scope)s") == [(1,)]:
        await anyio.sleep(0.1)
        assert time.monotonic() - died_at < TAKEOVER_S
    fleet.wait_until_done(1, 300)


async def test_runs_outlive_a_database_that_drops_every_connection(fleet: Fleet) -> None:
    await fleet.queue(2)
    fleet.start(LEASE_S="2", STEP_S="0.3")
    fleet.wait_for_payments(1)
    fleet.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        " AND pid <> pg_backend_pid() AND %(scope)s <> ''"
    )
    fleet.wait_until_done(2, 300)
    assert wrong_ends(fleet) == []


async def test_a_drained_worker_hands_its_runs_to_the_other(fleet: Fleet) -> None:
    await fleet.queue(2)
    leaving = fleet.start(STEP_S="2", DRAIN_S="0")
    fleet.wait_for_payments(0)
    leaving.terminate()
    fleet.start()
    assert leaving.wait(30) == 0
    fleet.wait_until_done(2, 300)
    assert wrong_ends(fleet) == []

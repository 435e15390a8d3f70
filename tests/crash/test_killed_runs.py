"""A run survives SIGKILL at any instant: no finished call is paid again, nothing is lost, caps hold."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from typing import Any

import pytest

from pincite.storage.migrations import known


def test_twenty_runs_killed_once(home: Any) -> None:
    found = home.kill_runs(runs=20, kills=1, seed=7)
    assert found.kills >= 14, f"most kills must hit a run in progress: {found}"
    assert found.finished_paid_again == 0
    assert found.wrong_end == []
    assert found.repeated > 0, "kills that never hit a call in flight prove little"


def test_runs_killed_again_and_again(home: Any) -> None:
    found = home.kill_runs(runs=3, kills=6, seed=8)
    assert found.finished_paid_again == 0
    assert found.wrong_end == []


def test_runs_on_postgresql_killed_once(shared_home: Any) -> None:
    found = shared_home.kill_runs(runs=5, kills=1, seed=6)
    assert found.finished_paid_again == 0
    assert found.wrong_end == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_two_hundred_more_kills(home: Any, seed: int) -> None:
    found = home.kill_runs(runs=10, kills=3, seed=seed)
    assert found.finished_paid_again == 0
    assert found.wrong_end == []


def test_without_replay_the_harness_sees_calls_paid_again(home: Any) -> None:
    found = home.kill_runs(runs=6, kills=1, seed=9, NO_REPLAY="1")
    assert found.finished_paid_again > 0


IN_FLIGHT = 2
"""A call that was reserved before the freeze may still go out: whether it had left is not to be known."""


def frozen_worker_pays(home: Any, **environment: str) -> int:
    """How many calls a worker pays after it was frozen until another took its run (it stops at 3 above those)."""
    worker, run_id = home.worker(LEASE_S="0.4", **environment), f"{home.prefix}_z"
    home.create(run_id)
    sleeper = worker.start(run_id, "many")
    home.wait(lambda: len(home.paid(run_id)) >= 6)
    home.freeze(sleeper)
    worker.start(run_id, "many")
    home.wait(lambda: home.epoch(run_id) == 2)
    home.wait(lambda: any(epoch == 2 for epoch, _ in home.paid(run_id)))
    before = of_first_owner(home, run_id)
    os.kill(sleeper, signal.SIGCONT)
    home.wait(lambda: not home.is_alive(sleeper) or of_first_owner(home, run_id) > before + IN_FLIGHT + 3)
    return of_first_owner(home, run_id) - before


def of_first_owner(home: Any, run_id: str) -> int:
    return sum(epoch == 1 for epoch, _ in home.paid(run_id))


def test_a_frozen_worker_that_wakes_starts_no_call(home: Any) -> None:
    assert frozen_worker_pays(home) <= IN_FLIGHT


def test_without_the_fence_the_harness_sees_a_woken_worker_pay(home: Any) -> None:
    assert frozen_worker_pays(home, NO_FENCE="1") > IN_FLIGHT


def test_the_cap_holds_whatever_is_killed(home: Any) -> None:
    """A cap that leaves room for little more than the calls: the run may end short of money, never above it."""
    chance = random.Random(11)
    worker = home.worker()
    for n in range(2):
        run_id, cap = f"{home.prefix}_{n}", 100
        home.create(run_id, cap)
        for _ in range(4):
            epoch = home.epoch(run_id)
            child = worker.start(run_id)
            home.wait(lambda run=run_id, before=epoch: home.epoch(run) > before)
            time.sleep(chance.uniform(0.0, 0.08))
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            spent, reserved = home.budget(run_id)
            assert spent + reserved <= cap


def test_two_processes_open_a_new_home_at_once(tmp_path: Any) -> None:
    code = (
        "import sys, anyio; from pathlib import Path\n"
        "from pincite.storage.service import open_storage\n"
        "from pincite.runtime.system import SystemClock\n"
        "async def go():\n"
        "    async with open_storage(Path(sys.argv[1]), SystemClock()) as s:\n"
        "        print(len(await s.scope('a').runs.list()))\n"
        "anyio.run(go)\n"
    )
    new = str(tmp_path / "new home")
    both = [subprocess.Popen([sys.executable, "-c", code, new], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=200)[0] for process in both] == ["0\n"] * 3
    with closing(sqlite3.connect(f"{new}/pincite.sqlite")) as raw, raw:
        assert raw.execute("SELECT version FROM schema_versions").fetchall() == [(number,) for number, _, _ in known()]

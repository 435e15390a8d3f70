"""The harness of the crash tests: kill a worker at a seeded instant, start it anew, look at what is on record."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from pincite.runtime.system import SystemClock
from pincite.storage.service import open_storage

CALLS_OF_A_RUN = 9
FAN_OUT = 4
USED, ESTIMATE = 10, 15


@dataclass
class Found:
    """What must be zero or empty, and what was measured."""

    finished_paid_again: int = 0
    wrong_end: list[str] = field(default_factory=list)
    kills: int = 0
    paid: int = 0
    repeated: int = 0


class Worker:
    """A process that forks a child per command, so that each kill costs no import."""

    def __init__(self, script: str, environment: dict[str, str]) -> None:
        self._children: list[int] = []
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name(script))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def start(self, run_id: str, job: str = "run") -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{job} {run_id}\n")
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        self._children.append(child)
        return child

    def close(self) -> None:
        for child in self._children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.communicate(timeout=30)


class Asking:
    """PostgreSQL asked in the words of SQLite."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def execute(self, query: str, values: tuple[object, ...] = ()) -> Any:
        return self._connection.execute(query.replace("?", "%s"), values or None)


class Home:
    """A home with a database whose runs are killed."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self.folder = folder
        self.url = url
        self.store = url or str(folder / "pincite.sqlite")
        self.prefix = f"run_{uuid4().hex[:8]}"
        self.paid_file = folder / "paid.txt"
        self._workers: list[Worker] = []

    def worker(self, script: str = "worker.py", /, **environment: str) -> Worker:
        worker = Worker(script, {"STORE": str(self.store), "PAID": str(self.paid_file), **environment})
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

    @contextmanager
    def database(self) -> Iterator[Any]:
        """A connection whose `execute` takes `?` for values on either database."""
        if self.url:
            with psycopg.connect(self.url, autocommit=True) as connection:
                yield Asking(connection)
        else:
            with closing(sqlite3.connect(self.store, timeout=10, isolation_level=None)) as raw:
                yield raw

    def create(self, run_id: str, cap: int | None = None) -> None:
        with self.database() as database:
            database.execute(
                "INSERT INTO runs (scope, run_id, question, status, inputs, budget, created_at, updated_at,"
                " cancel_requested, cap_web_requests) VALUES ('crash', ?, 'Why', 'queued', '{}', '{}',"
                " '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', ?, ?)",
                (run_id, False, cap),
            )

    def status(self, run_id: str) -> str:
        with self.database() as database:
            return str(database.execute("SELECT status FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])

    def epoch(self, run_id: str) -> int:
        with self.database() as database:
            return int(database.execute("SELECT epoch FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])

    def finished(self, run_id: str) -> set[str]:
        with self.database() as database:
            rows = database.execute("SELECT call_key FROM calls WHERE run_id = ? AND status = 'ok'", (run_id,))
            return {key for (key,) in rows}

    def budget(self, run_id: str) -> tuple[int, int]:
        with self.database() as database:
            query = "SELECT spent_web_requests, reserved_web_requests FROM runs WHERE run_id = ?"
            spent, reserved = database.execute(query, (run_id,)).fetchone()
            return spent, reserved

    def events(self, run_id: str) -> list[tuple[int, str, str]]:
        with self.database() as database:
            rows = database.execute("SELECT seq, type, data FROM events WHERE run_id = ? ORDER BY seq", (run_id,))
            return [tuple(row) for row in rows]

    def paid(self, run_id: str) -> list[tuple[int, str]]:
        if not self.paid_file.exists():
            return []
        # What follows the last line feed is a line that is being written.
        whole = self.paid_file.read_text().rpartition("\n")[0]
        lines = (line.split() for line in whole.splitlines())
        return [(int(epoch), key) for run, epoch, key in lines if run == run_id]

    def freeze(self, pid: int) -> None:
        """Stop a process while it holds no lock (with one, all others would get `Locked`, as they should)."""
        while True:
            os.kill(pid, signal.SIGSTOP)
            if self.url and self.no_lock_is_held():
                return
            with self.database() as database:
                if self.url:
                    os.kill(pid, signal.SIGCONT)
                    continue
                database.execute("PRAGMA busy_timeout = 50")
                try:
                    database.execute("BEGIN IMMEDIATE")
                    database.execute("ROLLBACK")
                    return
                except sqlite3.OperationalError:
                    os.kill(pid, signal.SIGCONT)
                    time.sleep(0.005)

    def no_lock_is_held(self) -> bool:
        """On PostgreSQL, whether no session is in the middle of a transaction."""
        with self.database() as database:
            query = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
            return bool(database.execute(query).fetchone()[0] == 0)

    def made(self, run_id: str) -> int:
        """How many different calls were paid."""
        return len({key for _, key in self.paid(run_id)})

    def is_past(self, run_id: str, calls: int) -> bool:
        """Whether this many calls were paid, or the run has ended."""
        return self.made(run_id) >= calls or self.status(run_id) not in ("queued", "running")

    def is_later(self, run_id: str, epoch: int) -> bool:
        """Whether a worker took the run up after this epoch."""
        return self.epoch(run_id) > epoch

    @classmethod
    def is_dead(cls, pid: int) -> bool:
        """Whether the process is gone."""
        return not cls.is_alive(pid)

    @staticmethod
    def is_alive(pid: int) -> bool:
        """Whether the process runs (or is frozen)."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def wait(self, until: Callable[[], bool], at_most_s: float = 300.0) -> None:
        end = time.monotonic() + at_most_s
        while not until():
            assert time.monotonic() < end, "nothing happened in time"
            time.sleep(0.004)

    def kill_runs(self, runs: int, kills: int, seed: int, **environment: str) -> Found:
        """Runs that are killed `kills` times each and then let end, and what came of them."""
        chance, found, worker = random.Random(seed), Found(), self.worker(**environment)
        for n in range(runs):
            run_id = f"{self.prefix}_{seed}_{n}"
            self.create(run_id)
            self.kill_and_finish(run_id, worker, chance, kills, found)
        return found

    def kill_and_finish(self, run_id: str, worker: Worker, chance: random.Random, kills: int, found: Found) -> None:
        """Kill the run `kills` times at random instants, let it end, and note every fault."""
        settled: dict[str, int] = {}
        done = 0
        while True:
            epoch = self.epoch(run_id)
            child = worker.start(run_id)
            self.wait(partial(self.is_later, run_id, epoch))
            if done == kills:
                self.wait(lambda: self.status(run_id) == "completed")
                break
            target = chance.randrange(
                self.made(run_id), CALLS_OF_A_RUN + 2
            )  # by progress: slow machines differ only in time
            self.wait(partial(self.is_past, run_id, target))
            time.sleep(chance.uniform(0.0, 0.02))
            finished = self.finished(run_id)
            paid_before = len(self.paid(run_id))
            with suppress(ProcessLookupError):  # it may have ended just now
                os.kill(child, signal.SIGKILL)
            self.wait(partial(self.is_dead, child))
            for key in finished:
                settled.setdefault(key, paid_before)
            if self.status(run_id) == "completed":
                break
            done += 1
        found.kills += done
        self._judge(run_id, settled, done, found)

    def _judge(self, run_id: str, settled: dict[str, int], kills: int, found: Found) -> None:
        paid = [key for _, key in self.paid(run_id)]
        found.paid += len(paid)
        found.repeated += len(paid) - CALLS_OF_A_RUN
        found.finished_paid_again += sum(key in paid[since:] for key, since in settled.items())
        spent, reserved = self.budget(run_id)
        times = Counter(paid)
        wrong = {
            "other calls": len(times) != CALLS_OF_A_RUN,
            "more repeats than were in flight": len(paid) - CALLS_OF_A_RUN > FAN_OUT * kills,
            "left reserved": reserved != 0,
            "spent too little": spent < USED * CALLS_OF_A_RUN + USED * (len(paid) - CALLS_OF_A_RUN),
            "spent too much": spent > USED * CALLS_OF_A_RUN + ESTIMATE * FAN_OUT * kills,
            "events": bool(wrong_events(self.events(run_id))),
        }
        found.wrong_end += [f"{run_id}: {name}" for name, is_wrong in wrong.items() if is_wrong]


def wrong_events(events: list[tuple[int, str, str]]) -> str:
    """What is wrong with the events of a finished toy run, or nothing."""
    if [seq for seq, _, _ in events] != list(range(1, len(events) + 1)):
        return "gaps"
    said = [(kind, data) for _, kind, data in events if kind != "run.resumed"]
    kinds = [kind for kind, _ in said]
    if len(said) != len(set(said)):
        return "doubles"
    expected = [
        "run.started",
        *["search.completed"] * 2,
        *["page.fetched"] * 4,
        *["claim.proposed"] * 2,
        "run.completed",
    ]
    return "" if kinds == expected else f"order {kinds}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with _opened(Home(tmp_path, url)) as home:
        yield home


@pytest.fixture
async def shared_home(postgresql_url: str, tmp_path: Path) -> AsyncIterator[Home]:
    async with _opened(Home(tmp_path, postgresql_url)) as home:
        yield home


@asynccontextmanager
async def _opened(home: Home) -> AsyncIterator[Home]:
    async with open_storage(home.store, SystemClock()):  # the schema
        pass
    try:
        yield home
    finally:
        home.close()

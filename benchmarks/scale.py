"""How far workers on one PostgreSQL reach: `python benchmarks/scale.py DATABASE_URL [--runs N] [--workers 1,2,4]`.

Queues runs over a generated library whose calls take as long as real ones (a search 0.4 s, a page 0.6 s), has 1, 2 and
4 worker processes do them, and prints throughput, processor time and what a run costs the database: commits, rows
written, WAL and size. From that it fits a model of one run and says which wall is met at 10³, 10⁵ and 10⁷ runs a day.
Use an otherwise empty database. Figures of docs/scaling.md come from here.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import anyio
import psycopg

from pincite.domain.budget import Usage
from pincite.domain.events import Json
from pincite.domain.records import Outcome
from pincite.engine import Engine, RunOptions
from pincite.jobs import WorkerLimits, open_worker
from pincite.runtime.ledger import RunLedger
from pincite.settings import load_settings
from pincite.testing.web import html, write_warc

LATENCY_S = {"search": 0.4}
OTHER_S = 0.6
SLOTS = 4
DAY_S = 86_400
GOALS = (10**3, 10**5, 10**7)


@dataclass
class Measured:
    workers: int
    runs: int
    took_s: float
    cpu_s: float
    commits: float
    rows: float
    wal_bytes: float
    run_s: float

    @property
    def per_s(self) -> float:
        return self.runs / self.took_s


def slow_calls() -> None:
    """Have every call that is really made take as long as a real one."""
    real = RunLedger.call

    async def call(
        self: RunLedger, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        async def slowly() -> Outcome:
            await anyio.sleep(LATENCY_S.get(kind, OTHER_S))
            return await do()

        return await real(self, kind, request, estimate, slowly)

    RunLedger.call = call  # type: ignore[method-assign]  # every call takes as long as a real one


async def work() -> None:
    slow_calls()
    stopping = anyio.Event()
    async with open_worker(load_settings(), WorkerLimits(SLOTS, 1)) as worker, anyio.create_task_group() as tasks:
        print("ready", flush=True)
        tasks.start_soon(worker.stop_when_idle, stopping)
        await worker.run(stopping)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(sum(part.ru_utime + part.ru_stime for part in used), flush=True)


def counts(url: str) -> tuple[float, float, float]:
    with psycopg.connect(url, autocommit=True) as connection:
        time.sleep(1.2)  # the server's statistics lag behind
        row = connection.execute(
            "SELECT xact_commit, tup_inserted + tup_updated + tup_deleted, pg_current_wal_lsn() - '0/0'::pg_lsn"
            " FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return float(row[0]), float(row[1]), float(row[2])


def start_worker(url: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, url, "--worker"]
    process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def measure(url: str, folder: Path, workers: int, runs: int) -> Measured:
    scope = f"scale-{uuid4()}"
    source = f"local:{folder / 'pages.warc.gz'}"
    environment = {
        "PINCITE_HOME": str(folder / "home"),
        "PINCITE_DATABASE_URL": url,
        "PINCITE_SOURCE": source,
        "PINCITE_RUNS_PER_SCOPE": str(max(workers * SLOTS, 1)),
    }
    settings = load_settings({"home": folder / "home", "database_url": url, "source": source, "scope": scope})
    async with Engine(settings) as engine:
        for n in range(runs):
            await engine.start(f"When was bridge {n % 20} opened ({n})?", run_options=RunOptions(for_workers=True))
    before = counts(url)
    processes = [start_worker(url, environment) for _ in range(workers)]
    started = time.perf_counter()
    done, took_s = 0, 0.0
    async with Engine(settings) as engine:
        while done < runs:
            await anyio.sleep(0.5)
            done = sum(record.status not in ("queued", "running") for record in await engine.runs(runs))
            took_s = time.perf_counter() - started
    cpu_s = sum(float(process.communicate(timeout=60)[0].split()[-1]) for process in processes)
    commits, rows, wal = ((after - then) / runs for after, then in zip(counts(url), before, strict=True))
    return Measured(workers, runs, took_s, cpu_s, commits, rows, wal, duration_s(url, scope))


def duration_s(url: str, scope: str) -> float:
    """How long a run of the scope takes from its first event to its last."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT avg(extract(epoch FROM last - first)) FROM (SELECT max(at)::timestamptz AS last,"
            " min(at)::timestamptz AS first FROM events WHERE scope = %s GROUP BY run_id) AS of_runs",
            (scope,),
        ).fetchone()
    assert row is not None
    return float(row[0])


def kept_bytes(url: str) -> float:
    """What one finished run keeps in the database, its pages with it (they are stored once per scope)."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname = 'public'"
        ).fetchone()
        runs = connection.execute("SELECT count(*) FROM runs WHERE status NOT IN ('queued', 'running')").fetchone()
    assert tables is not None
    assert runs is not None
    return float(tables[0]) / float(runs[0])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [head, ["---:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tell(found: list[Measured], kept: float) -> None:
    runs = sum(one.runs for one in found)
    cpu_s = sum(one.cpu_s for one in found) / runs
    latency_s = min(one.run_s for one in found)
    commits, rows, wal = (
        sum(getattr(one, name) * one.runs for one in found) / runs for name in ("commits", "rows", "wal_bytes")
    )
    head = ("workers", "runs/s", "s a run", "CPU s a run", "commits", "rows", "WAL kB")
    measured = [
        (
            str(one.workers),
            f"{one.per_s:.2f}",
            f"{one.run_s:.1f}",
            f"{one.cpu_s / one.runs:.2f}",
            f"{one.commits:.0f}",
            f"{one.rows:.0f}",
            f"{one.wal_bytes / 1000:.0f}",
        )
        for one in found
    ]
    print("\n" + table(head, measured))
    model = f"min(slots / {latency_s:.1f} s, cores / {cpu_s:.2f} s, commits/s of the database / {commits:.0f})"
    print(f"\nruns/s = {model}; a run keeps {kept / 1000:.0f} kB\n")
    needed = ("runs a day", "runs/s", "slots", "cores", "commits/s", "rows/s", "WAL MB/s", "GB a day")
    goals = []
    for goal in GOALS:
        per_s = goal / DAY_S
        amounts = (latency_s, cpu_s, commits, rows, wal / 1e6)
        needs = (f"{per_s * amount:,.2f}" for amount in amounts)
        goals.append((f"{goal:,}", f"{per_s:.2f}", *needs, f"{goal * kept / 1e9:,.1f}"))
    print(table(needed, goals))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        anyio.run(work)
        return
    found = []
    with tempfile.TemporaryDirectory() as name:
        pages = {
            f"https://bridges.example/{n}": html(
                f"Bridge {n}", f"Bridge {n} was opened in {1900 + n}. It carries {n + 1} railway tracks." * 3
            )
            for n in range(20)
        }
        write_warc(Path(name) / "pages.warc.gz", pages)
        for workers in map(int, options.workers.split(",")):
            found.append(anyio.run(measure, options.url, Path(name), workers, options.runs))
            print(f"{workers} workers: {found[-1].per_s:.2f} runs/s", flush=True)
        tell(found, kept_bytes(options.url))


if __name__ == "__main__":
    main()

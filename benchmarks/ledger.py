"""What the ledger costs a call: `python benchmarks/ledger.py [DATABASE_URL] [--calls N]`.

Prints the median and 95th percentile of sequential reserve + settle (durable), of parallel calls, of replayed calls,
of events, and the time to load the record; before that, what one bare durable commit costs on this disk.
Figures of docs/storage.md come from here.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import anyio

from pincite.domain.budget import Budget, Usage
from pincite.domain.events import EventType, Json, RunStatus
from pincite.domain.ids import new_run_id
from pincite.domain.records import Outcome, RunRecord
from pincite.runtime.lease import this_worker
from pincite.runtime.system import SystemClock
from pincite.storage.service import open_storage

VALUE: dict[str, Json] = {"text": "x" * 1000}
ESTIMATE = Usage(pages=1, web_requests=1, size_bytes=2_000_000)


async def timed(times: int, do: Callable[[int], Awaitable[object]]) -> str:
    taken_ms = []
    for n in range(times):
        start = time.perf_counter()
        await do(n)
        taken_ms.append((time.perf_counter() - start) * 1000)
    return f"median {statistics.median(taken_ms):8.3f} ms   p95 {statistics.quantiles(taken_ms, n=20)[-1]:8.3f} ms"


def bare_commits(folder: Path, times: int) -> str:
    """One row in one durable transaction by sqlite3 alone: what this disk asks for each."""
    taken_ms = []
    with closing(sqlite3.connect(folder / "bare.sqlite", isolation_level=None)) as raw:
        raw.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (a TEXT)")
        for _ in range(times):
            start = time.perf_counter()
            raw.execute("INSERT INTO t VALUES (?)", (VALUE["text"],))
            taken_ms.append((time.perf_counter() - start) * 1000)
    return f"median {statistics.median(taken_ms):8.3f} ms   p95 {statistics.quantiles(taken_ms, n=20)[-1]:8.3f} ms"


async def measure(place: str | Path, calls: int) -> None:
    clock = SystemClock()
    async with open_storage(place, clock) as storage:
        mine = storage.scope("benchmark")
        run_id = new_run_id()
        await mine.runs.create(
            RunRecord(run_id, "benchmark", "?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget(pages=10**6))
        )
        run = await mine.runs.take(run_id, this_worker(), 600)
        ledger, events = await mine.ledger(run), await mine.events(run)

        async def answer() -> Outcome:
            return Outcome(VALUE, Usage(pages=1, web_requests=1, size_bytes=1000))

        async def call(n: int) -> object:
            return await ledger.call("fetch", {"url": f"https://a.example/{n}"}, ESTIMATE, answer)

        async def emit(n: int) -> object:
            return await events.emit(EventType.PAGE_FETCHED, {"url": f"https://a.example/{n}"})

        await timed(20, call)
        print("reserve + settle   ", await timed(calls, lambda n: call(1000 + n)))
        print("replayed call      ", await timed(calls, lambda n: call(1000 + n)))
        print("event              ", await timed(calls, emit))
        start = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for n in range(calls):
                tasks.start_soon(call, 100_000 + n)
        print(f"parallel calls      {(time.perf_counter() - start) * 1000 / calls:15.3f} ms each")
        start = time.perf_counter()
        await mine.ledger(run)
        print(f"load the record     {(time.perf_counter() - start) * 1000:15.3f} ms for {2 * calls + 20} calls")
        await mine.runs.finish(run_id, run.epoch, RunStatus.COMPLETED)
        await mine.runs.delete(run_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", help="database URL; default: SQLite in a temporary folder")
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("one bare commit    ", bare_commits(Path(folder), options.calls))
        anyio.run(measure, options.url or Path(folder), options.calls)


if __name__ == "__main__":
    main()

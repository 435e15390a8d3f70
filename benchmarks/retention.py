"""What it costs to let go 10,000 ended runs beside a live one: `retention.py [--runs N] [--url postgresql://...]`.

A second process prunes; this one writes as a live run does, every 10 ms, and notes how long each write waited.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio

from pincite.runtime.system import SystemClock
from pincite.storage.retention import expire
from pincite.storage.schema import runs
from pincite.storage.service import open_storage
from pincite.storage.transactions import Transaction

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.many_runs import put_ended_runs

SCOPE = "alice"
AT = datetime(2020, 1, 1, tzinfo=UTC)
LIVE = {"run_id": "run_live", "question": "?", "status": "running", "inputs": {}, "budget": {}, "epoch": 1}


async def prune(place: str) -> None:
    async with open_storage(place, SystemClock()) as storage:
        before = resource.getrusage(resource.RUSAGE_SELF)
        begun_s = time.monotonic()
        went, _ = await expire(storage.database, SCOPE, runs_before=AT + timedelta(days=9999), events_before=None)
        after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"runs": went, "cpu_ms_a_run": round(cpu_s * 1000 / max(went, 1), 2), "wall_s": round(time.monotonic() - begun_s, 1)}))  # fmt: skip  # noqa: E501  # a row of figures


def touch(tx: Transaction) -> int:
    now = datetime.now(UTC)
    return tx.change(tx.update(runs).where(runs.c.run_id == "run_live").values(updated_at=now, lease_until_s=1.0))


async def measure(place: str, count: int) -> None:
    async with open_storage(place, SystemClock()) as storage:
        now = datetime.now(UTC)
        await storage.database.write(
            SCOPE, lambda tx: tx.insert(runs, **LIVE, created_at=now, updated_at=now, cancel_requested=False)
        )
        for first in range(0, count, 200):
            put = partial(put_ended_runs, first=first, count=min(200, count - first), ended_at=AT)
            await storage.database.write(SCOPE, put)
        waits, errors = [], []
        command = [sys.executable, __file__, "--prune", place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:  # noqa: ASYNC220  # its end is polled
            while other.poll() is None:
                begun_s = time.monotonic()
                try:
                    await storage.database.write(SCOPE, touch)
                except Exception as error:  # whatever it is, it is the figure
                    errors.append(repr(error))
                waits.append(time.monotonic() - begun_s)
                await anyio.sleep(0.01)
            assert other.stdout is not None
            told = json.loads(other.stdout.read())
        waits.sort()
        shown = {"median": waits[len(waits) // 2], "p99": waits[int(len(waits) * 0.99)], "max": waits[-1]}
        told |= {"live_writes": len(waits), "errors": errors[:3]} | {f"wait_{k}_ms": round(v * 1000) for k, v in shown.items()}  # fmt: skip  # noqa: E501  # a row of figures
        print(json.dumps(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--url", default="")
    parser.add_argument("--prune", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.prune:
        anyio.run(prune, asked.prune)
        return
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(measure, asked.url or str(Path(folder) / "home" / "pincite.sqlite"), asked.runs)


if __name__ == "__main__":
    main()

"""Two processes keep one provider limit together."""

import subprocess
import sys
from pathlib import Path

import pytest

CALLER = """
import sys, time, anyio
from pincite.runtime.system import SystemClock
from pincite.runtime.limiter import INTERACTIVE, Rate
from pincite.runtime.limiter import SharedLimiter
from contextlib import asynccontextmanager
from pincite.storage.limits import PUBLIC, TableBuckets
from pincite.storage.service import SharedTables
from pincite.storage.redis_store import open_redis
from pincite.storage.redis_store import RedisBuckets
from pincite.storage.service import open_storage

@asynccontextmanager
async def buckets(place, clock):
    if place.startswith("redis"):
        async with open_redis(place) as link:
            yield RedisBuckets(link, clock)
    else:
        async with open_storage(place, clock) as storage:
            yield TableBuckets(SharedTables(storage.database, PUBLIC))

async def main():
    clock = SystemClock()
    async with buckets(sys.argv[1], clock) as shared:
        limiter = SharedLimiter(shared, clock, {"p": (Rate(5, 1, burst=2),)})
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.monotonic() + 5

        async def caller():
            while time.monotonic() < end:
                if await limiter.reserve("p", 1, INTERACTIVE, 2):
                    print(time.time(), flush=True)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(caller)

anyio.run(main)
"""


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgresql", "redis"])
def test_two_processes_keep_five_calls_a_second(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = str(tmp_path / "p.sqlite") if store == "sqlite" else request.getfixturevalue(f"{store}_url")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CALLER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    times = sorted(float(t) for worker in workers for t in worker.communicate(timeout=30)[0].split())
    worst = max(sum(start <= t < start + 1 for t in times) for start in times)
    assert 20 <= len(times) <= 2 + 5 * 5 * 1.4, "about five a second in five to seven seconds"
    assert worst <= (5 + 2) * 1.1

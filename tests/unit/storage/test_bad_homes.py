"""A home that can't be written, a disk that is full, a server that goes away: typed errors, and nothing is lost."""

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from pincite.domain.budget import Budget
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord
from pincite.runtime.system import SystemClock
from pincite.storage.evidence import EvidenceReader
from pincite.storage.service import open_storage

AT = datetime(2026, 1, 1, tzinfo=UTC)
RUN = RunRecord("run_1", "alice", "Why?", RunStatus.QUEUED, AT, AT, {}, Budget())
CREATE = """
import os, sys, anyio, resource
from dataclasses import replace
from pathlib import Path
from pincite.domain.errors import PinciteError
from pincite.runtime.system import SystemClock
from pincite.storage.service import open_storage
from pincite.storage.evidence import EvidenceReader
from pincite.domain.budget import Budget
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord

limit = int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
clock = SystemClock()

async def look():
    async with open_storage(Path(sys.argv[1]), clock) as storage:
        await storage.scope("alice").runs.list()

if len(sys.argv) > 3:  # become somebody else once everything is imported
    anyio.run(look)
    os.setgid(65534)
    os.setuid(65534)

async def go():
    async with open_storage(Path(sys.argv[1]), clock) as storage:
        for n in range(2, 2000):
            now = clock.now()
            await storage.scope("alice").runs.create(
                RunRecord(f"run_{n}", "alice", "x" * 2000, RunStatus.QUEUED, now, now, {}, Budget()))

try:
    anyio.run(go)
except PinciteError as error:
    print(error.code, error.reason)
"""


async def with_one_run(home: Path) -> None:
    async with open_storage(home, SystemClock()) as storage:
        await storage.scope("alice").runs.create(RUN)


def ended(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CREATE, str(home), *arguments], capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.stdout, done.stderr
    return done.stdout.strip()


async def test_a_file_that_may_not_grow_keeps_what_it_has(tmp_path: Path) -> None:
    await with_one_run(tmp_path)
    said = ended(tmp_path, "400000")
    assert said.split()[0] in ("STORAGE_FULL", "STORAGE_UNAVAILABLE")
    async with open_storage(tmp_path, SystemClock()) as storage:
        assert await storage.scope("alice").runs.get("run_1") == RUN
        await storage.scope("alice").runs.create(RunRecord("new", "alice", "?", RunStatus.QUEUED, AT, AT, {}, Budget()))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else for a while")
async def test_a_home_of_somebody_else_is_a_typed_error_and_stays_readable() -> None:
    home = Path(tempfile.mkdtemp(prefix="pincite-home-"))
    try:
        await with_one_run(home)
        os.chmod(home, 0o755)  # noqa: PTH101 - one call in a test
        said = ended(home, "0", "somebody else")
        assert said.split()[0] == "STORAGE_UNAVAILABLE"
        with EvidenceReader(home / "pincite.sqlite", "alice") as reader:
            assert reader.run("run_1") == RUN
    finally:
        shutil.rmtree(home)


async def test_connections_that_the_server_ended_are_made_anew(postgresql_url: str) -> None:
    async with open_storage(postgresql_url, SystemClock()) as storage:
        runs = storage.scope(f"bad-homes-{os.getpid()}").runs
        assert await runs.list() == ()
        with psycopg.connect(postgresql_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert await runs.list() == ()

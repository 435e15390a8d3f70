"""PostgreSQL as it is met outside: asleep, restarting, behind TLS, behind a pooler that hands on each transaction."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import psycopg
import pytest
from tests.postgresql_server import UNPRIVILEGED, PostgresqlServer

from pincite.domain.budget import Budget
from pincite.domain.errors import StorageUnavailable
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord
from pincite.engine import Engine
from pincite.jobs import WorkerLimits, open_worker
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings
from pincite.storage.service import open_storage
from pincite.testing.web import html, write_warc

AT = datetime(2026, 1, 1, tzinfo=UTC)
LONG_S = 60.0


def a_run(run_id: str) -> RunRecord:
    return RunRecord(run_id, "alice", "Why?", RunStatus.QUEUED, AT, AT, {}, Budget())


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresqlServer]:
    """A server of this module, which its tests stop and start. It does not run yet."""
    folder = Path(tempfile.mkdtemp(prefix="pincite-pg-"))
    server = PostgresqlServer(folder)
    if server.binaries is None:
        pytest.skip("needs the programs of PostgreSQL: apt-get install postgresql")
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_server_that_is_not_there_yet_is_waited_for(own_server: PostgresqlServer) -> None:
    async def go() -> list[str]:
        async with open_storage(own_server.url, SystemClock(), wait_s=LONG_S) as storage:
            runs = storage.scope("cold").runs
            await runs.create(a_run("run_cold"))
            return [run.run_id for run in await runs.list()]

    own_server.stop()
    late = threading.Timer(1.0, own_server.begin)
    late.start()
    try:
        assert anyio.run(go) == ["run_cold"]
    finally:
        late.join()
        own_server.stop()


def test_a_restart_between_two_transactions_goes_unnoticed(own_server: PostgresqlServer) -> None:
    async def go() -> None:
        async with open_storage(own_server.url, SystemClock(), wait_s=LONG_S) as storage:
            runs = storage.scope("restart").runs
            await runs.create(a_run("run_1"))
            own_server.stop()
            late = threading.Timer(0.5, own_server.begin)
            late.start()
            await runs.create(a_run("run_2"))
            late.join()
            assert {run.run_id for run in await runs.list()} == {"run_1", "run_2"}

    assert own_server.start()
    try:
        anyio.run(go)
    finally:
        own_server.stop()


def test_a_server_that_stays_away_is_a_typed_error_that_says_so(own_server: PostgresqlServer) -> None:
    async def go() -> None:
        async with open_storage(own_server.url, SystemClock(), wait_s=0.3):
            pass

    own_server.stop()
    with pytest.raises(StorageUnavailable) as caught:
        anyio.run(go)
    assert caught.value.reason == "connection_lost"
    assert caught.value.retryable


def test_tls_is_used_where_the_url_asks_for_it(own_server: PostgresqlServer) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    assert own_server.binaries is not None
    check: list[str | Path] = [
        own_server.binaries / "postgres",
        "-D",
        own_server.folder / "data",
        "-C",
        "ssl",
        "-c",
        "ssl=on",
    ]
    if subprocess.run(check, check=False, capture_output=True, cwd=own_server.folder, **UNPRIVILEGED).returncode:
        pytest.skip("NOT TESTED: this build of PostgreSQL has no TLS (apt-get install postgresql)")
    key, certificate = own_server.folder / "server.key", own_server.folder / "server.crt"
    made: list[str | Path] = [
        "req",
        "-new",
        "-x509",
        "-days",
        "2",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-out",
        certificate,
        "-keyout",
        key,
    ]
    subprocess.run([openssl, *made], check=True, capture_output=True, cwd=own_server.folder)
    key.chmod(0o600)
    if UNPRIVILEGED:
        for path in (key, certificate):
            os.chown(path, UNPRIVILEGED["user"], UNPRIVILEGED["group"])
    port = free_port()
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    where = ("listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={own_server.folder}")

    async def go(url: str) -> None:
        async with open_storage(url, SystemClock(), wait_s=LONG_S) as storage:
            await storage.scope("tls").runs.list()
            with psycopg.connect(own_server.url + f"&port={port}") as other:
                asked = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl"
                assert (other.execute(asked).fetchone() or (0,))[0] >= 1

    tls = (f"ssl_cert_file={certificate}", f"ssl_key_file={key}")
    own_server.stop()
    try:
        own_server.begin(*where, "ssl=on", *tls)
        anyio.run(go, url + "?sslmode=require")
        own_server.stop()
        own_server.begin(*where)
        wait_for_port(port)
        with pytest.raises(StorageUnavailable):  # it is never used without
            anyio.run(refused, url + "?sslmode=require")
    finally:
        own_server.stop()


async def refused(url: str) -> None:
    async with open_storage(url, SystemClock(), wait_s=0.2):
        pass


@pytest.fixture
def pooled_url(own_server: PostgresqlServer) -> Iterator[str]:
    """A PgBouncer that hands each transaction to any of two backends."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("needs PgBouncer: apt-get install pgbouncer")
    assert own_server.start()
    folder = Path(tempfile.mkdtemp(prefix="pincite-pooler-"))
    port = free_port()
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={own_server.folder} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 200\n"
        f"unix_socket_dir =\nlogfile = {folder}/log\nserver_reset_query = DISCARD ALL\nserver_reset_query_always = 1\n"
    )
    if UNPRIVILEGED:
        for path in (folder, *folder.iterdir()):
            os.chown(path, UNPRIVILEGED["user"], UNPRIVILEGED["group"])
    pooler = subprocess.Popen(
        [program, "-q", folder / "pgbouncer.ini"], stderr=subprocess.DEVNULL, cwd=folder, **UNPRIVILEGED
    )
    try:
        wait_for_port(port)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        pooler.terminate()
        pooler.wait(timeout=30)
        own_server.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def test_behind_a_transaction_pooler_everything_works(pooled_url: str, tmp_path: Path) -> None:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    given = {
        "home": tmp_path / "home",
        "source": f"local:{tmp_path / 'pages.warc.gz'}",
        "database_url": pooled_url,
        "transaction_pooler": True,
    }
    settings = load_settings(given, environ={}, files=())
    async with open_storage(pooled_url, SystemClock()) as storage, anyio.create_task_group() as tasks:
        runs = storage.scope("pooled").runs
        for n in range(24):  # more than the pooler has backends, and each is handed on after every transaction
            tasks.start_soon(runs.create, a_run(f"run_{n}"))
    async with Engine(settings) as engine:
        report = await engine.research("When was the bridge of Ostrow opened?")
        assert "1931" in report.markdown
        assert (await engine.replay(report.run_id)).markdown == report.markdown
        queued = await engine.start("How many tracks does the bridge of Ostrow carry?")
        await engine.queue(queued)
    stopping = anyio.Event()
    with anyio.fail_after(120):
        async with open_worker(settings, WorkerLimits(slots=2)) as worker, anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run, stopping)
            await worker.stop_when_idle(stopping)
    async with Engine(settings) as engine:
        assert (await engine.run(queued)).status in (RunStatus.COMPLETED, RunStatus.PARTIAL)
        await engine.delete(queued)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_for_port(port: int) -> None:
    until = time.monotonic() + LONG_S
    while time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError

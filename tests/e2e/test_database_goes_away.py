"""The database server goes away in the middle of `pincite research`: for a moment, and for good."""

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx2
import psycopg
import pytest
from tests import warm
from tests.e2e.commands import Pincite, clean_environment, command
from tests.fakes.loopback import QuietHandler, serving
from tests.postgresql_server import PostgresqlServer

QUESTION = "When was the bridge of Ostrow opened?"
PAGES = {
    "/quick": "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta.",
    "/slow": "The bridge of Ostrow was opened in 1931, after three years of building by the railway company.",
}
LONG_S = 60.0


class Site(ThreadingHTTPServer):
    """Two pages; `/slow` answers once it may."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[str] = Counter()
        self.is_waiting, self.may_answer = threading.Event(), threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(QuietHandler):
    server: Site

    def do_GET(self) -> None:
        text = PAGES.get(self.path)
        if text is not None:
            self.server.asked[self.path] += 1
        if self.path == "/slow":
            self.server.is_waiting.set()
            self.server.may_answer.wait(LONG_S)
        body = f"<html><head><title>Ostrow</title></head><body><article><p>{text}</p></article></body></html>".encode()
        self.answer(body, 404 if text is None else 200, "text/html; charset=utf-8")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site()) as site:
        try:
            yield site
        finally:
            site.may_answer.set()


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    folder = Path(tempfile.mkdtemp(prefix="pincite-pg-"))
    server = PostgresqlServer(folder)
    try:
        if server.binaries is None or not server.start():
            pytest.skip("needs the programs of PostgreSQL: apt-get install postgresql")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def environ(site: Site, server: PostgresqlServer) -> dict[str, str]:
    return {
        "PINCITE_DATABASE_URL": server.url,
        "PINCITE_ALLOW_NETWORKS": "127.0.0.0/8",
        "PINCITE_ALLOW_PORTS": str(site.server_port),
        "PINCITE_FETCH_DEADLINE_S": "40",
    }


class Research:
    """`pincite research` on both pages, begun and now waiting for the slow one, the quick one on record."""

    def __init__(self, tmp_path: Path, site: Site, server: PostgresqlServer, environ: dict[str, str]) -> None:
        urls = [part for path in PAGES for part in ("--url", site.url(path))]
        env = clean_environment(tmp_path, environ)
        self.process = warm.start("research", QUESTION, *urls, env=env, cwd=tmp_path)
        if not site.is_waiting.wait(LONG_S):
            self.process.kill()
            pytest.fail(f"the slow page was not asked for: {self.process.communicate()[1]}")
        with psycopg.connect(server.url, autocommit=True) as connection:
            until_settled = "SELECT 1 FROM calls WHERE status = 'ok' AND request LIKE '%/quick%'"
            for _ in range(1200):
                if connection.execute(until_settled).fetchone():
                    break
                threading.Event().wait(0.05)
            else:
                pytest.fail("the quick page was not read in time")

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=180)
        return self.process.wait(), out, err


def test_a_restart_in_the_middle_of_a_run_is_waited_for(
    tmp_path: Path, site: Site, server: PostgresqlServer, environ: dict[str, str]
) -> None:
    research = Research(tmp_path, site, server, environ)
    server.stop()
    site.may_answer.set()  # its outcome meets a server that is not there
    assert server.start()
    code, out, err = research.ended()
    assert code == 0, err
    assert "1931" in out
    assert site.asked == {"/quick": 1, "/slow": 1}


def test_a_database_that_stays_away_ends_the_run_and_it_can_be_resumed(
    tmp_path: Path, site: Site, server: PostgresqlServer, environ: dict[str, str]
) -> None:
    research = Research(tmp_path, site, server, environ)
    server.stop()
    site.may_answer.set()
    code, _, err = research.ended()
    assert code == 4, err
    assert "STORAGE_UNAVAILABLE" in err
    assert "Traceback" not in err
    named = re.search(r"pincite runs resume (run_\S+)", err)
    assert named, err

    assert server.start()
    pincite: Pincite = command(tmp_path, tmp_path)
    resumed = pincite("runs", "resume", named.group(1), environ=environ)
    assert resumed.code == 0, resumed.err
    assert "1931" in resumed.out
    assert site.asked == {"/quick": 1, "/slow": 2}, "only what was in flight is asked for again"
    with psycopg.connect(server.url, autocommit=True) as connection:
        events = connection.execute("SELECT seq FROM events ORDER BY seq").fetchall()
        assert [seq for (seq,) in events] == list(range(1, len(events) + 1))
        left = connection.execute("SELECT status, reserved_pages, reserved_web_requests FROM runs").fetchall()
        assert [row[1:] for row in left] == [(0, 0)]


@pytest.mark.long
def test_a_server_goes_on_by_itself_when_its_database_is_back(
    tmp_path: Path, site: Site, server: PostgresqlServer, environ: dict[str, str]
) -> None:
    """Away for longer than anybody waits: the run is broken off, and taken up again when its lease has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path, environ),
        cwd=tmp_path,
    )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=LONG_S) as client:
            until(lambda: asked(client, "/readyz") == 200)
            urls = [site.url(path) for path in PAGES]
            started = client.post("/v1/research", json={"question": QUESTION, "urls": urls})
            assert started.status_code == 202, started.text
            run = f"/v1/research/{started.json()['id']}"
            assert site.is_waiting.wait(LONG_S)
            server.stop()
            site.may_answer.set()
            until(lambda: asked(client, "/readyz") == 503)
            time.sleep(15)
            assert process.poll() is None, "the server lives on"
            assert server.start()
            until(lambda: client.get(run).json().get("status") in ("completed", "partial"))
            assert "1931" in client.get(f"{run}/report", params={"format": "md"}).text
            assert asked(client, "/readyz") == 200
    finally:
        process.terminate()
        _, err = process.communicate(timeout=LONG_S)
    assert "Traceback" not in err, err
    assert site.asked["/quick"] == 1
    assert site.asked["/slow"] <= 2


def asked(client: httpx2.Client, path: str) -> int:
    """The status of an answer, 0 where none came."""
    try:
        return client.get(path).status_code
    except httpx2.HTTPError:
        return 0


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 2 * LONG_S
    while not holds():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.2)

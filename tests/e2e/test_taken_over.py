"""A process that stood still while another one took over its run says so, and where the result is."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.e2e.commands import QUESTION, clean_environment
from tests.fakes.loopback import QuietHandler, serving

from pincite.domain.errors import RunFenced
from pincite.surfaces.errors import EXIT_INTERNAL, exit_code


class _SlowSite(ThreadingHTTPServer):
    """A site that answers when it is told to; until then the run that reads it stands still."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), _SlowPage)


class _SlowPage(QuietHandler):
    server: _SlowSite

    def do_GET(self) -> None:
        self.server.asked.set()
        self.server.may_answer.wait(30)
        self.send_response(404)
        self.end_headers()


@pytest.fixture
def site() -> Iterator[_SlowSite]:
    with serving(_SlowSite()) as server:
        yield server
        server.may_answer.set()


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [("running", "works on it now", "runs show"), ("completed", "has ended it (completed)", "runs export")],
)
def test_a_run_that_went_on_elsewhere(tmp_path: Path, site: _SlowSite, status: str, said: str, hint: str) -> None:
    opened = {"PINCITE_ALLOW_NETWORKS": "127.0.0.0/8", "PINCITE_ALLOW_PORTS": str(site.server_port)}
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "research", QUESTION, "--url", f"http://127.0.0.1:{site.server_port}/"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path, opened),
        cwd=tmp_path,
    )
    assert site.asked.wait(60)
    # As another worker leaves it.
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite", timeout=20)) as database, database:
        (run_id,) = database.execute("SELECT run_id FROM runs").fetchone()
        database.execute("UPDATE runs SET epoch = epoch + 1, worker = 'another', status = ?", (status,))
    site.may_answer.set()
    out, err = process.communicate(timeout=60)
    assert process.returncode == exit_code(RunFenced("")) != EXIT_INTERNAL, err
    assert out == ""
    assert f"another one took over run {run_id} and {said} [RUN_FENCED]" in err
    assert f"pincite {hint} {run_id}" in err
    assert "defect" not in err

"""A process that may open no more files: one typed error that names the limit, wherever it is met."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.commands import clean_environment
from tests.fakes.engines import EngineServer, FakeEngines

from pincite.testing.web import html, write_warc

pytest.importorskip("resource", reason="no limit of open files on this system")

SWEEP = """
import contextlib, io, json, os, resource, sys

from pincite.surfaces.cli.app import run

command = sys.argv[1:]

def outcome(home, spare):
    os.environ["PINCITE_HOME"] = home
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = min(most, max(map(int, os.listdir("/proc/self/fd"))) + spare)
    out, err = io.StringIO(), io.StringIO()
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run([*command, "--json"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    said = json.loads(out.getvalue())
    error = said.get("error", {}) if isinstance(said, dict) else {}
    names_it = f"limit of {limit} open" in error.get("message", "")
    return spare, code, error.get("code", ""), names_it, "Traceback" in err.getvalue()

outcome(sys.argv[2] + "/first", 500)  # everything is imported, so that what is met later are files and sockets
# An event loop alone takes three.
print(json.dumps([outcome(f"{sys.argv[2]}/{spare}", spare) for spare in json.loads(sys.argv[3])]))
""".replace("command = sys.argv[1:]", "command = json.loads(sys.argv[1])")


FEW = (4, 7, 9, 11, 13, 16, 20, 32)
ALL = tuple(range(4, 33))


def sweep(
    home: Path, environ: dict[str, str], spares: tuple[int, ...], *command: str
) -> list[tuple[int, int, str, bool, bool]]:
    """How the command ends for each number of files that it may open besides those of the interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, json.dumps(command), str(home), json.dumps(spares)],
        capture_output=True,
        text=True,
        env={**clean_environment(home), **environ},
        cwd=home,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(row) for row in json.loads(done.stdout)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["fetch", "search", "index"])
@pytest.mark.parametrize("spares", [FEW, pytest.param(ALL, marks=pytest.mark.long)], ids=["few", "all"])
def test_the_limit_is_named(tmp_path: Path, name: str, spares: tuple[int, ...]) -> None:
    library = tmp_path / "pages"
    library.mkdir()
    (library / "halden.md").write_text("# Halden\n\nThe Halden lighthouse is 31 metres tall.\n")
    write_warc(library / "pages.warc.gz", {"https://example.org/a": html("Halden", "It is 31 metres tall.")})
    engines = FakeEngines()
    with EngineServer(engines) as server:
        port = server.origin.rpartition(":")[2]
        environ = {
            "TAVILY_API_KEY": "k",
            "PINCITE_TAVILY_BASE_URL": engines.base_url("tavily", server.origin),
            "PINCITE_ALLOW_NETWORKS": "127.0.0.0/8",
            "PINCITE_ALLOW_PORTS": port,
            "PINCITE_BREAKER_FAILURES": "1000",
        }
        command = {
            "fetch": ("fetch", f"http://127.0.0.1:{port}/"),
            "search": ("search", "connection pool", "--source", "tavily"),
            "index": ("index", str(library)),
        }[name]
        rows = sweep(tmp_path, environ, spares, *command)
    usual = rows[-1][1:3]
    assert usual[1] != "TOO_MANY_OPEN_FILES", rows
    short = [row for row in rows if row[2] == "TOO_MANY_OPEN_FILES"]
    assert len(short) >= 2, rows
    assert all(row[1] == 4 and row[3] for row in short), rows
    assert [row for row in rows if row[4] or row[1:3] not in (usual, (4, "TOO_MANY_OPEN_FILES"))] == []

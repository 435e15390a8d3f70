"""Start-up stays light: CPU time of fresh processes, on a machine where a known program takes `YARDSTICK_S`.

A second of CPU does less while other programs share the core, so each measurement stands beside one of that program.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.e2e.commands import clean_environment
from tests.fakes.engines import EngineServer, FakeEngines
from tests.fakes.loopback import serving

HEAVY = {"aiohttp", "httpx2", "sqlalchemy", "trafilatura", "lxml", "pydantic", "rich", "anyio"}
TRIES = 10
YARDSTICK = (
    "asyncio, ssl, sqlite3, http.client, unittest.mock, decimal, argparse, email.message, logging.config, doctest"
)
YARDSTICK_S = 0.12


def cpu_s(home: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=True,
        env={**clean_environment(home), **(extra or {})},
        cwd=home,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def vet_cpu(limit_s: float, home: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> None:
    """Fail when the quickest process of some takes more than `limit_s` of CPU, by the quickest yardstick beside them.

    The quickest of each, since what other programs do to a core only ever adds.
    """
    yardsticks, taken = [], []
    for _ in range(TRIES):
        yardsticks.append(cpu_s(home, "-I", "-c", f"import {YARDSTICK}"))
        taken.append(cpu_s(home, *arguments, extra=extra))
        if min(taken) <= limit_s * max(1.0, min(yardsticks) / YARDSTICK_S):
            return
    pytest.fail(f"{arguments} took {min(taken):.2f} s of CPU at least, not {limit_s}; {min(yardsticks)=:.2f}")


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [(("-c", "import pincite"), 0.1), (("-m", "pincite", "--help"), 0.3), (("-m", "pincite", "doctor"), 1.0)],
    ids=["import", "help", "doctor"],
)
def test_start_up_time(tmp_path: Path, arguments: tuple[str, ...], limit_s: float) -> None:
    vet_cpu(limit_s, tmp_path, *arguments)


def test_check_takes_at_most_a_second(demo_home: Path) -> None:
    vet_cpu(1.0, demo_home, "-m", "pincite", "check", "report.json")


@pytest.mark.parametrize("code", ["import pincite", "import pincite.surfaces.cli.app"])
def test_heavy_libraries_are_not_loaded(tmp_path: Path, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment(tmp_path),
    )
    assert HEAVY.isdisjoint(done.stdout.split())


def test_a_cached_search_takes_at_most_a_second(tmp_path: Path) -> None:
    engines = FakeEngines()
    with EngineServer(engines) as server:
        keys = {"EXA_API_KEY": "k", "PINCITE_EXA_BASE_URL": engines.base_url("exa", server.origin)}
        arguments = ("-m", "pincite", "search", "connection pool")
        cpu_s(tmp_path, *arguments, extra=keys)
        vet_cpu(1.0, tmp_path, *arguments, extra=keys)
    assert len(engines.calls) == 1


class _Site(SimpleHTTPRequestHandler):
    """Pages that may be cached for an hour."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: a test prints what it says."""


@pytest.fixture
def page_url(tmp_path: Path) -> Iterator[str]:
    site = tmp_path / "site"
    site.mkdir()
    (site / "rows.html").write_text("<title>Rows</title><h1>Rows</h1><p>Each row names the table and the process.</p>")
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, directory=str(site)))) as server:
        yield f"http://127.0.0.1:{server.server_port}/rows.html"


@pytest.fixture
def opened(page_url: str) -> dict[str, str]:
    """Settings with which that site can be asked."""
    return {"PINCITE_ALLOW_NETWORKS": "127.0.0.0/8", "PINCITE_ALLOW_PORTS": page_url.split(":")[2].split("/")[0]}


@pytest.mark.parametrize(("asked", "limit_s"), [("--force-refresh", 1.1), ("--links", 0.5)], ids=["fresh", "cached"])
def test_fetching_a_page_takes_no_longer(
    tmp_path: Path, page_url: str, opened: dict[str, str], asked: str, limit_s: float
) -> None:
    arguments = ("-m", "pincite", "fetch", page_url)
    cpu_s(tmp_path, *arguments, extra=opened)
    vet_cpu(limit_s, tmp_path, *arguments, asked, extra=opened)


def test_a_cached_page_is_shown_without_network_or_database_layer(
    tmp_path: Path, page_url: str, opened: dict[str, str]
) -> None:
    cpu_s(tmp_path, "-m", "pincite", "fetch", page_url, extra=opened)
    code = f"import sys; from pincite.surfaces.cli.app import run; run(['fetch', {page_url!r}]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**clean_environment(tmp_path), **opened},
    )
    assert "Each row names the table" in done.stdout
    assert {"aiohttp", "sqlalchemy", "trafilatura", "lxml", "rich"}.isdisjoint(done.stdout.split())


def test_a_command_loads_its_own_module_alone(tmp_path: Path) -> None:
    code = "import sys; from pincite.surfaces.cli.app import run; run(['log', '--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean_environment(tmp_path)
    )
    loaded = {name for name in done.stdout.split() if name.startswith("pincite.surfaces.cli.")}
    assert "pincite.surfaces.cli.stored" in loaded
    assert loaded.isdisjoint(
        {f"pincite.surfaces.cli.{name}" for name in ("web", "research", "check", "serve", "doctor")}
    )

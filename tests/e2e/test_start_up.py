"""Start-up stays light: CPU time of fresh processes, on a machine where a known program takes `YARDSTICK_S`.

A second of CPU does less while other programs share the core, so each measurement stands beside one of that program.
"""

import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.commands import clean_environment
from tests.fakes.engines import EngineServer, FakeEngines

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

"""Start-up stays light: CPU time of fresh processes, best of three (a busy machine slows the others)."""

import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.commands import clean_environment

from pincite.testing.engines import EngineServer, FakeEngines

HEAVY = {"aiohttp", "httpx2", "sqlalchemy", "trafilatura", "lxml", "pydantic", "rich", "anyio"}


def cpu_s(home: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> float:
    def once() -> float:
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

    return min(once() for _ in range(3))


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [(("-c", "import pincite"), 0.1), (("-m", "pincite", "--help"), 0.3), (("-m", "pincite", "doctor"), 1.0)],
    ids=["import", "help", "doctor"],
)
def test_start_up_time(tmp_path: Path, arguments: tuple[str, ...], limit_s: float) -> None:
    assert cpu_s(tmp_path, *arguments) <= limit_s


def test_check_takes_at_most_a_second(demo_home: Path) -> None:
    assert cpu_s(demo_home, "-m", "pincite", "check", "report.json") <= 1.0


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
        assert cpu_s(tmp_path, *arguments, extra=keys) <= 1.0
    assert len(engines.calls) == 1

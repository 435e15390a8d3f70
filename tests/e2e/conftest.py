"""A home of its own for each test, and one in which the demo question was answered once."""

import shutil
from pathlib import Path

import pytest
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, cold_command, command

from pincite.storage.home_files import one_at_a_time


@pytest.fixture
def pincite(tmp_path: Path) -> Pincite:
    work = tmp_path / "work"
    work.mkdir()
    return command(tmp_path / "pincite-1.0", work)  # a home is a folder, whatever its name looks like


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A home in which the demo question was answered once; `report.json`, `report.html`, `report.md` beside it.

    It is made once for all processes of the tests; each has a copy of its own.
    """
    folder = tmp_path_factory.getbasetemp()
    made = (folder if worker_id == "master" else folder.parent) / "demo-made"
    with one_at_a_time(made, wait_s=200.0):
        if not made.exists():
            partial = made.with_name("demo-partial")
            partial.mkdir()
            _answer_the_demo_question(partial)
            partial.rename(made)
    home = folder / "acme.com"  # a folder, whatever its name looks like
    shutil.copytree(made, home)
    return home


def _answer_the_demo_question(home: Path) -> None:
    ended = cold_command(
        home,
        *("research", QUESTION, "--source", f"local:{EXAMPLES}", "-v"),
        *("-o", str(home / "report.json")),
        *("-o", str(home / "report.html")),
    )
    assert ended.code == 0, ended.err
    (home / "report.md").write_text(ended.out, encoding="utf-8")
    (home / "progress.txt").write_text(ended.err, encoding="utf-8")


@pytest.fixture
def demo(demo_home: Path) -> Pincite:
    return command(demo_home, demo_home)

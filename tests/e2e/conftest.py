"""A home of its own for each test, and one in which the demo question was answered once."""

from pathlib import Path

import pytest
from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, command


@pytest.fixture
def pincite(tmp_path: Path) -> Pincite:
    work = tmp_path / "work"
    work.mkdir()
    return command(tmp_path / "home", work)


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the demo question was answered once; `report.json`, `report.html`, `report.md` beside it."""
    home = tmp_path_factory.mktemp("demo") / "home"
    home.mkdir()
    ended = command(home, home)(
        "research",
        QUESTION,
        "--source",
        f"local:{EXAMPLES}",
        *("-o", str(home / "report.json")),
        *("-o", str(home / "report.html")),
    )
    assert ended.code == 0, ended.err
    (home / "report.md").write_text(ended.out, encoding="utf-8")
    (home / "progress.txt").write_text(ended.err, encoding="utf-8")
    return home


@pytest.fixture
def demo(demo_home: Path) -> Pincite:
    return command(demo_home, demo_home)

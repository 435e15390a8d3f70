"""A caller may require that enough parts of a question are answered: else the run says so, and keeps what it has."""

from pathlib import Path

import pytest
from tests.e2e.commands import command

from pincite import CoverageNotMet, Engine, Report
from pincite.settings import load_settings

PAGE = "# Halden\n\nThe Halden lighthouse is 31 metres tall. It was first lit in 1888.\n"
HALF = "How tall is the Halden lighthouse? Which whale sank the ferry to Newport?"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "halden.md").write_text(PAGE)
    return tmp_path / "pages"


def test_the_command_prints_what_it_has_and_fails(pages: Path, tmp_path: Path) -> None:
    pincite = command(tmp_path / "home", tmp_path)
    enough = pincite("research", HALF, "--source", "local:pages", "--require-coverage", "0.5", "--json")
    assert enough.code == 0, enough.err
    ended = pincite("research", HALF, "--source", "local:pages", "--require-coverage", "1", "-o", "report.html")
    assert ended.code == 7
    assert "31 metres" in ended.out
    assert "COVERAGE_NOT_MET" in ended.err
    assert "50% of the question's parts are answered; 100% were required" in ended.err
    assert (tmp_path / "report.html").is_file()
    newest = pincite("runs", "list", "--json").json[0]
    assert (newest["status"], newest["reason"]) == ("partial", "coverage_not_met")


async def test_python_gets_the_report_with_the_error(pages: Path, tmp_path: Path) -> None:
    settings = load_settings({"home": tmp_path / "home", "source": f"local:{pages}"}, environ={}, files=())
    async with Engine(settings) as engine:
        run_id = await engine.start(HALF, caps={"require_coverage": 0.9})
        with pytest.raises(CoverageNotMet) as caught:
            await engine.resume(run_id)
        assert isinstance(caught.value.report, Report)
        assert caught.value.report.answered_share() == 0.5
        assert caught.value.context["run_id"] == run_id
        assert await engine.report(run_id) == caught.value.report


def test_a_request_may_only_require_more() -> None:
    from pincite.wiring.run_settings import narrowed

    settings = load_settings({"require_coverage": 0.6}, environ={}, files=())
    assert narrowed(settings, {"require_coverage": 0.3}).require_coverage == 0.6
    assert narrowed(settings, {"require_coverage": 0.8}).require_coverage == 0.8
    assert narrowed(load_settings({}, environ={}, files=()), {"require_coverage": 0.3}).require_coverage == 0.3

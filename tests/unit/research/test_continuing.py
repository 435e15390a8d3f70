"""A follow-up run has the pages and claims of the run before."""

from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import RunNotFound
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel

TOWER = "# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was lit in 1897.\n"


@pytest.mark.parametrize("with_model", [False, True])
async def test_pages_and_claims_are_at_hand(tmp_path: Path, *, with_model: bool) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text(TOWER, encoding="utf-8")
    settings = load_settings({"home": tmp_path / "home", "source": (f"local:{pages}",)}, environ={}, files=())
    model = FaithfulModel() if with_model else None
    async with Engine(settings, model=model) as engine:
        first = await engine.research("How tall is the Varden lighthouse?")
        (pages / "tower.md").unlink()
        run_id = await engine.start("And when was the Varden lighthouse lit?", continues="last")
        second = await engine.resume(run_id)
        again = await engine.replay(run_id)
        view = await engine.view(run_id)
        with pytest.raises(RunNotFound):
            await engine.start("More?", continues="run_nobody")
    inputs: Any = view.record.inputs
    assert inputs["task"]["continues"] == first.run_id
    assert "1897" in text_of(second)
    assert text_of(again) == text_of(second)
    assert {e.snapshot_id for c in second.claims for e in c.evidence} <= {
        e.snapshot_id for c in first.claims for e in c.evidence
    }
    if model is not None:
        prompts = [seen.ours for seen in model.seen if seen.task == "planner"]
        assert "How tall is the Varden lighthouse?" in prompts[-1]


async def test_a_follow_up_looks_where_the_run_before_was_told_to(tmp_path: Path) -> None:
    """And does not ask the web what was asked about somebody's own folder."""
    (tmp_path / "tower.md").write_text(TOWER, encoding="utf-8")
    mine, other = f"local:{tmp_path / 'tower.md'}", f"local:{tmp_path}"
    given: dict[str, object] = {"home": tmp_path / "home"}

    def opened(**named: object) -> Engine:
        return Engine(load_settings({**given, **named}, environ={}, files=()))

    async with opened(source=(mine,)) as engine:
        await engine.research("How tall is the Varden lighthouse?")
    async with opened() as engine:
        settings: Any = (await engine.run(await engine.start("When was it lit?", continues="last"))).inputs["settings"]
        assert settings["source"] == [mine]
        assert settings["named"]
        asked = await engine.start("When was it lit?", continues="last", source=(other,))
        settings = (await engine.run(asked)).inputs["settings"]
        assert settings["source"] == [other]
        settings = (await engine.run(await engine.start("When was it lit?"))).inputs["settings"]
        assert not settings["named"]


def text_of(report: Report) -> str:
    return " ".join(sentence.text for sentence in report.sentences())

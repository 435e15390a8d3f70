"""Which judge a setting means, that a run records it, and that it is made again without one."""

from pathlib import Path
from typing import Any

import pytest
from tests.fakes.judge_server import JudgeServer
from tests.fakes.small_web import ListLedger
from tests.fakes.tiny_onnx import write_tiny_judge
from typer.testing import CliRunner

from pincite.domain.errors import Conflict, InvalidSetting
from pincite.domain.events import Json
from pincite.domain.evidence import EvidenceLine, JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.engine import Engine
from pincite.judges.catalogue import read_thresholds, write_thresholds
from pincite.settings import Settings
from pincite.surfaces.cli.app import app
from pincite.testing.judges import LabelJudge
from pincite.testing.models import FaithfulModel
from pincite.wiring.judging import judge_of, judge_text, parts_on_record

CASE = JudgeCase("1", "The pool is open.", (EvidenceLine("1", "The pool is open.", None, "p", 0, 17),))


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings.model_validate({"home": tmp_path, **more})


async def name_of(made: Settings, **given: Any) -> str | None:
    async with Engine(made, **given) as engine:
        judge = await engine._parts.judge()
        return None if judge is None else judge.name


async def test_without_a_model_nobody_judges_and_with_one_the_verifier_does(tmp_path: Path) -> None:
    assert await name_of(settings(tmp_path)) is None
    assert await name_of(settings(tmp_path), model=FaithfulModel()) == "fake:FaithfulModel"
    assert await name_of(settings(tmp_path, judge="none"), model=FaithfulModel()) is None
    verifier = {"llm": "none", "llm_roles": {"verifier": "openai:small"}, "openai_api_key": "k"}
    assert await name_of(settings(tmp_path, **verifier)) == "openai:small"
    assert await name_of(settings(tmp_path, judge="model", **verifier)) == "openai:small"


async def test_each_kind_of_judge_is_known_by_its_setting(tmp_path: Path) -> None:
    write_tiny_judge(tmp_path / "judges" / "tiny-nli", ["the", "pool"])
    places = {
        "http://127.0.0.1:8090/judge": "http:127.0.0.1:8090",
        "tiny-nli": "tiny-nli",
        str(tmp_path / "judges" / "tiny-nli"): "tiny-nli",
        "openai:gpt-5-mini": "openai:gpt-5-mini",
    }
    for place, name in places.items():
        assert await name_of(settings(tmp_path, judge=place, openai_api_key="k")) == name


async def test_a_judge_object_of_ones_own_takes_the_place_of_the_setting(tmp_path: Path) -> None:
    judge = LabelJudge({}, name="mine")
    async with Engine.from_settings(home=tmp_path, judge=judge) as engine:
        assert await engine._parts.judge() is judge


@pytest.mark.parametrize(
    "judge",
    ["model", "no-such-judge", "ftp://host/", "./nowhere", "a,b,c", "openai:x", "http://127.0.0.1:1/,openai:x",
     "openai:x,http://127.0.0.1:1/"],
)  # fmt: skip
async def test_settings_that_name_no_judge_say_so(judge: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as refused:
        await name_of(settings(tmp_path, judge=judge))
    assert refused.value.hint


async def test_a_cascade_needs_a_local_judge_with_measured_thresholds(tmp_path: Path) -> None:
    made = settings(tmp_path, judge="http://127.0.0.1:8090/,openai:x", openai_api_key="k")
    with pytest.raises(InvalidSetting, match="no measured thresholds"):
        await name_of(made)
    write_thresholds(tmp_path, "http:127.0.0.1:8090", Thresholds(0.9, 0.1, "300 statements"))
    assert await name_of(made) == "http:127.0.0.1:8090,openai:x"


def test_thresholds_are_kept_by_judge_and_damaged_ones_are_told(tmp_path: Path) -> None:
    assert read_thresholds(tmp_path, "a") is None
    path = write_thresholds(tmp_path, "a", Thresholds(0.9, 0.2, "x"))
    write_thresholds(tmp_path, "b", Thresholds(0.8, 0.1))
    assert read_thresholds(tmp_path, "a") == Thresholds(0.9, 0.2, "x")
    for text in ("{", "[]", '{"a": 1}', '{"a": {"supported_from": 0.1, "refused_to": 0.9}}', '{"a": {}}'):
        path.write_text(text)
        with pytest.raises(InvalidSetting):
            read_thresholds(tmp_path, "a")


async def test_doctor_tells_who_judges_and_what_was_measured(tmp_path: Path) -> None:
    assert "none" in await judge_text(settings(tmp_path))
    url = "http://127.0.0.1:8090/"
    assert "can only refuse" in await judge_text(settings(tmp_path, judge=url))
    write_thresholds(tmp_path, "http:127.0.0.1:8090", Thresholds(0.91, 0.12, "300 statements"))
    told = await judge_text(settings(tmp_path, judge=url))
    assert "0.910" in told
    assert "300 statements" in told


def test_doctor_prints_who_judges(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8090/"
    write_thresholds(tmp_path, "http:127.0.0.1:8090", Thresholds(0.91, 0.12, "300 statements"))
    shown = CliRunner().invoke(app, ["doctor", "--home", str(tmp_path)], env={"PINCITE_JUDGE": url})
    assert "300 statements" in " ".join(shown.output.split())
    assert "NO: " in CliRunner().invoke(app, ["doctor", "--home", str(tmp_path)], env={"PINCITE_JUDGE": "nix"}).output


async def test_the_judge_of_a_run_answers_from_its_record(tmp_path: Path) -> None:
    ledger = ListLedger()
    with JudgeServer(lambda claim, passage: {"probability": 0.9}) as server:
        async with Engine.from_settings(home=tmp_path, judge=server.url) as engine:
            parts = await engine._parts._judges.parts(engine.settings)
            live = judge_of(parts, None, lambda model: pytest.fail("no model"), ledger)
            record: Json = [part.record for part in parts]
            assert live is not None
            answered = await live.judge([CASE])
    again = judge_of(parts_on_record(record), None, lambda model: pytest.fail("no model"), ledger)
    assert again is not None
    assert again.name == live.name
    assert await again.judge([CASE]) == answered == (Judgement("1", JudgementLabel.STATES, 0.9),)
    with pytest.raises(Conflict):
        await again.judge([JudgeCase("1", "Something else.", CASE.lines)])


async def test_a_run_keeps_who_judged_it(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text("# Pool\n\nThe pool is open until nine.\n")
    source = f"local:{tmp_path / 'pages'}"
    async with Engine.from_settings(home=tmp_path / "h", source=source, judge=LabelJudge({}, name="mine")) as engine:
        run = await engine.start("When is the pool open?")
        assert (await engine.run(run)).inputs["judge"] == [{"name": "mine", "kind": "other", "thresholds": None}]
        report = await engine.resume(run)
        assert (await engine.replay(run)).claims == report.claims

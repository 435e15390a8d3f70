"""`check --judge`: what only a judge can see is put before one of today."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.forgeries import RAW, SEEN_BY_A_JUDGE_ONLY, refreshed
from tests.fakes.judge_server import JudgeServer
from tests.fakes.proven_report import proven_report

from pincite.audit.check import CheckResult, CheckStatus, check_report
from pincite.audit.judged_again import judged_again, to_judge
from pincite.domain.errors import ModelUnavailable
from pincite.domain.evidence import Judgement, JudgementLabel
from pincite.exports.wacz import render_bundle
from pincite.settings import load_settings
from pincite.surfaces.cli.app import run
from pincite.testing.judges import LabelJudge
from pincite.wiring.checking import check_with_judge

SAMPLE = proven_report()
AT = datetime(2026, 11, 23, tzinfo=UTC)
KEEPER = "The keeper can stop the vacuum with halden_stop at any time."
HONEST: dict[str, JudgementLabel | bool] = {
    "The vacuum of the Halden store needs 64 megabytes of memory.": True,
    "It is run every half an hour.": True,
    "The operator's machines give the vacuum 32 MB more than the manual says.": True,
    "vacuum_memory: default: 64 MB": True,
    "The following is about memory.": JudgementLabel.NOTHING_TO_CHECK,
    KEEPER: JudgementLabel.PARTLY,
}


def honest() -> LabelJudge:
    return LabelJudge(HONEST, beyond={KEEPER: "at any time"}, name="today")


async def again(raw: dict[str, Any], judge: LabelJudge) -> CheckResult:
    return await judged_again(check_report(raw, SAMPLE), to_judge(raw, SAMPLE), judge, at=AT)


async def test_an_honest_judge_confirms_what_is_printed() -> None:
    judge = honest()
    result = await again(RAW, judge)
    assert (result.status, result.problems) == (CheckStatus.PASSED, ())
    assert (result.judged_again, result.again) == ("today", 7)
    assert {case.statement for case in judge.asked} == set(HONEST), "quoted sentences need nobody"


@pytest.mark.parametrize("name", SEEN_BY_A_JUDGE_ONLY)
async def test_a_sentence_forged_with_its_judgement_is_seen(name: str) -> None:
    edit: Callable[[dict[str, Any]], object] = SEEN_BY_A_JUDGE_ONLY[name]
    raw = copy.deepcopy(RAW)
    edit(raw)
    for entry in raw["judgements"]:
        entry.pop("was", None)
    raw = refreshed(raw)
    assert check_report(raw, SAMPLE).status is CheckStatus.PASSED
    result = await again(raw, honest())
    assert result.status is CheckStatus.FAILED
    assert all(problem.what.startswith("today judges it ") for problem in result.problems)
    assert len(result.problems) >= 1


async def test_a_connective_that_states_something_is_seen() -> None:
    result = await again(
        RAW, LabelJudge({**HONEST, "The following is about memory.": False}, beyond={KEEPER: "at any"})
    )
    assert [p.what for p in result.problems] == ["cites nothing, and label-judge does not say that it states nothing"]


async def test_a_judge_that_fails_leaves_it_unchecked() -> None:
    class Failing(LabelJudge):
        async def judge(self, cases: Any) -> tuple[Judgement, ...]:
            raise ModelUnavailable("the judge is down")

    result = await again(RAW, Failing({}))
    assert result.status is CheckStatus.UNCHECKED
    assert len(result.problems) == 7
    assert "did not judge it again: the judge could not be asked: the judge is down" in result.problems[0].what


async def test_what_a_report_of_schema_1_left_open_is_settled() -> None:
    raw = json.loads(json.dumps({**copy.deepcopy(RAW), "schema_version": 1, "judgements": []}))
    for part in [*raw["claims"], *raw["summary"]["sentences"], *(s for x in raw["sections"] for s in x["sentences"])]:
        part |= {"proof": None, "judgement": ""} | ({"judge": ""} if "judge" in part else {})
    raw = refreshed(raw)
    before = check_report(raw, SAMPLE)
    assert any(p.where == "summary.sentences[0].text" for p in before.problems)
    after = await again(raw, honest())
    assert not [p for p in after.problems if p.where == "summary.sentences[0].text"]


async def test_a_bundle_is_judged_again_too(tmp_path: Path) -> None:
    settings = load_settings({"home": tmp_path}, environ={}, files=())
    data = render_bundle(SAMPLE.report, SAMPLE)
    result = await check_with_judge(data, settings, honest(), AT)
    assert (result.status, result.judged_again) == (CheckStatus.PASSED, "today")
    refused = await check_with_judge(data, settings, LabelJudge({}), AT)
    assert refused.status is CheckStatus.FAILED


def test_the_command_names_who_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.wacz"
    file.write_bytes(render_bundle(SAMPLE.report, SAMPLE))
    home = ["--home", str(tmp_path / "home")]
    assert run(["check", str(file), *home]) == 0
    assert "7 sentences judged by label-judge on 2026-11-21, not judged again" in capsys.readouterr().out
    assert run(["check", str(file), *home, "--judge", "none"]) == 2
    assert "names no judge" in capsys.readouterr().err
    with JudgeServer(lambda statement, evidence: {"probability": 0.01}) as server:
        assert run(["check", str(file), *home, "--judge", server.url]) == 1
    out = capsys.readouterr().out
    assert "7 put before " in out
    assert "not judged again" not in out


def test_the_cases_hold_the_passages_in_context() -> None:
    items = {item.statement.text: item for item in to_judge(RAW, SAMPLE)}
    derived = items["The operator's machines give the vacuum 32 MB more than the manual says."].statement
    assert len(derived.premises) == 2
    assert {piece.text for passage in derived.evidence for piece in passage.context} >= {"2.1. Vacuum"}

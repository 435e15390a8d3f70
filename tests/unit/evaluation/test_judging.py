"""`pincite eval judge`: what is counted, what is fitted, and what a judge that tells nothing apart is told."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.fakes.judge_server import JudgeServer
from typer.testing import CliRunner

from pincite.domain.errors import InvalidInput
from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel
from pincite.engine import Engine
from pincite.evaluation.judging import (
    always_says,
    auc,
    evaluate,
    evaluate_judge,
    fit_thresholds,
    halves,
    read_statements,
    shipped_statements,
)
from pincite.judges.catalogue import read_thresholds
from pincite.surfaces.cli.app import app
from pincite.testing.judges import LabelJudge

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = shipped_statements()
LABELS = {row.claim: row.true for row in ROWS}
STATES, ABSENT = JudgementLabel.STATES, JudgementLabel.ABSENT


def test_the_shipped_statements_are_half_true_and_of_many_kinds() -> None:
    assert len(ROWS) == 120
    assert sum(row.true for row in ROWS) == 60
    assert len({row.kind for row in ROWS}) > 25
    assert len({row.site for row in ROWS}) == 3


async def test_an_honest_judge_keeps_what_is_true_and_passes_nothing_false() -> None:
    found, likelihoods = await evaluate(LabelJudge(LABELS), ROWS, at=AT)
    assert (found.true_rows, found.false_rows, found.passed) == (60, 60, 0)
    assert found.kept >= 56, "an exact fact refuses more than it may"
    assert (found.unanswered, found.always, likelihoods) == (0, "", ())
    assert Counter({k.kind: k.rows for k in found.by_kind if not k.true}).total() == 60


async def test_without_a_judge_nothing_is_kept_passed_or_accused() -> None:
    found, _ = await evaluate(None, ROWS, at=AT)
    assert (found.judge, found.kept, found.passed, found.accused, found.calls) == ("none", 0, 0, 0, 0)
    assert found.unchecked == 120


@pytest.mark.parametrize(("label", "told"), [(STATES, "everything true"), (ABSENT, "nothing true")])
async def test_a_judge_that_says_one_thing_of_everything_is_named(label: JudgementLabel, told: str) -> None:
    found, _ = await evaluate(LabelJudge({}, default=label), ROWS, at=AT)
    assert found.always == told
    assert always_says([(True, label)] * 30) == "", "of true statements alone that is no wonder"


class Odd(LabelJudge):
    """Answers for cases that were not asked, twice, with NaN, or not at all."""

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        honest = await super().judge(cases)
        return (
            Judgement("nobody", STATES),
            *(Judgement(answer.case_id, STATES, float("nan")) for answer in honest[::3]),
            *honest[1::3],
            *(Judgement(answer.case_id, STATES) for answer in honest[1::3]),
        )


async def test_answers_that_cannot_be_used_count_as_none() -> None:
    found, _ = await evaluate(Odd(LABELS), ROWS, at=AT)
    assert found.passed == 0
    assert 0 < found.kept < 30
    assert found.unanswered >= 35


def test_thresholds_reach_their_precision_or_are_none() -> None:
    rows = [(True, 0.5 + n / 200) for n in range(100)] + [(False, n / 200) for n in range(100)]
    limits = fit_thresholds(rows)
    assert limits is not None
    above = [label for label, value in rows if value >= limits[0]]
    below = [label for label, value in rows if value <= limits[1]]
    assert sum(above) >= 0.97 * len(above)
    assert len(above) >= 97
    assert len(below) - sum(below) >= 0.95 * len(below)
    assert limits[1] < limits[0]
    assert fit_thresholds([(n % 2 == 0, (n * 37 % 100) / 100) for n in range(100)]) is None
    assert fit_thresholds([(True, 0.9)] * 19) is None, "too few rows say nothing"
    assert fit_thresholds([]) is None


def test_the_chance_that_a_true_row_is_above_a_false_one() -> None:
    assert auc([(True, 0.9), (False, 0.1)]) == 1.0
    assert auc([(True, 0.1), (False, 0.9)]) == 0.0
    assert auc([(True, 0.5), (False, 0.5)]) == 0.5
    assert auc([(True, 0.5)]) is None


def test_the_halves_share_no_page() -> None:
    fitted, held = halves([(row, float(number)) for number, row in enumerate(ROWS)])
    pages = [{(ROWS[int(value)].site, ROWS[int(value)].title) for _, value in half} for half in (fitted, held)]
    assert pages[0].isdisjoint(pages[1])
    assert len(fitted) + len(held) == 120


@pytest.mark.parametrize(
    "text", ["", "x", "[]", '{"claim": "a"}', '{"claim": "a", "passages": ["b"], "label": "maybe"}']
)
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_statements(text)


async def test_fitted_thresholds_are_kept_and_named(tmp_path: Path) -> None:
    def reply(claim: str, passage: str) -> object:
        return {"probability": 0.9 if LABELS[claim] else 0.2}

    with JudgeServer(reply) as server:
        async with Engine.from_settings(home=tmp_path, judge=server.url) as engine:
            before = await evaluate_judge(engine)
            fitted = await evaluate_judge(engine, fit=True)
        async with Engine.from_settings(home=tmp_path, judge=server.url) as engine:
            after = await evaluate_judge(engine)
    assert before.kept == 0, "without thresholds it can only refuse"
    assert before.auc == 1.0
    assert fitted.thresholds is not None
    assert "refused are right" in fitted.thresholds.measured
    assert read_thresholds(tmp_path, fitted.judge) == fitted.thresholds == after.thresholds
    assert after.kept >= 56
    assert after.passed == 0


async def test_a_word_is_nothing_to_fit(tmp_path: Path) -> None:
    async with Engine.from_settings(home=tmp_path, judge=LabelJudge(LABELS)) as engine:
        with pytest.raises(InvalidInput):
            await evaluate_judge(engine, fit=True)


def test_the_command_prints_the_figures(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    rows = [{"claim": f"The pool has {n} doors.", "passages": ["The pool."], "label": "true"} for n in range(30)]
    data.write_text("\n".join(map(json.dumps, rows)))
    with JudgeServer(lambda claim, passage: {"label": "states"}) as server:
        command = ["eval", "judge", "--judge", server.url, "--home", str(tmp_path / "h")]
        shipped = CliRunner().invoke(app, command)
        own = CliRunner().invoke(app, [*command, "--data", str(data), "--json"])
    assert "the judge found everything true: it tells nothing apart" in shipped.output
    assert "passed as supported" in shipped.output
    assert json.loads(own.output)["true_rows"] == 30
    missing = CliRunner().invoke(app, ["eval", "judge", "--data", str(tmp_path / "nix"), "--home", str(tmp_path)])
    assert missing.exit_code != 0

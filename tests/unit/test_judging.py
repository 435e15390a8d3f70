"""A judge of entailment behind the checks: in claims, audits and research, and what it may never overrule."""

import json
from pathlib import Path

import pytest

from pincite.domain.errors import BudgetExhausted, InvalidSetting, NetworkError
from pincite.domain.evidence import CheckOutcome, VerdictStatus
from pincite.engine import Engine
from pincite.ports import ClaimChecker
from pincite.research.judging import RecordedJudge
from pincite.settings import Settings
from pincite.testing.clock import FrozenClock
from pincite.testing.judges import FakeJudge, JudgeServer
from pincite.testing.small_web import ListLedger
from pincite.wiring.judging import build_judge, checker_with

PAGE = (
    "The Havel Wind Park opened in March 2019 near the village of Rhinow. Its turbines make 398 MW, which is enough "
    "for 200,000 homes in the region. The owner plans a second phase."
)
OPEN = "The Havel Wind Park started operation near Rhinow in March 2019 and powers homes with turbines of the owner."
FALSE = "The Havel Wind Park makes 412 MW, which is enough for 200,000 homes in the region."


async def test_a_judge_decides_what_the_checks_leave_open(tmp_path: Path) -> None:
    with JudgeServer(lambda claim, passage: {"probability": 0.97}) as server:
        async with Engine.from_settings(home=tmp_path, entailment=server.url, entailment_api_key="k") as engine:
            lifted = await engine.check_claim(OPEN, [PAGE])
            audit = await engine.audit(f"{OPEN} [1]\n\n[1]: https://a.example/", sources={"https://a.example/": PAGE})
    async with Engine.from_settings(home=tmp_path) as engine:
        alone = await engine.check_claim(OPEN, [PAGE])
    assert alone.status is VerdictStatus.PARTIAL
    assert lifted.status is VerdictStatus.SUPPORTED
    assert lifted.checks[-1].name == "entailment"
    assert [str(sentence.outcome) for sentence in audit.sentences if sentence.references] == ["supported"]
    assert server.keys[0] == "Bearer k"


@pytest.mark.parametrize(
    "claim",
    [
        FALSE,
        "The Havel Wind Park opened in May 2019 near the village of Rhinow.",
        "The Havel Wind Park did not open in March 2019 near the village of Rhinow.",
        "The Elbe Wind Park opened in March 2019 near the village of Rhinow.",
    ],
)
async def test_no_judge_overrules_a_failed_check(claim: str, tmp_path: Path) -> None:
    with JudgeServer(lambda claim, passage: {"probability": 1.0}) as server:
        async with Engine.from_settings(home=tmp_path, entailment=server.url) as engine:
            verdict = await engine.check_claim(claim, [PAGE])
    assert verdict.status is not VerdictStatus.SUPPORTED
    assert any(check.outcome is CheckOutcome.FAILED for check in verdict.checks)
    assert server.asked == []


@pytest.mark.parametrize("raw", [b"<html>", b'{"probability": null}', b'{"probability": 3}'])
async def test_a_judge_that_fails_leaves_the_verdict_and_says_so(raw: bytes, tmp_path: Path) -> None:
    with JudgeServer(raw=raw) as server:
        async with Engine.from_settings(home=tmp_path, entailment=server.url) as engine:
            verdict = await engine.check_claim(OPEN, [PAGE])
    assert verdict.status is VerdictStatus.PARTIAL
    assert verdict.checks[-1].name == "entailment"
    assert verdict.checks[-1].outcome is CheckOutcome.SKIPPED


async def test_research_asks_the_judge_and_replays_without_it(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "wind.md").write_text(f"# The Havel Wind Park\n\n{PAGE}\n", encoding="utf-8")
    with JudgeServer(lambda claim, passage: {"probability": 0.9}) as server:
        settings = {"home": tmp_path / "home", "source": f"local:{folder}", "entailment": server.url}
        async with Engine.from_settings(**settings) as engine:
            report = await engine.research("How much power does the Havel Wind Park make?")
            asked = len(server.asked)
            again = await engine.replay(report.run_id)
    assert [claim.text for claim in again.claims] == [claim.text for claim in report.claims]
    assert len(server.asked) == asked


async def test_judgements_are_on_the_record_of_a_run() -> None:
    ledger, behind = ListLedger(), FakeJudge(0.75)
    judge = RecordedJudge(behind, ledger)
    assert await judge.judge("a claim", "a passage") == 0.75
    assert await judge.judge("a claim", "a passage") == 0.75
    assert len(behind.asked) == 1
    behind.failing = NetworkError("down")
    with pytest.raises(NetworkError):
        await judge.judge("another claim", "a passage")


def checker(failing: Exception) -> ClaimChecker:
    return checker_with(FakeJudge(failing=failing))  # type: ignore[arg-type]


async def test_a_spent_budget_is_no_failure_of_the_run() -> None:
    from anyio import to_thread

    verdict = await to_thread.run_sync(checker(BudgetExhausted("no more", reason="web_requests")).check, OPEN, [PAGE])
    assert verdict.status is VerdictStatus.PARTIAL
    assert "web_requests" in verdict.checks[-1].detail


def test_settings_that_name_no_judge_say_so(tmp_path: Path) -> None:
    clock = FrozenClock()
    assert build_judge(Settings.model_validate({}), clock) is None
    for place in ("ftp://host/", str(tmp_path), str(tmp_path / "nowhere")):
        with pytest.raises(InvalidSetting):
            build_judge(Settings.model_validate({"entailment": place}), clock)
    (tmp_path / "model.onnx").write_bytes(b"x")
    (tmp_path / "tokenizer.json").write_text(json.dumps({}))
    assert build_judge(Settings.model_validate({"entailment": str(tmp_path)}), clock) is not None

import pytest

from pincite.domain.evidence import Check, CheckOutcome, SourceQuote, Verdict, VerdictStatus
from pincite.verification.entailment import refined

QUOTE = SourceQuote(0, 0, 9, "a passage")
COVERED = Check("coverage", CheckOutcome.PARTIAL)
PARTIAL = Verdict(VerdictStatus.PARTIAL, (QUOTE,), 0.5, ("not in the passage",), (COVERED,))


class Judge:
    """Answers with one number and counts how often it was asked."""

    def __init__(self, answer: float | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    async def judge(self, claim: str, passage: str) -> float | None:
        self.asked.append((claim, passage))
        return self.answer


@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [
        (0.95, VerdictStatus.SUPPORTED, CheckOutcome.PASSED),
        (0.5, VerdictStatus.PARTIAL, CheckOutcome.PARTIAL),
        (0.05, VerdictStatus.UNSUPPORTED, CheckOutcome.FAILED),
        (None, VerdictStatus.PARTIAL, CheckOutcome.SKIPPED),
    ],
)
async def test_a_judge_settles_what_is_open(answer: float | None, status: VerdictStatus, outcome: CheckOutcome) -> None:
    judge = Judge(answer)
    verdict = await refined(PARTIAL, "a claim", judge)
    assert verdict.status is status
    assert verdict.checks[-1].name == "entailment"
    assert verdict.checks[-1].outcome is outcome
    assert judge.asked == [("a claim", "a passage")]


async def test_a_failed_hard_check_and_a_settled_verdict_are_never_asked() -> None:
    judge = Judge(1.0)
    wrong_number = Verdict(VerdictStatus.PARTIAL, (QUOTE,), 0.5, (), (Check("numbers", CheckOutcome.FAILED), COVERED))
    supported = Verdict(VerdictStatus.SUPPORTED, (QUOTE,), 0.9, (), (COVERED,))
    for verdict in (wrong_number, supported, Verdict(VerdictStatus.PARTIAL, (), 0.5, (), (COVERED,))):
        assert await refined(verdict, "a claim", judge) is verdict
    assert judge.asked == []

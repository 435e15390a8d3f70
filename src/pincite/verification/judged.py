"""The mechanical checks with a judge of entailment behind them, as one checker."""

from collections.abc import Sequence

from anyio import from_thread

from pincite.domain.evidence import Verdict
from pincite.ports import ClaimChecker, EntailmentBackend
from pincite.verification.entailment import refined


class JudgedChecker:
    """Implements `ports.ClaimChecker` for worker threads: checks first, then asks the judge about what they leave open.

    Args:
        checker: the mechanical checks; what one of them fails is never put before the judge.
        judge: asked in the event loop of the thread that started this one.
    """

    def __init__(self, checker: ClaimChecker, judge: EntailmentBackend) -> None:
        self._checker = checker
        self._judge = judge

    def check(self, claim: str, sources: Sequence[str]) -> Verdict:
        """The verdict with the passages it rests on."""
        verdict = self._checker.check(claim, sources)
        return from_thread.run(refined, verdict, claim, self._judge)

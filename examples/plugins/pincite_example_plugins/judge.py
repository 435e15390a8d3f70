"""A judge of meaning: a statement is stated by its evidence when every word of it stands there."""

import re
from collections.abc import Sequence

from pincite import JudgeCase, Judgement, JudgementLabel, Thresholds

_WORD = re.compile(r"\w+")


class SameWordsJudge:
    """Implements `pincite.ports.Judge`. Thresholds are measured, never assumed: `pincite eval judge --fit`."""

    name = "samewords"

    def __init__(self, thresholds: Thresholds | None) -> None:
        self.thresholds = thresholds

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """The share of the statement's words that the evidence has, as a likelihood."""
        return [self._judged(case) for case in cases]

    def _judged(self, case: JudgeCase) -> Judgement:
        wanted = set(_WORD.findall(case.statement.lower()))
        there = {word for line in case.lines for word in _WORD.findall(line.text.lower())}
        share = len(wanted & there) / len(wanted) if wanted else 0.0
        label = JudgementLabel.STATES if share == 1 else JudgementLabel.ABSENT
        return Judgement(case.case_id, label, likelihood=share, judge=self.name)

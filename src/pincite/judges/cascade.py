"""A judge on this machine first, and a language model only for what falls between its thresholds."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.ports import Judge


class CascadeJudge:
    """Implements `ports.Judge` over two others.

    Args:
        first: gives likelihoods, and has measured thresholds.
        then: gives its word.
    """

    def __init__(self, first: Judge, then: Judge) -> None:
        self._first = first
        self._then = then

    @property
    def name(self) -> str:
        """Both, in the order in which they are asked."""
        return f"{self._first.name},{self._then.name}"

    @property
    def thresholds(self) -> Thresholds | None:
        """Those of the first: the other one's word needs none."""
        return self._first.thresholds

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """The first judge's where it is sure, the other's else. Each names who gave it.

        Whether a statement stands alone and answers only the second can tell: of such cases the first one only refuses.

        Errors: those of the second; of the first, when the second can't be asked either.
        """
        found: dict[str, Judgement] = {}
        for answer in await self._first.judge(cases):
            if self._sure(answer):
                found.setdefault(answer.case_id, replace(answer, judge=answer.judge or self._first.name))
        questions = {case.case_id for case in cases if case.question}
        settled = {
            case_id
            for case_id, answer in found.items()
            if case_id not in questions or answer.label is not JudgementLabel.STATES
        }
        left = [case for case in cases if case.case_id not in settled]
        for answer in await self._then.judge(left) if left else ():
            found[answer.case_id] = replace(answer, judge=answer.judge or self._then.name)
        return tuple(found.values())

    def _sure(self, answer: Judgement) -> bool:
        limits = self._first.thresholds
        if limits is None or answer.likelihood is None:
            return False
        if answer.label is JudgementLabel.STATES:
            return answer.likelihood >= limits.supported_from
        return answer.likelihood <= limits.refused_to

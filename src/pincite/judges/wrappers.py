"""Judges that stand before other judges: one asked first, one that rests after failures, one that is on record."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Conflict, NetworkError, PinciteError, ProviderBadReply
from pincite.domain.events import Json
from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.domain.records import Outcome
from pincite.ports import Breaker, Judge, Ledger
from pincite.runtime.call_context import RequestMeter, current_meter, metered

# A judge on this machine first, and a language model only for what falls between its thresholds.


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


# A judge that is not asked for a while after it failed repeatedly.

_KEY: Final = "judge"


class _Wrapper:
    """Goes by the name and the thresholds of the judge behind it: what is said is still what that one says."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def name(self) -> str:
        """The judge's."""
        return self._judge.name

    @property
    def thresholds(self) -> Thresholds | None:
        """The judge's."""
        return self._judge.thresholds


class GuardedJudge(_Wrapper):
    """Implements `ports.Judge` over another one."""

    def __init__(self, judge: Judge, breaker: Breaker) -> None:
        super().__init__(judge)
        self._breaker = breaker

    async def aclose(self) -> None:
        """Close the judge behind it."""
        close = getattr(self._judge, "aclose", None)
        if close is not None:
            await close()

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """As the judge behind it. Errors: also NetworkError (`breaker_open`): it is not asked for a while."""
        if not await self._breaker.allow(_KEY):
            raise NetworkError("the judge keeps failing and is rested", reason="breaker_open")
        try:
            found = await self._judge.judge(cases)
        except PinciteError:
            await self._breaker.record(_KEY, ok=False)
            raise
        await self._breaker.record(_KEY, ok=True)
        return found


# A judge whose answers are on the record of a run: asked once, and not again on resume or replay.
#
# For judges that are no language model: the calls of those are on the record one by one (`ports.ModelCalls`).


class RecordedJudge(_Wrapper):
    """Implements `ports.Judge` over another one, through the ledger of a run."""

    def __init__(self, judge: Judge, ledger: Ledger) -> None:
        super().__init__(judge)
        self._ledger = ledger

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """As the judge behind it. Errors: also BudgetExhausted, RunFenced, and those of the store."""

        async def do() -> Outcome:
            with metered(RequestMeter(outer=current_meter())) as sent:
                try:
                    found = await self._judge.judge(cases)
                except PinciteError as error:
                    error.spent = Usage(web_requests=sent.used)
                    raise
            return Outcome([to_json(judgement) for judgement in found], Usage(web_requests=sent.used))

        request: dict[str, Json] = {"judge": self.name, "cases": [to_json(case) for case in cases]}
        value = await self._ledger.call("judge", request, Usage(), do)
        if not isinstance(value, list):
            raise ProviderBadReply("the record of a judgement is no list", reason="wrong_shape")
        return tuple(from_json(Judgement, row) for row in value)


class AbsentJudge:
    """Implements `ports.Judge` for a run that is made again from its record: every answer must be there."""

    def __init__(self, name: str, thresholds: Thresholds | None) -> None:
        self._name = name
        self._thresholds = thresholds

    @property
    def name(self) -> str:
        """The name of the judge that the run had."""
        return self._name

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds that it had."""
        return self._thresholds

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """Errors: Conflict, always."""
        raise Conflict("the replay would ask the judge", reason="replay_miss")

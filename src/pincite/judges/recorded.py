"""A judge whose answers are on the record of a run: asked once, and not again on resume or replay.

For judges that are no language model: the calls of those are on the record one by one (`ports.ModelCalls`).
"""

from collections.abc import Sequence

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Conflict, PinciteError, ProviderBadReply
from pincite.domain.events import Json
from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
from pincite.domain.records import Outcome
from pincite.ports import Judge, Ledger
from pincite.runtime.metering import RequestMeter, current_meter, metered


class RecordedJudge:
    """Implements `ports.Judge` over another one, through the ledger of a run."""

    def __init__(self, judge: Judge, ledger: Ledger) -> None:
        self._judge = judge
        self._ledger = ledger

    @property
    def name(self) -> str:
        """The judge's."""
        return self._judge.name

    @property
    def thresholds(self) -> Thresholds | None:
        """The judge's."""
        return self._judge.thresholds

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

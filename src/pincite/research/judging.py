"""A judge of entailment whose answers are on the record of the run: asked once, and not again on resume or replay."""

from pincite.domain.budget import Usage
from pincite.domain.errors import PinciteError, ProviderBadReply
from pincite.domain.records import Outcome
from pincite.ports import EntailmentBackend, Ledger
from pincite.runtime.metering import RequestMeter, current_meter, metered


class RecordedJudge:
    """Implements `ports.EntailmentBackend` over another one, through the ledger of a run."""

    def __init__(self, judge: EntailmentBackend, ledger: Ledger) -> None:
        self._judge = judge
        self._ledger = ledger

    async def judge(self, claim: str, passage: str) -> float | None:
        """As the judge behind it. Errors: also BudgetExhausted, RunFenced, and those of the store."""

        async def do() -> Outcome:
            with metered(RequestMeter(outer=current_meter())) as sent:
                try:
                    probability = await self._judge.judge(claim, passage)
                except PinciteError as error:
                    error.spent = Usage(web_requests=sent.used)
                    raise
            return Outcome(probability, Usage(web_requests=sent.used))

        value = await self._ledger.call("judge", {"claim": claim, "passage": passage}, Usage(), do)
        if value is not None and not isinstance(value, int | float):
            raise ProviderBadReply("the record of a judgement is no number", reason="wrong_shape")
        return None if value is None else float(value)

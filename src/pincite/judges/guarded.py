"""A judge that is asked once for each question, and not at all for a while after it failed repeatedly."""

from collections import OrderedDict
from typing import Final

from pincite.domain.errors import NetworkError, PinciteError
from pincite.ports import Breaker, EntailmentBackend

_KEY: Final = "entailment"
_MAX_ANSWERS: Final = 20_000


class GuardedJudge:
    """Implements `ports.EntailmentBackend` over another one."""

    def __init__(self, judge: EntailmentBackend, breaker: Breaker) -> None:
        self._judge = judge
        self._breaker = breaker
        self._answers: OrderedDict[tuple[str, str], float | None] = OrderedDict()

    async def aclose(self) -> None:
        """Close the judge behind it."""
        close = getattr(self._judge, "aclose", None)
        if close is not None:
            await close()

    async def judge(self, claim: str, passage: str) -> float | None:
        """As the judge behind it. Errors: also NetworkError (`breaker_open`): it is not asked for a while."""
        key = (claim, passage)
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if not await self._breaker.allow(_KEY):
            raise NetworkError("the judge of entailment keeps failing and is rested", reason="breaker_open")
        try:
            answer = await self._judge.judge(claim, passage)
        except PinciteError:
            await self._breaker.record(_KEY, ok=False)
            raise
        await self._breaker.record(_KEY, ok=True)
        self._answers[key] = answer
        while len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer

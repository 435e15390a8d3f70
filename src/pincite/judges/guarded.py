"""A judge that is not asked for a while after it failed repeatedly."""

from collections.abc import Sequence
from typing import Final

from pincite.domain.errors import NetworkError, PinciteError
from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
from pincite.ports import Breaker, Judge

_KEY: Final = "judge"


class GuardedJudge:
    """Implements `ports.Judge` over another one."""

    def __init__(self, judge: Judge, breaker: Breaker) -> None:
        self._judge = judge
        self._breaker = breaker

    @property
    def name(self) -> str:
        """The judge's."""
        return self._judge.name

    @property
    def thresholds(self) -> Thresholds | None:
        """The judge's."""
        return self._judge.thresholds

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

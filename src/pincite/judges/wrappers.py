"""Judges that stand before other judges: one asked first, one that rests after failures, one that is on record."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Conflict, NetworkError, PinciteError, ProviderBadReply
from pincite.domain.events import Json
from pincite.domain.evidence import INSIDE, ContextRole, JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.domain.records import Outcome
from pincite.ports import Breaker, Judge, Ledger
from pincite.runtime.telemetry import RequestMeter, current_meter, metered


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


_KEY: Final = "judge"


class _Wrapper:
    """Goes by the name and the thresholds of the judge behind it: what is said is still what that one says."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name
        self.thresholds = judge.thresholds


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
            raise NetworkError("the judge keeps failing and is not asked for a while", reason="breaker_open")
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
        self.name = name
        self.thresholds = thresholds

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """Errors: Conflict, always."""
        raise Conflict("the replay would ask the judge", reason="replay_miss")


# About 350 tokens: with the statement it fits the 512 of cross-encoders. Longer evidence is judged in pieces.
PREMISE_CHARS: Final = 1_400
# About 100 tokens of titles and headings: what is left of the window is for the passage.
HEADER_CHARS: Final = 400
# Each is a pass of the model: a bound on the time of one statement, however long its evidence is.
MOST_PREMISES: Final = 12
_NAMING: Final = frozenset(set(ContextRole) - INSIDE - {ContextRole.AROUND, ContextRole.PREMISE})
# Where a judge without measured thresholds leans from refusing to stating.
_EVEN: Final = 0.5


def premises_of(case: JudgeCase, *, chars: int = PREMISE_CHARS) -> tuple[str, ...]:
    """The evidence as texts of at most so many characters: what names it (title, headings, ...), then its sentences.

    Nothing of a sentence is cut unless it alone is longer than that. No text for a case without evidence.
    """
    header = ""
    for line in case.lines:
        if line.role in _NAMING:
            piece = f"{line.text.rstrip()}{'' if line.text.rstrip()[-1:] in '.:!?' else '.'} "
            if len(header) + len(piece) <= HEADER_CHARS:
                # Whole names only: half a title names another page.
                header += piece
    room = chars - len(header)
    pieces: list[str] = []
    for line in case.lines:
        if line.role not in _NAMING and line.role not in INSIDE:
            if pieces and len(pieces[-1]) + len(line.text) < room:
                pieces[-1] += f" {line.text}"
            else:
                pieces.append(line.text[:room])
    return tuple(f"{header}{piece}".strip() for piece in pieces[:MOST_PREMISES])


def judgement_of(
    case: JudgeCase, states: float, thresholds: Thresholds | None, *, contradicts: float = 0.0
) -> Judgement | None:
    """A probability that the evidence states the statement, as a judgement; None when it is none."""
    if not (math.isfinite(states) and 0 <= states <= 1):
        return None
    stated = states >= (thresholds.supported_from if thresholds is not None else _EVEN)
    # More likely than not, and likelier than the opposite: "contradicts" strikes a sentence, so doubt reads as absent.
    refused = JudgementLabel.CONTRADICTS if contradicts > max(states, _EVEN) else JudgementLabel.ABSENT
    label = JudgementLabel.STATES if stated else refused
    return Judgement(case.case_id, label, states)

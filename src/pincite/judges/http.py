"""A judge behind an HTTP endpoint of the operator's: a statement and its evidence out, a word or a probability back.

The endpoint is trusted exactly: no redirect is followed, nothing is taken from proxies of the environment, and neither
URL nor texts are logged. It is asked in the words of natural language inference (premise, hypothesis) and in ours at
once; what is read of the answer is in `answer_of`.
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import anyio

from pincite.apis import ApiClient, ApiSettings, Bounds
from pincite.domain.budget import DEADLINES_S
from pincite.domain.errors import (
    InvalidSetting,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    ProviderError,
    RateLimited,
    RemoteError,
)
from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.judges.wrappers import judgement_of, premises_of
from pincite.runtime.recovery import first_failure

# A cross-encoder of the operator's own; the rest is for a queue before it. Chosen, not measured.
CALL_S: Final = DEADLINES_S["judge"]
# A word and a few numbers a statement: far above what any answer needs.
_BOUNDS: Final = Bounds("judge", 2**20)
# About 6,500 tokens: below the 8,192 of most long-context judges, with the statement.
_MAX_PREMISE_CHARS: Final = 26_000
# Sentences of our own reports end at 700 (`research.model.sentences`); what is cut is no sentence.
_MAX_STATEMENT_CHARS: Final = 2_000
# Failures without any answer after which the rest of a batch is not asked about.
_FAILURES_IN_A_ROW: Final = 3
_ENTAILS: Final = frozenset({"entailment", "entails", "supported", "support", "yes", "true", "label_entailment"})
_NAMES: Final = ("probability", "entailment", "score", "supported")
# Servers wrap their answer in lists and members; further down nobody's is looked for. Chosen, not measured.
_DEEPEST: Final = 4


class HttpJudge:
    """Implements `ports.Judge`.

    Args:
        api_key: sent as a bearer token.
        thresholds: what its probabilities mean, where that was measured.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        thresholds: Thresholds | None = None,
        deadline_s: float = CALL_S,
        concurrency: int = 4,
    ) -> None:
        self.name = name_of(url)
        self.thresholds = thresholds
        self._concurrency = concurrency
        parts = urlsplit(url)
        # The whole address as it was given, its last slash and its query included.
        origin = f"{parts.scheme}://{parts.netloc}"
        self._path = url[len(origin) :]
        settings = ApiSettings(origin, deadline_s=deadline_s)
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._client = ApiClient("the judge's endpoint", settings, headers, bounds=_BOUNDS)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """One call for each case. A case of which the endpoint says that it can't tell is left out.

        Errors: Timeout, NetworkError, RateLimited, ProviderAuth, ProviderBadReply: when no case at all was answered.
        """
        found: list[Judgement] = []
        failures: list[PinciteError] = []
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def ask(case: JudgeCase) -> None:
            async with limiter:
                if len(failures) >= _FAILURES_IN_A_ROW and not found:
                    return
                try:
                    judgement = await self._judge_case(case)
                except (RemoteError, ProviderError) as error:
                    failures.append(error)
                    return
            if judgement is not None:
                found.append(judgement)

        with first_failure():
            async with anyio.create_task_group() as group:
                for case in cases:
                    if case.lines:
                        group.start_soon(ask, case)
        if failures and not found:
            raise failures[0]
        return tuple(found)

    async def _judge_case(self, case: JudgeCase) -> Judgement | None:
        statement = case.statement[:_MAX_STATEMENT_CHARS]
        premise = premises_of(case, chars=_MAX_PREMISE_CHARS)[0]
        body = {
            "claim": statement,
            "passage": premise,
            "hypothesis": statement,
            "premise": premise,
            "lines": [{"id": line.line_id, "role": line.role or "passage", "text": line.text} for line in case.lines],
        }
        answer = await self._client.post_json(self._path, body)
        if answer.status != 200:
            raise _refusal(answer.status)
        return answer_of(answer.json(), case, self.thresholds)


def name_of(url: str) -> str:
    """What reports call the endpoint. Errors: InvalidSetting (no address of one)."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        raise InvalidSetting(
            "this is no address of a judge", hint="Write http(s)://host[:port][/path].", context={"setting": "judge"}
        )
    return f"http:{parts.netloc}"


def answer_of(value: Any, case: JudgeCase, thresholds: Thresholds | None) -> Judgement | None:  # parsed JSON
    """A judgement in an answer; None when it says that it can't tell.

    Read are our own words (`{"label": "partly", "beyond": "...", "lines": ["2"]}`, with or without `likelihood`), and
    what `probability_in` reads.

    Errors: ProviderBadReply (`wrong_shape`).
    """
    label = value.get("label") if isinstance(value, dict) else None
    if isinstance(label, str) and label in set(JudgementLabel):
        lines, beyond = value.get("lines"), value.get("beyond")
        return Judgement(
            case.case_id,
            JudgementLabel(label),
            _probability(value.get("likelihood")),
            tuple(str(line) for line in lines) if isinstance(lines, list) else (),
            beyond if isinstance(beyond, str) else "",
        )
    probability = probability_in(value)
    return None if probability is None else judgement_of(case, probability, thresholds)


def probability_in(value: Any, depth: int = 0) -> float | None:  # parsed JSON of any shape
    """The probability in an answer; null says "can't tell".

    Read are `{"probability": 0.93}` (or `entailment`, `score`, `supported`), and the `{"label", "score"}` of
    classifiers, alone or in a list, of which the label for entailment counts.

    Errors: ProviderBadReply (`wrong_shape`).
    """
    if isinstance(value, dict) and "label" not in value:
        named = [value[name] for name in _NAMES if name in value]
        if named:
            return _probability(named[0])
        inner = [value[name] for name in ("labels", "predictions", "result", "data") if name in value]
        if inner and depth < _DEEPEST:
            return probability_in(inner[0], depth + 1)
    rows = [value] if isinstance(value, dict) else value
    if isinstance(rows, list) and rows and depth < _DEEPEST:
        if isinstance(rows[0], list):
            return probability_in(rows[0], depth + 1)
        labelled = [row for row in rows if isinstance(row, dict) and isinstance(row.get("label"), str)]
        for row in labelled:
            if row["label"].lower() in _ENTAILS:
                return _probability(row.get("score"))
    raise ProviderBadReply("the judge's endpoint answered in an unknown shape", reason="wrong_shape")


def _probability(value: Any) -> float | None:  # a member of parsed JSON
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    raise ProviderBadReply("the judge's endpoint gave no probability of 0 to 1", reason="wrong_shape")


def _refusal(status: int) -> PinciteError:
    if status in {401, 403}:
        return ProviderAuth(
            "the judge's endpoint refused the key", reason="bad_key", hint="Check PINCITE_JUDGE_API_KEY."
        )
    if status == 429:
        return RateLimited("the judge's endpoint is limiting the rate")
    return ProviderBadReply(f"the judge's endpoint answered {status}", reason="bad_status", retryable=status >= 500)

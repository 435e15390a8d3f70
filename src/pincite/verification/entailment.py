"""What the mechanical checks leave open, asked of a judge of entailment where one is configured; none is by default.

A judge may lift or lower a partial verdict. It is never asked about a claim that a hard check failed: no likelihood
outweighs a wrong number.
"""

from dataclasses import replace

import anyio

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import Check, CheckOutcome, Verdict, VerdictStatus
from pincite.ports import EntailmentBackend

NAME = "entailment"
SUPPORTED_FROM = 0.8
UNSUPPORTED_TO = 0.2
_DEADLINE_S = 30.0


async def refined(verdict: Verdict, claim: str, backend: EntailmentBackend) -> Verdict:
    """The verdict after the judge has seen the claim and its best passage; the check `entailment` records the answer.

    Without a passage, after a failed hard check, or when the judge can't tell, can't be asked or takes longer than
    30 s, the verdict stays; the last three are recorded as skipped.

    Errors: what the judge raises besides a failure of its own (a setting, a fenced run).
    """
    hard = any(check.outcome is CheckOutcome.FAILED for check in verdict.checks if check.name != "coverage")
    if verdict.status is not VerdictStatus.PARTIAL or hard or not verdict.quotes:
        return verdict
    probability: float | None = None
    why = "no answer"
    try:
        with anyio.move_on_after(_DEADLINE_S):
            probability = await backend.judge(claim, verdict.quotes[0].text)
    except (RemoteError, ProviderError, BudgetExhausted) as error:
        why = f"the judge could not be asked: {error.reason}"
    if probability is None:
        return _with(verdict, verdict.status, CheckOutcome.SKIPPED, why)
    detail = f"{probability:.2f} that the passage entails the claim"
    if probability >= SUPPORTED_FROM:
        return _with(replace(verdict, reasons=()), VerdictStatus.SUPPORTED, CheckOutcome.PASSED, detail)
    if probability <= UNSUPPORTED_TO:
        lowered = replace(verdict, quotes=(), reasons=(*verdict.reasons, detail))
        return _with(lowered, VerdictStatus.UNSUPPORTED, CheckOutcome.FAILED, detail)
    return _with(verdict, verdict.status, CheckOutcome.PARTIAL, detail)


def _with(verdict: Verdict, status: VerdictStatus, outcome: CheckOutcome, detail: str) -> Verdict:
    return replace(verdict, status=status, checks=(*verdict.checks, Check(NAME, outcome, detail)))

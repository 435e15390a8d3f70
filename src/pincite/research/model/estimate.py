"""What a run with a model is expected to use, before it starts: from its caps alone."""

from dataclasses import dataclass
from decimal import Decimal

from pincite.domain.budget import Budget
from pincite.domain.model import ModelInfo, ModelRole

_INSTRUCTION_TOKENS = 450
_CLAIMS_PER_PAGE = 3
_CLAIM_TOKENS = 45


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens and dollars of a run that reads all the pages it may; `cost_usd` is None for an unknown price."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: Decimal | None


def expected(infos: dict[ModelRole, ModelInfo], budget: Budget, page_tokens: int) -> Estimate:
    """The estimate for these models; pages count as full, so most runs use less.

    Args:
        infos: the model of each role that has one.
        budget: the caps of the run.
        page_tokens: tokens of one page that are shown.
    """
    pages = 20 if budget.pages is None else budget.pages
    rounds = max(budget.rounds or 1, 1)
    claims = pages * _CLAIMS_PER_PAGE
    sections = max(1, min(6, claims // 8))
    shares = {
        ModelRole.PLANNER: (rounds, rounds * (_INSTRUCTION_TOKENS + 400), rounds * 350),
        ModelRole.ANALYST: (pages, pages * (page_tokens + _INSTRUCTION_TOKENS + 200), claims * _CLAIM_TOKENS * 2),
        ModelRole.VERIFIER: (pages // 2 + rounds, claims * 150 + rounds * claims * _CLAIM_TOKENS, claims * 12),
        ModelRole.WRITER: (
            2 + 2 * sections,
            (2 + sections) * _INSTRUCTION_TOKENS + claims * 4 * _CLAIM_TOKENS,
            claims * _CLAIM_TOKENS * 2,
        ),
    }
    calls = tokens_in = tokens_out = 0
    cost: Decimal | None = Decimal(0)
    for role, info in infos.items():
        more_calls, more_in, more_out = shares.get(role, (0, 0, 0))
        calls, tokens_in, tokens_out = calls + more_calls, tokens_in + more_in, tokens_out + more_out
        price = info.cost_usd(more_in, more_out)
        cost = None if cost is None or price is None else cost + price
    return Estimate(calls, tokens_in, tokens_out, cost)

"""What a run with a model is expected to use, before it starts: from its caps alone."""

from decimal import Decimal

from pincite.domain.budget import Budget
from pincite.domain.frozen import dataclass
from pincite.domain.model import ModelInfo, ModelRole

# Instructions with the schema of the answer.
_PLAN_TOKENS, _CHOOSE_TOKENS, _COMPOSE_TOKENS, _JUDGE_TOKENS = 1_000, 700, 2_400, 1_900
# Of a standard report: sentences, items and cells, section by section; and of what a second round adds or changes
# (runs of a strong reader: 5 to 9 calls of the judge, 18,000 to 31,000 tokens).
_STATEMENTS, _MORE_STATEMENTS = 80, 30
_CALLS_OF_JUDGE, _MORE_CALLS = 4, 3
# A statement with its lines, and what is said of it.
_SHOWN_TOKENS, _SAID_TOKENS = 150, 30


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens and dollars of a run that reads all the pages it may; `cost_usd` is None for an unknown price."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: Decimal | None


def expected(infos: dict[ModelRole, ModelInfo], budget: Budget, source_tokens: int) -> Estimate:
    """The estimate for these models; two rounds where as many may be made, so most runs use less.

    Args:
        infos: the model of each role that has one.
        budget: the caps of the run.
        source_tokens: tokens of the pages that are shown at once.
    """
    again = min(max(budget.rounds or 1, 1), 2) - 1
    repairs = 2
    statements, judgings = _STATEMENTS + again * _MORE_STATEMENTS, _CALLS_OF_JUDGE + again * _MORE_CALLS
    shares = {
        ModelRole.PLANNER: (1, _PLAN_TOKENS, 600),
        ModelRole.VERIFIER: (
            judgings,
            judgings * _JUDGE_TOKENS + statements * _SHOWN_TOKENS,
            statements * _SAID_TOKENS,
        ),
        ModelRole.WRITER: (
            2 * (1 + again) + repairs,
            (1 + again) * (_CHOOSE_TOKENS + _COMPOSE_TOKENS)
            + source_tokens
            + again * source_tokens // 2
            + repairs * 1_000,
            6_000 + again * 2_000,
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

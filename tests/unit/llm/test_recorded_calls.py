"""Attempts, fallbacks, budget and record of model calls."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from tests.fakes.small_web import ListEvents, ListLedger

from pincite.domain.budget import Budget
from pincite.domain.errors import (
    BudgetExhausted,
    ModelBadOutput,
    ModelUnavailable,
    PinciteError,
    ProviderAuth,
    RateLimited,
)
from pincite.domain.events import EventType
from pincite.domain.model import Generation, ModelInfo, ModelRole, ModelUsage, Prompt
from pincite.llm.calls import RecordedCalls, digest_of, estimate_of
from pincite.research.model.outputs import LeadNote, LeadNotes
from pincite.testing.clock import FrozenClock

T = TypeVar("T")
PROMPT = Prompt("judge", "1", "Judge.", max_tokens_out=100)
GOOD = LeadNotes((LeadNote("l1", "paint"),))
TRUNCATED = ModelBadOutput(
    "cut", reason="truncated", retryable=True, context={"tokens_in": 7, "tokens_out": 3, "cost_usd": "0.5"}
)
BUSY = ModelUnavailable("busy", reason="model_overloaded")


class Chain:
    """Models that do what a list says: `outcomes[choice]` are tried in order, the last one repeats."""

    def __init__(self, *outcomes: list[Any], price: Decimal | None = Decimal(1)) -> None:
        self.outcomes = [list(chain) for chain in outcomes]
        self.asked: list[tuple[int, Prompt]] = []
        self.price = price

    def info(self, role: ModelRole) -> Sequence[ModelInfo]:
        return tuple(ModelInfo(f"m{n}", "x", self.price, self.price) for n in range(len(self.outcomes)))

    async def generate(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, choice: int = 0, deadline_s: float | None = None
    ) -> Generation[T]:
        self.asked.append((choice, prompt))
        left = self.outcomes[choice]
        made = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(made, PinciteError):
            raise made
        return Generation(made, ModelUsage(10, 5, 0, Decimal("0.25")), f"m{choice}")


class Run:
    def __init__(self, model: Chain, **options: Any) -> None:
        self.model = model
        self.clock = FrozenClock()
        self.events = ListEvents()
        self.ledger = options.pop("ledger", None) or ListLedger()
        self.calls = RecordedCalls(model, self.ledger, self.events, self.clock, **options)

    async def ask(self, **options: Any) -> LeadNotes:
        return await self.calls.ask(ModelRole.VERIFIER, PROMPT, LeadNotes, **options)


async def test_one_answer_is_settled_and_told() -> None:
    run = Run(Chain([GOOD]))
    assert await run.ask() == GOOD
    assert run.ledger.usage.tokens_in == 10
    assert run.ledger.usage.cost_usd == Decimal("0.25")
    assert run.events.of(EventType.MODEL_ANSWERED)[0]["model"] == "m0"


async def test_the_record_answers_the_second_time() -> None:
    first = Run(Chain([GOOD]))
    await first.ask()
    again = Run(Chain([BUSY]), ledger=ListLedger(record=first.ledger.record))
    assert await again.ask() == GOOD
    assert again.model.asked == []


async def test_passing_faults_are_tried_again_with_patience() -> None:
    run = Run(Chain([BUSY, BUSY, GOOD]))
    before = run.clock.monotonic_s()
    assert await run.ask() == GOOD
    assert run.clock.monotonic_s() - before == pytest.approx(1.5)
    assert [data["reason"] for data in run.events.of(EventType.MODEL_FAILED)] == ["model_overloaded"] * 2


async def test_a_bad_answer_is_paid_told_of_and_given_more_room() -> None:
    run = Run(Chain([TRUNCATED, GOOD]))
    assert await run.ask() == GOOD
    assert run.ledger.usage.tokens_in == 17
    assert run.ledger.usage.cost_usd == Decimal("0.75")
    second = run.model.asked[1][1]
    assert "cut off" in second.note
    assert second.max_tokens_out == 200


async def test_the_next_model_takes_over() -> None:
    run = Run(Chain([ProviderAuth("no")], [RateLimited("wait", retry_after_s=3600)], [GOOD]))
    assert await run.ask() == GOOD
    assert [choice for choice, _ in run.model.asked] == [0, 1, 2]


async def test_the_last_failure_is_what_comes_out() -> None:
    run = Run(Chain([BUSY], [ModelBadOutput("no", reason="refusal", retryable=False)]))
    with pytest.raises(ModelBadOutput):
        await run.ask()
    assert [choice for choice, _ in run.model.asked] == [0, 0, 0, 1]


async def test_no_model_at_all() -> None:
    with pytest.raises(ModelUnavailable, match="no model"):
        await Run(Chain()).ask()


async def test_an_unknown_price_fails_closed_under_a_cap() -> None:
    run = Run(Chain([GOOD], price=None), budget=Budget(cost_usd=Decimal(1)))
    with pytest.raises(BudgetExhausted) as caught:
        await run.ask()
    assert caught.value.reason == "model_price_unknown"
    assert run.model.asked == []
    assert await Run(Chain([GOOD], price=None)).ask() == GOOD


@pytest.mark.parametrize("cap", [Budget(tokens_in=20), Budget(tokens_out=99), Budget(cost_usd=Decimal("0.0001"))])
async def test_what_the_budget_does_not_cover_is_not_asked(cap: Budget) -> None:
    run = Run(Chain([GOOD]), ledger=ListLedger(budget=cap))
    with pytest.raises(BudgetExhausted):
        await run.ask()
    assert run.model.asked == []


async def test_no_time_left_is_a_cap_too() -> None:
    run = Run(Chain([GOOD]))
    with pytest.raises(BudgetExhausted) as caught:
        await run.ask(deadline_s=0)
    assert caught.value.reason == "deadline"


def test_the_estimate_covers_what_is_sent_and_may_be_written() -> None:
    info = ModelInfo("m", "x", Decimal(1), Decimal(2))
    small, large = (estimate_of(Prompt("p", "1", "word " * n, max_tokens_out=50), info) for n in (10, 1000))
    assert large.tokens_in > small.tokens_in + 900
    assert small.tokens_out == 50
    assert large.cost_usd == (large.tokens_in + 2 * 50) / Decimal(1_000_000)


def test_the_digest_is_of_the_words_alone() -> None:
    assert digest_of(PROMPT) == digest_of(Prompt("other", "2", "Judge.", max_tokens_out=100))
    assert digest_of(PROMPT) != digest_of(Prompt("judge", "1", "Judge!", max_tokens_out=100))

"""Models that think before they answer: room for it is reserved, learnt, and never taken from the answer."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import anyio
import pytest
from tests.fakes.small_web import ListEvents, ListLedger

from pincite.domain.budget import Budget
from pincite.domain.errors import BudgetExhausted, ModelBadOutput, ModelUnavailable
from pincite.domain.model import ModelRole, ModelUsage, Prompt
from pincite.llm.calls import RecordedCalls
from pincite.llm.catalogue import FIRST, LEAST, MOST, ThinkingBudget, thoughts_of
from pincite.research.model.outputs import PlannedQuestion
from pincite.research.model.prompts import instructions
from pincite.testing.clock import FrozenClock
from pincite.testing.models import ScriptedModel, Seen

PROMPT = Prompt("planner", "1", instructions("planner"), context=("Question: How tall is it?",), max_tokens_out=400)
PLAN: Any = {"parts": [{"question": "How tall is it?", "heading": "Height", "queries": ["its height"]}]}


class Run:
    def __init__(self, thinking: list[int], budget: Budget | None = None, *, retries: int = 2) -> None:
        self.model = ScriptedModel({"planner": PLAN}, thinking=thinking)
        self.ledger = ListLedger(budget=budget or Budget())
        self.events = ListEvents()
        self.calls = RecordedCalls(
            self.model, self.ledger, self.events, FrozenClock(), budget=self.ledger.budget, retries=retries
        )

    async def ask(self, prompt: Prompt = PROMPT) -> PlannedQuestion:
        return await self.calls.ask(ModelRole.PLANNER, prompt, PlannedQuestion)


@pytest.mark.parametrize("thinking", [500, 3_000, 6_000])
async def test_no_answer_of_a_thinking_model_is_cut(thinking: int) -> None:
    run = Run([thinking])
    for number in range(6):
        assert (await run.ask(replace(PROMPT, closing=str(number)))).parts
    assert run.model.cut == 0
    assert run.ledger.usage.tokens_out > 6 * thinking


async def test_one_that_thinks_longer_than_ever_is_asked_again_with_room() -> None:
    run = Run([9_000, 9_000])
    assert (await run.ask()).parts
    assert run.model.cut == 1
    assert "shorter" not in run.model.seen[1].user, "the answer was not too long"


async def test_the_room_shrinks_to_what_is_used() -> None:
    room = ThinkingBudget()
    assert room.of("m", "low") == FIRST
    assert room.of("m", "none") == LEAST
    for thoughts in (100, 300, 200):
        room.learn("m", "low", thoughts)
    assert room.of("m", "low") == 450 + LEAST
    room.cut("m", "low", 700)
    assert room.of("m", "low") == 1_400
    room.cut("m", "low", 10**6)
    assert room.of("m", "low") == MOST
    room.refused("m")
    assert room.of("m", "low") == 0


def test_thoughts_that_are_not_told_are_what_the_answer_can_not_account_for() -> None:
    assert thoughts_of(ModelUsage(10, 3_000, thinking=2_900), "x") == 2_900
    assert 2_000 < thoughts_of(ModelUsage(10, 3_000), "a few words") < 3_000
    assert thoughts_of(ModelUsage(10, 40), "a few words") == 0
    assert thoughts_of(ModelUsage(10, 3_000, estimated=True), "x") == 0


async def test_what_is_reserved_never_exceeds_the_cap() -> None:
    """Six at a time under a cap that holds two: the others wait for what comes back, and all are answered."""
    run = Run([500], Budget(tokens_out=2 * (FIRST + 400)))
    reserved: list[int] = []
    call = run.ledger.call

    async def noted(kind: Any, request: Any, estimate: Any, do: Any) -> Any:
        async def slow() -> Any:
            reserved.append(run.ledger.usage.tokens_out)
            await anyio.lowlevel.checkpoint()
            return await do()

        return await call(kind, request, estimate, slow)

    run.ledger.call = noted  # type: ignore[method-assign]  # the ledger as it is, watched
    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(run.ask, replace(PROMPT, closing=str(number)))
    assert max(reserved) <= 2 * (FIRST + 400)
    assert len(reserved) == 6


async def test_less_room_is_taken_where_the_cap_leaves_less() -> None:
    run = Run([500], Budget(tokens_out=3_000))
    assert (await run.ask()).parts
    assert run.ledger.usage.tokens_out <= 3_000


async def test_a_model_known_to_think_longer_than_is_left_is_not_asked() -> None:
    run = Run([500], Budget(tokens_out=1_700))
    assert (await run.ask()).parts
    assert (await run.ask(replace(PROMPT, closing="2"))).parts
    with pytest.raises(BudgetExhausted):
        await run.ask(replace(PROMPT, closing="3", max_tokens_out=500))
    assert run.model.cut == 0


async def test_a_server_that_takes_no_such_cap_is_asked_without_room() -> None:
    asked: list[int] = []

    def answer(seen: Seen) -> object:
        asked.append(1)
        if len(asked) == 1:
            return ModelUnavailable("too long", reason="model_context_too_long", retryable=False)
        return PLAN

    run = Run([0])
    run.model = ScriptedModel({"planner": answer})  # type: ignore[dict-item]  # an error in place of an answer is raised
    run.calls = RecordedCalls(run.model, run.ledger, run.events, FrozenClock(), retries=0)
    assert (await run.ask()).parts
    assert len(asked) == 2


async def test_one_that_thinks_to_any_cap_ends_typed() -> None:
    run = Run([10**6])
    with pytest.raises(ModelBadOutput) as caught:
        await run.ask()
    assert caught.value.reason == "truncated"
    assert run.model.cut == 3


async def test_money_is_a_cap_like_any_other() -> None:
    run = Run([100], Budget(cost_usd=Decimal("0.002")))
    assert (await run.ask()).parts
    assert run.ledger.usage.cost_usd <= Decimal("0.002")

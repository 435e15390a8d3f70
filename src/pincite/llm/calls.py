"""The calls of a run to language models: reserved before, settled after, on record, tried again, handed on.

Each attempt is a call of the ledger of its own, so that no attempt goes out that the budget does not cover, and a
replay meets the same failures in the same order.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeVar, cast

import anyio

from pincite.domain.budget import Budget, Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import (
    BudgetExhausted,
    ModelBadOutput,
    ModelUnavailable,
    PinciteError,
    ProviderAuth,
    ProviderQuota,
    RateLimited,
    RemoteError,
)
from pincite.domain.events import EventType, Json
from pincite.domain.model import (
    FENCE_CHARS,
    Effort,
    Generation,
    Messages,
    ModelInfo,
    ModelRole,
    Prompt,
    messages_of,
    new_fence,
)
from pincite.domain.records import Outcome
from pincite.domain.search import ProviderAttempt
from pincite.llm.catalogue import ThinkingBudget, thoughts_of
from pincite.ports import Clock, EventSink, LanguageModel, Ledger
from pincite.text.tokens import token_estimate

T = TypeVar("T")
# Tokenizers differ from our estimate: what is set aside should be enough for any of them. Chosen, not measured.
MARGIN: Final = 1.15
# What providers add to a prompt for the form of the answer. Chosen, not measured.
SCHEMA_TOKENS: Final = 400
# A provider that asks for a longer wait than this is passed over for the next model.
LONGEST_WAIT_S: Final = 20.0
# Shorter values ("dev", "test") stand in ordinary texts, and masking them would garble prompts.
_SHORTEST_SECRET: Final = 6
_MASK: Final = "[secret]"
# A second try gets twice the room, but no more than this where the first had less.
_LONGEST_ANSWER_TOKENS: Final = 16_000
_NO_CAPS: Final = Budget()
# Thoughts of this share of the answer's room are what left too little of it, not the answer.
_THOUGHTS_CUT: Final = 0.5
# What a server with a short context says to a cap that does not fit: asked once more without room for thinking.
_TOO_MUCH_ASKED: Final = ("model_context_too_long", "model_rejected")
_TOLD: Final = ("model", "tokens_in", "tokens_out", "cached_in", "thinking", "cost_usd")
_FAILURES: Final = (ModelUnavailable, ModelBadOutput, ProviderAuth, ProviderQuota, RateLimited, RemoteError)
_NOTES: Final[Mapping[str, str]] = {
    "truncated": "Your last answer was cut off before its end. Answer again, complete and in fewer words.",
    "not_json": "Your last answer was not JSON. Answer again with the JSON object alone.",
    "wrong_shape": "Your last answer did not have the shape that was asked for. Answer again in that shape exactly.",
    "empty": "Your last answer was empty. Answer again.",
    "answer_too_large": "Your last answer was far too long. Answer again, much shorter.",
}


class RecordedCalls:
    """Implements `ports.ModelCalls` for one run. Made once per run, like its ledger.

    Args:
        events: where it is told what was asked and what failed.
        budget: the caps that the ledger keeps, so that room for thinking is asked for within them.
        retries: more attempts at one model after passing faults.
        secrets: texts that are taken out of every answer before anybody sees it.
        efforts: how long the models of a role shall think, where not as long as the prompt says.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: Ledger,
        events: EventSink,
        clock: Clock,
        *,
        budget: Budget = _NO_CAPS,
        retries: int = 2,
        secrets: Sequence[str] = (),
        efforts: Mapping[str, Effort] | None = None,
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._events = events
        self._clock = clock
        self._budget = budget
        self._retries = retries
        self._secrets = tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)
        self._efforts = efforts or {}
        self._fence = new_fence()
        self._room = ThinkingBudget()
        self._reserved = Usage()
        self._settled = anyio.Condition()
        self.cached_in = 0
        """Tokens sent that the providers had in their prompt caches, in all answers so far."""

    async def ask(self, role: ModelRole, prompt: Prompt, output_type: type[T], *, deadline_s: float | None = None) -> T:
        """The answer of the role's model, or of the first fallback that gives one.

        Args:
            role: whose models are asked.
            prompt: what is asked.
            output_type: the dataclass that the answer must fit.
            deadline_s: seconds the run has left; None for no limit.

        Errors:
            BudgetExhausted (nothing was called), and what the last model failed with: ModelUnavailable,
            ModelBadOutput, ProviderAuth, ProviderQuota, RateLimited.
        """
        answer, _ = await self.ask_named(role, prompt, output_type, deadline_s=deadline_s)
        return answer

    async def ask_named(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, deadline_s: float | None = None
    ) -> tuple[T, str]:
        """As `ask`, with the name of the model that answered. Errors: as `ask`."""
        ends_at = None if deadline_s is None else self._clock.monotonic_s() + deadline_s
        # One fence for the whole run: another for each call would break the prompt caches of providers.
        prompt = replace(prompt, fence=self._fence, effort=self._efforts.get(str(role), prompt.effort))
        last: PinciteError = ModelUnavailable(
            f"no model is set for the {role}", reason="model_not_set", retryable=False
        )
        for choice, info in enumerate(self._model.info(role)):
            asked, attempt = prompt, 0
            while True:
                try:
                    answer = await self._attempt(role, asked, output_type, (choice, attempt), info, ends_at)
                    return answer, info.name
                except _FAILURES as error:
                    last = error
                    await self._events.emit(
                        EventType.MODEL_FAILED,
                        {"role": str(role), "model": info.name, "code": error.code, "reason": error.reason},
                    )
                    wait_s = self._wait_s(error, attempt, info)
                    if wait_s is None:
                        break
                    asked, attempt = _again(asked, error), attempt + 1
                    await self._clock.sleep(wait_s)
        raise last

    async def _attempt(
        self,
        role: ModelRole,
        prompt: Prompt,
        output_type: type[T],
        place: tuple[int, int],
        info: ModelInfo,
        ends_at: float | None,
    ) -> T:
        choice, attempt = place
        # Refused before the ledger is asked: without a price the cap could not be kept.
        if self._budget.cost_usd is not None and not info.price_known:
            raise BudgetExhausted(
                f"the price of {info.name} is unknown and the run has a cap on dollars",
                reason="model_price_unknown",
                hint=f'Tell it: llm_prices = {{"{info.name}" = "IN/OUT"}}, dollars for a million tokens.',
            )
        sent = await self._with_room(prompt, info)
        estimate = estimate_of(sent, info)

        async def do() -> Outcome:
            left_s = None if ends_at is None else ends_at - self._clock.monotonic_s()
            if left_s is not None and left_s <= 0:
                raise BudgetExhausted("the time of the run is over", reason="deadline")
            try:
                # The deadline is read at the last moment: the call may have waited for its turn.
                made = await self._model.generate(role, sent, output_type, choice=choice, deadline_s=left_s)
            except ModelBadOutput as error:
                return _outcome_of_failure(error)
            outcome = _outcome_of(made)
            return replace(outcome, value=self._without_secrets(outcome.value))

        request: dict[str, Json] = {
            "role": str(role),
            "prompt": f"{prompt.name}/{prompt.version}",
            # A hash: the prompt itself holds pages and would be stored with each call. Choice and attempt keep tries
            # apart.
            "digest": digest_of(prompt),
            "output": output_type.__name__,
            "choice": choice,
            "attempt": attempt,
        }
        self._reserved = self._reserved + estimate
        try:
            record = await self._ledger.call("model", request, estimate, do)
        finally:
            self._reserved = self._reserved - estimate
            async with self._settled:
                self._settled.notify_all()
        return await self._read_record(role, sent, info, record, output_type)

    async def _with_room(self, prompt: Prompt, info: ModelInfo) -> Prompt:
        """The prompt with room for thinking: as much as was learnt, or as the caps leave.

        Waits for calls under way rather than ask with too little: what they reserved and did not use comes back.
        """
        wanted = replace(prompt, thinking_tokens=self._room.of(info.name, prompt.effort))
        while True:
            taken = await self._ledger.spent() + self._reserved
            if self._budget.first_exceeded(taken + estimate_of(wanted, info)) is None:
                return wanted
            async with self._settled:
                # Nothing under way that could give anything back: it has to do with less.
                if self._reserved == Usage():
                    break
                await self._settled.wait()
        for thinking_tokens in self._room.smaller(info.name, prompt.effort):
            less = replace(wanted, thinking_tokens=thinking_tokens)
            if self._budget.first_exceeded(taken + estimate_of(less, info)) is None:
                return less
        return wanted  # the ledger refuses it

    def _without_secrets(self, value: Json) -> Json:
        """The answer without any of our secrets, however the model came by them."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = re.sub(re.escape(secret), _MASK, value, flags=re.IGNORECASE)
            return value
        if isinstance(value, list):
            return [self._without_secrets(item) for item in value]
        if isinstance(value, dict):
            return {name: self._without_secrets(item) for name, item in value.items()}
        return value

    async def _read_record(
        self, role: ModelRole, prompt: Prompt, info: ModelInfo, record: Json, output_type: type[T]
    ) -> T:
        told = record if isinstance(record, dict) else {}
        thinking, failure = _count(told.get("thinking")), told.get("failure")
        if isinstance(failure, dict):
            # Learnt from the record as from the answer, so that a replay asks with the same room.
            if failure.get("reason") == "truncated":
                self._room.cut(info.name, prompt.effort, thinking)
            raise ModelBadOutput(
                str(failure.get("message")),
                reason=str(failure.get("reason")),
                retryable=bool(failure.get("retryable")),
                context={"thinking": thinking},
            )
        self._room.learn(info.name, prompt.effort, thinking)
        self.cached_in += _count(told.get("cached_in"))
        await self._events.emit(
            EventType.MODEL_ANSWERED,
            {"role": str(role), "task": prompt.name, **{name: told.get(name) for name in _TOLD}},
        )
        return from_json(output_type, told.get("output"))

    def _wait_s(self, error: PinciteError, attempt: int, info: ModelInfo) -> float | None:
        """Seconds until the same model is asked again; None when the next one's turn has come."""
        # Does not count as a try: it was our cap that did not fit, not the model that failed.
        if error.reason in _TOO_MUCH_ASKED and self._room.of(info.name, "low"):
            self._room.refused(info.name)
            return 0.0
        if not error.retryable or attempt >= self._retries:
            return None
        # The model was there and answered: nothing gets better by waiting.
        if isinstance(error, ModelBadOutput) or error.reason == "model_mode_rejected":
            return 0.0
        wait_s = error.retry_after_s if error.retry_after_s is not None else 0.5 * 2**attempt
        return wait_s if wait_s <= LONGEST_WAIT_S else None


def _again(prompt: Prompt, error: PinciteError) -> Prompt:
    """The prompt of the next attempt: it says what was wrong, and leaves more room where there was too little.

    An answer that was cut because of thoughts gets room for these (`_room`); only one that was itself too long gets
    more of its own.
    """
    note = _NOTES.get(error.reason, "") if isinstance(error, ModelBadOutput) else prompt.note
    thinking = _count(error.context.get("thinking"))
    if error.reason != "truncated" or thinking >= _THOUGHTS_CUT * prompt.max_tokens_out:
        return replace(prompt, note="" if error.reason == "truncated" else note)
    room = min(prompt.max_tokens_out * 2, max(_LONGEST_ANSWER_TOKENS, prompt.max_tokens_out))
    return replace(prompt, note=note, max_tokens_out=room)


def _unfenced(prompt: Prompt) -> Messages:
    """The messages with a fence that is always the same: for counting and comparing."""
    return messages_of(prompt, "0" * FENCE_CHARS)


def estimate_of(prompt: Prompt, info: ModelInfo) -> Usage:
    """The most that one answer is expected to use: what is sent with a margin, all that may be thought and written."""
    tokens_in = _tokens_in(replace(prompt, thinking_tokens=0))
    cost = info.cost_usd(tokens_in, prompt.cap_tokens)
    return Usage(tokens_in=tokens_in, tokens_out=prompt.cap_tokens, cost_usd=cost or Decimal(0))


@lru_cache(maxsize=16)
def _tokens_in(prompt: Prompt) -> int:
    messages = _unfenced(prompt)
    return round((token_estimate(messages.system) + token_estimate(messages.user) + SCHEMA_TOKENS) * MARGIN)


def digest_of(prompt: Prompt) -> str:
    """What makes two prompts the same: all their words, without the fence."""
    messages = _unfenced(prompt)
    text = f"{messages.system}\0{messages.user}\0{prompt.max_tokens_out}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _outcome_of(made: Generation[T]) -> Outcome:
    usage = made.usage
    cost = usage.cost_usd or Decimal(0)
    value: dict[str, Json] = {
        "output": to_json(made.output),
        "model": made.model,
        "mode": made.mode,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cached_in": usage.cached_in,
        "thinking": thoughts_of(usage, json.dumps(to_json(made.output), ensure_ascii=False)),
        "cost_usd": None if usage.cost_usd is None else str(usage.cost_usd),
    }
    tried = ProviderAttempt(made.model, "ok", made.latency_ms, cost)
    return Outcome(value, Usage(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost_usd=cost), (tried,))


def _outcome_of_failure(error: ModelBadOutput) -> Outcome:
    """An answer that can't be used was paid all the same: its bill is settled, its failure is on record."""
    told = error.context
    cost = Decimal(str(told.get("cost_usd") or 0))
    usage = Usage(tokens_in=_count(told.get("tokens_in")), tokens_out=_count(told.get("tokens_out")), cost_usd=cost)
    tried = ProviderAttempt(str(told.get("model") or ""), error.reason, 0.0, cost)
    thinking = _count(told.get("thinking"))
    return Outcome({"failure": cast("Json", dict(error.as_dict())), "thinking": thinking}, usage, (tried,))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0

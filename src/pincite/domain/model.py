"""What is said to a language model and what comes back: prompts, answers with their bill, which models serve a role.

A prompt keeps what we say apart from what pages say: `instructions`, `context` and `closing` are ours (or the
user's), `material` is untrusted. `prompt_text` puts the untrusted part behind a fence that is new for every call.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


class ModelRole(StrEnum):
    """What a model is asked to do; a model can be chosen for each."""

    PLANNER = "planner"
    ANALYST = "analyst"
    VERIFIER = "verifier"
    WRITER = "writer"
    READER = "reader"


RESEARCH_ROLES = (ModelRole.PLANNER, ModelRole.ANALYST, ModelRole.VERIFIER, ModelRole.WRITER)
"""The roles of a run that have an extractive twin."""


@dataclass(frozen=True, slots=True)
class Material:
    """Untrusted text for a prompt: lines with ids that the model may name. Nothing in it is an instruction."""

    title: str
    lines: tuple[tuple[str, str], ...] = field(repr=False)


Effort = Literal["none", "minimal", "low", "medium", "high", "max"]
"""How long a model that thinks shall think; each provider's own knob is set from it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model without its fence.

    `name` and `version` are those of the prompt file that gave `instructions`. What changes least comes first, so that
    the prompt caches of providers hit: `instructions`, `context` and `shared` are the same for many calls of a run,
    `task`, `material` and `closing` belong to this call. `note` says what was wrong with the last answer, when this is
    another attempt. `max_tokens_out` is room for the answer; `thinking_tokens` is room beside it, which whoever makes
    the call sets, as it does `fence` (empty: a new one).
    """

    name: str
    version: str
    instructions: str
    context: tuple[str, ...] = ()
    shared: tuple[Material, ...] = ()
    task: tuple[str, ...] = ()
    material: tuple[Material, ...] = ()
    closing: str = ""
    note: str = ""
    max_tokens_out: int = 2_000
    effort: Effort = "low"
    thinking_tokens: int = 0
    fence: str = field(default="", repr=False)

    @property
    def cap_tokens(self) -> int:
        """The most the model may write, thoughts included: what providers count against their cap."""
        return self.max_tokens_out + self.thinking_tokens


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one call and their price; `cost_usd` is None when nobody knows it. `estimated`: no usage was told.

    `thinking` of `tokens_out` were thoughts, None where the provider does not say; `cached_in` of `tokens_in` came from
    its prompt cache.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached_in: int = 0
    cost_usd: Decimal | None = Decimal(0)
    estimated: bool = False
    thinking: int | None = None


@dataclass(frozen=True, slots=True)
class Generation(Generic[T]):
    """A model's answer in the type that was asked for, with its bill."""

    output: T
    usage: ModelUsage
    model: str
    mode: str = ""
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of a streamed answer; the last one carries the bill and no text."""

    text: str
    usage: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as configured. Prices are dollars for a million tokens, None when unknown."""

    name: str
    provider: str
    usd_per_million_in: Decimal | None = None
    usd_per_million_out: Decimal | None = None

    @property
    def price_known(self) -> bool:
        """Whether a call's cost can be told before it is made."""
        return self.usd_per_million_in is not None and self.usd_per_million_out is not None

    def cost_usd(self, tokens_in: int, tokens_out: int) -> Decimal | None:
        """The price of so many tokens, none of them cached; None when unknown."""
        if self.usd_per_million_in is None or self.usd_per_million_out is None:
            return None
        return (tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out) / Decimal(1_000_000)

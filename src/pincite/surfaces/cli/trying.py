"""One call to each thing that is set up: does it answer, how fast, for how much."""

import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import anyio

from pincite.domain.errors import PinciteError, Timeout

if TYPE_CHECKING:
    from pincite.settings import Settings

PATIENCE_S = 30.0
"""Slow models think for a while even about one word; nobody waits longer for a yes or no."""
QUERY = "PostgreSQL documentation"

Call = Callable[[], Awaitable[Decimal | None]]


@dataclass(frozen=True, slots=True)
class Tried:
    """How one call went; `cost_usd` is None where nobody knows the price."""

    name: str
    seconds: float
    cost_usd: Decimal | None = None
    failure: PinciteError | None = None

    @property
    def said(self) -> str:
        """The outcome in a line, with what to do about a failure."""
        if self.failure is not None:
            hint = f" {self.failure.hint}" if self.failure.hint else ""
            return f"NO: {self.failure.message} [{self.failure.code}].{hint}"
        price = "price unknown" if self.cost_usd is None else f"${self.cost_usd:.6f}".rstrip("0").rstrip(".")
        return f"answers in {self.seconds:.1f} s, {price}"


async def try_all(settings: "Settings", *, searches: bool = True) -> list[Tried]:
    """A call to the model and, unless not wanted, to each search engine that the settings lead to, side by side.

    Errors: those of `resolve_sources`.
    """
    from pincite.wiring.model_door import wants_models
    from pincite.wiring.sources import resolve_sources

    found: list[Tried] = []

    async def one(name: str, call: Call) -> None:
        found.append(await tried(name, call))

    async with anyio.create_task_group() as tasks:
        if wants_models(settings):
            tasks.start_soon(one, f"model {settings.llm}", lambda: _ask_model(settings))
        for name in resolve_sources(settings).providers if searches else ():
            tasks.start_soon(one, f"search {name}", lambda name=name: _ask_engine(settings, name))
    return sorted(found, key=lambda tried: tried.name)


async def tried(name: str, call: Call) -> Tried:
    """How a call went, within bounds of time."""
    started = time.monotonic()
    try:
        with anyio.fail_after(PATIENCE_S):
            cost = await call()
    except PinciteError as error:
        return Tried(name, time.monotonic() - started, failure=error)
    except TimeoutError:
        late = Timeout(f"no answer within {PATIENCE_S:.0f} s")
        return Tried(name, time.monotonic() - started, failure=late)
    return Tried(name, time.monotonic() - started, cost)


async def _ask_model(settings: "Settings") -> Decimal | None:
    """The price of one word from the model."""
    from pincite.domain.model import ModelRole, Prompt
    from pincite.runtime.clock import SystemClock
    from pincite.runtime.kept_open import keep_open
    from pincite.wiring.model_door import open_models

    prompt = Prompt("setup", "1", "Answer with the single word: ready", closing="Answer now.", max_tokens_out=200)
    async with keep_open() as kept:
        model = await open_models(settings, SystemClock(), kept)
        role = next(role for role in ModelRole if model.info(role))
        return (await model.generate(role, prompt, str)).usage.cost_usd


async def _ask_engine(settings: "Settings", name: str) -> Decimal | None:
    """The price of one search, in a home of its own: a remembered answer would tell nothing."""
    from pincite.engine import Engine

    with tempfile.TemporaryDirectory(prefix="pincite-") as home:
        own = settings.model_dump(exclude_unset=True) | {"source": (name,), "home": home}
        async with Engine.from_settings(**own) as engine:
            return (await engine.search(QUERY)).info.cost_usd

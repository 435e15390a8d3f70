"""Models by role: which one answers, in what mode, and what its answer is worth as a typed value."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import TypeVar

import anyio

from pincite.domain.errors import InvalidSetting, ModelBadOutput
from pincite.domain.model import Generation, ModelInfo, ModelRole, ModelUsage, Prompt, TextPiece
from pincite.llm.answers import read_answer, schema_of
from pincite.llm.catalogue import ModelSpec, info_of
from pincite.llm.client import ModelClient, RawAnswer, load_modules
from pincite.llm.room import thoughts_of
from pincite.llm.transport import model_http_client
from pincite.ports import Clock

T = TypeVar("T")


class ModelService:
    """Implements `ports.LanguageModel`. Open it with `async with`; it holds one connection pool for all models.

    Args:
        chains: for each role its model and the fallbacks, in order. Equal specs share a client.
        clock: the time, for latencies.
        output_mode: `auto`, `native`, `tool` or `prompted`.
        temperature: sampling temperature, None for the model's own.
        timeout_s: seconds for one answer.
        concurrency: calls at the same time.
    """

    def __init__(
        self,
        chains: Mapping[ModelRole, Sequence[ModelSpec]],
        clock: Clock,
        *,
        output_mode: str = "auto",
        temperature: float | None = None,
        timeout_s: float = 60.0,
        concurrency: int = 8,
    ) -> None:
        self._clock = clock
        self._http = model_http_client(timeout_s)
        self._turns = anyio.Semaphore(concurrency)
        clients = {
            spec: ModelClient(spec, self._http, mode=output_mode, temperature=temperature, timeout_s=timeout_s)
            for chain in chains.values()
            for spec in chain
        }
        self._chains = {role: tuple(clients[spec] for spec in chain) for role, chain in chains.items()}
        self._infos = {role: tuple(info_of(spec) for spec in chain) for role, chain in chains.items()}
        self._specs = tuple(clients)

    async def __aenter__(self) -> "ModelService":
        """Begin to import what speaks with the models, so that it is there when the first search has answered."""
        Thread(target=self._load, name="pincite-models", daemon=True).start()
        return self

    def _load(self) -> None:
        for spec in self._specs:
            with suppress(ImportError, InvalidSetting):  # whoever asks this model is told
                load_modules(spec)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for chain in self._chains.values():
            for client in chain:
                await client.aclose()
        await self._http.aclose()

    def info(self, role: ModelRole) -> Sequence[ModelInfo]:
        """The model of this role and its fallbacks, in order."""
        return self._infos.get(role, ())

    async def generate(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, choice: int = 0, deadline_s: float | None = None
    ) -> Generation[T]:
        """The answer as a value of `output_type`. Errors: as `ports.LanguageModel.generate`."""
        client = self._chains[role][choice]
        schema = None if output_type is str else schema_of(output_type)
        async with self._turns:
            started_s = self._clock.monotonic_s()
            raw = await client.ask(prompt, schema, deadline_s=deadline_s)
            latency_ms = (self._clock.monotonic_s() - started_s) * 1000
        try:
            output = read_answer(raw.text, output_type, finish=raw.finish, refusal=raw.refusal)
        except ModelBadOutput as error:
            raise _with_bill(error, raw, client) from None
        return Generation(output, raw.usage, client.spec.label, raw.mode or "text", latency_ms)

    async def stream_text(
        self, role: ModelRole, prompt: Prompt, *, choice: int = 0, deadline_s: float | None = None
    ) -> AsyncIterator[TextPiece]:
        """The answer as it comes; the last piece carries the bill. Errors: as `generate`."""
        client = self._chains[role][choice]
        async with self._turns:
            async for piece in client.stream(prompt, deadline_s=deadline_s):
                yield piece


def _with_bill(error: ModelBadOutput, raw: RawAnswer, client: ModelClient) -> ModelBadOutput:
    """The error with what the useless answer used. A server that ignores schemas is asked by prompt from now on."""
    if error.reason in ("not_json", "wrong_shape") and raw.mode in ("native", "tool"):
        client.lower_mode()
    return ModelBadOutput(
        f"{client.spec.label}: {error.message}",
        reason=error.reason,
        retryable=error.retryable,
        context={"model": client.spec.label, **bill_context(raw.usage, raw.text)},
    )


def bill_context(usage: ModelUsage, text: str = "") -> dict[str, str | int | None]:
    """The bill of a useless answer as an error's context."""
    cost = None if usage.cost_usd is None else str(usage.cost_usd)
    return {
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "thinking": thoughts_of(usage, text),
        "cost_usd": cost,
    }

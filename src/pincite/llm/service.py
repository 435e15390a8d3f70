"""Models by role: which one answers, in what mode, and what its answer is worth as a typed value."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from threading import Thread
from types import TracebackType
from typing import Any, Final, TypeVar, cast

import anyio

from pincite.domain.codec import from_json
from pincite.domain.errors import InvalidSetting, ModelBadOutput, ParseError
from pincite.domain.events import Json
from pincite.domain.model import Generation, ModelInfo, ModelRole, ModelUsage, Prompt
from pincite.llm.catalogue import ModelSpec, info_of, thoughts_of
from pincite.llm.client import ModelClient, RawAnswer, load_modules
from pincite.llm.transport import model_http_client
from pincite.ports import Clock

T = TypeVar("T")

# Far above any answer asked for; a stream that never ends is cut there.
MAX_ANSWER_CHARS: Final = 400_000
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_CUT = frozenset({"length", "max_tokens"})


def schema_of(output_type: type[object]) -> dict[str, Any]:
    """The JSON Schema of a dataclass in the strict form: every member required, no others."""
    return cast("dict[str, Any]", json.loads(_schema_text(cast("Any", output_type))))


@cache
def _schema_text(output_type: Any) -> str:  # a dataclass
    # Imported late: pydantic is loaded already wherever settings are, its schema generator is not.
    from pydantic import TypeAdapter

    return json.dumps(_strict(TypeAdapter(output_type).json_schema()))


def _strict(node: Any) -> Any:  # any JSON
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    kept = {
        name: {inner: _strict(schema) for inner, schema in value.items()}
        if name in ("properties", "$defs")
        else _strict(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str))
        and name != "default"
        and not (name == "description" and properties)
    }
    if isinstance(properties, dict):
        # What strict modes ask for (OpenAI, Structured Outputs): all members required, no others.
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept


def read_answer(text: str, output_type: type[T], *, finish: str = "", refusal: str = "") -> T:
    """The value of the type in the model's text.

    Args:
        text: the whole answer; prose around the JSON and thoughts before it are skipped.
        output_type: a dataclass, or `str` for the text itself.
        finish: why the model stopped, as the provider says.
        refusal: what the model said instead of answering.

    Errors: ModelBadOutput (`refusal`, `empty`, `answer_too_large`, `truncated`, `not_json` or `wrong_shape`).
    """
    if refusal or finish == "content_filter":
        raise ModelBadOutput("the model refused to answer", reason="refusal", retryable=False)
    if len(text) > MAX_ANSWER_CHARS:
        raise ModelBadOutput(
            f"the model's answer has {len(text)} characters", reason="answer_too_large", retryable=True
        )
    plain = _THOUGHT.sub("", text).strip()
    if not plain:
        reason = "truncated" if finish in _CUT else "empty"
        raise ModelBadOutput("the model's answer is empty", reason=reason, retryable=True)
    if output_type is str:
        if finish in _CUT:
            raise ModelBadOutput("the model's text ends in the middle", reason="truncated", retryable=True)
        return cast("T", plain)
    data = _find_json(plain, cut=finish in _CUT)
    if not dataclasses.is_dataclass(output_type):
        raise TypeError(f"{output_type!r} is no dataclass")
    try:
        return cast("T", from_json(output_type, data))
    except ParseError as error:
        raise ModelBadOutput(
            f"the model's JSON has another shape: {error.message[:300]}", reason="wrong_shape", retryable=True
        ) from None


def _find_json(text: str, *, cut: bool) -> Json:
    """The first JSON object in the text."""
    decoder = json.JSONDecoder()
    # Models write a sentence before the object, or fence it: the first `{` that reads as JSON is taken. 20 tries bound
    # a text full of braces.
    position = text.find("{")
    tries = 0
    while position >= 0 and tries < 20:
        try:
            found, _ = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position, tries = text.find("{", position + 1), tries + 1
            # An object that was cut holds whole ones inside: one of those is not the answer.
            if tries == 1 and (cut or _unfinished(text)):
                break
            continue
        return cast("Json", found)
    if cut or _unfinished(text):
        raise ModelBadOutput("the model's JSON ends in the middle", reason="truncated", retryable=True)
    raise ModelBadOutput("the model's answer is not JSON", reason="not_json", retryable=True)


def _unfinished(text: str) -> bool:
    """Whether the text begins like an object and never closes it."""
    body = text.lstrip("` \njson")
    return body.startswith("{") and not body.rstrip("` \n").endswith("}")


class ModelService:
    """Implements `ports.LanguageModel`. Open it with `async with`; it holds one connection pool for all models.

    Args:
        chains: for each role its model and the fallbacks, in order. Equal specs share a client.
        output_mode: `auto`, `native`, `tool` or `prompted`.
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
            # Equal specs share a client, and with it what was learnt of the modes that its server knows.
            spec: ModelClient(spec, self._http, mode=output_mode, temperature=temperature, timeout_s=timeout_s)
            for chain in chains.values()
            for spec in chain
        }
        self._chains = {role: tuple(clients[spec] for spec in chain) for role, chain in chains.items()}
        self._infos = {role: tuple(info_of(spec) for spec in chain) for role, chain in chains.items()}
        self._specs = tuple(clients)

    async def __aenter__(self) -> "ModelService":
        """Begin to import what speaks with the models, so that it is there when the first search has answered."""
        # A daemon: a run that ends without asking any model must not wait for an import.
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


def bill_context(usage: ModelUsage, text: str) -> dict[str, str | int | None]:
    """The bill of a useless answer as an error's context."""
    cost = None if usage.cost_usd is None else str(usage.cost_usd)
    return {
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "thinking": thoughts_of(usage, text),
        "cost_usd": cost,
    }

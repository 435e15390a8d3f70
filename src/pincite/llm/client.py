"""One model of one provider through pydantic-ai: a prompt's messages in, text with its usage out. One attempt each."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from pincite.domain.errors import ExtraNotInstalled, ModelUnavailable, PinciteError
from pincite.domain.model import ModelUsage, TextPiece
from pincite.domain.prompt_text import Messages
from pincite.llm.catalogue import ANTHROPIC, COMPATIBLE, GOOGLE, PACKAGES, ModelSpec
from pincite.llm.failures import translated, unbilled
from pincite.llm.prices import priced
from pincite.text.tokens import token_estimate

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

Mode = Literal["native", "tool", "prompted"]
OUTPUT_NAME: Final = "answer"
_SCHEMA_WORDS: Final = (
    "Answer with one JSON object and nothing else: no prose, no code fence. It must follow this JSON Schema:\n"
)


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back: the text, why the model stopped, what it used."""

    text: str
    finish: str
    refusal: str
    usage: ModelUsage
    mode: Mode | None


class ModelClient:
    """Speaks with one model. In mode `auto` it learns what the server can do and falls back to plain prompting."""

    def __init__(
        self,
        spec: ModelSpec,
        http: "httpx2.AsyncClient",
        *,
        mode: str = "auto",
        temperature: float | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        self.spec = spec
        self._http = http
        self._mode = mode
        self._temperature = temperature
        self._timeout_s = timeout_s
        self._model: Model[Any] | None = None

    async def ask(
        self, messages: Messages, schema: dict[str, Any] | None, *, max_tokens: int, deadline_s: float | None = None
    ) -> RawAnswer:
        """One answer.

        Args:
            messages: what to send.
            schema: JSON Schema of the answer, None for plain text.
            max_tokens: the most the model may write.
            deadline_s: seconds left, when fewer than the time for one answer.

        Errors:
            ModelUnavailable, ModelBadOutput, ProviderAuth, ProviderQuota, RateLimited, ExtraNotInstalled.
        """
        model = self._built()
        mode = self.mode if schema is not None else None
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        limit_s = min(self._timeout_s, self._timeout_s if deadline_s is None else deadline_s)
        try:
            with anyio.fail_after(max(limit_s, 0.01)):
                response = await model_request(
                    model,
                    _history(messages, schema if mode == "prompted" else None),
                    model_settings=self._settings(max_tokens),
                    model_request_parameters=_parameters(schema, mode),
                )
        except TimeoutError:
            raise self._too_slow(limit_s) from None
        except (AgentRunError, UserError, ValueError) as error:
            raise self._failed(error, mode) from None
        return self._raw(response, messages, mode)

    async def stream(
        self, messages: Messages, *, max_tokens: int, deadline_s: float | None = None
    ) -> AsyncIterator[TextPiece]:
        """The answer as it comes, then its bill. Errors: as `ask`; a stream that breaks is `model_connection`."""
        model = self._built()
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError, UserError

        ends_at = anyio.current_time() + min(self._timeout_s, self._timeout_s if deadline_s is None else deadline_s)
        written: list[str] = []
        try:
            async with model_request_stream(
                model, _history(messages, None), model_settings=self._settings(max_tokens)
            ) as streamed:
                async with aclosing(_texts(streamed)) as texts:
                    while True:
                        with anyio.fail_after(max(ends_at - anyio.current_time(), 0.01)):
                            piece = await anext(texts, None)
                        if piece is None:
                            break
                        written.append(piece)
                        yield TextPiece(piece)
                usage = streamed.usage
                if self._broke_off(streamed):
                    raise ModelUnavailable(
                        f"{self.spec.label}: the answer broke off",
                        reason="model_connection",
                        context={"model": self.spec.label},
                    )
                yield TextPiece(
                    "",
                    self._usage(
                        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, messages, "".join(written)
                    ),
                )
        except TimeoutError:
            raise self._too_slow(self._timeout_s) from None
        except (AgentRunError, UserError, ValueError) as error:
            raise self._failed(error, None) from None

    @property
    def mode(self) -> Mode:
        """How typed answers are asked for now."""
        match self._mode:
            case "native" | "tool" | "prompted":
                return self._mode
        profile = self._built().profile
        if profile.get("supports_json_schema_output", False):
            return "native"
        return "tool" if profile.get("supports_tools", True) else "prompted"

    def lower_mode(self) -> bool:
        """Ask by prompt from now on, where the mode was for us to choose; whether that is a change."""
        if self._mode != "auto":
            return False
        self._mode = "prompted"
        return True

    def _broke_off(self, streamed: Any) -> bool:  # a StreamedResponse
        """Whether the stream ended without an end: Anthropic and Google tell usage from the first piece on."""
        if self.spec.protocol in (ANTHROPIC, GOOGLE):
            return streamed.finish_reason is None
        return not streamed.usage.output_tokens and "finish_reason" not in (streamed.provider_details or {})

    def _settings(self, max_tokens: int) -> Any:  # a TypedDict of pydantic-ai
        settings: dict[str, Any] = {"max_tokens": max_tokens, "timeout": self._timeout_s, "max_retries": 0}
        if self._temperature is not None:
            settings["temperature"] = self._temperature
        return settings

    def _too_slow(self, limit_s: float) -> PinciteError:
        return ModelUnavailable(
            f"{self.spec.label}: no answer in {limit_s:.0f} s",
            reason="model_timeout",
            context={"model": self.spec.label},
        )

    def _failed(self, error: Exception, mode: Mode | None) -> PinciteError:
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, PinciteError):
                return inner
            inner = inner.__cause__ or inner.__context__
        ours = translated(error, self.spec.label)
        if ours.reason == "model_rejected" and mode in ("native", "tool") and self.lower_mode():
            rejected = ModelUnavailable(
                f"{self.spec.label} does not take a schema; asking by prompt from now on",
                reason="model_mode_rejected",
                retryable=True,
                context={"model": self.spec.label},
            )
            return unbilled(rejected)
        return ours

    def _raw(self, response: "ModelResponse", messages: Messages, mode: Mode | None) -> RawAnswer:
        from pydantic_ai.messages import TextPart, ToolCallPart

        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        calls = [
            part.args_as_json_str()
            for part in response.parts
            if isinstance(part, ToolCallPart) and part.tool_name == OUTPUT_NAME
        ]
        text = calls[0] if calls else "".join(texts)
        details = response.provider_details or {}
        used = response.usage
        usage = self._usage(used.input_tokens, used.output_tokens, used.cache_read_tokens, messages, text)
        return RawAnswer(text, response.finish_reason or "", str(details.get("refusal") or ""), usage, mode)

    def _usage(self, tokens_in: int, tokens_out: int, cached: int, messages: Messages, text: str) -> ModelUsage:
        """What the provider says was used; our estimate where it says nothing."""
        told = bool(tokens_in or tokens_out)
        return priced(
            self.spec,
            tokens_in if told else token_estimate(messages.system) + token_estimate(messages.user),
            tokens_out if told else token_estimate(text),
            cached if told else 0,
            estimated=not told,
        )

    def _built(self) -> "Model[Any]":
        if self._model is None:
            self._model = _build(self.spec, self._http)
        return self._model


async def _texts(streamed: Any) -> AsyncGenerator[str]:  # a StreamedResponse
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    async for event in streamed:
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
            yield event.part.content
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta) and event.delta.content_delta:
            yield event.delta.content_delta


def _history(messages: Messages, prompted_schema: dict[str, Any] | None) -> list[Any]:
    import json

    from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

    system = messages.system
    if prompted_schema is not None:
        system = f"{system}\n\n{_SCHEMA_WORDS}{json.dumps(prompted_schema, separators=(',', ':'))}"
    return [ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(messages.user)])]


def _parameters(schema: dict[str, Any] | None, mode: Mode | None) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if schema is None or mode is None or mode == "prompted":
        return ModelRequestParameters()
    if mode == "native":
        described = OutputObjectDefinition(json_schema=schema, name=OUTPUT_NAME, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=described)
    tool = ToolDefinition(
        name=OUTPUT_NAME, description="Give the answer.", parameters_json_schema=schema, kind="output", strict=True
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _build(spec: ModelSpec, http: "httpx2.AsyncClient") -> "Model[Any]":
    try:
        import pydantic_ai

        pydantic_ai.BANNER_ENABLED = False
        return _of_protocol(spec, http)
    except ImportError as error:
        package = PACKAGES[spec.protocol]
        raise ExtraNotInstalled(
            f"the model {spec.label} needs the packages of an extra: {error.name or package}",
            hint='pip install "pincite[llm]"' if package == "openai" else f'pip install "pincite[llm,{package}]"',
        ) from None


def _of_protocol(spec: ModelSpec, http: "httpx2.AsyncClient") -> "Model[Any]":
    if spec.protocol == ANTHROPIC:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(
            spec.name, provider=AnthropicProvider(api_key=spec.api_key, base_url=spec.base_url, http_client=http)
        )
    if spec.protocol == GOOGLE:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(
            spec.name, provider=GoogleProvider(api_key=spec.api_key, base_url=spec.base_url, http_client=http)
        )
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    # Servers that only speak like OpenAI know the older name of the limit on what is written.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=spec.protocol != COMPATIBLE)
    provider = OpenAIProvider(base_url=spec.base_url, api_key=spec.api_key or "none", http_client=http)
    return OpenAIChatModel(spec.name, provider=provider, profile=profile)

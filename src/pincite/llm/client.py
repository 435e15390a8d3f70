"""One model of one provider through pydantic-ai: a prompt's messages in, text with its usage out. One attempt each."""

import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
import anyio.to_thread

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting, ModelUnavailable, PinciteError, ProviderAuth
from pincite.domain.frozen import dataclass
from pincite.domain.model import Messages, ModelUsage, Prompt, messages_of
from pincite.llm.catalogue import ANTHROPIC, COMPATIBLE, FOREIGN, GOOGLE, OPENAI, PACKAGES, RESPONSES, ModelSpec, priced
from pincite.llm.transport import translated, unbilled
from pincite.runtime.system import install_extra
from pincite.text.tokens import token_estimate

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

Mode = Literal["native", "tool", "prompted"]
OUTPUT_NAME: Final = "answer"
# What providers call the part of the tokens written that nobody sees.
_THOUGHTS: Final = ("reasoning_tokens", "thinking_tokens", "thoughts_tokens")
# Besides Anthropic's own protocol these want the end of the cached prefix marked.
_MARKING: Final = ("bedrock", "openrouter")
# What the providers of pydantic-ai call a key and an address; each is given those that its constructor takes.
_KEY_NAMES: Final = ("api_key", "token")
_URL_NAMES: Final = ("base_url", "azure_endpoint", "api_host", "api_base")
# Names of pydantic-ai for what speaks a protocol as its own provider does.
_PROTOCOLS: Final = {ANTHROPIC: "anthropic", GOOGLE: "google", RESPONSES: "openai-responses"}
# Tokens for thinking where a model takes a number instead of a word. Chosen, not measured.
_CLAUDE_BUDGETS: Final = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "max": 32_000}
_LEAST_CLAUDE_BUDGET: Final = 1_024  # the API refuses less
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
        self._opened = AsyncExitStack()
        self._building = anyio.Lock()

    async def aclose(self) -> None:
        """Close connections that the provider opened for itself."""
        await self._opened.aclose()

    async def ask(self, prompt: Prompt, schema: dict[str, Any] | None, *, deadline_s: float | None = None) -> RawAnswer:
        """One answer.

        Args:
            prompt: what to send, how long to think, the most that may be thought and written.
            schema: JSON Schema of the answer, None for plain text.
            deadline_s: seconds left, when fewer than the time for one answer.

        Errors: ModelUnavailable, ModelBadOutput, ProviderAuth, ProviderQuota, RateLimited, ExtraNotInstalled.
        """
        model = await self._ready()
        mode = self.mode if schema is not None else None
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        messages = messages_of(prompt)
        limit_s = min(self._timeout_s, self._timeout_s if deadline_s is None else deadline_s)
        try:
            with anyio.fail_after(max(limit_s, 0.01)):
                response = await model_request(
                    model,
                    self._history(messages, schema if mode == "prompted" else None),
                    model_settings=self._settings(prompt),
                    model_request_parameters=_parameters(schema, mode),
                )
        except TimeoutError:
            raise ModelUnavailable(
                f"{self.spec.label}: no answer in {limit_s:.0f} s",
                reason="model_timeout",
                context={"model": self.spec.label},
            ) from None
        except (AgentRunError, UserError, ValueError) as error:
            raise self._failed(error, mode) from None
        return self._raw(response, messages, mode)

    @property
    def mode(self) -> Mode:
        """How typed answers are asked for now."""
        match self._mode:
            case "native" | "tool" | "prompted":
                return self._mode
        profile: Any = {} if self._model is None else self._model.profile
        if profile.get("supports_json_schema_output", False):
            return "native"
        return "tool" if profile.get("supports_tools", True) else "prompted"

    def lower_mode(self) -> bool:
        """Ask by prompt from now on, where the mode was for us to choose; whether that is a change."""
        if self._mode != "auto":
            return False
        self._mode = "prompted"
        return True

    def _settings(self, prompt: Prompt) -> Any:  # a TypedDict of pydantic-ai
        settings: dict[str, Any] = {
            "max_tokens": prompt.cap_tokens,
            "timeout": self._timeout_s,
            # Retries are the service's, which counts and pays each of them; a client that retries by itself would hide
            # them.
            "max_retries": 0,
            "thinking": False if prompt.effort == "none" else prompt.effort,
            "cache": {"messages": False},  # the prefix alone: no conversation follows
        }
        if self._temperature is not None:
            settings["temperature"] = self._temperature
        if self.spec.protocol == RESPONSES:
            settings["openai_store"] = False  # kept for 30 days by default
        if self.spec.protocol == ANTHROPIC:
            settings |= self._thinking_budget(prompt)
        return settings

    def _thinking_budget(self, prompt: Prompt) -> dict[str, Any]:
        """For Claude models that take a budget instead of an effort: it must be below the cap, and 1,024 at least."""
        profile: Any = {} if self._model is None else self._model.profile
        adaptive = profile.get("anthropic_supports_adaptive_thinking") or not profile.get("supports_thinking")
        if adaptive or prompt.effort == "none":
            return {}
        budget = min(prompt.thinking_tokens, _CLAUDE_BUDGETS[prompt.effort])
        if budget < _LEAST_CLAUDE_BUDGET:
            return {"thinking": False}
        return {"anthropic_thinking": {"type": "enabled", "budget_tokens": budget}}

    def _failed(self, error: Exception, mode: Mode | None) -> PinciteError:
        # pydantic-ai wraps what the transport raises: an error of ours, which says more, stands somewhere in the chain.
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, PinciteError):
                return inner
            inner = inner.__cause__ or inner.__context__
        ours = translated(error, self.spec.label)
        # Servers that only speak like OpenAI refuse a schema in many words: a refusal in these modes is taken for that,
        # once.
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
        # A model that was given a tool may talk beside calling it; the call is the answer.
        text = calls[0] if calls else "".join(texts)
        details = response.provider_details or {}
        usage = self._usage(response.usage, messages, text)
        return RawAnswer(text, response.finish_reason or "", str(details.get("refusal") or ""), usage, mode)

    def _usage(self, used: Any, messages: Messages, text: str) -> ModelUsage:  # a RequestUsage
        """What the provider says was used; our estimate where it says nothing."""
        # All or nothing: figures of theirs beside estimates of ours would add up to a bill that nobody meant.
        told = bool(used.input_tokens or used.output_tokens)
        thoughts = [used.details[name] for name in _THOUGHTS if name in used.details]
        return priced(
            self.spec,
            used.input_tokens if told else token_estimate(messages.system) + token_estimate(messages.user),
            used.output_tokens if told else token_estimate(text),
            used.cache_read_tokens if told else 0,
            estimated=not told,
            thinking=thoughts[0] if thoughts and told else None,
        )

    async def _ready(self) -> "Model[Any]":
        """The model. What has to be imported for it is imported in a worker thread: it takes seconds."""
        # Roles that begin together share one client: the second waits, and does not import and build it again.
        async with self._building:
            if self._model is None:
                with self._missing_named():
                    await anyio.to_thread.run_sync(load_modules, self.spec)
                    self._model = await self._build()
        return self._model

    async def _build(self) -> "Model[Any]":
        if self.spec.protocol != FOREIGN:
            return _model_of(self.spec, self._http)
        from pydantic_ai.exceptions import UserError

        try:
            model = _model_of(self.spec)
        except UserError as error:  # a key, an endpoint or a region is missing; it says which variable holds it
            missing = ProviderAuth(
                f"{self.spec.label}: {error}", reason="model_key_missing", hint="Set it, or give the key in llm_keys."
            )
            raise unbilled(missing) from None
        return await self._opened.enter_async_context(model)

    @contextmanager
    def _missing_named(self) -> Iterator[None]:
        try:
            yield
        except ImportError as error:
            extra = PACKAGES.get(self.spec.protocol, "")
            hint = f"Run: {install_extra('llm', *([extra] if extra else []))}"
            if self.spec.protocol == FOREIGN:
                hint = f'pip install "pydantic-ai-slim[{self.spec.provider}]"'
            missing = ExtraNotInstalled(
                f"the model {self.spec.label} needs the packages of an extra: {error.name or extra}", hint=hint
            )
            raise unbilled(missing) from None

    def _history(self, messages: Messages, prompted_schema: dict[str, Any] | None) -> list[Any]:
        import json

        from pydantic_ai.messages import CachePoint, ModelRequest, SystemPromptPart, UserPromptPart

        system = messages.system
        if prompted_schema is not None:
            system = f"{system}\n\n{_SCHEMA_WORDS}{json.dumps(prompted_schema, separators=(',', ':'))}"
        # Marked where the provider wants marks. Others find the prefix themselves, and some servers that only speak
        # like OpenAI take no content in several parts.
        marked = self.spec.protocol == ANTHROPIC or self.spec.provider in _MARKING
        user: str | list[str | CachePoint] = messages.user
        if marked and messages.prefix and messages.rest:
            user = [messages.prefix, CachePoint(), messages.rest]
        return [ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(user)])]


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


def load_modules(spec: ModelSpec) -> None:
    """Import what speaks with this model. Errors: ImportError; InvalidSetting for a provider that has no models."""
    with _without_command_lines():
        import pydantic_ai
    import pydantic_ai.direct
    from pydantic_ai.exceptions import UnsupportedSettingWarning

    pydantic_ai.BANNER_ENABLED = False
    # A provider that has no knob for a setting ignores it: nothing that whoever asks a question should read about.
    warnings.simplefilter("ignore", UnsupportedSettingWarning)
    if spec.protocol == ANTHROPIC:
        import pydantic_ai.models.anthropic
    elif spec.protocol == GOOGLE:
        import pydantic_ai.models.google
    elif spec.protocol == FOREIGN:
        from pydantic_ai.providers import infer_provider_class

        try:
            infer_provider_class(spec.provider)
        except ValueError:
            raise unbilled(
                InvalidSetting(
                    f"the model {spec.label}: pydantic-ai serves no models under the name {spec.provider!r}",
                    reason="model_provider_unknown",
                    hint="Write PROVIDER:NAME with one of its model providers (https://ai.pydantic.dev/models/).",
                )
            ) from None
    else:
        import pydantic_ai.models.openai


@contextmanager
def _without_command_lines() -> Iterator[None]:
    """Import httpx, which pydantic-ai does, as where its command line is not installed: a sixth of all CPU time here.

    httpx itself goes on without it then. Nothing else imports that module by itself, and afterwards it can be had.
    """
    name = "httpx._main"
    if "httpx" in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # the documented way to have an import fail
    try:
        yield
    finally:
        if sys.modules.get(name) is None:
            sys.modules.pop(name, None)


def _model_of(spec: ModelSpec, http: "httpx2.AsyncClient | None" = None) -> "Model[Any]":
    """The model by pydantic-ai's own name for it, over this client.

    Without one its provider makes its own, and reads what is not given from its environment.
    """
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import Provider, infer_provider_class

    def provider_of(name: str) -> Provider[Any]:
        kind = infer_provider_class(name)
        takes = inspect.signature(kind.__init__).parameters
        key = spec.api_key or ("none" if http else "")
        given = {**dict.fromkeys(_KEY_NAMES, key), **dict.fromkeys(_URL_NAMES, spec.base_url), "http_client": http}
        return kind(**{name: value for name, value in given.items() if value and name in takes})

    if spec.protocol not in (OPENAI, COMPATIBLE):
        return infer_model(f"{_PROTOCOLS.get(spec.protocol, spec.provider)}:{spec.name}", provider_of)
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    # Servers that only speak like OpenAI know the older name of the limit on what is written.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=spec.protocol != COMPATIBLE)
    return OpenAIChatModel(spec.name, provider=provider_of("openai"), profile=profile)

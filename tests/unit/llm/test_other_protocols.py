"""Anthropic and Google: the official clients against the shipped fakes, so that these can't drift, then ours."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anthropic
import pytest
from google import genai
from google.genai import errors as google_errors
from google.genai import types as google_types
from tests.fakes.models import AnthropicServer, GoogleServer, ModelServer, Trouble

from pincite.domain.errors import PinciteError
from pincite.domain.model import Generation, Material, ModelRole, Prompt
from pincite.domain.report import Mode
from pincite.engine import Engine
from pincite.llm.catalogue import Endpoint, parse_model
from pincite.llm.client import ModelClient
from pincite.llm.service import ModelService
from pincite.llm.transport import model_http_client
from pincite.research.model.outputs import PlannedQuestion
from pincite.research.model.prompts import instructions
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel
from pincite.wiring.models import model_chains

KEY = "right-key-1234567"
NAMES = {"anthropic": "claude-sonnet-4-6", "google": "gemini-2.5-flash"}
SERVERS: dict[str, type[ModelServer]] = {"anthropic": AnthropicServer, "google": GoogleServer}
PROMPT = Prompt("planner", "1", instructions("planner"), context=("Question: How tall is the Varden lighthouse?",))
# Of the official Google client itself, under the aiohttp that is installed.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
BOTH = pytest.mark.parametrize("provider", SERVERS)
USER: Any = [{"role": "user", "content": "Hello"}]


# ---- the official clients against the fakes ----


def claude(server: ModelServer, key: str = KEY) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.base_url, api_key=key, max_retries=0, timeout=30)


def gemini(server: ModelServer, key: str = KEY) -> genai.Client:
    return genai.Client(api_key=key, http_options=google_types.HttpOptions(base_url=server.base_url, timeout=30_000))


async def test_the_anthropic_client_reads_messages_tools_and_streams() -> None:
    tool: Any = {"name": "note", "input_schema": {"type": "object", "properties": {}}}
    with AnthropicServer(FaithfulModel(), api_key=KEY) as server:
        async with claude(server) as api:
            whole = await api.messages.create(model="m", max_tokens=9, system="Be brief.", messages=USER)
            planned = await api.messages.create(
                model="m", max_tokens=900, system=PROMPT.instructions, messages=USER, tools=[tool]
            )
            async with api.messages.stream(model="m", max_tokens=9, messages=USER) as stream:
                pieces = [piece async for piece in stream.text_stream]
                last = await stream.get_final_message()
    assert whole.content[0].type == "text"
    assert whole.content[0].text == "Understood."
    assert (whole.stop_reason, whole.usage.output_tokens > 0, whole.usage.input_tokens > 0) == ("end_turn", True, True)
    assert (planned.content[0].type, planned.stop_reason) == ("tool_use", "tool_use")
    assert "".join(pieces) == "Understood."
    assert (last.stop_reason, last.usage.output_tokens) == ("end_turn", whole.usage.output_tokens)


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Trouble.AUTH, anthropic.AuthenticationError),
        (Trouble.QUOTA, anthropic.APIStatusError),
        (Trouble.RATE_LIMIT, anthropic.RateLimitError),
        (Trouble.UNKNOWN_MODEL, anthropic.NotFoundError),
        (Trouble.CONTEXT, anthropic.BadRequestError),
        (Trouble.SERVER_ERROR, anthropic.InternalServerError),
        (Trouble.OVERLOADED, anthropic.APIStatusError),
        (Trouble.GONE, anthropic.APIConnectionError),
    ],
)
async def test_the_anthropic_client_knows_the_errors(trouble: Trouble, kind: type[Exception]) -> None:
    with AnthropicServer(FaithfulModel(), always=trouble) as server:
        async with claude(server) as api:
            with pytest.raises(kind):
                await api.messages.create(model="m", max_tokens=9, messages=USER)


async def test_the_google_client_reads_contents_functions_and_streams() -> None:
    note = google_types.FunctionDeclaration(name="note", parameters_json_schema={"type": "object", "properties": {}})
    tools: Any = [google_types.Tool(function_declarations=[note])]
    with GoogleServer(FaithfulModel(), api_key=KEY) as server:
        api = gemini(server)
        async with api.aio as client:
            whole = await client.models.generate_content(model="m", contents="Hello")
            planned = await client.models.generate_content(
                model="m",
                contents="Question: How tall is it?",
                config=google_types.GenerateContentConfig(system_instruction=PROMPT.instructions, tools=tools),
            )
            stream = await client.models.generate_content_stream(model="m", contents="Hello")
            pieces = [piece async for piece in stream]
        api.close()
    assert whole.text == "Understood."
    assert whole.usage_metadata is not None
    assert whole.usage_metadata.total_token_count
    assert planned.function_calls
    assert planned.function_calls[0].name == "note"
    assert "".join(piece.text or "" for piece in pieces) == "Understood."
    assert pieces[-1].candidates
    assert pieces[-1].candidates[0].finish_reason == google_types.FinishReason.STOP


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Trouble.AUTH, 400),
        (Trouble.QUOTA, 429),
        (Trouble.UNKNOWN_MODEL, 404),
        (Trouble.CONTEXT, 400),
        (Trouble.SERVER_ERROR, 500),
        (Trouble.OVERLOADED, 503),
    ],
)
async def test_the_google_client_knows_the_errors(trouble: Trouble, code: int) -> None:
    with GoogleServer(FaithfulModel(), always=trouble) as server:
        api = gemini(server)
        async with api.aio as client:
            with pytest.raises(google_errors.APIError) as caught:
                await client.models.generate_content(model="m", contents="Hello")
        api.close()
    assert caught.value.code == code


# ---- our adapter against the fakes ----


@asynccontextmanager
async def service(
    provider: str, server: ModelServer, *, mode: str = "auto", timeout_s: float = 30.0, key: str = KEY
) -> AsyncIterator[ModelService]:
    name = f"{provider}:{NAMES[provider]}"
    spec = parse_model(name, {provider: Endpoint(server.base_url, key)}, Endpoint(), {name: "1/2"})
    async with ModelService(
        {ModelRole.PLANNER: (spec,)}, SystemClock(), output_mode=mode, timeout_s=timeout_s, temperature=0.0
    ) as made:
        yield made


async def ask(provider: str, server: ModelServer, **options: Any) -> Generation[PlannedQuestion]:
    async with service(provider, server, **options) as model:
        return await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)


def has(*path: str) -> Callable[[dict[str, Any]], bool]:
    def check(request: dict[str, Any]) -> bool:
        found: Any = request
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return bool(found)

    return check


@pytest.mark.parametrize(
    ("provider", "mode", "sent"),
    [
        ("anthropic", "native", lambda r: has("output_config")(r) or has("output_format")(r)),
        ("anthropic", "tool", lambda r: r["tools"][0]["name"] == "answer"),
        ("anthropic", "prompted", lambda r: "JSON Schema" in str(r["system"]) and "tools" not in r),
        ("google", "native", has("generationConfig", "responseJsonSchema")),
        ("google", "tool", has("tools")),
        ("google", "prompted", lambda r: "JSON Schema" in str(r["systemInstruction"]) and "tools" not in r),
    ],
)
async def test_each_mode_gives_the_typed_answer(
    provider: str, mode: str, sent: Callable[[dict[str, Any]], bool]
) -> None:
    with SERVERS[provider](FaithfulModel(), api_key=KEY) as server:
        made = await ask(provider, server, mode=mode)
    assert made.output.parts[0].queries
    assert made.usage.tokens_in > 100
    assert made.usage.cost_usd == (made.usage.tokens_in + 2 * made.usage.tokens_out) / Decimal(1_000_000)
    assert made.model == f"{provider}:{NAMES[provider]}"
    assert sent(server.requests[0]), server.requests[0]


@BOTH
async def test_a_server_without_schemas_is_asked_by_prompt(provider: str) -> None:
    troubles = [Trouble.NO_SCHEMA]
    with SERVERS[provider](FaithfulModel(), troubles=troubles) as server:
        async with service(provider, server) as model:
            with pytest.raises(PinciteError) as caught:
                await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
            made = await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert caught.value.reason == "model_mode_rejected"
    assert made.output.parts


TROUBLES = [
    (Trouble.AUTH, "PROVIDER_AUTH", "model_auth", False),
    (Trouble.RATE_LIMIT, "RATE_LIMITED", "model_rate_limited", True),
    (Trouble.SERVER_ERROR, "MODEL_UNAVAILABLE", "model_server_error", True),
    (Trouble.OVERLOADED, "MODEL_UNAVAILABLE", "model_overloaded", True),
    (Trouble.UNKNOWN_MODEL, "MODEL_UNAVAILABLE", "model_unknown", False),
    (Trouble.CONTEXT, "MODEL_UNAVAILABLE", "model_context_too_long", False),
    (Trouble.REFUSAL, "MODEL_BAD_OUTPUT", "refusal", False),
    (Trouble.CONTENT_FILTER, "MODEL_BAD_OUTPUT", "refusal", False),
    (Trouble.PROSE, "MODEL_BAD_OUTPUT", "not_json", True),
    (Trouble.TRUNCATED, "MODEL_BAD_OUTPUT", "truncated", True),
    (Trouble.EMPTY, "MODEL_BAD_OUTPUT", "empty", True),
    (Trouble.OTHER_SHAPE, "MODEL_BAD_OUTPUT", "wrong_shape", True),
    (Trouble.HUGE, "MODEL_BAD_OUTPUT", "answer_too_large", True),
    (Trouble.GONE, "MODEL_UNAVAILABLE", "model_connection", True),
    (Trouble.GONE_MID_ANSWER, "MODEL_UNAVAILABLE", "model_connection", True),
]


@BOTH
@pytest.mark.parametrize(("trouble", "code", "reason", "retryable"), TROUBLES, ids=[str(row[0]) for row in TROUBLES])
async def test_every_trouble_is_a_typed_error(
    provider: str, trouble: Trouble, code: str, reason: str, retryable: bool
) -> None:
    server = SERVERS[provider](FaithfulModel(), always=trouble, retry_after_s=3)
    with server, pytest.raises(PinciteError) as caught:
        await ask(provider, server)
    error = caught.value
    assert (error.code, error.reason, error.retryable) == (code, reason, retryable)
    assert len(server.requests) == 1, "retries are not the adapter's"
    assert KEY not in f"{error} {error.hint} {error.context}"


@BOTH
async def test_quota_is_not_tried_again(provider: str) -> None:
    with SERVERS[provider](FaithfulModel(), always=Trouble.QUOTA) as server, pytest.raises(PinciteError) as caught:
        await ask(provider, server)
    assert caught.value.code in ("PROVIDER_QUOTA", "RATE_LIMITED")


@BOTH
async def test_a_whole_run_is_written_through_the_protocol(provider: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    text = "# Varden\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was built by Anna Holm.\n"
    (pages / "tower.md").write_text(text, encoding="utf-8")
    with SERVERS[provider](FaithfulModel(), api_key=KEY) as server:
        given = {
            "home": tmp_path / "home",
            "source": (f"local:{pages}",),
            "llm": f"{provider}:{NAMES[provider]}",
            f"{provider}_base_url": server.base_url,
            f"{provider}_api_key": KEY,
        }
        async with Engine(load_settings(given, environ={}, files=())) as engine:
            report = await engine.research("How tall is the Varden lighthouse?")
    assert report.mode is Mode.MODEL
    assert "41 metres" in report.markdown
    assert report.metrics.tokens_in > 500
    assert server.requests


# ---- efforts, prompt caches, responses ----

SHARED = replace(PROMPT, shared=(Material("Statements", (("c1", "One."),)),), closing="Now.", thinking_tokens=4_000)


async def asked(server: ModelServer, name: str, prompt: Prompt, base_url: str = "") -> dict[str, Any]:
    provider = name.split(":")[0]
    spec = parse_model(name, {provider: Endpoint(base_url or server.base_url, KEY)}, Endpoint())
    async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock(), timeout_s=20) as model:
        made = await model.generate(ModelRole.PLANNER, prompt, PlannedQuestion)
    assert made.output.parts
    return server.requests[-1]


async def test_claude_is_told_what_to_keep_in_its_cache() -> None:
    with AnthropicServer(FaithfulModel()) as server:
        request = await asked(server, "anthropic:claude-sonnet-4-6", SHARED)
    assert request["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    shared, rest = request["messages"][0]["content"]
    assert shared["cache_control"]["type"] == "ephemeral"
    assert "c1: One." in shared["text"]
    assert "cache_control" not in rest
    assert request["max_tokens"] == SHARED.max_tokens_out + 4_000


@pytest.mark.parametrize(("room", "budget"), [(8_000, 2_048), (1_500, 1_500), (500, None)])
async def test_a_thinking_budget_is_within_the_room(room: int, budget: int | None) -> None:
    prompt = replace(SHARED, thinking_tokens=room)
    with AnthropicServer(FaithfulModel()) as server:
        request = await asked(server, "anthropic:claude-haiku-4-5", prompt)
    thinking = request.get("thinking") or {}
    assert thinking.get("budget_tokens") == budget
    assert request["max_tokens"] == prompt.max_tokens_out + room


@pytest.mark.parametrize(("effort", "sent"), [("low", "low"), ("medium", "medium"), ("high", "high")])
async def test_responses_of_openai_are_typed_cut_and_billed(effort: Any, sent: str) -> None:
    prompt = replace(SHARED, effort=effort)
    with ModelServer(FaithfulModel(thinking=[300]), api_key=KEY) as server:
        request = await asked(server, "openai-responses:gpt-5-mini", prompt)
        assert request["reasoning"]["effort"] == sent
        assert request["text"]["format"]["type"] == "json_schema"
        assert request["max_output_tokens"] == prompt.cap_tokens
        assert request["store"] is False
        spec = parse_model("openai-responses:gpt-5", {"openai-responses": Endpoint(server.base_url, KEY)}, Endpoint())
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock()) as model:
            made = await model.generate(ModelRole.PLANNER, prompt, PlannedQuestion)
            with pytest.raises(PinciteError) as caught:
                await model.generate(
                    ModelRole.PLANNER, replace(prompt, max_tokens_out=10, thinking_tokens=300), PlannedQuestion
                )
    assert made.usage.thinking == 300
    assert made.usage.tokens_out > 300
    assert caught.value.reason == "truncated"
    assert caught.value.context["thinking"] == 300


async def test_effort_reaches_chat_completions_and_google() -> None:
    with ModelServer(FaithfulModel()) as server:
        spec = parse_model("openai-chat:gpt-5-mini", {"openai-chat": Endpoint(None, KEY)}, Endpoint())
        spec = replace(spec, base_url=server.base_url)
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock()) as model:
            await model.generate(ModelRole.PLANNER, SHARED, PlannedQuestion)
    assert server.requests[0]["reasoning_effort"] == "low"
    assert server.requests[0]["max_completion_tokens"] == SHARED.cap_tokens
    with GoogleServer(FaithfulModel()) as server:
        request = await asked(server, "google:gemini-2.5-flash", SHARED)
    assert request["generationConfig"]["thinkingConfig"]["thinking_budget"] > 0


async def test_a_provider_of_pydantic_ai_says_what_it_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "TOGETHER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("together:meta/llama", "azure:gpt-5"):
        async with ModelService({ModelRole.PLANNER: (parse_model(name, {}, Endpoint()),)}, SystemClock()) as model:
            with pytest.raises(PinciteError) as caught:
                await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
        assert caught.value.reason == "model_key_missing"
        assert "environment variable" in str(caught.value)
    async with ModelService({ModelRole.PLANNER: (parse_model("xai:grok", {}, Endpoint()),)}, SystemClock()) as model:
        with pytest.raises(PinciteError) as caught:
            await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert "pydantic-ai-slim[xai]" in (caught.value.hint or "")


async def test_a_provider_of_pydantic_ai_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Azure with its endpoint on loopback: the same wire, other addresses."""
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-04-01-preview")
    with ModelServer(FaithfulModel()) as server:
        given = {"azure": Endpoint(server.base_url.removesuffix("/v1"), KEY)}
        spec = parse_model("azure:gpt-5-mini", given, Endpoint())
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock()) as model:
            made = await model.generate(ModelRole.PLANNER, SHARED, PlannedQuestion)
    assert made.output.parts
    assert made.model == "azure:gpt-5-mini"


# ---- providers of pydantic-ai under its own names ----

ON_LOOPBACK = "alibaba azure github-copilot heroku huggingface litellm moonshotai sambanova zai".split()
AT_HOME = {
    "crusoe": "crusoecloud.com",
    "fireworks": "fireworks.ai",
    "meta": "meta.ai",
    "nebius": "nebius.com",
    "ovhcloud": "ovh.net",
    "together": "together.xyz",
    "vercel": "vercel.sh",
}
"""Providers whose address pydantic-ai does not let be changed, and whose it is."""


@pytest.mark.parametrize("provider", ON_LOOPBACK)
async def test_a_provider_of_pydantic_ai_answers_at_another_address(
    provider: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-04-01-preview")
    with ModelServer(FaithfulModel(), api_key=None if provider == "azure" else KEY) as server:
        spec = parse_model(f"{provider}:some/model-1", {provider: Endpoint(server.base_url, KEY)}, Endpoint())
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock(), timeout_s=20) as model:
            made = await model.generate(ModelRole.PLANNER, SHARED, PlannedQuestion)
    assert made.output.parts
    assert made.model == f"{provider}:some/model-1"
    assert len(server.requests) == 1
    assert not [warning for warning in recwarn if "not supported" in str(warning.message)], "the asker set no knob"


@pytest.mark.parametrize(("provider", "host"), AT_HOME.items())
async def test_a_provider_of_pydantic_ai_is_built_with_the_key_that_was_set(provider: str, host: str) -> None:
    """Nothing is sent: these are asked at their own address only. The key comes from `llm_keys`."""
    given = {"home": Path("unused"), "llm": f"{provider}:some/model-1", "llm_keys": {provider: KEY}}
    (spec,) = model_chains(load_settings(given, environ={}, files=()))[ModelRole.WRITER]
    client = ModelClient(spec, model_http_client(5))
    built: Any = await client._ready()
    assert host in str(built.base_url)
    assert built.client.api_key == KEY
    await client.aclose()


@pytest.mark.parametrize("provider", ["bedrock", "xai"])
async def test_a_package_that_is_missing_is_named(provider: str) -> None:
    spec = parse_model(f"{provider}:some/model-1", {provider: Endpoint(None, KEY)}, Endpoint())
    async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock()) as model:
        with pytest.raises(PinciteError) as caught:
            await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert caught.value.code == "EXTRA_NOT_INSTALLED"
    assert f"pydantic-ai-slim[{provider}]" in (caught.value.hint or "")


@pytest.mark.parametrize("provider", ["gateway", "voyageai", "sentence_transformers"])
async def test_what_serves_no_models_to_write_with_is_named(provider: str) -> None:
    try:
        spec = parse_model(f"{provider}:some/model-1", {provider: Endpoint(None, KEY)}, Endpoint())
    except PinciteError as error:
        assert error.reason == "model_provider_unknown"  # noqa: PT017  # one of two places may say so
        return
    async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock()) as model:
        with pytest.raises(PinciteError) as caught:
            await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert caught.value.code in ("INVALID_SETTING", "EXTRA_NOT_INSTALLED", "MODEL_UNAVAILABLE")


async def test_google_cloud_answers_at_another_address() -> None:
    with GoogleServer(FaithfulModel()) as server:
        spec = parse_model(
            "google-cloud:gemini-2.5-flash", {"google-cloud": Endpoint(server.base_url, KEY)}, Endpoint()
        )
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock(), timeout_s=20) as model:
            made = await model.generate(ModelRole.PLANNER, SHARED, PlannedQuestion)
    assert made.output.parts

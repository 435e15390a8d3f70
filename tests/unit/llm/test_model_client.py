"""The adapter against a server that speaks the OpenAI protocol: modes, usage, streaming, and every way to fail."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest
from tests.fakes.models import ModelServer, Trouble

from pincite.domain.budget import Usage
from pincite.domain.errors import ExtraNotInstalled, ModelBadOutput, PinciteError
from pincite.domain.model import Generation, Material, ModelRole, Prompt
from pincite.llm import transport
from pincite.llm.catalogue import Endpoint, parse_model
from pincite.llm.service import ModelService
from pincite.research.model.outputs import PlannedQuestion
from pincite.research.model.prompts import instructions
from pincite.runtime.system import SystemClock
from pincite.testing.models import FaithfulModel

PROMPT = Prompt("planner", "1", instructions("planner"), context=("Question: How tall is the Varden lighthouse?",))
ANY = Prompt("chat", "1", "Say something.", material=(Material("m", (("a", "b"),)),))


@asynccontextmanager
async def service(
    server: ModelServer, *, mode: str = "auto", timeout_s: float = 5.0, key: str = ""
) -> AsyncIterator[ModelService]:
    spec = parse_model("fake-1", {}, Endpoint(server.base_url, key), {"fake-1": "1/2"})
    async with ModelService(
        {ModelRole.PLANNER: (spec,)}, SystemClock(), output_mode=mode, timeout_s=timeout_s, temperature=0.0
    ) as made:
        yield made


async def ask(server: ModelServer, **options: Any) -> Generation[PlannedQuestion]:
    async with service(server, **options) as model:
        return await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)


@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("auto", lambda r: r["response_format"]["type"] == "json_schema"),
        ("native", lambda r: r["response_format"]["json_schema"]["strict"] is True),
        ("tool", lambda r: r["tools"][0]["function"]["name"] == "answer" and "response_format" not in r),
        ("prompted", lambda r: "response_format" not in r and "JSON Schema" in r["messages"][0]["content"]),
    ],
)
async def test_each_mode_gives_the_typed_answer(mode: str, sent: Callable[[dict[str, Any]], bool]) -> None:
    with ModelServer(FaithfulModel()) as server:
        made = await ask(server, mode=mode)
    assert made.output.parts[0].queries
    assert made.usage.tokens_in > 100
    assert made.usage.cost_usd == (made.usage.tokens_in + 2 * made.usage.tokens_out) / Decimal(1_000_000)
    assert made.model == "server:fake-1"
    request = server.requests[0]
    assert sent(request)
    assert request["max_tokens"] == PROMPT.max_tokens_out
    assert request["temperature"] == 0.0
    assert [message["role"] for message in request["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("trouble", "code", "reason", "retryable"),
    [
        (Trouble.AUTH, "PROVIDER_AUTH", "model_auth", False),
        (Trouble.QUOTA, "PROVIDER_QUOTA", "model_quota", False),
        (Trouble.RATE_LIMIT, "RATE_LIMITED", "model_rate_limited", True),
        (Trouble.SERVER_ERROR, "MODEL_UNAVAILABLE", "model_server_error", True),
        (Trouble.OVERLOADED, "MODEL_UNAVAILABLE", "model_overloaded", True),
        (Trouble.UNKNOWN_MODEL, "MODEL_UNAVAILABLE", "model_unknown", False),
        (Trouble.CONTEXT, "MODEL_UNAVAILABLE", "model_context_too_long", False),
        (Trouble.REFUSAL, "MODEL_BAD_OUTPUT", "refusal", False),
        (Trouble.CONTENT_FILTER, "MODEL_BAD_OUTPUT", "refusal", False),
        (Trouble.PROSE, "MODEL_BAD_OUTPUT", "not_json", True),
        (Trouble.BROKEN_JSON, "MODEL_BAD_OUTPUT", "not_json", True),
        (Trouble.TRUNCATED, "MODEL_BAD_OUTPUT", "truncated", True),
        (Trouble.EMPTY, "MODEL_BAD_OUTPUT", "empty", True),
        (Trouble.OTHER_SHAPE, "MODEL_BAD_OUTPUT", "wrong_shape", True),
        (Trouble.HUGE, "MODEL_BAD_OUTPUT", "answer_too_large", True),
        (Trouble.NOT_JSON_AT_ALL, "MODEL_UNAVAILABLE", "model_bad_reply", True),
        (Trouble.GONE, "MODEL_UNAVAILABLE", "model_connection", True),
        (Trouble.GONE_MID_ANSWER, "MODEL_UNAVAILABLE", "model_connection", True),
        (Trouble.SLOW, "MODEL_UNAVAILABLE", "model_timeout", True),
    ],
)
async def test_every_trouble_is_a_typed_error(trouble: Trouble, code: str, reason: str, retryable: bool) -> None:
    timeout_s = 0.3 if trouble is Trouble.SLOW else 5.0
    server = ModelServer(FaithfulModel(), always=trouble, slow_s=1.0, retry_after_s=3)
    with server, pytest.raises(PinciteError) as caught:
        await ask(server, timeout_s=timeout_s, key="secret-key-1")
    error = caught.value
    assert (error.code, error.reason, error.retryable) == (code, reason, retryable)
    assert len(server.requests) == 1, "retries are not the adapter's"
    assert "secret-key-1" not in f"{error} {error.hint} {error.context}"
    if trouble is Trouble.RATE_LIMIT:
        assert error.retry_after_s == 3
    turned_away = code in ("PROVIDER_AUTH", "PROVIDER_QUOTA", "RATE_LIMITED") or reason == "model_context_too_long"
    if turned_away:
        assert error.spent == Usage()
    if isinstance(error, ModelBadOutput) and trouble is not Trouble.HUGE:
        assert isinstance(error.context["tokens_in"], int)


async def test_nobody_there_is_a_connection_error() -> None:
    with ModelServer(FaithfulModel()) as server:
        pass
    with pytest.raises(PinciteError) as caught:
        await ask(server)
    assert caught.value.reason == "model_connection"
    assert caught.value.spent == Usage(), "nothing was sent, so nothing is owed"


@pytest.mark.parametrize("trouble", [Trouble.GONE, Trouble.GONE_MID_ANSWER])
async def test_what_was_sent_may_be_billed(trouble: Trouble) -> None:
    with ModelServer(FaithfulModel(), always=trouble) as server, pytest.raises(PinciteError) as caught:
        await ask(server)
    assert caught.value.spent is None, "the price that was set aside counts"


async def test_a_server_without_schemas_is_asked_by_prompt() -> None:
    with ModelServer(FaithfulModel(), always=Trouble.NO_SCHEMA) as server:
        async with service(server) as model:
            with pytest.raises(PinciteError) as caught:
                await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
            assert (caught.value.reason, caught.value.retryable) == ("model_mode_rejected", True)
            made = await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert made.mode == "prompted"
    assert made.output.parts


async def test_a_server_that_ignores_schemas_is_asked_by_prompt() -> None:
    with ModelServer(FaithfulModel(), troubles=[Trouble.PROSE]) as server:
        async with service(server) as model:
            with pytest.raises(ModelBadOutput):
                await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
            assert (await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)).mode == "prompted"


async def test_usage_that_is_not_told_is_estimated() -> None:
    with ModelServer(FaithfulModel(), always=Trouble.NO_USAGE) as server:
        made = await ask(server)
    assert made.usage.estimated
    assert made.usage.tokens_in > 100
    assert made.usage.cost_usd


async def test_the_fence_is_new_for_every_call() -> None:
    with ModelServer(FaithfulModel()) as server:
        async with service(server) as model:
            for _ in range(2):
                await model.generate(ModelRole.PLANNER, ANY, str)
    users = [request["messages"][1]["content"] for request in server.requests]
    assert users[0] != users[1]
    assert server.requests[0]["messages"][0] == server.requests[1]["messages"][0]


def test_the_table_of_failures_is_complete() -> None:
    from pydantic_ai import exceptions

    roots = (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior)
    theirs = {
        name
        for name, kind in vars(exceptions).items()
        if isinstance(kind, type) and issubclass(kind, roots) and not name.startswith("_")
    }
    assert theirs <= set(transport.TABLE)


def test_an_unknown_failure_is_ours_too() -> None:
    error = transport.translated(KeyError("inner words"), "server:x")
    assert (error.code, error.retryable) == ("MODEL_UNAVAILABLE", False)
    assert "inner words" not in str(error)


@pytest.mark.parametrize("name", ["anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"])
async def test_other_protocols_are_built(name: str) -> None:
    """No server of ours speaks them: that they are built and fail typed is all that is shown here."""
    provider = name.split(":")[0]
    with ModelServer(FaithfulModel(), always=Trouble.AUTH) as server:
        spec = parse_model(name, {provider: Endpoint(server.base_url.removesuffix("/v1"), "k")}, Endpoint())
        async with ModelService({ModelRole.PLANNER: (spec,)}, SystemClock(), timeout_s=6) as model:
            with pytest.raises(PinciteError) as caught:
                await model.generate(ModelRole.PLANNER, PROMPT, PlannedQuestion)
    assert caught.value.code == "PROVIDER_AUTH"
    assert model.info(ModelRole.PLANNER)[0].price_known


async def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pydantic_ai.models.openai", None)
    with ModelServer(FaithfulModel()) as server, pytest.raises(ExtraNotInstalled, match="extra"):
        await ask(server)


def test_what_speaks_with_a_model_is_loaded_without_a_command_line() -> None:
    """A sixth of the time before the first call. Whoever wants that module afterwards has it."""
    script = """
import sys
from pincite.llm.client import load_modules
from pincite.llm.catalogue import Endpoint, parse_model
load_modules(parse_model("vllm:m", {}, Endpoint()))
import httpx, pydantic_ai.models.openai
print([name for name in ("httpx._main", "rich", "pygments") if name in sys.modules])
import httpx._main
print(callable(httpx._main.main))
"""
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert made.stdout.split("\n")[:2] == ["[]", "True"]

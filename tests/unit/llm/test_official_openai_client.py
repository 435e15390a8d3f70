"""The official client against the shipped fake server, so that the fake can't drift from the protocol."""

from typing import Any

import openai
import pytest
from tests.fakes.models import ModelServer, Trouble

from pincite.testing.models import FaithfulModel

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]


def client(server: ModelServer, key: str = "k") -> Any:  # its overloads want literal types
    return openai.AsyncOpenAI(base_url=server.base_url, api_key=key, max_retries=0, timeout=60)


async def test_whole_answers_streams_tools_and_models() -> None:
    schema = {"name": "a", "schema": {"type": "object", "properties": {}, "additionalProperties": False}}
    tool = {"type": "function", "function": {"name": "note", "parameters": {"type": "object", "properties": {}}}}
    with ModelServer(FaithfulModel()) as server:
        async with client(server) as api:
            whole = await api.chat.completions.create(
                model="fake-1",
                messages=MESSAGES,
                response_format={"type": "json_schema", "json_schema": schema},
            )
            called = await api.chat.completions.create(model="fake-1", messages=MESSAGES, tools=[tool])
            stream = await api.chat.completions.create(
                model="fake-1",
                messages=MESSAGES,
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
            models = [model.id async for model in api.models.list()]
    assert whole.choices[0].message.content == "Understood."
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    assert called.choices[0].message.tool_calls[0].function.name == "note"
    assert called.choices[0].finish_reason == "tool_calls"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Understood."
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []
    assert models == ["fake-1"]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Trouble.AUTH, openai.AuthenticationError),
        (Trouble.QUOTA, openai.RateLimitError),
        (Trouble.RATE_LIMIT, openai.RateLimitError),
        (Trouble.UNKNOWN_MODEL, openai.NotFoundError),
        (Trouble.CONTEXT, openai.BadRequestError),
        (Trouble.SERVER_ERROR, openai.InternalServerError),
        (Trouble.OVERLOADED, openai.InternalServerError),
        (Trouble.GONE, openai.APIConnectionError),
    ],
)
async def test_errors_are_what_the_client_knows(trouble: Trouble, kind: type[Exception]) -> None:
    with ModelServer(FaithfulModel(), always=trouble) as server:
        async with client(server) as api:
            with pytest.raises(kind):
                await api.chat.completions.create(model="fake-1", messages=MESSAGES)


async def test_a_wrong_key_is_refused() -> None:
    with ModelServer(FaithfulModel(), api_key="right") as server:
        async with client(server, "wrong") as api:
            with pytest.raises(openai.AuthenticationError):
                await api.chat.completions.create(model="fake-1", messages=MESSAGES)


async def test_refusals_cut_answers_and_errors_in_streams() -> None:
    with ModelServer(FaithfulModel(), troubles=[Trouble.REFUSAL, Trouble.TRUNCATED, Trouble.ERROR_IN_STREAM]) as server:
        async with client(server) as api:
            refused = await api.chat.completions.create(model="fake-1", messages=MESSAGES)
            assert refused.choices[0].message.refusal
            cut = await api.chat.completions.create(model="fake-1", messages=MESSAGES)
            assert cut.choices[0].finish_reason == "length"
            stream = await api.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True)
            with pytest.raises(openai.APIError):
                async for _ in stream:
                    pass


async def test_the_key_is_compared_however_its_header_is_written() -> None:
    with ModelServer(FaithfulModel(), api_key="right") as server:
        async with client(server, "right") as api:
            whole = await api.chat.completions.create(model="fake-1", messages=MESSAGES)
        async with client(server, "wrong") as api:
            with pytest.raises(openai.AuthenticationError):
                await api.chat.completions.create(model="fake-1", messages=MESSAGES)
    assert whole.choices[0].message.content == "Understood."

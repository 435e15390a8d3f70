"""Responses as OpenAI's own client reads them: items, events in order, read again, gone on with, stopped, deleted."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx2
import openai
import pytest

SEARCHED = [
    "response.output_item.added",
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
    "response.output_item.done",
]
BEFORE = ["response.created", "response.in_progress"]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def official(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="anything", max_retries=0, timeout=120) as client:
        yield client


@pytest.fixture
async def official_async(server: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server}/v1", api_key="anything", max_retries=0, timeout=120) as client:
        yield client


def check_order(seen: Sequence[str]) -> None:
    """The order that the SDK and the documentation of the original have."""
    kinds = list(seen)
    assert kinds[:2] == BEFORE
    rest = kinds[2:]
    while rest[: len(SEARCHED)] == SEARCHED:
        rest = rest[len(SEARCHED) :]
    assert rest[:2] == ["response.output_item.added", "response.content_part.added"]
    rest = rest[2:]
    ends = ["response.output_text.done", "response.content_part.done", "response.output_item.done"]
    assert rest[-4:] == [*ends, "response.completed"]
    middle = rest[:-4]
    deltas = middle.count("response.output_text.delta")
    assert deltas
    cited = ["response.output_text.annotation.added"] * (len(middle) - deltas)
    assert middle == ["response.output_text.delta"] * deltas + cited


def test_searches_and_pages_are_items_and_a_response_is_read_again(official: openai.OpenAI, question: str) -> None:
    made = official.responses.create(
        model="pincite-quick", input=question, metadata={"case": "7"}, tools=[{"type": "web_search"}]
    )
    assert made.metadata == {"case": "7"}
    actions = [item.action for item in made.output if item.type == "web_search_call"]
    assert [action.query for action in actions if action.type == "search"]
    assert [action.url for action in actions if action.type == "open_page"]
    assert made.output[-1].type == "message"
    again = official.responses.retrieve(made.id)
    assert again.output_text == made.output_text
    assert [item.id for item in again.output] == [item.id for item in made.output]
    assert (again.model, again.status, again.usage) == ("pincite-quick", "completed", made.usage)
    asked: Any = official.responses.input_items.list(made.id).data[0]
    assert asked.content[0].text == question
    further = official.responses.create(model="pincite-quick", input="Who built it?", previous_response_id=made.id)
    assert further.previous_response_id == made.id
    official.responses.delete(made.id)
    for gone in (made.id, "resp_run_0", "resp_../x", "x"):
        with pytest.raises(openai.NotFoundError):
            official.responses.retrieve(gone)
    with pytest.raises(openai.BadRequestError) as refused:
        official.responses.create(model="pincite-quick", input=question, previous_response_id="resp_run_0")
    assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")


async def test_a_stream_has_every_event_in_order_and_is_taken_up_again(
    official_async: openai.AsyncOpenAI, question: str
) -> None:
    stream = await official_async.responses.create(model="pincite-quick", input=question, stream=True)
    found: list[Any] = [event async for event in stream]
    check_order([event.type for event in found])
    assert [event.sequence_number for event in found] == list(range(len(found)))
    final = found[-1].response
    deltas = "".join(event.delta for event in found if event.type == "response.output_text.delta")
    assert deltas == final.output_text
    done = [event.item for event in found if event.type == "response.output_item.done"]
    assert done == final.output
    for after in (0, 5, len(found) - 3):
        rest = await official_async.responses.retrieve(final.id, stream=True, starting_after=after)
        assert [event.sequence_number async for event in rest] == list(range(after + 1, len(found)))


def test_a_response_in_the_background_is_read_later_or_cancelled(official: openai.OpenAI, question: str) -> None:
    made = official.responses.create(model="pincite-quick", input=question, background=True)
    assert made.status in ("queued", "in_progress", "completed")
    with official.responses.retrieve(made.id, stream=True) as stream:
        kinds = [event.type for event in stream]
    check_order(kinds)
    assert "41 metres" in official.responses.retrieve(made.id).output_text
    stopped = official.responses.cancel(made.id)
    assert stopped.status == "completed"


def test_what_would_change_the_answer_is_refused_and_the_rest_ignored(official: openai.OpenAI, question: str) -> None:
    client: Any = official
    asked = [{"role": "user", "content": question}]
    schema = {"name": "a", "schema": {"type": "object"}}
    refused: list[tuple[str, dict[str, Any]]] = [
        ("n", {"n": 2}),
        ("response_format", {"response_format": {"type": "json_schema", "json_schema": schema}}),
        ("response_format", {"response_format": {"type": "json_object"}}),
        ("tools", {"tools": [{"type": "function", "function": {"name": "f"}}]}),
        ("functions", {"functions": [{"name": "f"}]}),
        ("modalities", {"modalities": ["text", "audio"]}),
    ]
    for param, options in refused:
        with pytest.raises(openai.BadRequestError) as error:
            client.chat.completions.create(model="pincite-quick", messages=asked, **options)
        assert error.value.param == param
    refused = [
        ("tools", {"tools": [{"type": "function", "name": "f", "parameters": {}}]}),
        ("text.format", {"text": {"format": {"type": "json_schema", **schema}}}),
    ]
    for param, options in refused:
        with pytest.raises(openai.BadRequestError) as error:
            client.responses.create(model="pincite-quick", input=question, **options)
        assert error.value.param == param
    ignored = {
        "max_tokens": 5,
        "stop": ["the"],
        "temperature": 0.1,
        "seed": 3,
        "logprobs": True,
        "user": "u",
        "top_p": 0.5,
    }
    answer = client.chat.completions.create(model="pincite-quick", messages=asked, **ignored)
    assert "41 metres" in answer.choices[0].message.content
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="pincite-quick", messages=[{"role": "system", "content": "a"}])
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="pincite-quick", messages="a")


async def test_a_run_without_a_report_is_a_failed_or_a_cancelled_response(client: httpx2.AsyncClient) -> None:
    run_id = (await client.post("/v1/research", json={"question": "Who keeps bees on Halden?"})).json()["id"]
    await client.post(f"/v1/research/{run_id}/cancel")
    found = (await client.get(f"/v1/responses/resp_{run_id}")).json()
    assert found["status"] in ("cancelled", "completed")
    told = (await client.get(f"/v1/responses/resp_{run_id}", params={"stream": True})).text
    last = "response.completed" if found["status"] == "completed" else "response.incomplete"
    assert told.rstrip().rsplit("event: ", 1)[1].startswith(f"{last}\n")
    missing = await client.get("/v1/responses/resp_run_0")
    assert missing.json()["error"]["code"] == "run_not_found"

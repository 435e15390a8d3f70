"""What counts as an answer: JSON anywhere in the text that fits the type; everything else has a reason."""

from dataclasses import dataclass

import pytest

from pincite.domain.errors import ModelBadOutput
from pincite.llm.service import MAX_ANSWER_CHARS, read_answer, schema_of
from pincite.research.model.outputs import PlannedQuestion, Repair, Repairs

ONE = '{"repairs": [{"id": "r1", "text": "A b c.", "lines": ["a1"]}]}'


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        f"```json\n{ONE}\n```",
        f"Here is the answer:\n{ONE}\nI hope this helps.",
        f"<think>maybe {{not}} this</think>{ONE}",
        ONE.replace('"lines"', '"unknown_member": {"x": 1}, "lines"'),
    ],
)
def test_json_is_found_wherever_it_stands(text: str) -> None:
    assert read_answer(text, Repairs) == Repairs((Repair("r1", "A b c.", ("a1",)),))


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "empty"),
        ("  \n ", "stop", "empty"),
        ("", "length", "truncated"),
        ("I would rather talk about cheese.", "stop", "not_json"),
        ('{"repairs": [{"text": "half', "length", "truncated"),
        ("Certainly, here", "length", "truncated"),
        ('{"repairs": [{"text": "half', "stop", "truncated"),
        ('{"repairs": [}', "stop", "not_json"),
        ('{"repairs": 42}', "stop", "wrong_shape"),
        ('{"repairs": [{"text": 1}]}', "stop", "wrong_shape"),
        ("[" * 100_000, "stop", "not_json"),
        ("{" * 100_000, "stop", "truncated"),
        ("x" * (MAX_ANSWER_CHARS + 1), "stop", "answer_too_large"),
        (ONE, "content_filter", "refusal"),
    ],
)
def test_useless_answers_have_a_reason(text: str, finish: str, reason: str) -> None:
    with pytest.raises(ModelBadOutput) as caught:
        read_answer(text, Repairs, finish=finish)
    assert caught.value.reason == reason
    assert caught.value.retryable is (reason != "refusal")


def test_text_is_an_answer_too() -> None:
    assert read_answer(" plain words ", str) == "plain words"


def test_a_refusal_is_one_whatever_the_text() -> None:
    with pytest.raises(ModelBadOutput, match="refused"):
        read_answer(ONE, Repairs, refusal="I can't help with that.")


@dataclass(frozen=True, slots=True)
class Inner:
    """The title that no schema needs."""

    title: str
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class Outer:
    """Holds inner ones."""

    items: tuple[Inner, ...]


def test_schemas_are_strict() -> None:
    schema = schema_of(Outer)
    inner = schema["$defs"]["Inner"]
    assert schema["required"] == ["items"]
    assert inner["required"] == ["title", "size"]
    assert set(inner["properties"]) == {"title", "size"}
    assert schema["additionalProperties"] is inner["additionalProperties"] is False
    assert "default" not in inner["properties"]["size"]
    assert schema_of(PlannedQuestion)["properties"]

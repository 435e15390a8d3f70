"""A model's text as a typed value: JSON is looked for, checked against the type, and refused with a reason.

The schema that is sent is made from the same dataclass. Unknown members are ignored; everything else must fit.
"""

import dataclasses
import json
import re
from functools import cache
from typing import Any, Final, TypeVar, cast

from pincite.domain.codec import from_json
from pincite.domain.errors import ModelBadOutput, ParseError
from pincite.domain.events import Json

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

    Errors:
        ModelBadOutput: `refusal`, `empty`, `answer_too_large`, `truncated`, `not_json` or `wrong_shape`.
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
    position = text.find("{")
    tries = 0
    while position >= 0 and tries < 20:
        try:
            found, _ = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position, tries = text.find("{", position + 1), tries + 1
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

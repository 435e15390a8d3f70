"""Requests as doors take them (members of JSON bodies, arguments of tools), and parts of reports as they give them."""

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.given import Rule, rules_of

if TYPE_CHECKING:
    from pincite.domain.report import Report

Kind = TypeVar("Kind", bound=Hashable)
# What pydantic finds, in the words of JSON: its own speak of tuples and of parsing, which no caller knows.
_MISTAKES: Mapping[str, str] = {
    **dict.fromkeys(("missing", "missing_argument"), "is missing"),
    "extra_forbidden": "there is no such member",
    **dict.fromkeys(("list_type", "tuple_type"), "should be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "should be an object"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "should be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "should be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "should be true or false"),
    "string_type": "should be a text",
    "string_unicode": "has a character that is none",
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "should be a day, as in 2026-11-21",
    ),
}


def members_of(kind: type, door: str, changed: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The members of a request at a door: by the name there, type and pydantic field.

    `changed` are details of fields (`default`, `le`, ...) that this door has otherwise, by their own names.
    """
    from pydantic import AliasChoices, Field

    found: dict[str, Any] = {}
    for name, rule, hint, default in described(kind, door):
        own_name = rule.names.get(door, name)
        options: dict[str, Any] = {
            # `...` is how pydantic spells a member that must be given.
            "default": ... if default is MISSING else default,
            "description": sentence(rule),
        }
        options |= {
            "ge": rule.low,
            "le": rule.high,
            "gt": 0 if rule.above_0 else None,
            "max_length": rule.longest,
        }
        options["min_length"] = rule.shortest or None
        # Other names are for the requests of other products that programs already send; a model reads one schema and
        # needs one name.
        if door != "mcp" and rule.also:
            options["validation_alias"] = AliasChoices(own_name, *rule.also)
        options |= (changed or {}).get(name, {})
        typed = _json_type(hint, rule, door)
        found[own_name] = (
            typed,
            Field(**{what: value for what, value in options.items() if value is not None or what == "default"}),
        )
    return found


@cache
def body_of(kind: type, door: str = "http") -> Any:  # a pydantic model: what is not known is a mistake, and said to be
    """The base of a JSON body with a request's members."""
    from pydantic import ConfigDict, create_model

    # A misspelt member that is passed over would be a search without the limit that somebody meant.
    made = create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **members_of(kind, door))
    made.__doc__ = inspect.getdoc(kind)
    return made


def request_of(kind: type[Kind], given: object, door: str = "http") -> Kind:
    """The request that a body, or a mapping of arguments, holds. Errors: InvalidInput."""
    values: dict[str, Any] = {}
    for name, rule, _, _ in described(kind, door):
        own_name = rule.names.get(door, name)
        if isinstance(given, Mapping):
            if own_name in given:
                values[name] = _plain(given[own_name])
        elif hasattr(given, own_name):
            values[name] = _plain(getattr(given, own_name))
    return kind(**values)


def mistake(found: Mapping[str, Any]) -> str:
    """What is wrong with a value, without what only users of pydantic know; `found` is one of its errors."""
    return _MISTAKES.get(found["type"]) or str(found["msg"]).removeprefix("Value error, ")


def other_names(door: str, *kinds: type) -> dict[str, str]:
    """What members of requests are called elsewhere, with their names at a door."""
    found = {}
    for name, rule, _, _ in (row for kind in kinds for row in described(kind, door)):
        own_name = rule.names.get(door, name)
        found.update({other: own_name for other in (name, *rule.also, *rule.names.values()) if other != own_name})
    return found


def read_row(kind: type[Kind], row: Mapping[str, Any]) -> Kind:
    """The request that a JSON object of a user holds. Errors: InvalidInput, which names the member."""
    from pydantic import ValidationError

    try:
        return request_of(kind, body_of(kind, "batch").model_validate(row), "batch")
    except ValidationError as error:
        # One at a time: the others are often only consequences.
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            hint = f"Known: {', '.join(sorted(rules_of(kind)))}."
            raise InvalidInput(f"unknown member {name!r}", reason="unknown_member", hint=hint) from None
        raise InvalidInput(f"{name}: {mistake(first)}", reason=name) from None


def tool_arguments(kind: type, changed: Mapping[str, Mapping[str, Any]] | None = None) -> Callable[..., Any]:
    """Gives a tool, in place of its parameter `asked`, an argument for each member of a request."""

    def decorate(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        arguments = {
            name: (Annotated[typed, options], options.default)
            for name, (typed, options) in members_of(kind, "mcp", changed).items()
        }

        async def called(**given: Any) -> Any:
            mine = {name: given.pop(name) for name in arguments if name in given}
            # Made inside the tool, where its errors are turned into words for the model.
            return await function(asked=lambda: request_of(kind, mine, "mcp"), **given)

        return with_arguments(called, function, arguments)

    return decorate


def with_arguments(
    called: Callable[..., Any],
    function: Callable[..., Any],
    arguments: Mapping[str, tuple[Any, Any]],
    place: str = "asked",
) -> Callable[..., Any]:
    """`called` with the name of `function` and its parameters, but `place`, in whose stead the `arguments` stand."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.name in arguments:  # the command reads this one itself
            continue
        if parameter.name != place:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for name, (annotation, default) in arguments.items():
            empty = inspect.Parameter.empty
            given = empty if default in (..., MISSING) or type(default).__name__ == "PydanticUndefinedType" else default
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=annotation)
            )
    called.__name__, called.__doc__, called.__module__ = function.__name__, function.__doc__, function.__module__
    returns = get_type_hints(function, include_extras=True).get("return", Any)
    called.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": returns}
    vars(called)["__signature__"] = inspect.Signature(parameters, return_annotation=returns)
    return called


@cache
def described(kind: type, door: str) -> tuple[tuple[str, Rule, Any, Any], ...]:
    """The members of a request at a door: name, rule, type, default (or MISSING)."""
    hints, defaults = get_type_hints(kind), {one.name: one.default for one in fields(kind)}
    return tuple(
        (name, rule, hints[name], defaults[name]) for name, rule in rules_of(kind).items() if door not in rule.not_at
    )


def sentence(rule: Rule) -> str:
    """The meaning of a member as a sentence."""
    note = rule.note.replace("`", "")
    missing = [choice for choice in rule.choices if choice not in rule.note]
    return f"{note[0].upper()}{note[1:]}{': ' + ', '.join(missing) if missing else ''}."


def plain_type(hint: Any) -> Any:
    """The type of a member where it is given: `str` of `str | None`."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return next(part for part in parts if part is not type(None))


def _json_type(hint: Any, rule: Rule, door: str) -> Any:
    """The type of a member in JSON. A pattern is told here and held to by the request, which says what is wrong."""
    plain, optional = plain_type(hint), type(None) in get_args(hint)
    if rule.choices:
        plain = Literal[rule.choices]
    elif rule.pattern:
        from pydantic import WithJsonSchema

        plain = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{rule.pattern}$"})]
    elif get_origin(plain) is tuple and (of_parts := [one for one in get_args(get_args(plain)[0]) if rules_of(one)]):
        plain = tuple[body_of(of_parts[0], door), ...]  # type: ignore[misc]  # made at run time
    elif get_origin(plain) not in (None, tuple):
        values = get_args(plain)
        plain = dict[str, str] if len(values) > 1 and values[1] is str else dict[str, Any]
    return plain | None if optional else plain


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value.model_dump() if hasattr(value, "model_dump") else value


Part = Literal["claims", "sources", "findings", "citations"]


def part_json(report: "Report", part: Part) -> dict[str, Any]:
    """Claims with verdicts and quotes, sources with leads, each statement once (findings), or camelCase citations."""
    if part == "citations":
        return {"citations": [citation.as_dict(camel_case=True) for citation in report.citations()]}
    if part == "findings":
        return {"findings": to_json(report.findings(), outside=True)}
    names = ("references", "leads") if part == "sources" else ("claims",)
    return {name: to_json(getattr(report, name), outside=True) for name in names}

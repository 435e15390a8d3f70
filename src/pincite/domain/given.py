"""What callers give, made into what the types say, or refused at once with the name of what is wrong.

A request is a dataclass whose fields carry a `Rule`: what the member means, and which values it takes.

Python checks no annotation at run time: without this a word where a member is meant ("never" for `Render.NEVER`) would
pass every border and fail, or be overlooked, deep inside.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass

E = TypeVar("E", bound=StrEnum)


def member(kind: type[E], value: object, name: str) -> E:
    """The member of `kind` that `value` is or spells. Errors: InvalidInput (`reason` is `name`)."""
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise InvalidInput(f"{name} must be one of {known}, not {str(value)[:40]!r}", reason=name) from None


def names(value: object, name: str) -> tuple[str, ...]:
    """A list of names; one string is one name, or several by comma. Errors: InvalidInput (`reason` is `name`)."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Iterable):
        found = tuple(value)
        if all(isinstance(one, str) for one in found):
            return found
    raise InvalidInput(f"{name} must be a list of names", reason=name)


def day(value: object, name: str) -> date | None:
    """A day, also as ISO text. Errors: InvalidInput (`reason` is `name`)."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            value = f"{value[:40]!r}"
    elif isinstance(value, datetime):
        return value.date()
    elif value is None or isinstance(value, date):
        return value
    raise InvalidInput(f"{name} must be a day, as in 2026-01-31, not {value}", reason=name)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one member means, and which values it takes. `low` and `high` are inclusive.

    Args:
        note: the meaning, in a line.
        low: the least value.
        high: the greatest value.
        choices: the only values.
        above_0: whether 0 is too little.
        pattern: what a text must match as a whole.
        longest: characters of a text, or entries of a list, at most.
        shortest: the least of the same.
        flags: of the command line, where others than `--name-of-the-member`.
        also: other names in JSON.
        names: of the member at a door (`mcp`, ...) that calls it otherwise.
        not_at: doors that leave it out, each with the reason.
        commas: several entries may stand in one value of the command line.
    """

    note: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    above_0: bool = False
    pattern: str = ""
    longest: int | None = None
    shortest: int = 0
    flags: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    not_at: Mapping[str, str] = field(default_factory=dict)
    commas: bool = False


def asked(note: str, default: Any = None, **more: Any) -> Any:  # what `dataclasses.field` returns
    """A member of a request, with its rule."""
    return field(default=default, metadata={"rule": Rule(note, **more)})


@cache
def rules_of(kind: Any) -> dict[str, Rule]:
    """The rules of a request's members, in order: its own before those that it inherits."""
    found = {one.name: one.metadata["rule"] for one in fields(kind) if "rule" in one.metadata}
    own = [name for name in found if name in kind.__annotations__]
    return {name: found[name] for name in (*own, *found)}


def check_request(request: Any) -> None:
    """Return when every member of `request` is within its rule.

    Errors: InvalidInput (`reason` is the name of the member).
    """
    for name, rule in rules_of(request.__class__).items():
        value = getattr(request, name)
        if value is None and rule.low is not None and request.__dataclass_fields__[name].default is not None:
            raise InvalidInput(f"{name} must be a whole number", reason=name)
        if value is None or value == ():
            continue
        if rule.choices and value not in rule.choices:
            raise InvalidInput(f"{name} must be one of {', '.join(rule.choices)}", reason=name)
        _check_amount(name, rule, value)
        # A question and an address are vetted as such.
        if rule.longest is not None and name not in ("question", "url") and len(value) > rule.longest:
            raise InvalidInput(f"{name} is longer than {rule.longest}", reason=name)
        if rule.pattern and not re.fullmatch(rule.pattern, value):
            raise InvalidInput(f"{name} does not have the required form", reason=name, hint=f"{name}: {rule.note}.")


def _check_amount(name: str, rule: Rule, value: Any) -> None:
    if rule.low is None and rule.high is None and not rule.above_0:
        return
    if not isinstance(value, int | float | Decimal) or value != value:  # what is no number isn't itself
        raise InvalidInput(f"{name} must be a number", reason=name)
    if rule.above_0 and value <= 0:
        raise InvalidInput(f"{name} must be more than 0", reason=name)
    too_low = rule.low is not None and value < rule.low
    if too_low and rule.high is None:
        raise InvalidInput(f"{name} must be at least {rule.low:g}", reason=name)
    if too_low or (rule.high is not None and value > rule.high):
        least = "above 0" if rule.low is None else f"{rule.low:g}"
        raise InvalidInput(f"{name} must be between {least} and {rule.high:,g}".replace(",", ""), reason=name)

"""What callers give, made into what the types say, or refused at once with the name of what is wrong.

Python checks no annotation at run time: without this a word where a member is meant ("never" for `Render.NEVER`) would
pass every border and fail, or be overlooked, deep inside.
"""

from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum
from typing import TypeVar

from pincite.domain.errors import InvalidInput

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

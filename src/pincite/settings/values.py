"""How a text from the environment becomes the value that a file of settings would have."""

import json
from contextlib import suppress
from typing import Annotated, cast

from pydantic import BeforeValidator, SecretStr


def split_list(value: object) -> object:
    """A text from the environment, JSON or separated by commas, as the list that the file would have."""
    if not isinstance(value, str):
        return value
    if value.strip().startswith("["):
        with suppress(ValueError):  # an IPv6 address begins so, too
            return json.loads(value)
    return [part.strip() for part in value.split(",") if part.strip()]


def read_table(value: object) -> object:
    """A text from the environment, JSON or `name=value,name=value`, as the table that the file would have.

    A part without `=` belongs to the value before it: `tavily=50/1,1000/60` is one limit of two parts.
    """
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return _json(value)
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        name, equals, given = part.partition("=")
        if equals:
            found[name.strip()] = given.strip()
        elif found:
            found[next(reversed(found))] += f",{part}"
        else:
            raise ValueError("write name=value,name=value or JSON")
    return found


def read_tables(value: object) -> object:
    """As `read_table`, of tables: JSON, or `name.member=value,name.member=value`."""
    if not isinstance(value, str) or value.lstrip().startswith("{"):
        return read_table(value)
    found: dict[str, dict[str, object]] = {}
    for name, given in cast("dict[str, str]", read_table(value)).items():
        outer, _, member = name.rpartition(".")
        try:
            found.setdefault(outer, {})[member] = json.loads(given)  # true, false or a number
        except ValueError:
            found.setdefault(outer, {})[member] = given
    return found


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None


Names = Annotated[tuple[str, ...], BeforeValidator(split_list)]
Pairs = Annotated[dict[str, str], BeforeValidator(read_table)]
SecretPairs = Annotated[dict[str, SecretStr], BeforeValidator(read_table)]
Weights = Annotated[dict[str, float], BeforeValidator(read_table)]

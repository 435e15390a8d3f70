"""Schemas of tools as short as a model can do with: every conversation of a host begins with all of them."""

from typing import Any


def terse(schema: Any, *, by_name: bool = False) -> Any:  # JSON Schema
    """A schema without what tells a model nothing, a sixth of all: names written anew as titles, defaults of null.

    `by_name`: its keys are names of members, among which a `title` stays.
    """
    if isinstance(schema, list):
        return [terse(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: value
        for key, value in schema.items()
        if by_name or not (key == "title" or (key == "default" and value is None))
    }
    return {key: terse(value, by_name=not by_name and key in ("properties", "$defs")) for key, value in kept.items()}

"""A JSON Schema as the places for values that it has. What can't be filled from passages is refused, never ignored.

Source: JSON Schema 2020-12, validation §6 (type, enum, const, bounds) and core §8.2.3 (`$ref`), a subset.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.research.model.wording import plain_line

MAX_FIELDS: Final = 60
_MAX_DEPTH: Final = 8
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})
_NOTES: Final = frozenset(
    "title description default examples $schema $id $comment $defs definitions deprecated readOnly writeOnly".split()
)
"""What says nothing about which values are right."""
_BOUNDS: Final = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())
_LENGTHS: Final = frozenset("minLength maxLength pattern".split())
_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset("items minItems maxItems uniqueItems".split()),
    "string": _LENGTHS | {"format", "enum", "const"},
    "number": _BOUNDS | {"enum", "const"},
    "integer": _BOUNDS | {"enum", "const"},
    "boolean": frozenset({"enum", "const"}),
}
_FORMATS: Final = frozenset({"date"})
Node: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Field:
    """A place for a value.

    `path` leads to it; a name that ends in `[]` is an array of objects, one for each row. `rules` are the bounds that a
    value must keep, `choices` the values that may stand there (empty: any). `required` says that the answer must have
    it, `due_in_row` that each row must.
    """

    path: tuple[str, ...]
    kind: str
    several: bool = False
    most: int = 20
    required: bool = False
    due_in_row: bool = False
    description: str = ""
    choices: tuple[Json, ...] = ()
    rules: tuple[tuple[str, Json], ...] = ()

    @property
    def shown(self) -> str:
        """The path as a person writes it."""
        return ".".join(self.path)

    @property
    def rows(self) -> tuple[str, ...]:
        """The path of the array whose rows have this place; empty where there are none."""
        at = next((number for number, name in enumerate(self.path, start=1) if name.endswith("[]")), 0)
        return self.path[:at]


def fields_of(schema: Json) -> tuple[Field, ...]:
    """The fields of a schema of an object.

    Errors:
        InvalidInput: `schema_unsupported` (what and where is said) or `schema_size` (no field, or more than 60).
    """
    if not isinstance(schema, Mapping):
        raise InvalidInput("the schema is not a JSON object", reason="schema_unsupported")
    reader = _Reader(schema)
    whole, _ = reader.resolved(schema, ())
    if reader.kind_of(whole, ()) != "object":
        raise InvalidInput("the schema is not of an object", reason="schema_unsupported")
    found = tuple(reader.fields(whole, (), due=_Due(True, False)))
    if not 0 < len(found) <= MAX_FIELDS:
        raise InvalidInput(f"the schema has {len(found)} fields; 1 to {MAX_FIELDS} can be filled", reason="schema_size")
    return found


@dataclass(frozen=True, slots=True)
class _Due:
    """Whether a place must be filled: in the answer, and in each row where it is in one."""

    at_all: bool
    in_row: bool


class _Reader:
    """Walks one schema; references lead within it."""

    def __init__(self, root: Node) -> None:
        self._root = root

    def fields(self, node: Node, path: tuple[str, ...], *, due: _Due) -> Iterator[Field]:
        """The fields below an object; `due` says whether the object itself must be there."""
        properties, needed = node.get("properties"), node.get("required")
        if isinstance(node.get("additionalProperties"), Mapping):
            raise _unsupported(path, "additionalProperties", "Name the members under properties.")
        names = needed if isinstance(needed, list) else []
        for name, part in properties.items() if isinstance(properties, dict) else ():
            here = (*path, name)
            if not isinstance(part, Mapping) or len(here) > _MAX_DEPTH:
                raise _unsupported(here, "nesting" if len(here) > _MAX_DEPTH else "a schema that is not an object")
            inner, described = self.resolved(part, here)
            yield from self._places(inner, here, described, due if name in names else _Due(False, False))

    def _places(self, node: Node, here: tuple[str, ...], described: str, due: _Due) -> Iterator[Field]:
        kind = self.kind_of(node, here)
        if kind == "object":
            yield from self.fields(node, here, due=due)
        elif kind == "array":
            items = node.get("items")
            if not isinstance(items, Mapping):
                raise _unsupported(here, "an array without items", "Say what it is of: items.")
            inner, more = self.resolved(items, here)
            if self.kind_of(inner, here) == "object":
                if any(name.endswith("[]") for name in here):
                    raise _unsupported(here, "an array of objects in another one")
                yield from self.fields(inner, (*here[:-1], f"{here[-1]}[]"), due=replace(due, in_row=True))
            else:
                most = node.get("maxItems")
                limit = most if isinstance(most, int) and not isinstance(most, bool) else 20
                yield self._scalar(inner, here, described or more, due, several=min(limit, 20))
        else:
            yield self._scalar(node, here, described, due)

    def _scalar(self, node: Node, path: tuple[str, ...], described: str, due: _Due, several: int = 0) -> Field:
        kind = self.kind_of(node, path)
        if kind not in _SCALARS:
            raise _unsupported(path, f"an array of {kind}s")
        format_ = node.get("format")
        if format_ is not None and format_ not in _FORMATS:
            raise _unsupported(path, f"the format {format_!r}", "Known: date; leave it out for other texts.")
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not _compiles(pattern):
            raise _unsupported(path, f"the pattern {pattern!r}")
        given = node.get("enum", [node["const"]] if "const" in node else [])
        choices = tuple(choice for choice in given if choice is not None) if isinstance(given, list) else ()
        rules = tuple((name, node[name]) for name in sorted((_BOUNDS | _LENGTHS) & set(node)))
        return Field(
            path,
            "date" if format_ == "date" else kind,
            bool(several),
            several or 1,
            due.at_all,
            due.in_row,
            plain_line(described),
            choices,
            rules,
        )

    def kind_of(self, node: Node, path: tuple[str, ...]) -> str:
        """The one type of a schema; `null` beside it only says that the value may be missing."""
        given = node.get("type")
        kinds: list[Json] = [kind for kind in given if kind != "null"] if isinstance(given, list) else [given]
        if kinds == [None]:
            kinds = ["object"] if "properties" in node else [_type_of(node)]
        if len(kinds) != 1 or not isinstance(kinds[0], str) or kinds[0] not in _KNOWN:
            raise _unsupported(path, f"the type {given!r}", f"One of {', '.join(_KNOWN)}.")
        strange = sorted(set(node) - _KNOWN[kinds[0]] - _NOTES - {"type"})
        if strange:
            raise _unsupported(path, f"the keyword {strange[0]!r}")
        return kinds[0]

    def resolved(self, node: Node, path: tuple[str, ...]) -> tuple[Node, str]:
        """The schema behind references and behind an `anyOf` with null, and the description nearest to the field."""
        described = ""
        for _ in range(_MAX_DEPTH):
            described = described or str(node.get("description") or node.get("title") or "")
            choices = node.get("anyOf", node.get("oneOf"))
            if isinstance(choices, list):
                real = [one for one in choices if isinstance(one, Mapping) and one.get("type") != "null"]
                if len(real) != 1:
                    raise _unsupported(path, "a choice between schemas")
                node = real[0]
            elif "$ref" in node:
                node = self._target(node["$ref"], path)
            else:
                return node, described
        raise _unsupported(path, "a reference that leads in a circle or too far")

    def _target(self, reference: Json, path: tuple[str, ...]) -> Node:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise _unsupported(
                path, f"the reference {reference!r}", "Only references within the document are followed."
            )
        found: Json = dict(self._root)
        for part in reference.removeprefix("#").strip("/").split("/") if reference.strip("#/") else ():
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, Mapping):
            raise _unsupported(path, f"the reference {reference!r}, which leads nowhere")
        return found


def _type_of(node: Node) -> Json:
    """The type of a schema that names only its values."""
    given = node.get("enum", [node["const"]] if "const" in node else [])
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    found = {kinds.get(type(value)) for value in given if value is not None} if isinstance(given, list) else set()
    return found.pop() if len(found) == 1 else None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _unsupported(path: tuple[str, ...], what: str, hint: str = "") -> InvalidInput:
    where = f"the schema field {'.'.join(path)}" if path else "the schema"
    return InvalidInput(
        f"{where} has {what}, which can't be filled from passages",
        reason="schema_unsupported",
        hint=hint or "docs/models.md lists what a schema may have.",
    )

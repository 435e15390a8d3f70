"""A JSON Schema as the places for values that it has. What can't be filled from passages is refused, never ignored.

Source: JSON Schema 2020-12, validation §6 (type, enum, const, bounds) and core §8.2.3 (`$ref`), a subset.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.research.model.wording import plain_line

# Each field is asked of a model and proven: a bound on what a schema can cost.
MAX_FIELDS: Final = 60
# Of a list; the same bound.
MAX_ROWS: Final = 20
# Forms of that depth are not written by hand; recursion has to end somewhere.
_MAX_DEPTH: Final = 8
# Places of a schema that are looked at: references that name one another can make millions.
_MAX_PLACES: Final = 1000
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})
# What says nothing about which values are right.
_NOTES: Final = frozenset(
    "title description default examples $schema $id $comment $defs definitions deprecated readOnly writeOnly".split()
)
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

    `path` leads to it; a name that ends in `[]` is an array of objects, one for each row, and `row_limits` has how many
    rows each of these may have. `rules` are the bounds that a value must keep, `choices` the values that may stand
    there (empty: any).
    """

    path: tuple[str, ...]
    kind: str
    several: bool = False
    most: int = MAX_ROWS
    row_limits: tuple[int, ...] = ()
    description: str = ""
    choices: tuple[Json, ...] = ()
    rules: tuple[tuple[str, Json], ...] = ()

    @property
    def shown(self) -> str:
        """The path as a person writes it."""
        return ".".join(self.path)

    @property
    def lists(self) -> tuple[tuple[str, ...], ...]:
        """The paths of the arrays in whose rows this place is, the outermost first."""
        return tuple(self.path[:at] for at, name in enumerate(self.path, start=1) if name.endswith("[]"))


def fields_of(schema: Json) -> tuple[Field, ...]:
    """The fields of a schema of an object.

    Errors: InvalidInput: `schema_unsupported` (what and where is said) or `schema_size` (no field, or more than 60).
    """
    if not isinstance(schema, Mapping):
        raise InvalidInput("the schema is not a JSON object", reason="schema_unsupported")
    reader = _Reader(schema)
    whole, _ = reader.resolved(schema, ())
    if reader.kind_of(whole, ()) != "object":
        raise InvalidInput("the schema is not of an object", reason="schema_unsupported")
    found = tuple(reader.fields(whole, (), ()))
    if not 0 < len(found) <= MAX_FIELDS:
        raise InvalidInput(f"the schema has {len(found)} fields; 1 to {MAX_FIELDS} can be filled", reason="schema_size")
    return found


def lacking(schema: Json, answer: Json) -> tuple[str, ...]:
    """The paths that the schema requires and the answer does not have; an array with too few items is named itself."""
    assert isinstance(schema, Mapping)
    return tuple(_Reader(schema).lacking(schema, answer, ""))


class _Reader:
    """Walks one schema; references lead within it."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._places_seen = 0

    def fields(self, node: Node, path: tuple[str, ...], row_limits: tuple[int, ...]) -> Iterator[Field]:
        """The fields below an object."""
        properties = node.get("properties")
        if isinstance(node.get("additionalProperties"), Mapping):
            raise _unsupported(path, "additionalProperties", "Name the members under properties.")
        for name, part in properties.items() if isinstance(properties, dict) else ():
            here = (*path, name)
            self._places_seen += 1
            if self._places_seen > _MAX_PLACES:
                raise InvalidInput(f"the schema has over {_MAX_PLACES} places", reason="schema_size")
            if not isinstance(part, Mapping) or len(here) > _MAX_DEPTH:
                raise _unsupported(here, "nesting" if len(here) > _MAX_DEPTH else "a schema that is not an object")
            if name.endswith("[]"):
                # The brackets mark rows in paths of ours: a name of the schema's that has them would be read as such.
                raise _unsupported(here, "a name that ends in []")
            inner, described = self.resolved(part, here)
            yield from self._places(inner, here, described, row_limits)

    def _places(
        self, node: Node, here: tuple[str, ...], described: str, row_limits: tuple[int, ...]
    ) -> Iterator[Field]:
        kind = self.kind_of(node, here)
        if kind == "object":
            yield from self.fields(node, here, row_limits)
        elif kind == "array":
            items, most = node.get("items"), node.get("maxItems")
            if not isinstance(items, Mapping):
                # `items: true`, or none, allows anything: there is nothing to look for.
                raise _unsupported(here, "an array without items", "Say what it is of: items.")
            # A bool is an int in Python, and `maxItems: true` is no number.
            limit = min(most, MAX_ROWS) if isinstance(most, int) and not isinstance(most, bool) else MAX_ROWS
            if limit < 1:
                raise _unsupported(here, "an array of no items")
            inner, more = self.resolved(items, here)
            if self.kind_of(inner, here) == "object":
                yield from self.fields(inner, (*here[:-1], f"{here[-1]}[]"), (*row_limits, limit))
            else:
                yield self._scalar(inner, here, described or more, row_limits, several=limit)
        else:
            yield self._scalar(node, here, described, row_limits)

    def _scalar(
        self, node: Node, path: tuple[str, ...], described: str, row_limits: tuple[int, ...], *, several: int = 0
    ) -> Field:
        kind = self.kind_of(node, path)
        if kind not in _SCALARS:
            raise _unsupported(path, f"an array of {kind}s")
        format_ = node.get("format")
        if format_ is not None and format_ not in _FORMATS:
            raise _unsupported(path, f"the format {format_!r}", "Known: date; leave it out for other texts.")
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            # Refused before the run starts: at the first value the search for it would be paid for already.
            try:
                re.compile(pattern)
            except re.error:
                raise _unsupported(path, f"the pattern {pattern!r}") from None
        given = node.get("enum", [node["const"]] if "const" in node else [])
        # Null among the choices only says that there may be no value, which is so of every field.
        choices = tuple(choice for choice in given if choice is not None) if isinstance(given, list) else ()
        rules = tuple((name, node[name]) for name in sorted((_BOUNDS | _LENGTHS) & set(node)))
        return Field(
            path,
            "date" if format_ == "date" else kind,
            bool(several),
            several or 1,
            row_limits,
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
        # A keyword that is passed over would promise what the answer may not keep.
        strange = sorted(set(node) - _KNOWN[kinds[0]] - _NOTES - {"type"})
        if strange:
            raise _unsupported(path, f"the keyword {strange[0]!r}")
        return kinds[0]

    def lacking(self, schema: Node, value: Json, path: str) -> Iterator[str]:
        """What the schema of a place requires of a value and it does not have."""
        node, _ = self.resolved(schema, ())
        if isinstance(value, dict):
            needed, listed = node.get("required"), node.get("properties")
            properties = listed if isinstance(listed, dict) else {}
            names = needed if isinstance(needed, list) else []
            for name in (*properties, *(str(name) for name in names if name not in properties)):
                here, part = f"{path}.{name}".lstrip("."), properties.get(name)
                if name not in value:
                    yield from (here,) if name in names else ()
                elif isinstance(part, Mapping):
                    yield from self.lacking(part, value[name], here)
        elif isinstance(value, list):
            least, items = node.get("minItems"), node.get("items")
            if isinstance(least, int) and len(value) < least:
                yield path
            for at, item in enumerate(value):
                yield from self.lacking(items, item, f"{path}[{at}]") if isinstance(items, Mapping) else ()

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
            # RFC 6901 §4: in this order, or `~01` would become a slash.
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


def _unsupported(path: tuple[str, ...], what: str, hint: str = "") -> InvalidInput:
    where = f"the schema field {'.'.join(path)}" if path else "the schema"
    return InvalidInput(
        f"{where} has {what}, which can't be filled from passages",
        reason="schema_unsupported",
        hint=hint or "docs/models.md lists what a schema may have.",
    )

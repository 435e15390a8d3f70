"""Outside shapes of results as JSON, and reports read back from it.

The shapes are those of the published schemas (`pincite/schemas/*.json`). Writing is byte-stable: reading what was
written and writing it again gives the same bytes.
"""

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from importlib import resources
from typing import Any, cast

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Internal, InvalidInput, NotFound, ParseError, SchemaMismatch, leaves
from pincite.domain.events import Event, Json
from pincite.domain.fetch import FetchResult
from pincite.domain.report import DERIVED, SCHEMA_VERSION, Report
from pincite.domain.search import SearchResponse

# The order in which a person wants to read them.
REPORT_MEMBERS = (
    *("schema_version", "run_id", "report_id", "version", "question", "topic", "title", "created_at", "profile"),
    *("mode", "status", "constraints", "outline", "summary", "sections", "claims", "citations", "references"),
    *("conflicts", "gaps", "leads", "rejected_claims", "parts", "judgements", "coverage", "notes", "written_by"),
    *("metrics", "markdown"),
)

# Members of a FetchResult that are evidence to be stored, too big to be sent along.
STORED_ONLY = frozenset({"snapshot", "document"})


def report_json(report: Report) -> dict[str, Json]:
    """The report as plain JSON in the published shape."""

    def value(name: str) -> object:
        return DERIVED[name][1](report) if name in DERIVED else getattr(report, name)

    return {name: to_json(value(name), outside=True) for name in REPORT_MEMBERS}


def search_json(response: SearchResponse) -> dict[str, Json]:
    """The search response as plain JSON in the published shape."""
    return cast("dict[str, Json]", to_json(response, outside=True))


def fetch_json(result: FetchResult) -> dict[str, Json]:
    """The fetched page as plain JSON in the published shape: without the stored body and blocks."""
    names = (field.name for field in dataclasses.fields(result) if field.name not in STORED_ONLY)
    return {name: to_json(getattr(result, name), outside=True) for name in names}


def event_json(event: Event) -> dict[str, Json]:
    """The event as plain JSON in the published shape."""
    return cast("dict[str, Json]", to_json(event, outside=True))


def dump(value: Mapping[str, Json]) -> bytes:
    """Plain JSON as UTF-8, indented, in the order given, with a final newline."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    # The only characters UTF-8 can't carry are lone surrogates; written as \udc80 they read back as they were.
    return (text + "\n").encode("utf-8", "backslashreplace")


def dump_report(report: Report) -> bytes:
    """The report as the bytes of a `report.json`."""
    return dump(report_json(report))


def parse(data: bytes | str) -> dict[str, Json]:
    """The JSON object in `data`. Errors: InvalidInput (not UTF-8, not JSON, nested too deeply, or no object)."""
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not JSON: {error}", reason="report_json") from error
    if not isinstance(value, dict):
        raise InvalidInput("a report is a JSON object", reason="report_json")
    return value


def duplicate_members(data: bytes | str) -> tuple[str, ...]:
    """The names that stand twice in one object of the JSON, each once; readers differ in which one they take."""
    found: dict[str, None] = {}

    def pairs(members: list[tuple[str, Json]]) -> dict[str, Json]:
        seen = dict(members)
        if len(seen) < len(members):
            names = [name for name, _ in members]
            found.update(dict.fromkeys(name for name in seen if names.count(name) > 1))
        return seen

    try:
        json.loads(data, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return ()
    return tuple(found)


def load_report(data: bytes | str | Mapping[str, Json], *, strict: bool = False) -> Report:
    """The report in `data`, its rules checked (invariant 2); quotes are for `pincite check`.

    Args:
        data: a `report.json` or what `json.loads` made of it.
        strict: accept only what `dump_report` writes: no unknown, missing or differently written member. Otherwise
            unknown members are ignored and missing optional ones take their default.

    Errors:
        InvalidInput: no report, or one that breaks a rule; `context["path"]` says where, if at one place.
        SchemaMismatch: written by a newer Pincite.
    """
    raw = dict(data) if isinstance(data, Mapping) else parse(data)
    version = raw.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InvalidInput("a report has a schema_version", reason="report_field", context={"path": "schema_version"})
    if version > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"this report is of schema version {version}; this Pincite reads up to {SCHEMA_VERSION}",
            hint="Upgrade Pincite.",
        )
    try:
        report = from_json(Report, raw)
    except ParseError as error:
        raise InvalidInput(error.message, reason="report_field", context=error.context) from error
    except Internal as error:
        raise InvalidInput(error.message, reason="report_rule") from error
    if strict and (path := difference(report_json(report), raw)) is not None:
        raise InvalidInput(
            f"not written as Pincite writes it at {path or 'the top'}", reason="report_field", context={"path": path}
        )
    return report


def difference(expected: Json, found: Json, path: str = "") -> str | None:
    """The path of the first place where two JSON values differ, or None. Numbers are equal when their values are."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in dict.fromkeys((*expected, *found)):
            inner = f"{path}.{name}" if path else name
            if name not in expected or name not in found:
                return inner
            if (place := difference(expected[name], found[name], inner)) is not None:
                return place
        return None
    if isinstance(expected, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            if (place := difference(one, other, f"{path}[{index}]")) is not None:
                return place
        return None if len(expected) == len(found) else f"{path}[{min(len(expected), len(found))}]"
    alike = isinstance(expected, bool) == isinstance(found, bool) and expected == found
    return None if alike else path


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# JSON Schemas of the outside shapes, made from the annotations and docstrings of the domain.

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: dict[Any, dict[str, Json]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    type(None): {"type": "null"},
}


def names() -> tuple[str, ...]:
    """The published schemas: `report`, `event`, `search`, `fetch`, `error`."""
    return tuple(_BUILDERS)


def build(name: str) -> dict[str, Json]:
    """The schema `name` as made from the code. Errors: NotFound (no such schema)."""
    if name not in _BUILDERS:
        raise NotFound(f"there is no schema {name!r}; there are: {', '.join(_BUILDERS)}")
    return {"$schema": DIALECT, "$id": f"urn:pincite:schema:{name}:{SCHEMA_VERSION}", **_BUILDERS[name]()}


def text(name: str) -> str:
    """The schema `name` as the text of its file."""
    return json.dumps(build(name), indent=2, ensure_ascii=False) + "\n"


def published(name: str) -> str:
    """The text of the schema `name` as it ships with this package. Errors: NotFound (no such schema)."""
    if name not in _BUILDERS:
        raise NotFound(f"there is no schema {name!r}; there are: {', '.join(_BUILDERS)}")
    return resources.files("pincite").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")


def _of(kind: type, members: tuple[str, ...] = ()) -> dict[str, Json]:
    definitions: dict[str, Json] = {}
    top = _object(kind, definitions, members)
    return {**top, "$defs": dict(sorted(definitions.items()))}


def _report() -> dict[str, Json]:
    schema = _of(Report, REPORT_MEMBERS)
    properties = schema["properties"]
    if isinstance(properties, dict):
        properties["schema_version"] = {"const": SCHEMA_VERSION}
    return schema


def _fetch() -> dict[str, Json]:
    return _of(FetchResult, tuple(f.name for f in dataclasses.fields(FetchResult) if f.name not in STORED_ONLY))


def _error() -> dict[str, Json]:
    members: dict[str, Json] = {
        "code": {"enum": [leaf.code for leaf in leaves()], "description": "The stable name; docs/errors.md."},
        "reason": {"type": "string", "description": "The fine cause in lower case."},
        "message": {"type": "string", "description": "One sentence for a person."},
        "hint": {"type": "string", "description": "What to do next; may be empty."},
        "retryable": {"type": "boolean", "description": "Whether the same call may work later, unchanged."},
    }
    inner: dict[str, Json] = {"type": "object", "properties": members, "required": list(members)}
    return {"title": "Error", "type": "object", "properties": {"error": inner}, "required": ["error"]}


def _object(kind: type, definitions: dict[str, Json], members: tuple[str, ...] = ()) -> dict[str, Json]:
    hints = typing.get_type_hints(kind)
    wanted = members or tuple(field.name for field in dataclasses.fields(kind) if field.init)
    return {
        "title": kind.__name__,
        "description": _first_line(kind),
        "type": "object",
        "properties": {
            name: _schema(hints[name] if name in hints else DERIVED[name][0], definitions) for name in wanted
        },
        # Reports of the same schema version were written before a derived member was.
        "required": [name for name in wanted if name not in DERIVED],
    }


def _schema(kind: Any, definitions: dict[str, Json]) -> Json:  # any annotation a domain field may have
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if origin in (typing.Union, types.UnionType):
        # Of more than two it is Json itself: any value.
        return {} if len(arguments) > 2 else {"anyOf": [_schema(argument, definitions) for argument in arguments]}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is tuple:
        items = [_schema(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        definitions.setdefault(
            kind.__name__, {"description": _first_line(kind), "enum": [member.value for member in kind]}
        )
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = None  # holds the place while its own fields refer to it
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    raise TypeError(f"no JSON Schema for {kind!r}")


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


_BUILDERS: dict[str, Callable[[], dict[str, Json]]] = {
    "report": _report,
    "event": partial(_of, Event),
    "search": partial(_of, SearchResponse),
    "fetch": _fetch,
    "error": _error,
}

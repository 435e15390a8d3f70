"""Write the JSON Schemas of the outside shapes into the package; with --check, fail when one is out of date.

They are made from the annotations and docstrings of the domain.
"""

import dataclasses
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from pincite.domain.errors import leaves
from pincite.domain.events import Event, Json
from pincite.domain.fetch import FetchResult
from pincite.domain.report import DERIVED, SCHEMA_VERSION, Report
from pincite.domain.search import SearchResponse
from pincite.exports.codec import REPORT_MEMBERS, SCHEMAS, STORED_ONLY

FOLDER = Path("src/pincite/schemas")
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


def build(name: str) -> dict[str, Json]:
    return {"$schema": DIALECT, "$id": f"urn:pincite:schema:{name}:{SCHEMA_VERSION}", **_BUILDERS[name]()}


def text(name: str) -> str:
    return json.dumps(build(name), indent=2, ensure_ascii=False) + "\n"


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


def main() -> int:
    stale = []
    for name in SCHEMAS:
        path = FOLDER / f"{name}.json"
        wanted = text(name)
        if path.exists() and path.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(str(path))
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run: python scripts/schemas.py")
        return 1
    print(f"schemas: {len(SCHEMAS)} up to date" if not stale else f"written: {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

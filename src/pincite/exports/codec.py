"""Outside shapes of results as JSON, and reports read back from it.

The shapes are those of the published schemas (`pincite/schemas/*.json`). Writing is byte-stable: reading what was
written and writing it again gives the same bytes.
"""

import dataclasses
import json
from collections.abc import Mapping
from importlib import resources
from typing import cast

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Internal, InvalidInput, NotFound, ParseError, SchemaMismatch
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


# The published schemas of these shapes; `scripts/schemas.py` makes them from annotations and docstrings.

SCHEMAS = ("report", "event", "search", "fetch", "error")


def published(name: str) -> str:
    """The text of the JSON Schema `name` (one of `SCHEMAS`). Errors: NotFound (no such schema)."""
    if name not in SCHEMAS:
        raise NotFound(f"there is no schema {name!r}; there are: {', '.join(SCHEMAS)}")
    return resources.files("pincite").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")

"""Files: those a command is asked to write, vetted before the work begins; and those it is given."""

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.errors import InvalidInput, PinciteError
from pincite.surfaces.cli.run import print_error, print_note

if TYPE_CHECKING:
    from pincite.domain.events import Json
    from pincite.domain.report import Report
    from pincite.engine import Engine

BUNDLE = "wacz"


def format_of(path: Path) -> str:
    """The export format that a file name asks for: its suffix, or both where the last alone says too little."""
    return "csl.json" if path.name.endswith(".csl.json") else path.suffix.lstrip(".").lower() or "md"


def report_formats() -> tuple[str, ...]:
    """Every format that a report can be written in."""
    from pincite.wiring.registry import EXPORTERS

    return (*EXPORTERS, BUNDLE)


def vet_output(path: Path, formats: Collection[str] = (), wanted: str | None = None) -> None:
    """Return when a result can be written there, in one of `formats` (any when empty), `wanted` where that is given.

    Errors: InvalidInput (no such folder, not writable, no such format, or a bundle under another name).
    """
    asked = wanted or format_of(path)
    if formats and asked not in formats:
        raise InvalidInput(f"{path}: there is no format {asked!r}", hint=f"Known: {', '.join(formats)}.")
    if asked == BUNDLE and format_of(path) != BUNDLE:
        raise InvalidInput(f"{path} is no name for a bundle, which is a WACZ", hint=f"Name it {path.stem}.{BUNDLE}.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder", hint="Name a file in it.")
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", hint=f"Make it first: mkdir -p {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f"{path} can't be written", hint="Check the permissions of the file and its folder.")


def write_file(path: Path, data: bytes) -> None:
    """Write a result file and say so. Errors: InvalidInput (the place can't be written)."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}", hint="The run itself is kept.") from None
    print_note(f"Written: {path}")


async def write_report(engine: "Engine", report: "Report", paths: Iterable[Path]) -> PinciteError | None:
    """Write a report to each file in the format of its name; a failure is told, and takes nothing from the others.

    Returns the first failure.
    """
    failed: PinciteError | None = None
    for path in paths:
        try:
            if format_of(path) == BUNDLE:
                write_file(path, await engine.bundle(report.run_id, "full"))
            else:
                write_file(path, await engine.export(report, format_of(path)))
        except PinciteError as error:
            print_error(error)
            failed = failed or error
    return failed


def read_schema(path: Path) -> "dict[str, Json]":
    """The JSON Schema of a file. Errors: InvalidInput (not there, not JSON, or not one that can be filled)."""
    from pincite.research.schema_fields import fields_of

    try:
        schema: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is no JSON Schema: {error}", reason="schema_unreadable") from None
    fields_of(schema)
    return schema if isinstance(schema, dict) else {}


def read_text(path: Path, reason: str | None = None, hint: str = "Give a file in UTF-8.") -> str:
    """The text of a file of the user. Errors: InvalidInput."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{path} can't be read: {why}", reason=reason, hint=hint) from None


def read_bytes(path: Path, hint: str) -> bytes:
    """A file of the user. Errors: InvalidInput."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}", hint=hint) from None

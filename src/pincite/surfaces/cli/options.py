"""Options of the command line: those of the requests, rendered from their rules, those that commands share; and files.

Files that a command is asked to write are vetted before the work begins.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_origin

import typer

from pincite.domain.errors import InvalidInput, PinciteError
from pincite.domain.given import Rule, day, names
from pincite.surfaces.cli.run import print_error, print_note
from pincite.surfaces.requests import described, plain_type, sentence, with_arguments

if TYPE_CHECKING:
    from pincite.domain.events import Json as JsonValue
    from pincite.domain.report import Report
    from pincite.engine import Engine


Llm = Annotated[
    str | None,
    typer.Option("--llm", metavar="MODEL", help="Language model as PROVIDER:NAME, or none (docs/models.md)."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="Who judges meaning: model, PROVIDER:NAME, http://..., a local one, or none (docs/verification.md).",
    ),
]
WordsOnly = Annotated[
    bool,
    typer.Option("--words-only", help="Rank by words alone: faster, and finds less of what is worded otherwise."),
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every event of the run.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Profile = Annotated[str | None, typer.Option(help="Preset of caps: quick, standard, thorough or offline.")]
Source = Annotated[
    list[str] | None,
    typer.Option("--source", help="auto, provider names, or local:PATH; repeat or separate by comma."),
]
Output = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="Also write this file; its suffix gives the format (repeatable)."),
]
Resolve = Annotated[list[str] | None, typer.Option("--resolve", help="HOST:PORT:ADDRESS, as in curl (repeatable).")]
AllowNetwork = Annotated[
    list[str] | None, typer.Option("--allow-network", help="CIDR of a private network to open (repeatable).")
]
Home = Annotated[Path | None, typer.Option("--home", help="Folder of the database and indexes (PINCITE_HOME).")]

_SETTINGS: Final[Mapping[str, Any]] = {
    "source": Source,
    "profile": Profile,
    "llm": Llm,
    "judge": Judge,
    "resolve": Resolve,
    "allow_network": AllowNetwork,
    "home": Home,
}
METAVARS: Final = {
    "llm": "MODEL",
    "continues": "RUN",
    "plan": "show|edit|FILE",
    "output_schema": "FILE",
    "metadata": "KEY=VALUE",
}
# What a member means here, where the line of its rule is not for somebody at a command line.
WORDS: Final = {
    "plan": "Print the plan only, edit it first, or take it from a file.",
    "question": "The question; `-` reads it from stdin.",
    "url": "The page, or a file of yours.",
    "include_answer": "Do not ask for the engine's own answer.",
    "allow_redirects": "Show a redirect, don't follow it.",
    "persist": "Leave the page cache alone.",
    "force_refresh": "Ask the site even if it is cached.",
}


def joined(values: list[str] | None, flag: str) -> tuple[str, ...] | None:
    """The values of the repeatable option `flag`, each of which may hold several by comma; None when not given.

    Errors: InvalidInput: given with nothing in it, as by a variable of a shell that is not set. Without a limit more
        would be searched than was meant, and by other engines.
    """
    if values is None:
        return None
    if not all(value.strip(" ,") for value in values):
        raise InvalidInput(f"{flag} names nothing", hint="Name a value, or leave the option out.")
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def configured(*names: str) -> Callable[..., Any]:
    """Gives a command, in place of its parameter `settings`, an option for each of these settings."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def called(**given: Any) -> None:
            typed = {name: given.pop(name) for name in names}
            settings = {
                name: joined(value, _flag(name)) if isinstance(value, list) else value for name, value in typed.items()
            }
            # Said once for each network.
            if "allow_network" in settings:
                settings["allow_networks"] = settings.pop("allow_network")
            command(settings=settings, **given)

        return with_arguments(called, command, {name: (_SETTINGS[name], None) for name in names}, "settings")

    return decorate


def asking(kind: Any, *, beside: tuple[str, ...] = (), **fixed: Any) -> Callable[..., Any]:
    """Gives a command, in place of its parameter `asked`, an option for each member of a request.

    The command gets the request instead; `beside` are members that it gets as they were typed, for a reading of its
    own. `fixed` are members that the command line doesn't ask for.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        members = {name: (rule, hint, default) for name, rule, hint, default in described(kind, "cli")}

        def called(**given: Any) -> None:
            typed = {name: given.pop(name) for name in members}
            own = {name: typed.pop(name) for name in beside}
            command(asked=_request(kind, members, typed, fixed), **own, **given)

        arguments = {name: _argument(name, *member) for name, member in members.items()}
        return with_arguments(called, command, arguments)

    return decorate


def _request(kind: Any, members: Mapping[str, Any], typed: Mapping[str, Any], fixed: Mapping[str, Any]) -> Any:
    values = {}
    for name, value in typed.items():
        rule, hint, default = members[name]
        if value is None:
            continue
        values[name] = _value(name, rule, plain_type(hint), value) if value != default else value
        if isinstance(default, bool) and default:
            values[name] = not value  # a flag that switches off: --no-answer
    return kind(**values, **fixed)


def _value(name: str, rule: Rule, plain: Any, value: Any) -> Any:
    """What was typed, as the member takes it. Errors: InvalidInput."""
    flag = _flags(name, rule)[0]
    if name == "output_schema":
        return read_schema(value)
    if name == "metadata":
        pairs = dict(pair.split("=", 1) for pair in value if "=" in pair)
        if len(pairs) != len(value):
            raise InvalidInput(f"{flag}: each is KEY=VALUE, named once", reason=name)
        return pairs
    if get_origin(plain) is tuple:
        return joined(value, flag) if rule.commas else names(value, name)
    if name in ("since", "until"):
        try:
            return day(value, flag)
        except InvalidInput:
            raise InvalidInput(f"{flag} {value!r} is not a day", hint="Write it as YYYY-MM-DD.") from None
    return value.lower() if rule.choices and isinstance(value, str) else value


def _argument(name: str, rule: Rule, hint: Any, default: Any) -> tuple[Any, Any]:
    plain = plain_type(hint)
    help_ = WORDS.get(name) or sentence(rule)
    if default is MISSING:
        return Annotated[str, typer.Argument(help=help_)], MISSING
    bounds: Any = {"min": rule.low, "max": rule.high} if plain in (int, float) else {}
    if plain is int:
        bounds = {what: None if value is None else int(value) for what, value in bounds.items()}
    option = typer.Option(*_flags(name, rule), help=help_, metavar=METAVARS.get(name), **bounds)
    if name == "output_schema":
        return Annotated[Path | None, option], None
    if name == "plan":
        return Annotated[str | None, option], None
    if plain is bool:
        return Annotated[bool, option], False
    if get_origin(plain) is tuple or name == "metadata":
        option.help = f"{str(option.help).rstrip('.')} (repeatable)."
        return Annotated[list[str] | None, option], None
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        option.case_sensitive = False
        return Annotated[plain | None, option], None
    simple = plain if plain in (int, float) else str
    return (Annotated[simple, option], default) if default is not None else (Annotated[simple | None, option], None)


def _flags(name: str, rule: Rule) -> tuple[str, ...]:
    return rule.flags or (_flag(name),)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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


def read_schema(path: Path) -> "dict[str, JsonValue]":
    """The JSON Schema of a file. Errors: InvalidInput (not there, not JSON, or not one that can be filled)."""
    from pincite.research.schema_fields import fields_of

    try:
        schema: JsonValue = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}", reason="schema_unreadable") from None
    except ValueError as error:
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

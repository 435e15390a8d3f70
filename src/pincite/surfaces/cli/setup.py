"""`pincite setup`: what one has (a model, search engines, folders) is asked or named, tried, and written down."""

import getpass
import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.domain.errors import InvalidInput, ModelUnavailable
from pincite.runtime.system import replace_file
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_note, print_text, run_async

if TYPE_CHECKING:
    from pincite.surfaces.cli.doctor import Tried

# The name under which keys are in the keyring.
SERVICE = "pincite"


def setup(
    model: Annotated[str, typer.Option(metavar="PROVIDER:NAME", help="Language model, or none.")] = "",
    key_env: Annotated[str, typer.Option(metavar="VARIABLE", help="Where the model's key is in the environment.")] = "",
    search: Annotated[str, typer.Option(help="Search engines, several by comma; auto takes those at hand.")] = "",
    library: Annotated[list[Path] | None, typer.Option(help="A folder of your own pages (repeatable).")] = None,
    file: Annotated[Path | None, typer.Option(help="Where to write; by default your configuration folder.")] = None,
    test: Annotated[bool, typer.Option("--test/--no-test", help="Try each with one call.")] = True,
    as_json: options.Json = False,
) -> None:
    """Set up a model, search engines and folders; each is tried with one call, then written to pincite.toml."""
    from pincite.settings import default_files

    asked = not (model or search or library)
    # A script would wait for answers that nobody gives.
    if asked and not sys.stdin.isatty():
        raise InvalidInput(
            "nothing was named to set up", hint="Name --model, --search or --library, or use a terminal."
        )
    wanted = interview() if asked else named(model, key_env, search, tuple(library or ()))
    place = file or default_files()[0]

    async def attempt() -> "list[Tried]":
        from pincite.settings import load_settings
        from pincite.surfaces.cli.doctor import try_all

        settings = load_settings(resolved(wanted))
        # Only what was set up now: engines that somebody did not name cost money, too.
        return await try_all(settings, searches="source" in wanted) if test else []

    tried = run_async(attempt)
    for one in tried:
        print_note(f"{one.name}: {one.said}")
    failed = [one for one in tried if one.failure is not None]
    if failed:
        names = ", ".join(one.name for one in failed)
        hint = "Mend it, or write with --no-test."
        raise ModelUnavailable(f"no answer from {names}; nothing was written", hint=hint)
    write(place, wanted)
    if as_json:
        print_json({"file": str(place), "settings": wanted, "tried": {one.name: one.said for one in tried}})
        return
    print_note(f"Written: {place} (only you can read it; it holds no key)")
    print_text('Next: pincite research "..." -o report.html')


def named(model: str, key_env: str, search: str, folders: tuple[Path, ...]) -> dict[str, object]:
    """The settings that the options ask for. Errors: InvalidInput."""
    from pincite.wiring.models import key_setting

    found: dict[str, object] = {}
    if model:
        found["llm"] = model
    if key_env:
        name = key_setting(model)
        if not name:
            raise InvalidInput(f"{model or 'no model'} uses no API key", hint="Leave --key-env out.")
        found[name] = f"env:{key_env}"
    for folder in folders:
        if not folder.exists():
            raise InvalidInput(f"there is no folder {folder}", hint="Name a folder, a WARC or a WACZ.")
    if search or folders:
        # Folders alone do not end the search of the web.
        engines = [name.strip() for name in search.split(",") if name.strip()] or ["auto"]
        found["source"] = [*(f"local:{folder.resolve()}" for folder in folders), *engines]
    return found


def interview() -> dict[str, object]:
    """The settings that somebody at a terminal wants."""
    from pincite.wiring.models import key_setting

    print_note("Enter leaves a question out. Keys are never written into the file.")
    model = _ask("Language model, as in openai:gpt-5-mini or ollama:qwen3 (none needs no key):")
    found = named(model, "", "", ())
    setting = key_setting(model)
    from pincite.settings import environment_names

    if setting and not any(os.environ.get(name) for name in environment_names(setting)):
        found |= _keep_key(setting)
    engines = _ask("Search engines, as in tavily,exa (Enter: those whose keys are set, else DuckDuckGo):")
    folder = _ask("A folder of your own pages:")
    return found | named("", "", engines, (Path(folder).expanduser(),) if folder else ())


def resolved(wanted: Mapping[str, object]) -> dict[str, object]:
    """The settings with what they refer to in place, as they will be read from the file."""
    from pincite.settings import referred

    return {name: value for name, given in wanted.items() if (value := referred(given)) is not None}


def write(place: Path, wanted: Mapping[str, object]) -> None:
    """Put the settings into a file that only its owner can read; what else stands in it stays.

    Errors: InvalidInput (it can't be written).
    """
    import json

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        old = place.read_text(encoding="utf-8") if place.is_file() else ""
        kept = "\n".join(
            line
            for line in old.splitlines()
            # Line by line and not parsed: the reader of TOML that Python has writes nothing, and comments of its owner
            # stay.
            if (found := re.match(r"\s*([A-Za-z0-9_]+)\s*=", line)) is None or found[1] not in wanted
        ).strip()
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in wanted.items()]
        text = "\n".join([*lines, *([kept] if kept else [])]) + "\n"
        replace_file(place, text, private=True)
    except OSError as error:
        raise InvalidInput(f"{place} can't be written: {error.strerror}", hint="Name another file: --file.") from None


def _keep_key(setting: str) -> dict[str, object]:
    """A key that was typed goes into the keyring; without one it is used for the test and the variable is named."""
    from pincite.settings import environment_names

    secret = getpass.getpass(f"Key ({setting.removesuffix('_api_key')}; it is not shown): ", stream=sys.stderr).strip()
    variable = environment_names(setting)[-1]
    if not secret:
        return {}
    if find_spec("keyring") is None:
        # For this process alone, so that the test call has it.
        os.environ[variable] = secret
        print_note(f"There is no keyring here. Put this into your shell's profile: export {variable}=...")
        return {}
    keyring: Any = import_module("keyring")
    keyring.set_password(SERVICE, setting, secret)
    return {setting: f"keyring:{SERVICE}/{setting}"}


def _ask(question: str) -> str:
    # Not `input`, which asks on stdout, where `--json` writes.
    sys.stderr.write(question + " ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()

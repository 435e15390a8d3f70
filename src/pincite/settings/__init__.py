"""Settings, and the only place that reads the environment and `pincite.toml`.

Order: argument > environment > file > profile > default. Every field is `PINCITE_<NAME>` in the environment and
`<name>` in the file; fields that the ecosystem already has a name for read that name too. docs/settings.md is
generated from the descriptions in `model`.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import ValidationError

from pincite.domain.errors import InvalidSetting
from pincite.settings.model import PROFILES as PROFILES
from pincite.settings.model import Settings as Settings

FILE_NAME = "pincite.toml"
PREFIX = "PINCITE_"
_ALL = "docs/settings.md lists them all."
_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_SECRET_ACCESS_KEY")
_SECRET_CHARS = 16  # shorter values may be words: masking them would spoil texts


def load_settings(
    overrides: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    files: Iterable[Path] | None = None,
) -> Settings:
    """The settings in force. `overrides` are a caller's arguments; None values in it count as not given.

    Errors: InvalidSetting (unknown name, value out of range, or a file that isn't TOML; the message names where from).
    """
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    from_environment = _read_environment(os.environ if environ is None else environ)
    from_files = _read_files(default_files() if files is None else files)
    filed: dict[str, object] = {}
    for values in from_files.values():
        filed |= values
    # A variable that is referred to and not set leaves its setting out.
    filed = {name: value for name, written in filed.items() if (value := referred(written)) is not None}
    merged: dict[str, object] = {**filed, **from_environment, **given}
    profile = str(merged.get("profile", "standard"))
    # The profile is known only after the other sources were read, and is weaker than all of them.
    merged = {**_read_profile(profile), **merged, "profile": profile}
    if merged.get("fetch_proxy") == "environment":
        around = os.environ if environ is None else environ
        # Most pages are read over HTTPS: their proxy comes first.
        names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
        merged["fetch_proxy"] = next((around[name] for name in names if around.get(name)), None)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        field = name.partition(".")[0]
        # The strongest source that has it is the one whose value was refused.
        sources = {"argument": given, "environment": from_environment}
        sources |= {str(path): from_files[path] for path in reversed(from_files)}
        origin = next((source for source, values in sources.items() if field in values), f"profile {profile}")
        if first["type"] == "extra_forbidden":
            said = f"there is no setting {name!r} ({origin})"
            hint = (
                f"Did you mean {near[0]!r}?" if (near := get_close_matches(field, Settings.model_fields, 1)) else _ALL
            )
        else:
            said = f"setting {name} ({origin}): {first['msg'].removeprefix('Value error, ')}"
            known = Settings.model_fields.get(field)
            hint = f"{field}: {known.description}" if known is not None and known.description else _ALL
        raise InvalidSetting(said, hint=hint, context={"setting": name}) from None


def with_profile(settings: Settings, profile: str) -> Settings:
    """The same settings with another preset of caps; what was set beside the old one stays. Errors: InvalidSetting."""
    preset = Settings.model_validate(_read_profile(settings.profile))
    own = {
        name: value
        for name, value in settings.model_dump(exclude_unset=True).items()
        # What merely equals the old preset goes with it: nobody can tell whether it was typed.
        if name not in preset.model_fields_set or getattr(settings, name) != getattr(preset, name)
    }
    return load_settings({**own, "profile": profile})


def default_files() -> tuple[Path, ...]:
    """Where settings are looked for, weakest first: the user's configuration folder, then the working folder."""
    return (platformdirs.user_config_path("pincite") / FILE_NAME, Path.cwd() / FILE_NAME)


def environment_names(name: str) -> tuple[str, ...]:
    """The environment variables that set field `name`, strongest first."""
    extra = Settings.model_fields[name].json_schema_extra
    also = extra.get("also") if isinstance(extra, dict) else None
    return (PREFIX + name.upper(), *(str(item) for item in (also if isinstance(also, list) else [])))


def _read_environment(environ: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in Settings.model_fields:
        for variable in environment_names(name):
            # Empty counts as not set: shells and compose files pass on variables that nobody gave a value.
            if environ.get(variable):
                found[name] = environ[variable]
                break
    return found


def environment_secrets() -> tuple[str, ...]:
    """Values of variables that look like keys: providers that pydantic-ai builds read theirs from there themselves."""
    return tuple(v for name, v in os.environ.items() if name.endswith(_SECRET_ENDINGS) and len(v) >= _SECRET_CHARS)


def _read_files(paths: Iterable[Path]) -> dict[Path, dict[str, object]]:
    found: dict[Path, dict[str, object]] = {}
    for path in paths:
        try:
            found[path] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidSetting(f"{path} is not TOML: {error}", hint="Fix the file or remove it.") from error
        except OSError as error:
            raise InvalidSetting(f"{path} can't be read: {error.strerror}", hint="Check its permissions.") from error
    return found


def referred(value: object) -> object:
    """What `env:VARIABLE` or `keyring:SERVICE/NAME` stands for, so that files need hold no key; else the value.

    Errors: InvalidSetting (there is no keyring, or it has no such entry).
    """
    if not isinstance(value, str):
        return value
    if value.startswith("env:"):
        return os.environ.get(value.removeprefix("env:"))
    if not value.startswith("keyring:"):
        return value
    service, _, name = value.removeprefix("keyring:").partition("/")
    try:
        keyring: Any = import_module("keyring")
    except ImportError as error:
        raise InvalidSetting(f"{value} needs a keyring", hint="Run: pip install keyring") from error
    found: str | None = keyring.get_password(service, name)
    if found is None:
        raise InvalidSetting(f"the keyring has no {name} of {service}", hint="Run: pincite setup")
    return found


@cache
def _read_profile(name: str) -> dict[str, object]:
    if name not in PROFILES:
        raise InvalidSetting(f"there is no profile {name!r}", hint=f"Profiles: {', '.join(PROFILES)}.")
    return tomllib.loads((resources.files("pincite") / "profiles" / f"{name}.toml").read_text(encoding="utf-8"))

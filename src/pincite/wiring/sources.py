"""Where a run looks: what the setting `source` means here and now."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pincite.domain.errors import LibraryNotFound
from pincite.settings import Settings
from pincite.wiring.registry import PROVIDERS

LOCAL: Final = "local"
AUTO: Final = "auto"
LIBRARIES_FILE: Final = "libraries.json"
"""The list of libraries made by `pincite index`, in the home folder."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Local libraries by path, providers by name."""

    libraries: tuple[Path, ...] = ()
    providers: tuple[str, ...] = ()


def resolve_sources(settings: Settings, *, only_urls: bool = False) -> Sources:
    """What to search. `only_urls` says that pages were named: then nothing is searched unless a source was, too.

    Errors:
        LibraryNotFound: `local` without an indexed library.
    """
    named = "source" in settings.model_fields_set
    if only_urls and not named:
        return Sources()
    indexed = indexed_libraries(settings)
    if not named and indexed:
        return Sources(libraries=indexed)
    libraries: list[Path] = []
    providers: list[str] = []
    for source in settings.source:
        if source == LOCAL:
            libraries += indexed or _no_library()
        elif source.startswith(f"{LOCAL}:"):
            libraries.append(Path(source.removeprefix(f"{LOCAL}:")).expanduser().resolve())
        elif source == AUTO:
            providers += _providers_with_keys(settings) or ["duckduckgo"]
        else:
            providers.append(source)
    return Sources(tuple(dict.fromkeys(libraries)), tuple(dict.fromkeys(providers)))


def indexed_libraries(settings: Settings) -> tuple[Path, ...]:
    """The library of the settings and those made by `pincite index`, oldest first."""
    file = settings.home / LIBRARIES_FILE
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    configured = [settings.library.expanduser().resolve()] if settings.library else []
    return tuple(dict.fromkeys([*configured, *(Path(name) for name in known)]))


def remember_library(settings: Settings, path: Path) -> None:
    """Add a library to those that are searched when no source is named."""
    indexed = indexed_libraries(settings)
    if path in indexed:
        return
    file = settings.home / LIBRARIES_FILE
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps([str(known) for known in (*indexed, path)], indent=1), encoding="utf-8")
    partial.replace(file)


def _providers_with_keys(settings: Settings) -> list[str]:
    with_key = [name for name in PROVIDERS if getattr(settings, f"{name}_api_key", None)]
    return with_key + (["searxng"] if settings.searxng_base_url else [])


def _no_library() -> list[Path]:
    raise LibraryNotFound("no library is indexed yet", hint="pincite index PATH")

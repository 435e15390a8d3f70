"""Where a run looks: what the setting `source` means here and now."""

import json
from importlib import resources
from pathlib import Path
from typing import Final

from pincite.domain.errors import InvalidSetting, LibraryNotFound
from pincite.domain.frozen import dataclass
from pincite.runtime.system import replace_file
from pincite.settings import Settings
from pincite.wiring.registry import PROVIDERS

NAME: Final = "postgresql-python-docs.warc.gz"
VECTORS: Final = "postgresql-python-docs.vectors"
# A question that its pages answer.
QUESTION: Final = "What is the default isolation level in PostgreSQL, and what can a query see in it?"


def bundled_library() -> Path:
    """Where its file is: in the installed package, or in the source tree that the package is run from.

    Errors: LibraryNotFound (a package that was put together without it).
    """
    for path in _bundled(NAME):
        if path.is_file():
            return path
    raise LibraryNotFound("this package came without its example library", hint="Name your own: --source local:PATH")


def is_bundled(path: Path) -> bool:
    """Whether the library at this path is the one that comes with the package."""
    return path in _bundled(NAME)


def bundled_vectors() -> bytes:
    """The vectors that came with it (`scripts/build_examples.py --vectors`); nothing where there are none."""
    return next((path.read_bytes() for path in _bundled(VECTORS) if path.is_file()), b"")


def _bundled(name: str) -> tuple[Path, Path]:
    return Path(str(resources.files("pincite"))) / "examples" / name, Path(__file__).parents[3] / "examples" / name


LOCAL: Final = "local"
AUTO: Final = "auto"
# The library that comes with the package.
BUNDLED: Final = "bundled"
KEYLESS: Final = "duckduckgo"
# Asked where DuckDuckGo's one call in 2.5 s is taken, for what an encyclopedia may answer.
BESIDE_KEYLESS: Final = "wikipedia"
_TURN_ON: Final = (
    "PINCITE_DUCKDUCKGO=true turns DuckDuckGo on; all users of a server then share its 0.4 calls a second."
)
# The list of libraries made by `pincite index`, in the home folder.
LIBRARIES_FILE: Final = "libraries.json"


@dataclass(frozen=True, slots=True)
class Sources:
    """Local libraries by path, providers by name."""

    libraries: tuple[Path, ...] = ()
    providers: tuple[str, ...] = ()

    @property
    def is_keyless(self) -> bool:
        """Whether only the engines of the keyless default are asked, of which one gives an answer in 2.5 s."""
        return bool(self.providers) and set(self.providers) <= {KEYLESS, BESIDE_KEYLESS}


def resolve_sources(settings: Settings, *, only_urls: bool = False) -> Sources:
    """What to search. `only_urls` says that pages were named: then nothing is searched unless a source was, too.

    Errors:
        LibraryNotFound: `local` without an indexed library.
        InvalidSetting: a server without a search engine (`no_search_provider`), or asked for DuckDuckGo, which is
            off there unless turned on (`provider_off`).
    """
    named = "source" in settings.model_fields_set
    if only_urls and not named:
        return Sources()
    indexed = indexed_libraries(settings)
    if not named and indexed:
        return Sources(libraries=indexed)
    providers: list[str] = []
    for source in settings.source:
        if source == AUTO:
            with_key = [name for name in PROVIDERS.rows if getattr(settings, f"{name}_api_key", None)]
            if settings.searxng_base_url:
                with_key.append("searxng")
            providers += with_key or [_without_a_key(settings), BESIDE_KEYLESS]
        elif source == KEYLESS and not _may_ask_duckduckgo(settings):
            raise InvalidSetting("DuckDuckGo is off here", reason="provider_off", hint=_TURN_ON)
        elif not _is_local(source):
            if "/" in source or source.startswith("."):
                raise InvalidSetting(f"there is no source {source!r}", hint=f"A folder or a file is local:{source}.")
            providers.append(source)
    return Sources(resolve_libraries(settings), tuple(dict.fromkeys(providers)))


def resolve_libraries(settings: Settings) -> tuple[Path, ...]:
    """The local libraries that the sources name, or the indexed ones when none is named.

    Errors: LibraryNotFound, InvalidSetting (`local:` without a path).
    """
    indexed = indexed_libraries(settings)
    if "source" not in settings.model_fields_set:
        return indexed
    libraries: list[Path] = []
    for source in filter(_is_local, settings.source):
        if source == LOCAL:
            if not indexed:
                raise LibraryNotFound("no library is indexed yet", hint="pincite index PATH")
            libraries += indexed
        elif source == BUNDLED:
            libraries.append(bundled_library())
        elif path := source.removeprefix(f"{LOCAL}:").strip():
            libraries.append(Path(path).expanduser().resolve())
        else:  # else it would be the folder that this runs in, whatever is there
            raise InvalidSetting(
                f"{source} names no folder", hint=f"{LOCAL}:PATH, or {LOCAL} for all that are indexed."
            )
    return tuple(dict.fromkeys(libraries))


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
    replace_file(settings.home / LIBRARIES_FILE, json.dumps([str(known) for known in (*indexed, path)], indent=1))


def _is_local(source: str) -> bool:
    return source in (LOCAL, BUNDLED) or source.startswith(f"{LOCAL}:")


def _may_ask_duckduckgo(settings: Settings) -> bool:
    return not settings.is_server if settings.duckduckgo is None else settings.duckduckgo


def _without_a_key(settings: Settings) -> str:
    """The engine of those who have no key. Errors: InvalidSetting."""
    if _may_ask_duckduckgo(settings):
        return KEYLESS
    raise InvalidSetting(
        "no search engine is set up, and DuckDuckGo is off" + (" on servers" if settings.is_server else ""),
        reason="no_search_provider",
        hint="Set the key of an engine (such as TAVILY_API_KEY) or SEARXNG_URL, or search pages of your own "
        f"(PINCITE_SOURCE=local:FOLDER) or those that come with Pincite (PINCITE_SOURCE=bundled). {_TURN_ON}",
    )

"""Builds the search front door: engines with their keys, the answer cache."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.ports import Cache, Clock, Search, SearchProvider
from pincite.runtime.kept_open import KeptOpen
from pincite.settings import Settings
from pincite.wiring.registry import PROVIDERS, load

if TYPE_CHECKING:
    from pincite.library import LocalLibrary


async def build_search(
    settings: Settings,
    clock: Clock,
    kept: KeptOpen,
    *,
    libraries: "Sequence[LocalLibrary]",
    providers: Sequence[str],
    cache: Cache,
) -> Search | None:
    """The front door over these sources, or None when there are none.

    Errors:
        InvalidInput: an unknown provider. InvalidSetting: a retired one. ProviderAuth: its key is missing.
    """
    if not libraries and not providers:
        return None
    from pincite.search.providers.local import LocalProvider
    from pincite.search.service import SearchOptions, SearchService
    from pincite.search.store import Scopes

    engines: list[SearchProvider] = [LocalProvider(library) for library in libraries]
    engines += [provider(name, settings, clock) for name in providers]
    service = SearchService(
        engines,
        clock=clock,
        cache=cache if providers else None,  # a local index answers as it is now, and faster than a cache
        options=SearchOptions(scopes=Scopes(private=settings.scope)),
    )
    return await kept.open(service)


def provider(name: str, settings: Settings, clock: Clock) -> SearchProvider:
    """The adapter of one search engine, with its key and base URL from the settings."""
    from pincite.search.api import ProviderSettings
    from pincite.search.catalogue import card_of
    from pincite.search.provider import Surroundings

    card = card_of(name)
    adapter = load(PROVIDERS, name, "search provider")
    key = getattr(settings, f"{name}_api_key", None)
    # The search and reader APIs of one vendor may live at different places.
    own = getattr(settings, f"{name}_search_base_url", None) or getattr(settings, f"{name}_base_url", None)
    made: SearchProvider = adapter(
        ProviderSettings(own or card.base_url, api_key=key.get_secret_value() if key else None), Surroundings(clock)
    )
    return made

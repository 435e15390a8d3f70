"""What a run would use and may cost, said before it starts."""

from dataclasses import dataclass
from decimal import Decimal

from pincite.domain.budget import Budget
from pincite.domain.errors import LibraryNotFound
from pincite.settings import Settings
from pincite.wiring.sources import resolve_sources


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is configured for a run.

    `searches_usd` is the list price of all searches a run may make at the dearest of its engines, before free
    allowances; None when a price is not known. `model` is empty without one. `trouble` says why nothing can be
    searched.
    """

    profile: str
    model: str
    libraries: tuple[str, ...]
    engines: tuple[str, ...]
    budget: Budget
    searches_usd: Decimal | None
    trouble: str = ""


def outlook(settings: Settings) -> Outlook:
    """What a run with these settings would use and may cost at most. Calls nothing."""
    trouble = ""
    libraries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    try:
        sources = resolve_sources(settings)
        libraries, engines = tuple(path.name for path in sources.libraries), sources.providers
    except LibraryNotFound as error:
        trouble = error.message
    return Outlook(
        profile=settings.profile,
        model="" if settings.llm == "none" else settings.llm,
        libraries=libraries,
        engines=engines,
        budget=settings.budget,
        searches_usd=_searches_usd(engines, settings.budget),
        trouble=trouble,
    )


def _searches_usd(engines: tuple[str, ...], budget: Budget) -> Decimal | None:
    from pincite.search.catalogue import CATALOGUE

    if not engines:
        return Decimal(0)
    prices = [CATALOGUE[name].cost(None) if name in CATALOGUE else None for name in engines]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices) or budget.searches is None:
        return None
    return max(known) * budget.searches

"""What a run would use and may cost, said before it starts."""

from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec

from pincite.domain.budget import Budget
from pincite.domain.errors import InvalidSetting, LibraryNotFound
from pincite.settings import Settings
from pincite.wiring.model_door import model_chains, wants_models
from pincite.wiring.sources import resolve_sources


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is configured for a run.

    `searches_usd` is the list price of all searches a run may make at the dearest of its engines, before free
    allowances; `model_usd` that of all tokens it may read and write at the dearest of its models. None: not known.
    `models` is empty without one. `trouble` says why it can't be worked on.
    """

    profile: str
    models: tuple[str, ...]
    libraries: tuple[str, ...]
    engines: tuple[str, ...]
    budget: Budget
    searches_usd: Decimal | None
    model_usd: Decimal | None
    trouble: str = ""


def outlook(settings: Settings) -> Outlook:
    """What a run with these settings would use and may cost at most. Calls nothing."""
    trouble = ""
    libraries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    try:
        sources = resolve_sources(settings)
        libraries, engines = tuple(path.name for path in sources.libraries), sources.providers
    except (LibraryNotFound, InvalidSetting) as error:
        trouble = error.message
    models: tuple[str, ...] = ()
    model_usd: Decimal | None = Decimal(0)
    try:
        models, model_usd = _models(settings)
    except InvalidSetting as error:
        trouble = trouble or error.message
    return Outlook(
        profile=settings.profile,
        models=models,
        libraries=libraries,
        engines=engines,
        budget=settings.budget,
        searches_usd=_searches_usd(engines, settings.budget),
        model_usd=model_usd,
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


def _models(settings: Settings) -> tuple[tuple[str, ...], Decimal | None]:
    """The models a run asks, and what its tokens cost at most. Errors: InvalidSetting."""
    if not wants_models(settings):
        return (), Decimal(0)
    specs = tuple(dict.fromkeys(spec for chain in model_chains(settings).values() for spec in chain))
    names = tuple(dict.fromkeys(spec.label for spec in specs))
    if settings.max_tokens is None or find_spec("genai_prices") is None:
        return names, None
    from pincite.llm.prices import info_of

    dearest = Decimal(0)
    for info in map(info_of, specs):
        if info.usd_per_million_in is None or info.usd_per_million_out is None:
            return names, None
        dearest = max(dearest, info.usd_per_million_in + info.usd_per_million_out)
    return names, dearest * settings.max_tokens / 1_000_000

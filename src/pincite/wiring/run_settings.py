"""The settings that belong to a run, stored with it, and what a run under them would use and may cost."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from typing import Final

from pincite.domain.budget import Budget
from pincite.domain.errors import InvalidInput, InvalidSetting, LibraryNotFound
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.records import RunRecord
from pincite.domain.requests import CAPS, ResearchRequest
from pincite.settings import Settings, load_settings, with_profile
from pincite.wiring.libraries import embedder_name
from pincite.wiring.models import model_chains, wants_models
from pincite.wiring.sources import is_bundled, resolve_sources

FROZEN: Final = (
    "profile",
    "source",
    "max_rounds",
    "max_searches",
    "max_pages",
    "max_web_requests",
    "max_cost_usd",
    "max_tokens",
    "deadline_s",
    "results_per_query",
    "pages_per_round",
    "per_domain_cap",
    "queries_per_round",
    "follow_ups_per_sub_question",
    "keep_undated",
    "revalidate_after_h",
    "domain_quality",
    "require_coverage",
    "independent_share",
    "max_domain_share",
    "embeddings",
    "reranker",
    "llm",
    "llm_roles",
    "llm_fallbacks",
    "llm_retries",
    "llm_effort",
    "llm_source_tokens",
    "llm_extractive_fallback",
    "judge",
)


def narrowed(settings: Settings, caps: Mapping[str, object]) -> Settings:
    """The settings with those of `caps` that are stricter than what is in force; None counts as not given.

    Errors: InvalidInput (not a cap), InvalidSetting (a value that is out of range).
    """
    given = {name: value for name, value in caps.items() if value is not None}
    if unknown := sorted(set(given) - set(CAPS)):
        raise InvalidInput(f"{unknown[0]!r} is no cap of a run", hint=f"Known: {', '.join(CAPS)}.")
    if not given:
        return settings
    own = settings.model_dump(exclude_unset=True)
    asked = load_settings({**own, **given})
    stricter = {}
    for name in given:
        wanted, now = getattr(asked, name), getattr(settings, name)
        if now is None or (wanted > now if name == "require_coverage" else wanted < now):
            stricter[name] = wanted
    return load_settings({**own, **stricter}) if stricter else settings


def requested(settings: Settings, request: ResearchRequest) -> Settings:
    """The settings of a run: those in force, with what its request asks for and may have.

    Caps may only become stricter. Model and judge are those that the settings allow: keys, servers and prices are the
    operator's.

    Errors: InvalidInput (`model_not_allowed`, `judge_not_allowed`), InvalidSetting (a value that is out of range).
    """
    if request.profile is not None and request.profile != settings.profile:
        # The profile first: the caps of the request are then held against those of the profile it asks for.
        settings = with_profile(settings, request.profile)
    settings = narrowed(settings, request.caps())
    changed: dict[str, object] = {}
    if request.llm is not None and request.llm != settings.llm:
        _vet_choice("model", request.llm, ("none", settings.llm, *settings.llm_allowed))
        # Roles of the settings name models of their own, which were not asked for.
        changed |= {"llm": request.llm, "llm_roles": {}}
    if request.judge is not None and request.judge != settings.judge:
        _vet_choice("judge", request.judge, ("none", "model", settings.judge))
        changed["judge"] = request.judge
    if request.words_only:
        changed["embeddings"] = "none"
    if request.source and request.source != settings.source:
        changed["source"] = request.source
    return load_settings({**settings.model_dump(exclude_unset=True), **changed}) if changed else settings


def _vet_choice(what: str, wanted: str, allowed: Sequence[str]) -> None:
    if wanted not in allowed:
        raise InvalidInput(
            f"the {what} {wanted[:80]!r} is not allowed here",
            reason=f"{what}_not_allowed",
            hint=f"Allowed here: {', '.join(dict.fromkeys(allowed))}.",
        )


def frozen_settings(settings: Settings) -> dict[str, Json]:
    """The settings that belong to a run, as plain JSON for its record."""
    plain: dict[str, Json] = settings.model_dump(mode="json", include=set(FROZEN))
    # What `auto` came to here: a run that goes on where no model of meaning is installed must not rank otherwise.
    resolved: dict[str, Json] = {"embeddings": embedder_name(settings) or "none"}
    return plain | resolved | {"named": "source" in settings.model_fields_set}


def thawed_settings(settings: Settings, frozen: Json) -> Settings:
    """The settings in force with those that the run was started with."""
    if not isinstance(frozen, dict):
        return settings
    kept: dict[str, object] = {name: frozen[name] for name in FROZEN if name in frozen}
    # A run that named no source looks where this home looks now: a library may have moved since.
    if not frozen.get("named"):
        kept.pop("source", None)
    # Through the loader again and not copied over: what the run was started with is vetted as any other setting.
    given: dict[str, object] = {**settings.model_dump(exclude_unset=True), **kept}
    return load_settings(given)


def continued(settings: Settings, before: RunRecord | None) -> Settings:
    """The settings of a run that goes on from another one: it looks where that one was told to, unless it is told so.

    What was asked about somebody's own folder is not asked of the web next.
    """
    frozen = before.inputs.get("settings") if before is not None else None
    if not isinstance(frozen, dict) or not frozen.get("named") or "source" in settings.model_fields_set:
        return settings
    return load_settings({**settings.model_dump(exclude_unset=True), "source": frozen["source"]})


@dataclass(frozen=True, slots=True)
class RunEstimate:
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


def run_estimate(settings: Settings) -> RunEstimate:
    """What a run with these settings would use and may cost at most. Calls nothing."""
    trouble = ""
    libraries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    try:
        sources = resolve_sources(settings)
        named = ("the bundled pages" if is_bundled(path) else path.name for path in sources.libraries)
        libraries, engines = tuple(named), sources.providers
    except (LibraryNotFound, InvalidSetting) as error:
        trouble = error.message
    models: tuple[str, ...] = ()
    model_usd: Decimal | None = Decimal(0)
    try:
        models, model_usd = _models(settings)
    except InvalidSetting as error:
        trouble = trouble or error.message
    return RunEstimate(
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
    # A sum with an unknown in it would read as a promise.
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
    from pincite.llm.catalogue import info_of

    dearest = Decimal(0)
    for info in map(info_of, specs):
        if info.usd_per_million_in is None or info.usd_per_million_out is None:
            return names, None
        dearest = max(dearest, info.usd_per_million_in + info.usd_per_million_out)
    return names, dearest * settings.max_tokens / 1_000_000

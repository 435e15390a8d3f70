"""The settings that belong to a run: stored with it, so that a resumed run does what it set out to do."""

from collections.abc import Mapping
from typing import Final

from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.settings import Settings, load_settings
from pincite.wiring.ranking import embedder_name

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
    "llm",
    "llm_roles",
    "llm_fallbacks",
    "llm_retries",
    "llm_effort",
    "llm_page_tokens",
    "llm_extractive_fallback",
    "judge",
)


CAPS: Final = (
    "max_rounds",
    "max_searches",
    "max_pages",
    "max_web_requests",
    "max_cost_usd",
    "max_tokens",
    "deadline_s",
    "require_coverage",
)
"""The settings that a single run may make stricter: lower, but for the coverage that it requires."""


def narrowed(settings: Settings, caps: Mapping[str, object]) -> Settings:
    """The settings with those of `caps` that are stricter than what is in force; None counts as not given.

    Errors:
        InvalidInput: not a cap. InvalidSetting: a value that is out of range.
    """
    given = {name: value for name, value in caps.items() if value is not None}
    if unknown := sorted(set(given) - set(CAPS)):
        raise InvalidInput(f"{unknown[0]!r} is no cap of a run", hint=f"Known: {', '.join(CAPS)}.")
    if not given:
        return settings
    own = settings.model_dump(exclude_unset=True)
    asked = load_settings({**own, **given})
    stricter = {name: getattr(asked, name) for name in given if _is_stricter(name, asked, settings)}
    return load_settings({**own, **stricter}) if stricter else settings


def asked_model(settings: Settings, llm: str | None) -> Settings:
    """The settings with the model that one run asks for, for all its roles; keys and servers are the operator's.

    Errors:
        InvalidInput: `model_not_allowed`, not one of the settings.
    """
    if llm is None or llm == settings.llm:
        return settings
    if llm != "none" and llm not in settings.llm_allowed:
        allowed = ", ".join(dict.fromkeys(("none", settings.llm, *settings.llm_allowed)))
        raise InvalidInput(
            f"the model {llm[:80]!r} may not be asked for", reason="model_not_allowed", hint=f"Allowed here: {allowed}."
        )
    return load_settings({**settings.model_dump(exclude_unset=True), "llm": llm, "llm_roles": {}})


def _is_stricter(name: str, asked: Settings, in_force: Settings) -> bool:
    wanted, now = getattr(asked, name), getattr(in_force, name)
    if now is None:
        return True
    return bool(wanted > now if name == "require_coverage" else wanted < now)


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
    if not frozen.get("named"):
        kept.pop("source", None)
    given: dict[str, object] = {**settings.model_dump(exclude_unset=True), **kept}
    return load_settings(given)

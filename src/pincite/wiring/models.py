"""Builds the language models of the settings, and stands in for what is closed where a run is made from its record."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar, cast, get_args

from pincite.domain.budget import Budget
from pincite.domain.errors import Conflict, ExtraNotInstalled, InvalidInput, InvalidSetting
from pincite.domain.events import Event, EventType, Json
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.model import Effort, Generation, ModelInfo, ModelRole, Prompt
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Clock, EventSink, LanguageModel, Ledger, ModelCalls
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.system import install_extra
from pincite.settings import Settings, environment_secrets

if TYPE_CHECKING:
    from pincite.llm.catalogue import ModelSpec


class OfflineBackend:
    """The services of a replay: nothing may be asked that is not on record."""

    async def search(self, query: Query) -> SearchResponse:
        """Errors: Conflict, always."""
        raise Conflict(f"the replay would search for {query.text!r}", reason="replay_miss")

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """Errors: Conflict, always."""
        raise Conflict(f"the replay would fetch {request.url}", reason="replay_miss")


T = TypeVar("T")
NONE: Final = "none"
# What calls cost that were made already.
_PAID: Final = Decimal(0)


def model_not_set(what: str) -> InvalidInput:
    """The error for what no rules can do."""
    hint = "Set one with --llm MODEL."
    return InvalidInput(f"{what} needs a language model", reason="model_not_set", hint=hint)


def wants_models(settings: Settings) -> bool:
    """Whether any role is given to a model."""
    return any(text != NONE for text in (settings.llm, *settings.llm_roles.values()))


def model_chains(settings: Settings) -> "dict[ModelRole, tuple[ModelSpec, ...]]":
    """For each role its model and the fallbacks; a role without a model is left out.

    Errors: InvalidSetting (an unknown role or provider, a missing key, or a price that is none).
    """
    unknown = sorted(set(settings.llm_roles) - {str(role) for role in ModelRole})
    if unknown:
        raise InvalidSetting(
            f"llm_roles names {unknown[0]!r}",
            hint=f"Roles: {', '.join(map(str, ModelRole))}.",
            context={"setting": "llm_roles"},
        )
    chains: dict[ModelRole, tuple[ModelSpec, ...]] = {}
    for role in ModelRole:
        first = settings.llm_roles.get(str(role), settings.llm)
        if first != NONE:
            chains[role] = tuple(
                dict.fromkeys(parse_setting(settings, text) for text in (first, *settings.llm_fallbacks))
            )
    return chains


def parse_setting(settings: Settings, text: str) -> "ModelSpec":
    """The model that a name means under these settings. Errors: InvalidSetting."""
    from pincite.llm.catalogue import PROVIDERS, Endpoint, parse_model

    def secret(name: str) -> str:
        value = getattr(settings, name, None)
        return value.get_secret_value() if value is not None else ""

    def named(name: str) -> str:
        return settings.llm_keys[name].get_secret_value() if name in settings.llm_keys else ""

    endpoints = {name: Endpoint(None, named(name)) for name in settings.llm_keys}
    for name, provider in PROVIDERS.items():
        base = getattr(settings, f"{name.removesuffix('-chat').removesuffix('-responses')}_base_url", None)
        # A key of `llm_keys` first: it is of this provider alone, and was named on purpose.
        endpoints[name] = Endpoint(base, named(name) or secret(provider.key_setting or "none"))
    # Most such servers speak like OpenAI, and their keys are kept under that name.
    own = Endpoint(settings.llm_base_url, secret("llm_api_key") or secret("openai_api_key"))
    if own.base_url and not settings.openai_base_url:
        # So are their models named: what was meant for a server nearby must not go to OpenAI.
        endpoints |= {
            name: Endpoint(own.base_url, named(name) or own.api_key) for name in PROVIDERS if name.startswith("openai")
        }
    servers = {name: Endpoint(url, named(name)) for name, url in settings.llm_servers.items()}
    return parse_model(text, endpoints, own, settings.llm_prices, servers)


def key_setting(model: str) -> str:
    """The setting of the key that a model's provider asks for; empty where it asks for none."""
    from pincite.llm.catalogue import PROVIDERS

    provider = PROVIDERS.get(model.partition(":")[0])
    return provider.key_setting if provider is not None else ""


async def open_models(settings: Settings, clock: Clock, kept: ResourcePool) -> LanguageModel:
    """The models of the settings; their connections are closed with the engine.

    Errors: InvalidSetting (a name, key or price is missing), ExtraNotInstalled (the extra `llm` is).
    """
    from pincite.llm.catalogue import PACKAGES, info_of

    chains = model_chains(settings)
    if find_spec("pydantic_ai") is None:
        # Those of all that will be asked: who installed one after the other would be refused once for each.
        protocols = {spec.protocol for chain in chains.values() for spec in chain}
        extras = ("llm", *sorted(PACKAGES[protocol] for protocol in protocols & PACKAGES.keys()))
        raise ExtraNotInstalled("a language model needs an extra", hint=f"Run: {install_extra(*extras)}")
    from pincite.llm.service import ModelService

    # Told before the run: a cap that can't be kept is worse than none.
    if settings.max_cost_usd is not None:
        for spec in dict.fromkeys(spec for chain in chains.values() for spec in chain):
            if not info_of(spec).price_known:
                raise InvalidSetting(
                    f"the price of {spec.label} is unknown: a cap of {settings.max_cost_usd} dollars can't be kept",
                    reason="model_price_unknown",
                    hint=f'Give it: llm_prices = {{"{spec.name}" = "IN/OUT"}}, dollars for a million tokens.',
                    context={"setting": "llm_prices"},
                )
    service = ModelService(
        chains,
        clock,
        output_mode=settings.llm_output_mode,
        temperature=settings.llm_temperature,
        timeout_s=settings.llm_timeout_s,
        concurrency=settings.llm_concurrency,
    )
    return await kept.open(service)


def model_names(model: LanguageModel | None) -> dict[str, Json]:
    """Which models serve each role, by name, for the record of a run."""
    if model is None:
        return {}
    return {str(role): [info.name for info in infos] for role in ModelRole if (infos := model.info(role))}


def recorded_models(names: Json) -> LanguageModel | None:
    """Models of a run that is made again from its record: as many as there were, none of which can be asked."""
    if not isinstance(names, Mapping) or not names:
        return None
    return _Recorded(
        {ModelRole(role): [str(name) for name in listed] for role, listed in names.items() if isinstance(listed, list)}
    )


class _Recorded:
    """Implements `ports.LanguageModel` without models: every answer must be on record."""

    def __init__(self, names: Mapping[ModelRole, Sequence[str]]) -> None:
        self._infos = {
            role: tuple(ModelInfo(name, "record", _PAID, _PAID) for name in listed) for role, listed in names.items()
        }

    def info(self, role: ModelRole) -> Sequence[ModelInfo]:
        """The models that the run had for this role."""
        return self._infos.get(role, ())

    async def generate(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, choice: int = 0, deadline_s: float | None = None
    ) -> Generation[T]:
        """Errors: Conflict, always."""
        raise Conflict(f"the replay would ask the {role}'s model", reason="replay_miss")


class NullSink:
    """Implements `ports.EventSink` for replays and for calls outside of runs: events are numbered and not stored."""

    def __init__(self, run_id: str = "") -> None:
        self._run_id = run_id
        self._last = 0

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The numbered event."""
        self._last += 1
        return Event(self._last, type_, self._run_id, datetime.now(UTC), data)


def recorded_calls(
    settings: Settings, model: LanguageModel, ledger: Ledger, events: EventSink, clock: Clock, budget: Budget
) -> ModelCalls:
    """Calls to a language model that are answered from the ledger where it has them, and recorded there otherwise."""
    from pincite.llm.calls import RecordedCalls

    return RecordedCalls(
        model,
        ledger,
        events,
        clock,
        budget=budget,
        retries=settings.llm_retries,
        efforts=efforts_of(settings),
        # What a model's answer must not carry.
        secrets=(*settings.secrets, *environment_secrets()),
    )


def efforts_of(settings: Settings) -> dict[str, Effort]:
    """How long the models of each role shall think, as far as the settings say. Errors: InvalidSetting."""
    known = get_args(Effort)
    for role, effort in settings.llm_effort.items():
        if effort not in known or role not in {str(known_role) for known_role in ModelRole}:
            raise InvalidSetting(
                f"llm_effort has {role} = {effort!r}",
                hint=f"Roles: {', '.join(map(str, ModelRole))}; efforts: {', '.join(known)}.",
                context={"setting": "llm_effort"},
            )
    return {role: cast("Effort", effort) for role, effort in settings.llm_effort.items()}

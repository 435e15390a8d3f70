"""What a model's name in the settings means: who serves it, by which protocol, with which key, at which price."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from pincite.domain.errors import InvalidSetting
from pincite.domain.frozen import dataclass
from pincite.domain.model import Effort, ModelInfo, ModelUsage
from pincite.text.tokens import token_estimate

# Providers are those of pydantic-ai, by its names. Those listed here need no further package than the extra `llm`, or
# have a setting of their own for their key; all others are built by pydantic-ai, which knows their packages and the
# variables of the environment that they read.

OPENAI, RESPONSES, ANTHROPIC, GOOGLE, COMPATIBLE = "openai", "responses", "anthropic", "google", "compatible"
# Built by pydantic-ai from the provider's name.
FOREIGN = "pydantic-ai"
_OPENAI_URL: Final = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Provider:
    """Who serves models: the protocol spoken, where, and the setting that holds the key (empty: none needed)."""

    protocol: str
    base_url: str
    key_setting: str = ""


PROVIDERS: Final[Mapping[str, Provider]] = {
    # As pydantic-ai names them: `openai` is the Responses API, which the newest models want, `openai-chat` the older.
    "openai": Provider(RESPONSES, _OPENAI_URL, "openai_api_key"),
    "openai-responses": Provider(RESPONSES, _OPENAI_URL, "openai_api_key"),
    "openai-chat": Provider(OPENAI, _OPENAI_URL, "openai_api_key"),
    "anthropic": Provider(ANTHROPIC, "https://api.anthropic.com", "anthropic_api_key"),
    "google": Provider(GOOGLE, "https://generativelanguage.googleapis.com", "google_api_key"),
    "openrouter": Provider(COMPATIBLE, "https://openrouter.ai/api/v1", "openrouter_api_key"),
    "groq": Provider(COMPATIBLE, "https://api.groq.com/openai/v1", "groq_api_key"),
    "cerebras": Provider(COMPATIBLE, "https://api.cerebras.ai/v1", "cerebras_api_key"),
    "mistral": Provider(COMPATIBLE, "https://api.mistral.ai/v1", "mistral_api_key"),
    "deepseek": Provider(COMPATIBLE, "https://api.deepseek.com/v1", "deepseek_api_key"),
    "ollama": Provider(COMPATIBLE, "http://127.0.0.1:11434/v1"),
    "vllm": Provider(COMPATIBLE, "http://127.0.0.1:8000/v1"),
    "llamacpp": Provider(COMPATIBLE, "http://127.0.0.1:8080/v1"),
    "lmstudio": Provider(COMPATIBLE, "http://127.0.0.1:1234/v1"),
}
# The extra that a protocol needs besides `llm`.
PACKAGES: Final[Mapping[str, str]] = {ANTHROPIC: "anthropic", GOOGLE: "google"}


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model to ask: name, where, and the key; `table_price` is the user's, dollars for a million tokens."""

    name: str
    provider: str
    protocol: str
    base_url: str
    api_key: str = field(repr=False, default="")
    table_price: "Price | None" = None

    @property
    def label(self) -> str:
        """How the model is named in events and reports."""
        return f"{self.provider}:{self.name}"

    @property
    def local(self) -> bool:
        """Whether it is served from this machine, so that its tokens cost nothing."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens read, written, and read from the provider's prompt cache."""

    usd_in: Decimal
    usd_out: Decimal
    usd_cached: Decimal


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL and key from the settings."""

    base_url: str | None = None
    api_key: str = field(repr=False, default="")


def parse_model(
    text: str,
    endpoints: Mapping[str, Endpoint],
    own: Endpoint,
    prices: Mapping[str, str] | None = None,
    servers: Mapping[str, Endpoint] = MappingProxyType({}),
) -> ModelSpec:
    """The model that `PROVIDER:NAME` means; a name without a known provider is served by the `own` endpoint.

    Args:
        text: as in the setting `llm`.
        endpoints: base URLs and keys by provider.
        own: the server of `llm_base_url`.
        prices: the setting `llm_prices`, by name with or without the provider.
        servers: those of the setting `llm_servers`, by name; they win over providers.

    Errors: InvalidSetting (unknown provider without a base URL, a missing key, or a price that is none).
    """
    head, separator, rest = text.strip().partition(":")
    known = separator and rest
    if known and head in servers:
        return ModelSpec(
            rest, head, COMPATIBLE, servers[head].base_url or "", servers[head].api_key, _price(prices, text, rest)
        )
    if known and head in PROVIDERS:
        provider, endpoint = PROVIDERS[head], endpoints.get(head, Endpoint())
        if provider.key_setting and not endpoint.api_key and not endpoint.base_url:
            raise InvalidSetting(
                f"the model {text} needs a key", reason="model_key_missing", hint=f"Set {provider.key_setting.upper()}."
            )
        # A server elsewhere that is set as OpenAI's speaks the common part of the protocol only.
        moved = head in ("openai", "openai-chat") and endpoint.base_url not in (None, provider.base_url)
        protocol = COMPATIBLE if moved else provider.protocol
        url = endpoint.base_url or provider.base_url
        return ModelSpec(rest, head, protocol, url, endpoint.api_key, _price(prices, text, rest))
    if known and is_foreign(head):
        endpoint = endpoints.get(head, Endpoint())
        return ModelSpec(rest, head, FOREIGN, endpoint.base_url or "", endpoint.api_key, _price(prices, text, rest))
    if own.base_url:
        return ModelSpec(text.strip(), "server", COMPATIBLE, own.base_url, own.api_key, _price(prices, text))
    raise InvalidSetting(
        f"no provider is known for the model {text!r}",
        reason="model_provider_unknown",
        hint=f"Write PROVIDER:NAME with one of {', '.join(PROVIDERS)}, or another provider of pydantic-ai (azure, "
        "bedrock, google-cloud, xai, together, fireworks, ...), or set PINCITE_LLM_BASE_URL to your server.",
    )


def is_foreign(provider: str) -> bool:
    """Whether the installed pydantic-ai has a provider of this name. Looks at its files: importing it takes seconds."""
    package = find_spec("pydantic_ai")
    places = package.submodule_search_locations if package is not None else None
    module = provider.removesuffix("-responses").replace("-", "_")
    return (
        module.isidentifier()
        and not module.startswith("_")
        and module != "openai_compatible"  # no service of its own: it means the server of `llm_base_url`
        and any((Path(place) / "providers" / f"{module}.py").is_file() for place in places or ())
    )


def _price(prices: Mapping[str, str] | None, *names: str) -> Price | None:
    for name in names:
        given = (prices or {}).get(name)
        if given is not None:
            return _parse_price(name, given)
    return None


def _parse_price(name: str, text: str) -> Price:
    try:
        values = [Decimal(part.strip()) for part in text.split("/")]
    except InvalidOperation:
        values = []
    if len(values) not in (2, 3) or any(not value.is_finite() or value < 0 for value in values):
        raise InvalidSetting(
            f"the price of {name} is {text!r}", hint="Write IN/OUT or IN/OUT/CACHED in dollars for a million tokens."
        )
    return Price(values[0], values[1], values[2] if len(values) == 3 else values[0])


# Costs: the user's table first, then the list of genai-prices. Offline; an unknown price stays unknown.

# Providers that the list has under another name than pydantic-ai.
_LISTED_AS: Final = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "azure-responses": "azure",
    "bedrock": "aws",
    "google-cloud": "google",
    "xai": "x-ai",
}
MILLION: Final = Decimal(1_000_000)
# Tokens at which a list price is read off: some models cost more from a length that no prompt of ours reaches.
_SAMPLE: Final = 1_000


def info_of(spec: ModelSpec) -> ModelInfo:
    """The model with its prices, as far as they are known."""
    known = spec.table_price or _free_of(spec) or _listed(spec)
    if known is None:
        return ModelInfo(spec.label, spec.provider)
    return ModelInfo(spec.label, spec.provider, known.usd_in, known.usd_out)


def priced(
    spec: ModelSpec,
    tokens_in: int,
    tokens_out: int,
    cached_in: int,
    *,
    estimated: bool = False,
    thinking: int | None = None,
) -> ModelUsage:
    """The usage with its price."""
    own = spec.table_price or _free_of(spec)
    if own is not None:
        fresh = max(tokens_in - cached_in, 0)
        cost: Decimal | None = (fresh * own.usd_in + cached_in * own.usd_cached + tokens_out * own.usd_out) / MILLION
    else:
        cost = _list_price(spec, tokens_in, tokens_out, cached_in)
    return ModelUsage(tokens_in, tokens_out, cached_in, cost, estimated, thinking)


def _free_of(spec: ModelSpec) -> Price | None:
    return Price(Decimal(0), Decimal(0), Decimal(0)) if spec.local else None


def _listed(spec: ModelSpec) -> Price | None:
    usd_in = _list_price(spec, _SAMPLE, 0, 0)
    usd_out = _list_price(spec, 0, _SAMPLE, 0)
    if usd_in is None or usd_out is None:
        return None
    return Price(usd_in * MILLION / _SAMPLE, usd_out * MILLION / _SAMPLE, usd_in * MILLION / _SAMPLE)


def _list_price(spec: ModelSpec, tokens_in: int, tokens_out: int, cached_in: int) -> Decimal | None:
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached_in)
    try:
        if spec.provider == "server":
            return calc_price(usage, spec.name, provider_api_url=spec.base_url).total_price
        return calc_price(usage, spec.name, provider_id=_LISTED_AS.get(spec.provider, spec.provider)).total_price
    except LookupError:
        return None


# How much room a model needs for thinking, beside the room for its answer: learnt from what its calls used.

# Before anything is known of a model. Frontier models at low effort were seen to think 500 to 6,000 tokens a call.
FIRST: Final = 8_000
# Tokens. Chosen, not measured.
MOST: Final = 32_000
# For a model that was never seen to think: it may count its tokens a little differently from us.
LEAST: Final = 256
# Answers after which what was seen counts for more than the first guess.
_KNOWN_AFTER: Final = 3
# Times the most thoughts seen: the length of thoughts varies more than that of answers.
_SPARE: Final = 1.5
# Tokens written beyond this times our own estimate of the answer are thoughts, where the provider does not say.
_ESTIMATE_ERROR: Final = 1.3


class ThinkingBudget:
    """Room for thinking by model and effort, for the calls of one run."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Effort], list[int]] = {}
        self._cut_at: dict[tuple[str, Effort], int] = {}
        self._without: set[str] = set()

    def of(self, model: str, effort: Effort) -> int:
        """Tokens to leave for thoughts."""
        if model in self._without:
            return 0
        seen, cut_at = self._seen.get((model, effort), []), self._cut_at.get((model, effort), 0)
        known = round(max(seen, default=0) * _SPARE) + LEAST
        learnt = known if len(seen) >= _KNOWN_AFTER else max(known, FIRST if effort != "none" else LEAST)
        return min(max(learnt, 2 * cut_at), MOST)

    def smaller(self, model: str, effort: Effort) -> Iterator[int]:
        """Smaller room, half by half, but not less than the model was ever seen to need."""
        room, least = self.of(model, effort), min(self._seen.get((model, effort), [0]))
        while (room := room // 2) >= max(least, 1):
            yield room
        if not least:
            yield 0

    def learn(self, model: str, effort: Effort, thinking: int) -> None:
        """Remember the thoughts of an answer."""
        self._seen.setdefault((model, effort), []).append(thinking)

    def cut(self, model: str, effort: Effort, thinking: int) -> None:
        """Remember that thoughts of at least this length left no room: twice as much is left from now on."""
        self._cut_at[model, effort] = max(self._cut_at.get((model, effort), 0), thinking)

    def refused(self, model: str) -> None:
        """Remember that the server takes no cap of this size, as those with a short context don't."""
        self._without.add(model)


def thoughts_of(usage: ModelUsage, answer: str) -> int:
    """The tokens of an answer that were thoughts: what the provider says, else what the answer can't account for."""
    if usage.thinking is not None:
        return usage.thinking
    if usage.estimated:
        return 0
    return max(usage.tokens_out - round(token_estimate(answer) * _ESTIMATE_ERROR) - LEAST, 0)

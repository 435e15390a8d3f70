"""What calls cost: the user's table first, then the list of genai-prices. Offline; an unknown price stays unknown."""

from decimal import Decimal
from typing import Final

from pincite.domain.model import ModelInfo, ModelUsage
from pincite.llm.catalogue import ModelSpec, Price

_LISTED_AS: Final = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "azure-responses": "azure",
    "bedrock": "aws",
    "google-cloud": "google",
    "xai": "x-ai",
}
"""Providers that the list has under another name than pydantic-ai."""
MILLION: Final = Decimal(1_000_000)
_SAMPLE: Final = 1_000
"""Tokens at which a list price is read off: some models cost more from a length that no prompt of ours reaches."""


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

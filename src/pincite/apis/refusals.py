"""What a service says when it does not do what was asked, in the same words from every service."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pincite.apis.client import Answer
from pincite.domain.errors import ProviderAuth, ProviderQuota, RateLimited
from pincite.runtime.retry_after import retry_after_s

LONGEST_WAIT_S = 86_400.0
_SECONDS = ("retryAfter", "retry_after", "retry_after_seconds", "retryAfterSeconds")
_MOMENTS = ("retryAfterDate", "retry_after_date")
_DETAILS = ("error", "detail", "details")


def bad_key(provider: str, setting: str) -> ProviderAuth:
    """The key is missing or refused; names the setting."""
    return ProviderAuth(
        f"{provider} refused the key", reason="bad_key", hint=f"Check {setting}.", context={"provider": provider}
    )


def missing_key(provider: str, setting: str) -> ProviderAuth:
    """No key is set; names the setting."""
    return ProviderAuth(
        f"{provider} needs a key", reason="missing_key", hint=f"Set {setting}.", context={"provider": provider}
    )


def out_of_credit(provider: str) -> ProviderQuota:
    """The account has nothing left."""
    return ProviderQuota(
        f"{provider} is out of credit", reason="out_of_credit", hint=f"Top up or change the plan of {provider}.",
        context={"provider": provider},
    )  # fmt: skip


def rate_limited(provider: str, wait_s: float | None) -> RateLimited:
    """Too many calls; the wait is what the service asked for, if it did."""
    return RateLimited(f"{provider} is limiting the rate", retry_after_s=wait_s, context={"provider": provider})


def wait_of(answer: Answer, now: datetime) -> float | None:
    """Seconds the service asks to wait, at most a day: by its Retry-After, else by what its body says."""
    told = retry_after_s(answer.headers.get("retry-after"), now)
    if told is None:
        told = _told_in(answer.quiet_object(), now)
    return None if told is None else min(told, LONGEST_WAIT_S)


def number(value: Any) -> float | None:
    """A number from 0 to below 10^15, or None: services send `true`, texts, `Infinity` and worse."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e15 else None


def _told_in(body: Mapping[str, Any], now: datetime) -> float | None:
    places = [body, *(inner for name in _DETAILS if isinstance(inner := body.get(name), Mapping))]
    for place in places:
        for name in _SECONDS:
            if (seconds := number(place.get(name))) is not None:
                return seconds
        for name in _MOMENTS:
            if (seconds := _until(place.get(name), now)) is not None:
                return seconds
    return None


def _until(value: Any, now: datetime) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return retry_after_s(value, now)
    return max((moment - now).total_seconds(), 0.0) if moment.tzinfo else None

"""Retry-After: seconds or a date."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, or None when it says nothing readable.

    Source: RFC 9110 §10.2.3.
    """
    value = value.strip()
    if value.isdecimal() and value.isascii():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, IndexError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - now).total_seconds(), 0.0)

"""Retry-After: seconds or a date."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,6})?", re.ASCII)


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, or None when it says nothing readable.

    Source: RFC 9110 §10.2.3; fractions of a second are no part of it, but some services send them.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - now).total_seconds(), 0.0)

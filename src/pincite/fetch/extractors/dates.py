"""Dates as pages write them, to aware UTC datetimes."""

import re
from contextlib import suppress
from datetime import UTC, datetime

_FORMATS = ("%B %d, %Y", "%b %d, %Y", "%b. %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%Y-%m")
_URL_DATE = re.compile(r"/((?:19|20)\d{2})[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?:[/-]|$)")
_OFFSET = re.compile(r"\s*([+-]\d{2}):?(\d{2})$")
_MAIL = re.compile(r"(?:[A-Za-z]{3}, )?\d{1,2} [A-Za-z]{3} \d{4} \d")
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
# The longest ways to write a date, with weekday and zone; longer texts hold a date among other words.
_MAX_CHARS = 60


def parse_date(text: str) -> datetime | None:
    """The moment `text` names, or None. A date alone is its midnight; a time without zone counts as UTC."""
    text = " ".join(text.split())
    if not text or len(text) > _MAX_CHARS:
        return None
    moment = _read(text)
    if moment is None or not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def date_in_url(url: str) -> datetime | None:
    """The day a news-like path `/2024/05/31/` names, or None."""
    match = _URL_DATE.search(url)
    if match is None:
        return None
    try:
        return datetime(int(match.group(1)), int(match.group(2)), int(match.group(3)), tzinfo=UTC)
    except ValueError:
        return None


def _read(text: str) -> datetime | None:
    """As ISO 8601 has dates, as mail does, or as people write them."""
    with suppress(ValueError):
        return datetime.fromisoformat(_OFFSET.sub(r"\1:\2", text.removesuffix(" UTC").removesuffix(" GMT")))
    if _MAIL.match(text):
        from email.utils import parsedate_to_datetime

        with suppress(ValueError):
            return parsedate_to_datetime(text)
    for pattern in _FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, pattern).replace(tzinfo=UTC)
    return None

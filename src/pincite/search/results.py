"""From an engine's rows to our results: clean text, canonical URLs, dates, and counts of what was dropped."""

import html
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any

from pincite.apis import number
from pincite.domain.citation import cut_on_word
from pincite.domain.errors import InvalidUrl, PolicyRefusal
from pincite.domain.frozen import dataclass
from pincite.domain.search import LeftOut, Query, SearchInfo, SearchResponse, SearchResult
from pincite.urls import DEFAULT, UrlPolicy, mask_secrets, vet_url

# Engines give 150 to 400; longer extracts are cut to what a reader or a model skims.
SNIPPET_CHARS = 400
# No call costs as much: a larger figure is a mistake in the answer, and the list price counts.
_MOST_CREDITS = 10_000
# Titles are shown in lists; longer ones are keywords for engines.
_TITLE_CHARS = 300
# Only of results that are left out, to name them; those that are kept keep their whole URL.
_URL_CHARS = 300
# To say what kind of results was left out; the rest is counted.
_LEFT_OUT_MAX = 10
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|<!--.{0,500}?-->", re.DOTALL)
_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]")
_AGO = re.compile(r"(\d+)\s*(minute|min|hour|hr|day|week|month|year)s?\s+ago", re.IGNORECASE)
_UNIT_DAYS = {
    "minute": 1 / 1440,
    "min": 1 / 1440,
    "hour": 1 / 24,
    "hr": 1 / 24,
    "day": 1.0,
    "week": 7.0,
    "month": 30.0,
    "year": 365.0,
}
# "999999 years ago" would be before the first year that Python knows.
_ERA_DAYS = 100 * 365.0
_DATE_FORMATS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y/%m/%d", "%m/%d/%Y")


@dataclass(frozen=True, slots=True)
class Row:
    """What an adapter read for one hit; of any type, since engines break their own contracts."""

    title: Any
    url: Any
    snippet: Any
    score: Any = None
    published: Any = None


@dataclass(frozen=True, slots=True)
class Extras:
    """What came besides the hits."""

    answer: Any = None
    follow_up_questions: Any = ()
    cost_usd: Decimal = Decimal(0)
    reason: str = ""


NOTHING_MORE = Extras()


def build_response(
    provider: str,
    query: Query,
    rows: Iterable[Row],
    now: datetime,
    extras: Extras = NOTHING_MORE,
    *,
    policy: UrlPolicy = DEFAULT,
) -> SearchResponse:
    """The response of one engine in its own order; unusable rows are dropped and counted by reason."""
    dropped: Counter[str] = Counter()
    results: list[SearchResult] = []
    left_out: list[LeftOut] = []
    for row in rows:
        url, why = _usable_url(row.url, policy)
        if url is None:
            dropped[why] += 1
            if why != "no_url" and len(left_out) < _LEFT_OUT_MAX:
                shown = clean(mask_secrets(str(row.url).strip()[:_URL_CHARS]), _URL_CHARS)
                left_out.append(LeftOut(clean(row.title, _TITLE_CHARS) or shown, shown, why))
            continue
        results.append(
            SearchResult(
                title=clean(row.title, _TITLE_CHARS) or url,
                url=url,
                snippet=clean(row.snippet, SNIPPET_CHARS),
                provider=provider,
                rank=len(results) + 1,
                score=_number(row.score),
                published_at=parse_date(row.published, now),
            )
        )
    follow_ups = extras.follow_up_questions if isinstance(extras.follow_up_questions, list | tuple) else ()
    info = SearchInfo(
        cost_usd=extras.cost_usd, fetched_at=now, dropped=dict(dropped), reason=extras.reason, left_out=tuple(left_out)
    )
    return SearchResponse(
        query=query.text,
        results=tuple(results[: query.max_results]),
        answer=clean(extras.answer, 4_000) or None,
        follow_up_questions=tuple(filter(None, (clean(text, 300) for text in follow_ups[:20]))),
        info=info,
    )


def clean(value: Any, max_chars: int) -> str:
    """`value` as one line of text without markup and invisible characters, cut at a word; not-text gives nothing."""
    if not isinstance(value, str):
        return ""
    text = value[: max_chars * 20]
    text = _TAG.sub(" ", html.unescape(_TAG.sub(" ", text)))
    return cut_on_word(_INVISIBLE.sub("", text).encode("utf-8", "ignore").decode(), max_chars)


def parse_date(value: Any, now: datetime) -> datetime | None:
    """The moment an engine means by an ISO, RFC 2822, written-out or relative date; None when it can't be read."""
    if not isinstance(value, str) or not (text := value.strip()[:80]):
        return None
    ago = _AGO.search(text)
    if ago:
        moment: datetime | None = now - timedelta(days=min(int(ago[1][:6]) * _UNIT_DAYS[ago[2].lower()], _ERA_DAYS))
    elif text.lower() in {"yesterday", "today"}:
        moment = now - timedelta(days=text.lower() == "yesterday")
    else:
        moment = _absolute_date(text)
    if moment is None or not 1990 <= moment.year <= now.year + 1:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _absolute_date(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, IndexError, TypeError, OverflowError):
            return read(text)
    for form in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    return None


def _usable_url(value: Any, policy: UrlPolicy) -> tuple[str | None, str]:
    if not isinstance(value, str) or not value.strip():
        return None, "no_url"
    try:
        return vet_url(value.strip(), policy=policy), ""
    except (InvalidUrl, PolicyRefusal) as error:
        return None, error.reason


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None  # neither `NaN` nor `Infinity`, which JSON has no words for


def billed(value: Any, unit_usd: Decimal) -> Decimal | None:
    """What a reported number of credits costs, or None when it isn't a believable number."""
    used = number(value)
    return None if used is None or used >= _MOST_CREDITS else Decimal(str(used)) * unit_usd


def money(value: Any) -> Decimal | None:
    """A reported amount in US dollars, or None when it isn't a plain non-negative number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    # No search costs a thousand dollars: a sum of that size is in another unit, and would use up every cap at once.
    return amount if amount.is_finite() and 0 <= amount < 1000 else None

"""Whether a query asks how things are now, how far back an answer may then lie, and how dates weigh in its ranking.

Only words of time decide, in four languages; what the query is about plays no part. Words that mean nothing but "now"
set a window that engines are asked for; words with other meanings as well ("current", a year) only bring newer pages
forward, so that "current working directory" still finds an old and good manual page.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from pincite.domain.search import Query, SearchResult

LEAST_RESULTS: Final = 10
"""What engines are asked for where dates reorder the answer: they list established pages, which are old, first."""
RECENCY_SHARE: Final = 0.3
"""Weight of the date beside rank and words: above what ranks within one answer differ by (0.11 over ten places)."""
_OLDEST_DAYS: Final = 3_650.0
_UNDATED_DAYS: Final = 365.0
"""Pages without a date are mostly manuals and home pages: kept up to date, but not news."""


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)


# Days back for each group: long enough that a page indexed late is still in.
_WINDOWS: Final = (
    (7, _words("today", "tonight", "yesterday", "right now", "breaking", "this morning")),
    (7, _words("heute", "gestern", r"aujourd[’']hui", "hier soir", "hoy", "ayer")),
    (31, _words("this week", "past week", "last week", "these days", "diese woche", "cette semaine", "esta semana")),
    (92, _words("this month", "past month", "last month", "recently", "diesen monat", "kürzlich", "ce mois")),
    (92, _words("récemment", "este mes", "recientemente")),
    (366, _words("latest", "newest", "most recent", "up[ -]to[ -]date", "as of now", "this year", "nowadays")),
    (366, _words("neueste[nrs]?", "derzeit", "zurzeit", "dernière version", "le plus récent", "actuellement")),
    (366, _words("más recientes?", "actualmente", "este año")),
)
_MAYBE: Final = _words(
    "current", "currently", "now", "recent", "aktuelle[nrs]?", "aktuell", "jetzt", "actuelle?", "actual"
)
_YEAR: Final = re.compile(r"(?<![\d./-])(?:19|20)\d{2}(?![\d./-])|(?<=/)(?:19|20)\d{2}(?=/)")


@dataclass(frozen=True, slots=True)
class Freshness:
    """That a query is about now. `window_days`: how old a page may be; None where dates only rank."""

    window_days: int | None

    def asked(self, query: Query, today: date) -> Query:
        """The query as engines get it: enough results to choose from, and the window, unless the caller set dates."""
        query = replace(query, max_results=max(query.max_results, LEAST_RESULTS))
        if self.window_days is None:
            return query
        since = today - timedelta(days=self.window_days)
        return replace(query, constraints=replace(query.constraints, since=since))


def freshness_of(query: Query, today: date) -> Freshness | None:
    """What the query's words of time ask for; None when they ask for nothing."""
    dated = query.constraints.since is not None or query.constraints.until is not None
    for days, pattern in _WINDOWS:
        if pattern.search(query.text):
            return Freshness(None if dated else days)
    if _MAYBE.search(query.text) or str(today.year) in _YEAR.findall(query.text):
        return Freshness(None)
    return None


def recency(hit: SearchResult, now: datetime) -> float:
    """1 for a page of today, 0 for one of ten years ago and older, by the logarithm of its age."""
    published = hit.published_at or _named_year(hit, now)
    age_days = max((now - published).total_seconds() / 86_400, 0.0) if published else _UNDATED_DAYS
    return max(1 - math.log1p(age_days) / math.log1p(_OLDEST_DAYS), 0.0)


def has_dates(results: Sequence[SearchResult], now: datetime) -> bool:
    """Whether dates can order them at all."""
    return any(hit.published_at is not None or _named_year(hit, now) is not None for hit in results)


def _named_year(hit: SearchResult, now: datetime) -> datetime | None:
    """The end of the newest past year that title or address name; engines such as DuckDuckGo give no dates."""
    years = [int(year) for year in _YEAR.findall(f"{hit.title} {hit.url}") if int(year) < now.year]
    return datetime(max(years), 12, 31, tzinfo=UTC) if years else None

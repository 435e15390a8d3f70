"""What a query is after: order of engines, freshness of answers, whether the web is needed. Rules, no model."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.domain.search import Query, SearchResult, Topic


class Intent(StrEnum):
    """The kind of need behind a query, by words that say what kind of page is wanted, not what it is about."""

    CURRENT_EVENT = "current_event"
    RESEARCH = "research"
    DOCUMENTATION = "documentation"
    ERROR = "error"
    CODE = "code"
    LOCAL = "local"
    GENERAL = "general"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


_ERROR = (
    re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$<>]+\(|\bpanic:|\bsegfault", re.MULTILINE),
    re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b"),
    re.compile(r"\b(?:E|ERR|SQLSTATE|HTTP|errno|error code)[ _:-]?[A-Z]{0,4}\d{2,6}\b", re.IGNORECASE),
    re.compile(r"\b0x[0-9a-f]{6,}\b", re.IGNORECASE),
    _words(
        r"errors?|exceptions?|stack ?trace|traceback|fails? (?:with|to)|failing|crash(?:es|ed)?|not working"
        r"|undefined reference|cannot (?:find|open|connect|import|resolve)|permission denied|connection refused"
    ),
)
_EVENT = (
    _words(
        r"today|tonight|yesterday|this (?:week|morning|month)|right now|breaking|latest news|news|headlines"
        r"|announc(?:ed|es|ement)|just released|election results?|live score|stock price|weather"
    ),
    _words(r"(?:latest|current|newest|recent) (?:version|release|update|developments?|status|price|events?)"),
)
_RESEARCH = (
    _words(
        r"papers?|arxiv|doi|preprints?|peer[- ]reviewed|literature review|systematic review|meta[- ]analysis"
        r"|state of the art|benchmark(?:s|ing)? (?:of|for)|survey (?:of|on)|research (?:on|about|into)|theorem"
        r"|dataset|randomi[sz]ed (?:controlled )?trial|et al"
    ),
)
_DOCUMENTATION = (
    _words(
        r"documentation|docs|manual|reference|man page|api|changelog|release notes|tutorial|getting started"
        r"|quick ?start|configur(?:e|ing|ation)|install(?:ing|ation)?|set ?up|upgrad(?:e|ing)|migrat(?:e|ing|ion)"
        r"|parameters?|options?"
    ),
    re.compile(r"^\s*how (?:to|do (?:i|you|we)|can i)\b", re.IGNORECASE),
)
_CODE = (
    re.compile(r"\b\w+\([^)]*\)|::|->|=>|[{};]|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b|</?\w+>"),
    _words(
        r"regex|snippet|code (?:example|sample)|implementation of|function to|script to|github|repository|source code"
    ),
)
_LOCAL = (_words(r"near me|nearby|opening hours|open now|in my area|closest|directions to"),)
_TECHNICAL = re.compile(
    r"\b(?:api|sdk|cli|sql|http|json|yaml|server|database|config\w*|framework|library|package|module|cluster|container"
    r"|deploy\w*|query|index|schema|thread|socket|kernel|compiler|runtime|cache|timeout|plugin|docker|linux|python|java"
    r"|rust|node|git|v?\d+\.\d+(?:\.\d+)*)\b",
    re.IGNORECASE,
)
_BY_TOPIC = {Topic.NEWS: Intent.CURRENT_EVENT, Topic.RESEARCH: Intent.RESEARCH, Topic.CODE: Intent.CODE}

# Words that name the kind of page and not its subject; a near-duplicate may differ in them.
KIND_WORDS = frozenset(
    "documentation docs doc manual reference tutorial guide example examples howto article page pages website site "
    "info information paper papers survey research study practice practices best way ways method error errors "
    "exception exceptions raise raises raised throw throws fail fails failed failing issue problem fix solve "
    "solution".split()
)


def intent_of(query: Query) -> Intent:
    """The intent; a topic set by the caller decides, else the strongest sign in the text."""
    if query.topic in _BY_TOPIC:
        return _BY_TOPIC[query.topic]
    text = query.text
    # From the surest sign to the weakest: an error message may hold code, dates and names of manuals, and none of those
    # holds an error message.
    if _any(_ERROR, text):
        return Intent.ERROR
    if _any(_LOCAL, text):
        return Intent.LOCAL
    if _any(_EVENT, text):
        return Intent.CURRENT_EVENT
    if _any(_RESEARCH, text):
        return Intent.RESEARCH
    if _any(_CODE, text) and not _DOCUMENTATION[0].search(text):
        return Intent.CODE
    if _DOCUMENTATION[0].search(text) or (_DOCUMENTATION[1].search(text) and _TECHNICAL.search(text)):
        return Intent.DOCUMENTATION
    return Intent.GENERAL


def _any(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


# Whether a query asks how things are now, how far back an answer may then lie, and how dates weigh in its ranking.
#
# Only words of time decide, in four languages; what the query is about plays no part. Words that mean nothing but
# "now" set a window that engines are asked for; words with other meanings as well ("current", a year) only bring
# newer pages forward, so that "current working directory" still finds an old and good manual page.

# What engines are asked for where dates reorder the answer: they list established pages, which are old, first.
LEAST_RESULTS: Final = 10
# Weight of the date beside rank and words: above what ranks within one answer differ by (0.11 over ten places).
RECENCY_SHARE: Final = 0.3
# Ten years: beyond them older is no worse.
_OLDEST_DAYS: Final = 3_650.0
# Pages without a date are mostly manuals and home pages: kept up to date, but not news.
_UNDATED_DAYS: Final = 365.0


def _any_word(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)


# Days back for each group: long enough that a page indexed late is still in.
_WINDOWS: Final = (
    (7, _any_word("today", "tonight", "yesterday", "right now", "breaking", "this morning")),
    (7, _any_word("heute", "gestern", r"aujourd[’']hui", "hier soir", "hoy", "ayer")),
    (31, _any_word("this week", "past week", "last week", "these days", "diese woche", "cette semaine", "esta semana")),
    (92, _any_word("this month", "past month", "last month", "recently", "diesen monat", "kürzlich", "ce mois")),
    (92, _any_word("récemment", "este mes", "recientemente")),
    (366, _any_word("latest", "newest", "most recent", "up[ -]to[ -]date", "as of now", "this year", "nowadays")),
    (366, _any_word("neueste[nrs]?", "derzeit", "zurzeit", "dernière version", "le plus récent", "actuellement")),
    (366, _any_word("más recientes?", "actualmente", "este año")),
)
_MAYBE: Final = _any_word(
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
        # Short windows stand first: "today's latest" means today.
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


# Whether a question needs the web at all, for programs that have their own store of passages. Rules, no model.


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What the caller's own retrieval came to: its confidence, 0 to 1, and how many passages it has."""

    confidence: float
    passages: int = 0


@dataclass(frozen=True, slots=True)
class GateRules:
    """Below `min_confidence` the web is asked; so it is for the intents listed, however sure the retrieval was."""

    min_confidence: float = 0.6
    always: tuple[Intent, ...] = (Intent.CURRENT_EVENT, Intent.DOCUMENTATION, Intent.ERROR)


DEFAULT_RULES: Final = GateRules()


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether to search, and why in words."""

    needs_web: bool
    reason: str
    intent: Intent


def gate(query: Query, context: RetrievalContext, rules: GateRules = DEFAULT_RULES) -> GateVerdict:
    """Whether the web is needed for this query given what is known already. Pure and fast."""
    intent = intent_of(query)
    if context.confidence < rules.min_confidence:
        return GateVerdict(True, f"confidence {context.confidence:.2f} is below {rules.min_confidence:.2f}", intent)
    if intent in rules.always and (intent is not Intent.DOCUMENTATION or bool(_TECHNICAL.search(query.text))):
        return GateVerdict(True, f"the query is about {_NAMES[intent]}", intent)
    return GateVerdict(False, f"confidence {context.confidence:.2f} is enough for {_NAMES[intent]}", intent)


_NAMES = {
    Intent.CURRENT_EVENT: "a current event",
    Intent.RESEARCH: "research papers",
    Intent.DOCUMENTATION: "technical documentation",
    Intent.ERROR: "an error message",
    Intent.CODE: "code",
    Intent.LOCAL: "a place",
    Intent.GENERAL: "a general matter",
}

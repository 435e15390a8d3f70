"""What is asked of a search provider or a local library, and what comes back.

Results are leads, never evidence (invariant 3).
"""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass
from pincite.domain.given import day, member, names

TimeRange = Literal["day", "week", "month", "year"]
# Longest months and years, so that nothing of the period asked for is left out.
_DAYS: Final[dict[str, int]] = {"day": 1, "week": 7, "month": 31, "year": 366}


def since_of(time_range: str, today: date) -> date:
    """The first day of a `TimeRange` that ends today; its first letter will do. Errors: InvalidInput."""
    days = next((days for name, days in _DAYS.items() if time_range in (name, name[0])), None)
    if days is None:
        raise InvalidInput(f"there is no time range {time_range[:40]!r}", hint=f"Known: {', '.join(_DAYS)}.")
    return today - timedelta(days=days)


class Topic(StrEnum):
    """The kind of source a query wants."""

    GENERAL = "general"
    NEWS = "news"
    RESEARCH = "research"
    CODE = "code"


class Depth(StrEnum):
    """How hard a provider should look; advanced costs more where a provider charges for it."""

    BASIC = "basic"
    ADVANCED = "advanced"


@dataclass(frozen=True, slots=True)
class Constraints:
    """Limits on where and when evidence may come from.

    `include_domains` restricts, `prefer_domains` ranks first, `exclude_domains` removes; a name covers its
    subdomains. `since` and `until` are inclusive days. `per_domain_cap` counts over the whole result set. `file_type`
    is the ending of a file's name (`pdf`), `in_title` are words that the title has.
    """

    include_domains: tuple[str, ...] = ()
    prefer_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    per_domain_cap: int | None = None
    since: date | None = None
    until: date | None = None
    language: str | None = None
    file_type: str | None = None
    in_title: str | None = None

    def __post_init__(self) -> None:
        for name in ("include_domains", "prefer_domains", "exclude_domains"):
            object.__setattr__(self, name, names(getattr(self, name), name))
        if self.file_type is not None:
            object.__setattr__(self, "file_type", self.file_type.strip().lstrip(".").lower() or None)
        for name in ("since", "until"):
            object.__setattr__(self, name, day(getattr(self, name), name))


@dataclass(frozen=True, slots=True)
class Query:
    """One search request, the same for every provider. `max_results` 1 and up; 10 is the usual ceiling.

    `exact` are runs of words of `text` that shall stand on the page as they are written: names of code, lines of an
    error, what the asker put in quotation marks. Engines that know quotes are told so; to all others they are words.
    """

    text: str
    max_results: int = 5
    constraints: Constraints = Constraints()
    region: str | None = None
    topic: Topic = Topic.GENERAL
    depth: Depth | None = None
    include_answer: bool = True
    exact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "topic", member(Topic, self.topic, "topic"))
        if self.depth is not None:
            object.__setattr__(self, "depth", member(Depth, self.depth, "depth"))


# What every door says of a search without results.
NOTHING_FOUND: Final = (
    "Nothing was found. Try other or fewer words, without limits on domains, time, file type and title."
)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One hit. `rank` starts at 1; `score` is the provider's own and not comparable between providers.

    `relevance` is: the share of the question's subject words that title, snippet and address hold, 0 to 1. `quality` is
    what the operator's `domain_quality` says of the domain, None where it says nothing.
    """

    title: str
    url: str
    snippet: str
    provider: str
    rank: int
    score: float | None = None
    published_at: datetime | None = None
    relevance: float | None = None
    quality: float | None = None


@dataclass(frozen=True, slots=True)
class ProviderAttempt:
    """What one provider said to one query.

    `outcome` is `ok`, `empty`, `left_out` (it had results, none of which may be asked for), `cancelled` or an error
    code in lower case. `sent` is false when nothing went out: a limit of our own, a breaker, a cap.
    """

    provider: str
    outcome: str
    latency_ms: float = 0.0
    cost_usd: Decimal = Decimal(0)
    detail: str = ""
    sent: bool = True


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A result that is no page Pincite may ask for: a port or an address that policy refuses, and which (`reason`)."""

    title: str
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchInfo:
    """How an answer came about: who was tried and why, cache state, time, money, results dropped by rule.

    `left_out` names those that the address policy refused; the first few, `dropped` counts them all. `shared_by` is
    the peer that the answer came from.
    """

    providers_tried: tuple[ProviderAttempt, ...] = ()
    cache: str = "off"
    fetched_at: datetime | None = None
    latency_ms: float = 0.0
    cost_usd: Decimal = Decimal(0)
    stale: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    left_out: tuple[LeftOut, ...] = ()
    shared_by: str = ""


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Results in rank order. `answer` and `follow_up_questions` are a provider's own words: leads, not evidence."""

    query: str
    results: tuple[SearchResult, ...] = ()
    answer: str | None = None
    follow_up_questions: tuple[str, ...] = ()
    info: SearchInfo = SearchInfo()


class PassageKind(StrEnum):
    """What a passage is made of."""

    PROSE = "prose"
    DEFINITION = "definition"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that matches a query, with its best passage cut to a snippet of at most 400 characters."""

    url: str
    title: str
    snippet: str
    score: float
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LibraryPage:
    """A page of a local library before it is read: where it is published and the bytes as stored.

    `captured_at` is the archive's; None for a file of a folder, which is captured when it is read.
    """

    url: str
    body: bytes = field(repr=False)
    content_type: str
    captured_at: datetime | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that is there to be read: its address, its title, its file, and the addresses it says it is from."""

    url: str
    title: str = ""
    path: str = ""
    states: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What the libraries of a run know of the words of its question.

    `frequencies` holds each content word as written (as corrected, where it was) with the number of passages that
    have it in any inflection, of `passages` in all, parts of identifiers apart; `spellings` pairs of a word that is on
    no page and the one it was read as.
    """

    passages: int = 0
    frequencies: tuple[tuple[str, int], ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    def corrected(self, text: str) -> str:
        """The text with each misspelt word replaced by the one it is read as; a capital stays one."""
        for written, read_as in self.spellings:
            put = read_as[:1].upper() + read_as[1:] if written[:1].isupper() else read_as
            text = re.sub(rf"(?<!\w){re.escape(written)}(?!\w)", put, text)
        return text


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or archive record that is not in the index: where it is and why (a code in lower case)."""

    place: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How bringing the index up to date went.

    `ignored` counts files and records that hold no page; `ignored_files` names the first of the files with a reason:
    `other_kind` (images, styles, programs), `no_text` (empty or binary, no suffix), `source_of_page` (of an HTML page
    beside it). `skipped` names the first of the `skipped_total` files and records that should have been pages and could
    not be read. Both include what earlier updates found. `vectors` counts those of passages that this update made.
    """

    pages: int
    passages: int
    added: int
    removed: int
    unchanged: int
    ignored: int
    seconds: float
    skipped_total: int = 0
    skipped: tuple[Skipped, ...] = field(default=())
    ignored_files: tuple[Skipped, ...] = field(default=())
    vectors: int = 0

"""What is asked of the fetch service, and what comes back."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from pincite.domain.frozen import dataclass
from pincite.domain.given import Rule, asked, member, names
from pincite.domain.items import Item
from pincite.domain.page import Document, Link, Snapshot


class Render(StrEnum):
    """Whether a browser may be used."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class Hosted(StrEnum):
    """Whether a paid scraper may be asked, where the operator configured one."""

    AUTO = "auto"  # when the page can't be read otherwise
    NEVER = "never"
    ONLY = "only"  # it was tried otherwise already


_WINDOW = "characters of one window; the rest by `offset`"
_PERSONS = "says that a person typed this address; a program may not claim it"


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """One page to be read. Defaults are the table of docs/fetch.md; sizes are characters, times seconds.

    `deadline_s` is that of the service when None. `validators` are conditional headers (`If-None-Match`, ...) of a
    stored capture; the service sets them. `user_triggered` says that a person typed this URL. `confirms` is the id of a
    stored capture that the site is to confirm: one request, no older copy stands in, nothing is tried again.

    Words stand for members (`render="never"`). Errors: InvalidInput, from the constructor, for a word that is none.
    """

    url: str = field(metadata={"rule": Rule("the page", longest=8192)})
    mode: str = asked(
        "`auto` and `reader` give what was read, `raw` the page's own source",
        "auto",
        choices=("auto", "reader", "raw"),
    )
    output_format: str = asked(
        "how what was read is written",
        "markdown",
        choices=("markdown", "text"),
        flags=("--format", "--output-format"),
        also=("output_format",),
        names={"http": "format"},
    )
    max_chars: int = asked(_WINDOW, 6_000, low=1, high=12_000)
    max_html_chars: int = asked(
        "characters of one window in mode `raw`, and of the cleaned HTML that a model converts",
        40_000,
        low=1,
        high=120_000,
    )
    offset: int = asked("where the window begins: the `next_offset` of the page before", 0, low=0)
    include_links: bool = asked("list the links of the page", default=False, flags=("--links", "--include-links"))
    max_links: int = asked("how many links at most", 20, low=0, high=500)
    allow_redirects: bool = asked(
        "false gives the 3xx answer and its target (`location`)", default=True, flags=("--no-redirects",)
    )
    persist: bool = asked(
        "false neither reads nor writes the shared page cache; a run still stores its evidence",
        default=True,
        flags=("--no-persist",),
    )
    force_refresh: bool = asked("ask the site even if a copy is fresh", default=False)
    prefer_language: str | None = asked(
        "sent as `Accept-Language`, as in `de, en;q=0.5`", pattern=r"[A-Za-z0-9*,;=. -]{1,100}"
    )
    render: Render = asked("whether a browser may be used", Render.AUTO, choices=tuple(Render))
    hosted: Hosted = asked(
        "whether a paid scraper that the operator configured may be asked", Hosted.AUTO, choices=tuple(Hosted)
    )
    include_domains: tuple[str, ...] = asked(
        "only these domains; narrows the operator's", (), flags=("--include-domain",), commas=True
    )
    exclude_domains: tuple[str, ...] = asked("never these domains", (), flags=("--exclude-domain",), commas=True)
    deadline_s: float | None = asked(
        "seconds in all, at most 40; none: the limit `total_s`", above_0=True, flags=("--deadline",)
    )
    user_triggered: bool = asked(
        "a person typed this URL; matters for the setting `robots = user_triggered` alone",
        default=False,
        not_at={"http": _PERSONS, "mcp": _PERSONS, "cli": "a person typed it: always true"},
    )
    validators: tuple[tuple[str, str], ...] = ()
    confirms: str = ""
    markdown: str = asked(
        "who writes the Markdown: `rules`, or a `model` (docs/models.md); quotes never come from it",
        "rules",
        choices=("rules", "model"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "render", member(Render, self.render, "render"))
        object.__setattr__(self, "hosted", member(Hosted, self.hosted, "hosted"))
        for name in ("include_domains", "exclude_domains"):
            object.__setattr__(self, name, names(getattr(self, name), name))


@dataclass(frozen=True, slots=True)
class FetchInfo:
    """How the page was come by. Times in milliseconds, sizes in bytes or characters as named.

    `markdown_by` is `rules`, the name of the model that wrote the content, or `text`; `markdown_note` says why a model
    that was asked for did not, and the tokens are what it used. `shared_by` names the peer that the capture came from.
    """

    via: str
    fetched_at: datetime
    size_bytes: int
    parser: str
    html_chars: int = 0
    markdown_chars: int = 0
    timings_ms: tuple[tuple[str, float], ...] = ()
    cache: str = "off"
    stale: bool = False
    cost_usd: Decimal = Decimal(0)
    markdown_by: str = "rules"
    markdown_note: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    shared_by: str = ""


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A page as a reader wants it: `content` is a window of the whole, never silently cut (`next_offset`).

    `snapshot` and `document` are the stored evidence behind it. `location` is where a redirect that was not followed
    leads. `structure` has the products, posts, answers, comments and entries of the page, `meta` what else is known of
    it: `description`, `robots`, `usage_signals`, `redirects`, `reading` (what to know of where the text came from).
    """

    content: str
    content_format: str
    status: int
    content_type: str
    excerpt: str
    truncated: bool
    next_offset: int | None
    title: str
    final_url: str
    canonical_url: str
    snapshot_id: str
    info: FetchInfo
    snapshot: Snapshot = field(repr=False)
    document: Document = field(repr=False)
    byline: str = ""
    site_name: str = ""
    language: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    links: tuple[Link, ...] = ()
    location: str = ""
    structure: tuple[Item, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

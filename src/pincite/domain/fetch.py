"""What is asked of the fetch service, and what comes back."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from pincite.domain.frozen import dataclass
from pincite.domain.given import member, names
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


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """One page to be read. Defaults are the table of docs/fetch.md; sizes are characters, times seconds.

    `deadline_s` is that of the service when None. `validators` are conditional headers (`If-None-Match`, ...) of a
    stored capture; the service sets them. `user_triggered` says that a person typed this URL. `confirms` is the id of a
    stored capture that the site is to confirm: one request, no older copy stands in, nothing is tried again.

    Words stand for members (`render="never"`). Errors: InvalidInput, from the constructor, for a word that is none.
    """

    url: str
    mode: str = "auto"
    output_format: str = "markdown"
    max_chars: int = 6_000
    max_html_chars: int = 40_000
    offset: int = 0
    include_links: bool = False
    max_links: int = 20
    allow_redirects: bool = True
    persist: bool = True
    force_refresh: bool = False
    prefer_language: str | None = None
    render: Render = Render.AUTO
    hosted: Hosted = Hosted.AUTO
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    deadline_s: float | None = None
    user_triggered: bool = False
    validators: tuple[tuple[str, str], ...] = ()
    confirms: str = ""
    markdown: str = "rules"

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

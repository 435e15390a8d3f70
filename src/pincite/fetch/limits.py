"""Numbers of the fetch service: defaults, and ceilings that no setting and no request may pass."""

from dataclasses import field, fields
from enum import StrEnum
from typing import Any, TypeVar, cast

from pincite.domain.errors import InvalidSetting
from pincite.domain.frozen import dataclass

# 1xx answers before the one that counts (RFC 9110 §15.2): a server could send them for ever.
INTERIM_RESPONSES_MAX = 8
# Servers send some twenty to fifty; Apache itself takes a hundred. Chosen, not measured.
HEADER_FIELDS_MAX = 128
# Cookies and policies of large sites come to some tens of kilobytes.
HEADER_BYTES_MAX = 65_536
# A Content-Security-Policy can have some thousand characters.
HEADER_LINE_BYTES_MAX = 32_768
# RFC 9659: what `zstd` as a content coding may ask of a receiver.
ZSTD_WINDOW_BYTES_MAX = 8_388_608
# RFC 9309 §2.5: at least 500 KiB are to be read, and no more need be.
ROBOTS_BYTES_MAX = 512_000
# Some of each family to try; more would only make a dead host take longer.
DNS_ANSWERS_MAX = 6
# Long enough for the pages of a run, too short to matter to a site that moves. Answers are vetted again when used.
DNS_CACHE_S = 60.0
# RFC 8305 §5: 250 ms before the other family is tried as well.
HAPPY_EYEBALLS_DELAY_S = 0.25
# A site that asks for more is not read by a run in time: it is refused with the reason.
CRAWL_DELAY_MAX_S = 30.0
# Longer waits outlast any run; the page is asked for again by whoever comes later.
RETRY_AFTER_MAX_S = 600.0


class BodyKind(StrEnum):
    """What a body is for the purpose of its size limit."""

    HTML = "html"
    PDF = "pdf"
    DOCUMENT = "document"


_Number = TypeVar("_Number", int, float)


def _limit(default: _Number, of: str, *, ceiling: float | None = None) -> _Number:
    """A field of `FetchLimits`: what it is a limit of, for the documentation, and what no setting may pass."""
    made: Any = field(default=default, metadata={"of": of, "ceiling": ceiling})
    return cast("_Number", made)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one fetch service. Sizes are decoded bytes, times seconds.

    Errors: InvalidSetting (a value above its ceiling, or not positive).
    """

    html_max_bytes: int = _limit(2_000_000, "decoded bytes of a web page", ceiling=8_388_608)
    pdf_max_bytes: int = _limit(33_554_432, "decoded bytes of a PDF", ceiling=33_554_432)
    document_max_bytes: int = _limit(50_000_000, "decoded bytes of any other file", ceiling=50_000_000)
    total_s: float = _limit(12.0, "seconds for one page: DNS, robots.txt, redirects, retries, body", ceiling=40.0)
    render_total_s: float = _limit(30.0, "seconds for one page in a browser", ceiling=30.0)
    dns_s: float = _limit(3.0, "seconds for one lookup", ceiling=3.0)
    connect_s: float = _limit(5.0, "seconds for one connection, TLS included", ceiling=5.0)
    idle_s: float = _limit(10.0, "seconds without a byte", ceiling=10.0)
    min_bytes_per_s: int = _limit(1_024, "a body that comes slower is given up")
    min_speed_over_s: float = _limit(10.0, "seconds over which that speed is measured")
    redirects_max: int = _limit(5, "redirects of one page", ceiling=5)
    per_host_concurrency: int = _limit(2, "connections to one host at a time")
    requests_per_s_per_host: float = _limit(1.0, "requests to one host; setting `requests_per_s_per_host`")
    queue_max_s: float = _limit(60.0, "seconds a page waits for its host's turn")
    concurrency: int = _limit(100, "connections in all")

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            ceiling = limit.metadata["ceiling"]
            if value < 0 or (value == 0 and limit.name != "redirects_max"):
                raise InvalidSetting(f"{limit.name} must be more than 0", reason="out_of_range")
            if ceiling is not None and value > ceiling:
                raise InvalidSetting(f"{limit.name} may be at most {ceiling:g}", reason="above_ceiling")

    def max_bytes(self, kind: BodyKind) -> int:
        """How many decoded bytes a body of this kind may have."""
        sizes = {BodyKind.HTML: self.html_max_bytes, BodyKind.PDF: self.pdf_max_bytes}
        return sizes.get(kind, self.document_max_bytes)

    def deadline(self, wanted_s: float | None) -> float:
        """The total deadline of a request: what it asks for, within the ceiling, else the operator's."""
        return self.total_s if wanted_s is None else max(min(wanted_s, CEILINGS["total_s"]), 0.05)


NOTES: dict[str, str] = {limit.name: limit.metadata["of"] for limit in fields(FetchLimits)}
CEILINGS: dict[str, float] = {
    limit.name: ceiling for limit in fields(FetchLimits) if (ceiling := limit.metadata["ceiling"]) is not None
}

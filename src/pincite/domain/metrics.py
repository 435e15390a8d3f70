"""What a run used and how well its report is supported, in figures."""

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal

from pincite.domain.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the printed claims rest on several independent sources, and how many were wanted.

    `wanted_share` is None when the run set no target; `below` names the claims that are marked because it was missed.
    """

    claims: int = 0
    independent: int = 0
    wanted_share: float | None = None
    wanted_sources: int = 2
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts of the run. `domain_diversity` = distinct registrable domains ÷ references.

    `pages_discarded` counts, by reason, the pages that came and did not count as evidence.
    """

    duration_s: float = 0.0
    searches: int = 0
    pages_fetched: int = 0
    pages_failed: int = 0
    dead_links: int = 0
    robots_disallowed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal = Decimal(0)
    sources_count: int = 0
    domain_diversity: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0
    claims_checked: int = 0
    claims_total: int = 0
    pages_discarded: Mapping[str, int] = field(default_factory=dict)

"""Caps and counts of a run, the figures of its report, and how long each tool may take.

A spend is reserved before it happens and settled after (architecture, invariant 4).
"""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from decimal import Decimal
from typing import Final

from pincite.domain.frozen import dataclass

ZERO_USD = Decimal(0)
_CENTS = Decimal("0.01")
# A hundredth of a cent: single calls of small models cost less, and then it is no matter how much.
_LEAST_SHOWN = Decimal("0.0001")


def usd_text(amount: Decimal | float) -> str:
    """US dollars for people, with as many digits as say something: `$0`, `$1.50`, `$0.0125`, `under $0.0001`."""
    exact = Decimal(str(amount))
    if not exact:
        return "$0"
    if exact < _LEAST_SHOWN:
        return f"under ${_LEAST_SHOWN}"
    rounded = exact.quantize(_CENTS if exact >= 1 else _LEAST_SHOWN).normalize()
    return f"${max(rounded, rounded.quantize(_CENTS), key=lambda shown: -int(shown.as_tuple().exponent)):f}"


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of what was (or would be) spent. Addition is per field; no field is ever negative."""

    searches: int = 0
    pages: int = 0
    web_requests: int = 0
    size_bytes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal = ZERO_USD

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Usage)))

    @property
    def perhaps_billed(self) -> "Usage":
        """What of an estimate counts as spent when nobody knows what came of the call: all but its pages.

        A page whose reading was broken off has not been read, and is read when the run goes on. Were it counted
        twice, a run that was killed would end with fewer pages than one that was not.
        """
        return replace(self, pages=0)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(*(max(getattr(self, f.name) - getattr(other, f.name), 0) for f in fields(Usage)))


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of one run; `None` means no cap. Rounds and seconds are caps of the loop, not of single calls."""

    searches: int | None = None
    pages: int | None = None
    web_requests: int | None = None
    size_bytes: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: Decimal | None = None
    rounds: int | None = None
    deadline_s: float | None = None

    def first_exceeded(self, usage: Usage) -> str | None:
        """The name of the first cap that `usage` is above, or None when all hold."""
        for counted in fields(Usage):
            cap = getattr(self, counted.name)
            if cap is not None and getattr(usage, counted.name) > cap:
                return counted.name
        return None


# How long each tool may take in all, retries, switches and pauses included. A TIMEOUT names the stage by `reason`.

# By tool; of those for searches and scrapers these are the defaults of the settings of that name.
#
# The stages of fetching a page are in `fetch.limits`, the deadline of a run is a setting.
DEADLINES_S: Final[Mapping[str, float]] = {
    "search": 60.0,  # search_total: every engine, retry and pause of one query
    "search_call": 10.0,  # search_call, search_connect, search_answer: one call to one engine
    "hosted_call": 30.0,  # hosted_call, hosted_connect, hosted_answer: one call to a hosted scraper
    "local_search": 55.0,  # a busy machine must not change what a local library answers: wait for it
    "audit_page": 30.0,  # one cited page of an audit or a recheck
    "judge": 10.0,  # judge_call, judge_connect, judge_answer: one question to a judge's endpoint
}


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

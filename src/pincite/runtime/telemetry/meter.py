"""Counts of this process, for whoever shows them (`/metrics`). Labels are names of kinds, never URLs, users or runs."""

import threading
from collections.abc import Iterator
from dataclasses import field
from typing import Final, Literal

from pincite.domain.frozen import dataclass

# Upper edges of the buckets of every duration.
SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Series of one metric at most; what is above is counted as `other`.
MAX_SERIES: Final = 2_000


@dataclass(frozen=True, slots=True)
class Metric:
    """What is counted, and by which labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: Literal["counter", "histogram"] = "counter"


CALLS: Final = Metric("pincite_calls", "Outside calls of runs by kind and how they ended.", ("kind", "outcome"))
CALL_SECONDS: Final = Metric("pincite_call_seconds", "How long outside calls took.", ("kind",), "histogram")
REPLAYED: Final = Metric("pincite_calls_replayed", "Calls answered from the record of a run.", ("kind",))
ATTEMPTS: Final = Metric("pincite_provider_attempts", "Providers asked on the way of calls.", ("provider", "outcome"))
TOKENS: Final = Metric("pincite_tokens", "Tokens of models.", ("direction",))
COST: Final = Metric("pincite_cost_usd", "US dollars spent.", ("kind",))
CACHE: Final = Metric("pincite_cache_reads", "Reads of the cache by what is kept.", ("kind", "outcome"))
LIMIT_SECONDS: Final = Metric("pincite_limit_wait_seconds", "Waiting for a rate limit.", ("outcome",), "histogram")
BREAKERS: Final = Metric("pincite_breaker_openings", "Circuit breakers that opened.", ())
RUNS: Final = Metric("pincite_runs", "Runs that ended here, by status.", ("status",))
RUN_SECONDS: Final = Metric("pincite_run_seconds", "How long runs took.", (), "histogram")
FALLBACKS: Final = Metric("pincite_redis_fallbacks", "Times that Redis was gone and the process helped itself.", ())

METRICS: Final = (
    CALLS,
    CALL_SECONDS,
    REPLAYED,
    ATTEMPTS,
    TOKENS,
    COST,
    CACHE,
    LIMIT_SECONDS,
    BREAKERS,
    RUNS,
    RUN_SECONDS,
    FALLBACKS,
)


@dataclass(slots=True)
class Series:
    """One metric with one set of label values. `buckets` are counts at or below the edges of `SECONDS`."""

    total: float = 0.0
    count: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * len(SECONDS))


class Meter:
    """Counts by metric and label values. Safe to use from threads."""

    def __init__(self) -> None:
        self._series: dict[str, dict[tuple[str, ...], Series]] = {}
        self._lock = threading.Lock()

    def add(self, metric: Metric, amount: float = 1.0, *labels: str) -> None:
        """Count so much, or a duration in seconds for a histogram."""
        with self._lock:
            found = self._series.setdefault(metric.name, {})
            if labels not in found and len(found) >= MAX_SERIES:
                labels = tuple("other" for _ in labels)
            series = found.setdefault(labels, Series())
            series.total += amount
            series.count += 1
            if metric.kind == "histogram":
                for n, edge in enumerate(SECONDS):
                    series.buckets[n] += amount <= edge

    def read(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], Series]]:
        """Label values and what was counted with them."""
        with self._lock:
            found = list(self._series.get(metric.name, {}).items())
        yield from found


# The counts of this process.
METER: Final = Meter()


def count_cache_read(namespace: str, *, hit: bool) -> None:
    """Count a read. What follows the first slash of a namespace may name a user's scope, so it is no label."""
    METER.add(CACHE, 1, namespace.partition("/")[0], "hit" if hit else "miss")

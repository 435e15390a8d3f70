"""What passes through the ports about runs, calls, keys, caches and limits: records without behaviour."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from pincite.domain.budget import Budget, Usage
from pincite.domain.events import Json, RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.search import ProviderAttempt


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as it is stored, by its SHA-256. `scope` owns the runs and private pages made with it.

    `rate_per_min` is how many requests it may make in a minute, `daily_usd` what it may spend in a day (UTC);
    None sets no limit. Names are unique among all keys of a server. Times are text in UTC.
    """

    name: str
    scope: str
    sha256: str
    created_at: str
    revoked_at: str | None = None
    rate_per_min: int | None = None
    # As text: a Decimal as it was written, whatever database keeps it.
    daily_usd: str | None = None

    @property
    def daily_cap_usd(self) -> Decimal | None:
        """What the key may spend in a day."""
        return None if self.daily_usd is None else Decimal(self.daily_usd)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """An outside call of a run as its ledger keeps it, without the answer. `tries` counts how often it was made."""

    key: str
    kind: str
    request: Json
    status: str
    tries: int
    started_at: datetime
    settled_at: datetime | None
    latency_ms: float | None
    estimate: Usage
    used: Usage
    attempts: tuple[ProviderAttempt, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that came through a surface (or that a run made), as the log of calls keeps it.

    `surface` is where it came in (`cli`, `http`, `mcp`, `python`, or `run`), `tool` what was asked of it, `outcome` is
    `ok`, `cached`, the status of a run, or an error code in lower case.
    """

    id: str
    at: datetime
    surface: str
    tool: str
    request: Json
    outcome: str
    latency_ms: float
    cost_usd: Decimal = Decimal(0)
    tokens_in: int = 0
    tokens_out: int = 0
    run_id: str = ""
    session_id: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to be told when a run has ended. `status` is `waiting`, `sent` or `given_up`."""

    scope: str
    delivery_id: str
    run_id: str
    url: str
    status: str
    tries: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an outside call came to, as the ledger keeps it: plain JSON and what it cost.

    `attempts` are the providers that were asked on the way, each with its own bill. `from_cache` says whether the
    cache had the answer; None where none was asked.
    """

    value: Json
    usage: Usage = Usage()
    attempts: tuple[ProviderAttempt, ...] = ()
    from_cache: bool | None = None


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call about to be made: `key` is the hash of kind and canonical `request`; `estimate` is a ceiling."""

    key: str
    kind: str
    request: str
    estimate: Usage


@dataclass(frozen=True, slots=True)
class SettledCall:
    """How a call ended: `outcome` is JSON text, `final` whether a resumed run takes it from the record."""

    outcome: str
    usage: Usage
    final: bool
    failed: bool
    latency_ms: float
    attempts: tuple[ProviderAttempt, ...] = ()
    snapshot_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The row of a run. `inputs` is all that is needed to execute it again; frozen at the start.

    `for_workers` says that it waits for a worker, highest `priority` first; `deaths` counts the owners that died over
    it since somebody last asked for it by name.
    """

    run_id: str
    scope: str
    question: str
    status: RunStatus
    created_at: datetime
    updated_at: datetime
    inputs: Mapping[str, Json]
    budget: Budget
    usage: Usage = Usage()
    epoch: int = 0
    reason: str = ""
    project: str = ""
    priority: int = 0
    for_workers: bool = False
    deaths: int = 0
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached value: fresh until one time, usable when stale until another. `validators` are ETag and date."""

    value: bytes
    fresh_until: datetime
    stale_until: datetime
    stored_at: datetime
    validators: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """What a cache holds of one scope, and what came of asking it since it was opened."""

    entries: int
    size_bytes: int
    hits: int = 0
    misses: int = 0
    evicted: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A place in a limiter's queue: wait `wait_s`, then call."""

    key: str
    wait_s: float
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A run that waits for a worker, of any scope. Higher `priority` goes first."""

    scope: str
    run_id: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Runs of all scopes: how many wait, how many are in work."""

    queued: int
    running: int

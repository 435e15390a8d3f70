"""Calls on record: those of a run in its ledger, and those that came through a front door."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from pincite.domain.budget import Usage
from pincite.domain.events import Json
from pincite.domain.search import ProviderAttempt


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
    """A call that came through a front door (or that a run made), as the log of calls keeps it.

    `surface` is the front door (`cli`, `http`, `mcp`, `python`, or `run`), `tool` what was asked of it, `outcome` is
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

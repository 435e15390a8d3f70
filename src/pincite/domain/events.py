"""Past-tense facts of a run. The list of types is closed here and open for readers: unknown types are ignored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


class EventType(StrEnum):
    """What happened. docs/events.md is generated from the comments here."""

    RUN_STARTED = "run.started"
    RUN_RESUMED = "run.resumed"
    PLAN_CREATED = "plan.created"
    ROUND_STARTED = "round.started"
    SEARCH_STARTED = "search.started"
    SEARCH_COMPLETED = "search.completed"
    SEARCH_FAILED = "search.failed"
    PAGE_FETCHED = "page.fetched"
    PAGE_REFUSED = "page.refused"
    PAGE_FAILED = "page.failed"
    PAGE_DUPLICATE = "page.duplicate"
    CHUNK_MADE = "chunk.made"
    CLAIM_PROPOSED = "claim.proposed"
    CLAIM_VERIFIED = "claim.verified"
    CLAIM_REJECTED = "claim.rejected"
    GAP_FOUND = "gap.found"
    CONFLICT_FOUND = "conflict.found"
    BUDGET_RESERVED = "budget.reserved"
    BUDGET_SETTLED = "budget.settled"
    BUDGET_EXHAUSTED = "budget.exhausted"
    SECTION_READY = "report.section_ready"
    REPORT_COMPLETED = "report.completed"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered fact of one run. `data` is plain JSON and never holds a secret."""

    seq: int
    type: EventType
    run_id: str
    at: datetime
    data: Mapping[str, Json] = field(default_factory=dict)
    request_id: str | None = None
    topic_hash: str | None = None

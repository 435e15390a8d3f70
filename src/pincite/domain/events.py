"""Past-tense facts of a run. The list of types is closed here and open for readers: unknown types are ignored."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from pincite.domain.frozen import dataclass

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


class EventType(StrEnum):
    """What happened. docs/events.md is generated from the comments here."""

    RUN_STARTED = "run.started"  # the run began; `question`, `profile`, `mode`
    RUN_RESUMED = "run.resumed"  # a run that was broken off goes on; `epoch`
    LIBRARY_READ = "library.read"  # pages of a folder or archive are read before the run; `library`, `pages` so far
    PLAN_CREATED = "plan.created"  # a round's plan stands; `round`, `sub_questions` (`id`, `text`, `queries`)
    PLAN_CHANGED = "plan.changed"  # a part is `reworded`, `added` or `left_out`; `round`, `change`, `part`, `reason`
    ROUND_STARTED = "round.started"  # searching and reading begin; `round`
    SEARCH_STARTED = "search.started"  # a query is sent; `query`
    SEARCH_COMPLETED = "search.completed"  # a query was answered; `query`, `results` (how many), `left_out` by reason
    SEARCH_FAILED = "search.failed"  # no provider answered a query; `query`, `code`, `reason`
    PAGE_REQUESTED = "page.requested"  # a page is asked for; `url`
    PAGE_FETCHED = "page.fetched"  # a page was read; `url`, `title`, ids, `via`, `shared_by`, `size_bytes`, `chars`
    PAGE_REFUSED = "page.refused"  # a rule forbids the page (address, robots, domains, period); `url`, `code`, `reason`
    PAGE_FAILED = "page.failed"  # a page could not be read; `url`, `code`, `reason`
    PAGE_DUPLICATE = "page.duplicate"  # a page is the same as, or a near-copy of another; `url`, `of`, `reason`
    PAGE_REVALIDATED = "page.revalidated"  # an old cited page was asked for again; `url`, `outcome`, `reason`
    CHUNK_MADE = "chunk.made"  # a page was read into blocks; `url`, `chunks` (how many blocks)
    CLAIM_PROPOSED = "claim.proposed"  # a statement with quotes was made; `claim_id`, `text`, `sub_question`
    CLAIM_VERIFIED = "claim.verified"  # a claim passed its checks; `claim_id`, `verdict`, `reasons`
    CLAIM_REJECTED = "claim.rejected"  # a claim did not pass; `claim_id`, `verdict`, `reasons`
    GAP_FOUND = "gap.found"  # part of the question lacks evidence; `sub_question`, `reason`
    CONFLICT_FOUND = "conflict.found"  # statements exclude each other; `sides`
    BUDGET_RESERVED = "budget.reserved"  # calls of a round are about to be made; `kind`, `calls` (how many)
    BUDGET_SETTLED = "budget.settled"  # they are over and paid for; `kind`, `calls`, `answered` (how many)
    BUDGET_EXHAUSTED = "budget.exhausted"  # a cap was reached; `reason` (which one)
    MODEL_ANSWERED = "model.answered"  # a model answered; `role`, `task`, `model`, `tokens_*`, `cached_in`, `cost_usd`
    MODEL_FAILED = "model.failed"  # a model failed once; `role`, `model`, `code`, `reason`
    ROLE_REPLACED = "role.replaced"  # a role went on without a model; `role`, `code`, `reason`
    SECTION_READY = "report.section_ready"  # stands; `heading`, `text` (or none), `sentences`, `early` or `revised`
    REPORT_COMPLETED = "report.completed"  # report stored; `report_id`, `status`, `claims`, `references`, `gaps`
    RUN_COMPLETED = "run.completed"  # the run ended with a report; `status`
    RUN_FAILED = "run.failed"  # the run ended with an error; `code`, `reason`
    RUN_CANCELLED = "run.cancelled"  # somebody stopped the run; `reason`


class RunStatus(StrEnum):
    """Where a run stands. `dead_letter`: given up because its owners died over it; `pincite runs retry` tries again."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
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


# Other names for what happens in a run, for programs that were written against them; docs/events.md has the table.

EventNames = Literal["own", "spec"]

# Types that the other vocabulary has no word for keep their own name.
SPEC_NAMES: Final[dict[EventType, str]] = {
    EventType.SEARCH_STARTED: "tool_call",
    EventType.PAGE_REQUESTED: "tool_call",
    EventType.PAGE_FETCHED: "fetch_result",
    EventType.PAGE_FAILED: "fetch_result",
    EventType.PAGE_REFUSED: "fetch_result",
    EventType.CHUNK_MADE: "chunk_made",
    EventType.CLAIM_PROPOSED: "claim_made",
    EventType.CLAIM_VERIFIED: "verify_result",
    EventType.CLAIM_REJECTED: "verify_result",
    EventType.REPORT_COMPLETED: "writer_finalized",
}


def event_name(type_: EventType, names: EventNames = "own") -> str:
    """The name of a type of event in a vocabulary."""
    return SPEC_NAMES.get(type_, str(type_)) if names == "spec" else str(type_)

"""A run's events folded into what its readers follow; runs that others work on are followed through the database."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Final

import anyio

from pincite.domain.errors import Locked, StorageUnavailable
from pincite.domain.events import Event, EventType, Json, RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.reasons import plural, reason_text
from pincite.domain.records import RunRecord
from pincite.engine import Engine

# The way of a run; static/live.js folds events in the same way.
STAGES = ("planning", "searching", "reading", "checking", "writing")

_STAGE_OF = {"plan": 0, "search": 1, "page": 2, "chunk": 2, "claim": 3, "gap": 3, "conflict": 3, "report": 4}
_NEXT_STAGE = {EventType.RUN_STARTED: 0, EventType.ROUND_STARTED: 1}
_ENDS = frozenset({EventType.RUN_COMPLETED, EventType.RUN_FAILED, EventType.RUN_CANCELLED})


@dataclass(frozen=True, slots=True)
class QueryLine:
    """A query: how many results, or why none came."""

    text: str
    results: int | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class PageLine:
    """A page that was to be read: `state` is `read`, `refused`, `failed`, `dead` or `copy`; `why` for the last four."""

    url: str
    title: str
    state: str
    why: str = ""
    snapshot_id: str = ""


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A statement with its verdict; `passed` says whether it may stand in the report."""

    claim_id: str
    text: str
    verdict: str
    passed: bool
    why: str = ""


@dataclass(slots=True)
class Round:
    """One round of searching and reading."""

    number: int
    queries: list[QueryLine] = field(default_factory=list)
    pages: list[PageLine] = field(default_factory=list)


@dataclass(slots=True)
class Progress:
    """Where a run stands. `stage` is an index of `STAGES`; `stage_s` the seconds that each took."""

    stage: int = 0
    ended: bool = False
    library: str = ""
    """What is said of a library that is read before the run begins."""
    parts: list[str] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    claims: dict[str, ClaimLine] = field(default_factory=dict)
    gaps: int = 0
    """What was open after the round before; at the end what the report says is."""
    sections: dict[str, str] = field(default_factory=dict)
    """The text of what is written so far, by heading, as it was told last."""
    trouble: list[str] = field(default_factory=list)
    stage_s: list[float] = field(default_factory=lambda: [0.0] * len(STAGES))
    copies: dict[str, str] = field(default_factory=dict)
    tokens: int = 0
    last_at: datetime | None = field(default=None, repr=False)

    def take(self, event: Event) -> None:
        """Go on by one event of the run; they come in order."""
        stage = _STAGE_OF.get(event.type.split(".", 1)[0])
        if stage is not None:
            self.stage = stage
        if self.last_at is not None and event.type is not EventType.RUN_RESUMED:
            # Before a run was resumed nobody worked on it.
            self.stage_s[self.stage] += max((event.at - self.last_at).total_seconds(), 0.0)
        # After the time is counted: what passed until this event belongs to the stage before it.
        self.stage = _NEXT_STAGE.get(event.type, self.stage)
        # Tasks side by side tell their events a little out of order: no moment counts twice.
        self.last_at = event.at if self.last_at is None else max(event.at, self.last_at)
        _take(self, event)

    def summary(self) -> str:
        """The run so far in a line of counts."""
        claims, gaps = self.verified, self.gaps
        counts = (
            (self.searches, "searched"),
            (self.count("read"), "read"),
            (self.count("refused"), "refused"),
            (self.count("failed", "dead"), "failed"),
            (len(self.copies), "duplicate"),
            (claims, "claim verified" if claims == 1 else "claims verified"),
            (self.rejected, "rejected"),
            (gaps, "gap" if gaps == 1 else "gaps"),
        )
        return " · ".join(f"{count} {what}" for count, what in counts if count) or self.library or "planning"

    def as_dict(self) -> dict[str, Json]:
        """Where the run stands, for a program."""
        return {
            "stage": STAGES[self.stage],
            "round": self.rounds[-1].number if self.rounds else 0,
            "searches": self.searches,
            "pages": self.count("read"),
            "claims_verified": self.verified,
            "claims_rejected": self.rejected,
            "gaps": self.gaps,
            "sections": list(self.sections),
            "summary": self.summary(),
        }

    @property
    def searches(self) -> int:
        """Queries that were answered."""
        return sum(query.results is not None for round_ in self.rounds for query in round_.queries)

    @property
    def pages(self) -> dict[str, PageLine]:
        """Every page once, as it was seen last."""
        return {page.url: page for round_ in self.rounds for page in round_.pages}

    def count(self, *states: str) -> int:
        """How many pages are in one of these states."""
        return sum(page.state in states for page in self.pages.values())

    @property
    def verified(self) -> int:
        """Statements that passed."""
        return sum(claim.passed for claim in self.claims.values())

    @property
    def rejected(self) -> int:
        """Statements that did not."""
        return len(self.claims) - self.verified


def progress_of(events: Iterable[Event]) -> Progress:
    """The events of a run, in order, as its progress."""
    found = Progress()
    for event in events:
        found.take(event)
    return found


def _take(found: Progress, event: Event) -> None:
    data = event.data
    found.ended = event.type in _ENDS
    found.library = _reading(event)
    # A cap is told by each part that meets it; a reader needs it once.
    found.trouble += [line for line in _trouble(event) if line not in found.trouble]
    match event.type:
        case EventType.PLAN_CREATED:
            found.parts = [_text(part, "text") for part in _objects(data, "sub_questions")]
        case EventType.ROUND_STARTED:
            found.rounds.append(Round(_number(data, "round", len(found.rounds) + 1)))
            found.gaps = 0  # it tells again what stays open
        case EventType.SEARCH_COMPLETED:
            _round(found).queries.append(QueryLine(_text(data, "query"), _number(data, "results", 0)))
        case EventType.SEARCH_FAILED:
            _round(found).queries.append(QueryLine(_text(data, "query"), None, _why(data)))
        case EventType.PAGE_FETCHED | EventType.PAGE_REFUSED | EventType.PAGE_FAILED:
            _round(found).pages.append(_page(event))
        case EventType.PAGE_DUPLICATE:
            found.copies[_text(data, "url")] = _text(data, "of")
        case EventType.CLAIM_VERIFIED | EventType.CLAIM_REJECTED:
            claim = _claim(event)
            found.claims[claim.claim_id] = claim
        case EventType.GAP_FOUND | EventType.REPORT_COMPLETED:  # at the end all of them are counted
            found.gaps = _number(data, "gaps", found.gaps + (event.type is EventType.GAP_FOUND))
        case EventType.SECTION_READY:
            if text := _text(data, "text"):
                found.sections[_text(data, "heading")] = text
            else:  # told early, and left out of the report
                found.sections.pop(_text(data, "heading"), None)
        case EventType.MODEL_ANSWERED:
            found.tokens += sum(n for n in (data.get("tokens_in"), data.get("tokens_out")) if isinstance(n, int))
        case _:
            pass


def _reading(event: Event) -> str:
    if event.type is not EventType.LIBRARY_READ:
        return ""
    pages = plural(_number(event.data, "pages", 0), "page")
    return f"reading {_text(event.data, 'library')}: {pages} so far"


def _trouble(event: Event) -> list[str]:
    match event.type:
        case EventType.BUDGET_EXHAUSTED:
            why = _why(event.data)
            return [f"{why[:1].upper()}{why[1:]}; what follows is made of what was found."]
        case EventType.ROLE_REPLACED:
            return [f"The {_text(event.data, 'role')} went on without a model: {_why(event.data)}."]
        case EventType.RUN_FAILED:
            return [f"It failed: {_why(event.data)}."]
        case _:
            return []


def _page(event: Event) -> PageLine:
    data = event.data
    state = {EventType.PAGE_FETCHED: "read", EventType.PAGE_REFUSED: "refused"}.get(event.type, "failed")
    if data.get("code") == "DEAD_LINK":
        state = "dead"
    why = "" if state == "read" else _why(data)
    return PageLine(_text(data, "url"), _text(data, "title"), state, why, _text(data, "snapshot_id"))


def _claim(event: Event) -> ClaimLine:
    data = event.data
    passed = event.type is EventType.CLAIM_VERIFIED
    reasons = data.get("reasons")
    why = "; ".join(map(str, reasons)) if isinstance(reasons, list) else ""
    claim_id, text = _text(data, "claim_id"), _text(data, "text")
    # The text stands in for an id where an event has none.
    return ClaimLine(claim_id or text, text, _text(data, "verdict"), passed, why)


def _round(found: Progress) -> Round:
    if not found.rounds:
        found.rounds.append(Round(1))
    return found.rounds[-1]


def _why(data: Mapping[str, Json]) -> str:
    return reason_text(_text(data, "reason"), _text(data, "code"))


def _number(data: Mapping[str, Json], name: str, otherwise: int) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else otherwise


def _text(data: "Json | Mapping[str, Json]", name: str) -> str:
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else ""


def _objects(data: Mapping[str, Json], name: str) -> list[Json]:
    value = data.get(name)
    return value if isinstance(value, list) else []


# How often the database is asked for events of a run that others work on: quick to an eye, cheap to a database.
LOOK_EVERY_S: Final = 0.4
# A run whose owner gave no sign for so long is nobody's. A worker takes over what a dead one left within 30 s.
DEAD_AFTER_S: Final = 45.0
# Events that are read ahead for a reader, however slow.
EVENTS_AT_ONCE: Final = 100


def may_be_worked_on(record: RunRecord) -> bool:
    """Whether somebody seems to work on the run, or will."""
    return record.status is RunStatus.RUNNING or (record.status is RunStatus.QUEUED and record.for_workers)


async def follow_elsewhere(engine: Engine, run_id: str, on_event: Callable[[Event], None]) -> None:
    """Call `on_event` with the events of a run that others work on, until it ends or nobody works on it any more.

    A database that is away for a while is waited for.

    Errors: RunNotFound, StorageUnavailable, Locked.
    """
    heartbeat, last, away_since_s = _Heartbeat(), 0, None
    while True:
        try:
            going = heartbeat.is_alive(await engine.run(run_id))  # before the events: then the last one is among them
            while page := await engine.events(run_id, last, EVENTS_AT_ONCE):
                for event in page:
                    last = event.seq
                    on_event(event)
            away_since_s = None
        except (StorageUnavailable, Locked):
            now_s = anyio.current_time()
            away_since_s = now_s if away_since_s is None else away_since_s
            if now_s - away_since_s > DEAD_AFTER_S:
                raise
            # Away is not over: the run may well go on while its database does not answer us.
            going = True
        if not going:
            return
        await anyio.sleep(LOOK_EVERY_S)


class _Heartbeat:
    """Whether the owner of a run is alive: it touches the run's row every second. No two clocks are compared."""

    def __init__(self) -> None:
        self._seen: datetime | None = None
        self._since_s = 0.0

    def is_alive(self, record: RunRecord) -> bool:
        """Whether somebody works on the run, or will."""
        if record.status is not RunStatus.RUNNING:
            return may_be_worked_on(record)
        now_s = anyio.current_time()
        if record.updated_at != self._seen:
            # A change of the row is the sign, whatever its time says: clocks of two machines differ.
            self._seen, self._since_s = record.updated_at, now_s
        return now_s - self._since_s < DEAD_AFTER_S

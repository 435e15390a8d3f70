"""What a run did, as text: its plan, searches, pages and claims; and the tree of its calls with time and money."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.budget import usd_text
from pincite.domain.citation import cut_on_word
from pincite.domain.events import Event, EventType, Json
from pincite.domain.reasons import plural, reason_text
from pincite.surfaces.progress import progress_of

if TYPE_CHECKING:
    from pincite.archive import RunView
    from pincite.domain.records import CallRecord, RunRecord

PAGE_STATES = {
    EventType.PAGE_FETCHED: "read",
    EventType.PAGE_REFUSED: "refused",
    EventType.PAGE_FAILED: "failed",
    EventType.PAGE_DUPLICATE: "duplicate",
}


def run_lines(view: "RunView") -> Iterator[str]:
    """The run as indented text, ending in its time and counts."""
    record = view.record
    yield f"{record.run_id}  {record.status}{f' ({reason_text(record.reason)})' if record.reason else ''}"
    yield f"{record.question}"
    yield f"started {record.created_at:%Y-%m-%d %H:%M:%S} UTC{_taken_over(record)}"
    progress = progress_of(view.events)
    pages = [page for round_ in progress.rounds for page in round_.pages]
    yield from _block("Plan", _plan(view.events))
    queries = [query for round_ in progress.rounds for query in round_.queries]
    outcomes = [f"no answer, {q.failure}" if q.results is None else plural(q.results, "result") for q in queries]
    yield from _block("Searches", (f"{q.text}: {came}" for q, came in zip(queries, outcomes, strict=True)))
    yield from _block(
        "Pages",
        [
            *(f"{page.state:<9} {page.url}{f'  ({page.why})' if page.why else ''}" for page in pages),
            *(f"duplicate {url}  ({original})" for url, original in progress.copies.items()),
        ],
    )
    yield from _block(
        "Claims",
        (
            f"{claim.verdict:<12} {claim.text}{f'  [{claim.why}]' if claim.why else ''}"
            for claim in progress.claims.values()
        ),
    )
    gaps = (event for event in view.events if event.type is EventType.GAP_FOUND)
    yield from _block("Gaps", (f"{_text(event, 'sub_question')}: {_text(event, 'reason')}" for event in gaps))
    yield from _metrics(view)


def _taken_over(record: "RunRecord") -> str:
    """How many processes worked on it one after the other, where the first did not end it."""
    return f", worked on by {record.epoch} processes in turn" if record.epoch > 1 else ""


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    # A resumed run may report a thing twice.
    unique = list(dict.fromkeys(lines))
    if unique:
        yield f"\n{title} ({len(unique)})"
        yield from (f"  {line}" for line in unique)


def _plan(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if event.type is EventType.PLAN_CREATED:
            for part in _items(event.data.get("sub_questions")):
                if isinstance(part, dict):
                    yield str(part.get("text", ""))
                    yield from (f"  ? {query}" for query in _items(part.get("queries")))


def _metrics(view: "RunView") -> Iterator[str]:
    counts = Counter(event.type for event in view.events)
    yield "\nCounts"
    yield f"  events {sum(counts.values())}, searches {counts[EventType.SEARCH_COMPLETED]}, " + ", ".join(
        f"{name} {counts[type_]}" for type_, name in PAGE_STATES.items()
    )
    if view.report is not None:
        metrics = view.report.metrics
        spent = usd_text(metrics.cost_usd)
        yield f"  {metrics.duration_s:.2f} s, {metrics.claims_checked} claims checked, {spent} spent"
        if metrics.cache_hits or metrics.cache_misses:
            yield f"  cache: {metrics.cache_hits} searches and pages from it, {metrics.cache_misses} not in it"
        references = plural(len(view.report.references), "reference")
        yield f"  report {view.report.report_id}: {view.report.status}, {references}"


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(event: Event, key: str) -> str:
    value = event.data.get(key)
    return "" if value is None else " ".join(str(value).split())


_SUBJECTS: Final = ("url", "text", "query", "question", "role", "task")
# With the columns beside it a line fits into 120.
_WIDE: Final = 64


def trace_json(record: "RunRecord", events: Sequence[Event], calls: "Sequence[CallRecord]") -> dict[str, Any]:
    """The tree as plain data; durations in milliseconds, money in US dollars."""
    return {
        "run_id": record.run_id,
        "request_id": record.request_id,
        "status": str(record.status),
        "owners": record.epoch,
        "duration_ms": _duration_ms(events),
        "cost_usd": float(record.usage.cost_usd),
        "rounds": [
            {"round": number, "calls": [_call_json(call) for call in of]} for number, of in _rounds(events, calls)
        ],
    }


def trace_lines(record: "RunRecord", events: Sequence[Event], calls: "Sequence[CallRecord]") -> Iterator[str]:
    """The tree as indented text."""
    total_s = _duration_ms(events) / 1000
    yield f"{record.run_id}  {record.status}  {total_s:.1f} s  {usd_text(record.usage.cost_usd)}  {record.question}"
    if record.request_id:
        yield f"request {record.request_id}{_taken_over(record)}"
    for number, of in _rounds(events, calls):
        spent = sum((call.used.cost_usd for call in of), Decimal(0))
        yield f"├─ {f'round {number}' if number else 'before the first round'}: {len(of)} calls, {usd_text(spent)}"
        for call in of:
            tries = f", {call.tries} tries" if call.tries > 1 else ""
            used = call.used
            tokens = f"  {used.tokens_in}+{used.tokens_out} tokens" if used.tokens_in or used.tokens_out else ""
            yield (
                f"│  ├─ {call.kind:<8} {_ms(call.latency_ms):>9}  {usd_text(used.cost_usd):>10}"
                f"  {call.status}{tries}{tokens}  {_subject(call)}"
            )
            for tried in call.attempts:
                outcome = f"{tried.outcome}{f' ({tried.detail})' if tried.detail else ''}"
                bill = f"{_ms(tried.latency_ms):>9}  {usd_text(tried.cost_usd):>10}"
                yield f"│  │  └─ {tried.provider:<12} {bill}  {outcome}"
    yield f"└─ {_kinds(calls, total_s)}"


def _rounds(events: Sequence[Event], calls: "Sequence[CallRecord]") -> "Iterator[tuple[int, list[CallRecord]]]":
    """Calls by the round in which they began; 0 is before the first."""
    starts: list[tuple[int, datetime]] = [(0, datetime.min.replace(tzinfo=events[0].at.tzinfo if events else None))]
    for event in events:
        number = event.data.get("round")
        if event.type is EventType.ROUND_STARTED and isinstance(number, int):
            starts.append((number, event.at))
    for n, (number, since) in enumerate(starts):
        # By time, because calls carry no number of their round.
        until = starts[n + 1][1] if n + 1 < len(starts) else None
        of = [call for call in calls if call.started_at >= since and (until is None or call.started_at < until)]
        if of:
            yield number, of


def _call_json(call: "CallRecord") -> dict[str, Any]:
    return {
        "kind": call.kind,
        "subject": _subject(call),
        "key": call.key,
        "status": call.status,
        "tries": call.tries,
        "duration_ms": call.latency_ms,
        "cost_usd": float(call.used.cost_usd),
        "tokens_in": call.used.tokens_in,
        "tokens_out": call.used.tokens_out,
        "attempts": [
            {
                "provider": tried.provider,
                "outcome": str(tried.outcome),
                "duration_ms": tried.latency_ms,
                "cost_usd": float(tried.cost_usd),
            }
            for tried in call.attempts
        ],
    }


def _duration_ms(events: Sequence[Event]) -> float:
    if not events:
        return 0.0
    return (events[-1].at - events[0].at).total_seconds() * 1000


def _subject(call: "CallRecord") -> str:
    request = call.request if isinstance(call.request, dict) else {}
    text = next((str(request[name]) for name in _SUBJECTS if request.get(name)), "")
    return cut_on_word(text, _WIDE)


def _kinds(calls: "Sequence[CallRecord]", total_s: float) -> str:
    parts = []
    for kind in dict.fromkeys(call.kind for call in calls):
        of = [call for call in calls if call.kind == kind]
        spent = usd_text(sum((call.used.cost_usd for call in of), Decimal(0)))
        parts.append(f"{len(of)} {kind} in {_under_way_s(of):.1f} s for {spent}")
    if not parts:
        return "no calls"
    # Kinds overlap, too: without this line their times would seem to be parts of the whole.
    return f"{'; '.join(parts)}; at least one running for {_under_way_s(calls):.1f} s of {total_s:.1f} s"


def _under_way_s(calls: "Sequence[CallRecord]") -> float:
    """For how long at least one of them was; several at the same time count once."""
    took, until = timedelta(0), datetime.min.replace(tzinfo=UTC)
    for begun, took_ms in sorted((call.started_at, call.latency_ms or 0) for call in calls):
        ended = begun + timedelta(milliseconds=took_ms)
        took += max(ended - max(begun, until), timedelta(0))
        until = max(until, ended)
    return took.total_seconds()


def _ms(latency_ms: float | None) -> str:
    return "-" if latency_ms is None else f"{latency_ms:.0f} ms"

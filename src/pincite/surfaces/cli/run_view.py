"""A run as text: what was planned, read, claimed and spent; and the tree of its calls with time and money."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.budget import Usage, usd_text
from pincite.domain.events import Event, EventType, Json
from pincite.domain.reasons import reason_text

if TYPE_CHECKING:
    from pincite.archive import RunView
    from pincite.domain.records import CallRecord, RunRecord

PAGE_STATES = {
    EventType.PAGE_FETCHED: "read",
    EventType.PAGE_REFUSED: "refused",
    EventType.PAGE_FAILED: "failed",
    EventType.PAGE_DUPLICATE: "duplicate",
}


def render_run(view: "RunView") -> str:
    """The run as indented text, ending in its time and counts."""
    return "\n".join(_lines(view))


def _lines(view: "RunView") -> Iterator[str]:
    record = view.record
    yield f"{record.run_id}  {record.status}{f' ({reason_text(record.reason)})' if record.reason else ''}"
    yield f"{record.question}"
    yield f"started {record.created_at:%Y-%m-%d %H:%M:%S} UTC, owners so far {record.epoch}"
    yield from _plan(view.events)
    yield from _searches(view.events)
    yield from _pages(view.events)
    yield from _claims(view.events)
    yield from _block("Gaps", (f"{_text(e, 'sub_question')}: {_text(e, 'reason')}" for e in _of(view, "gap.found")))
    yield from _metrics(view)


def _of(view: "RunView", *types: str) -> Iterator[Event]:
    return (event for event in view.events if event.type.value in types)


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    # A resumed run may tell a thing twice.
    found = list(dict.fromkeys(lines))
    if found:
        yield f"\n{title} ({len(found)})"
        yield from (f"  {line}" for line in found)


def _plan(events: Sequence[Event]) -> Iterator[str]:
    lines: list[str] = []
    for event in events:
        if event.type is EventType.PLAN_CREATED:
            for part in _items(event.data.get("sub_questions")):
                if isinstance(part, dict):
                    lines.append(str(part.get("text", "")))
                    lines += [f"  ? {query}" for query in _items(part.get("queries"))]
    yield from _block("Plan", lines)


def _searches(events: Sequence[Event]) -> Iterator[str]:
    lines = []
    for event in events:
        if event.type is EventType.SEARCH_COMPLETED:
            results = event.data.get("results")
            count = len(results) if isinstance(results, list) else results
            lines.append(f"{_text(event, 'query')}: {count} results")
        elif event.type is EventType.SEARCH_FAILED:
            lines.append(
                f"{_text(event, 'query')}: no answer, {reason_text(_text(event, 'reason'), _text(event, 'code'))}"
            )
    yield from _block("Searches", lines)


def _pages(events: Sequence[Event]) -> Iterator[str]:
    lines = []
    for event in events:
        state = PAGE_STATES.get(event.type)
        if state:
            why = reason_text(_text(event, "reason"), _text(event, "code")) or _text(event, "of")
            lines.append(f"{state:<9} {_text(event, 'url')}{f'  ({why})' if why else ''}")
    yield from _block("Pages", lines)


def _claims(events: Sequence[Event]) -> Iterator[str]:
    lines = []
    for event in events:
        if event.type in (EventType.CLAIM_VERIFIED, EventType.CLAIM_REJECTED):
            reasons = "; ".join(str(reason) for reason in _items(event.data.get("reasons")))
            lines.append(f"{_text(event, 'verdict'):<12} {_text(event, 'text')}{f'  [{reasons}]' if reasons else ''}")
    yield from _block("Claims", lines)


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
        yield f"  report {view.report.report_id}: {view.report.status}, {len(view.report.references)} references"


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
        "duration_ms": _duration_ms(record, events),
        "cost_usd": float(record.usage.cost_usd),
        "rounds": [
            {"round": number, "calls": [_call_json(call) for call in of]} for number, of in _rounds(events, calls)
        ],
    }


def render_trace(record: "RunRecord", events: Sequence[Event], calls: "Sequence[CallRecord]") -> str:
    """The tree as indented text."""
    return "\n".join(_trace_lines(record, events, calls))


def _trace_lines(record: "RunRecord", events: Sequence[Event], calls: "Sequence[CallRecord]") -> Iterator[str]:
    total_s = _duration_ms(record, events) / 1000
    yield f"{record.run_id}  {record.status}  {total_s:.1f} s  {usd_text(record.usage.cost_usd)}  {record.question}"
    if record.request_id:
        yield f"request {record.request_id}, owners so far {record.epoch}"
    for number, of in _rounds(events, calls):
        spent = sum((call.used.cost_usd for call in of), Decimal(0))
        yield f"├─ {f'round {number}' if number else 'before the first round'}: {len(of)} calls, {usd_text(spent)}"
        for call in of:
            tries = f", {call.tries} tries" if call.tries > 1 else ""
            yield (
                f"│  ├─ {call.kind:<8} {_ms(call.latency_ms):>9}  {usd_text(call.used.cost_usd):>10}"
                f"  {call.status}{tries}{_tokens(call.used)}  {_subject(call)}"
            )
            for tried in call.attempts:
                outcome = f"{tried.outcome}{f' ({tried.detail})' if tried.detail else ''}"
                bill = f"{_ms(tried.latency_ms):>9}  {usd_text(tried.cost_usd):>10}"
                yield f"│  │  └─ {tried.provider:<12} {bill}  {outcome}"
    yield f"└─ {_kinds(calls)}"


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


def _duration_ms(record: "RunRecord", events: Sequence[Event]) -> float:
    if not events:
        return 0.0
    return (events[-1].at - events[0].at).total_seconds() * 1000


def _subject(call: "CallRecord") -> str:
    request = call.request if isinstance(call.request, dict) else {}
    text = next((str(request[name]) for name in _SUBJECTS if request.get(name)), "")
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


def _kinds(calls: "Sequence[CallRecord]") -> str:
    parts = []
    for kind in dict.fromkeys(call.kind for call in calls):
        of = [call for call in calls if call.kind == kind]
        took_s = sum(call.latency_ms or 0 for call in of) / 1000
        parts.append(
            f"{len(of)} {kind} in {took_s:.1f} s for {usd_text(sum((c.used.cost_usd for c in of), Decimal(0)))}"
        )
    return "; ".join(parts) or "no calls"


def _tokens(used: Usage) -> str:
    return f"  {used.tokens_in}+{used.tokens_out} tokens" if used.tokens_in or used.tokens_out else ""


def _ms(latency_ms: float | None) -> str:
    return "-" if latency_ms is None else f"{latency_ms:.0f} ms"

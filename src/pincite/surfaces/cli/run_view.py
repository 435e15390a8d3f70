"""A run as text: what was planned, searched, read, claimed, left open and spent."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pincite.domain.budget import usd_text
from pincite.domain.events import Event, EventType, Json
from pincite.domain.reasons import reason_text

if TYPE_CHECKING:
    from pincite.archive import RunView

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

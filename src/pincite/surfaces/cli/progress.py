"""What a run is doing, on stderr (live on a terminal, else a few lines), and what one did, with its tree of calls."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pincite.domain.budget import Usage, usd_text
from pincite.domain.citation import cut_on_word
from pincite.domain.events import Event, EventType, Json
from pincite.domain.reasons import plural, reason_text
from pincite.surfaces.cli.run import print_note, printable
from pincite.surfaces.progress import Progress, QueryLine, progress_of

if TYPE_CHECKING:
    from pincite.archive import RunView
    from pincite.domain.records import CallRecord, RunRecord

Show = Callable[[Event], None]
# What the next event says again.
QUIET = frozenset(
    {
        EventType.SEARCH_STARTED,
        EventType.PAGE_REQUESTED,
        EventType.BUDGET_RESERVED,
        EventType.BUDGET_SETTLED,
        EventType.CHUNK_MADE,
        EventType.CLAIM_PROPOSED,
    }
)
# What was done last, above the line that moves: a third of a usual terminal.
LIVE_LINES = 8
# Rounds that are told of without `-v`: a log should stay short however long a run goes on.
TOLD_ROUNDS = 4
# Where nothing can move, often enough to see that it goes on. Chosen, not measured.
_A_LINE_EVERY_S: Final = 10.0
# With the name of its event a line of a wide terminal.
_SUBJECT_CHARS: Final = 90
# Which member of an event says the most in a word.
_SAID_BY = {
    EventType.CLAIM_VERIFIED: "verdict",
    EventType.CLAIM_REJECTED: "verdict",
    EventType.MODEL_FAILED: "model",
    EventType.PAGE_REVALIDATED: "outcome",
    EventType.RUN_COMPLETED: "status",
}


@contextmanager
def live_progress(*, verbose: bool = False) -> Iterator[Show]:
    """A function to call with each event; `verbose` prints each of them. The report itself is printed once, after."""
    if verbose:
        yield lambda event: print_note(line) if (line := describe(event)) else None
    elif _in_terminal():
        with _live() as show:
            yield show
    else:
        with _few_lines() as show:
            yield show


def describe(event: Event) -> str:
    """One line that says what happened, or nothing for bookkeeping events."""
    if event.type in QUIET:
        return ""
    data = event.data
    subject = next(
        (
            str(data[key])
            for key in ("url", "library", "query", "heading", "text", "sub_question", "question", "role")
            if data.get(key)
        ),
        "",
    )
    details = [word for word in (_detail(event.type, data), _reason(data)) if word]
    line = f"{event.type.value:<20} {cut_on_word(subject, _SUBJECT_CHARS)}"
    told = (f"{line}  ({'; '.join(details)})" if details else line).rstrip()
    return f"{told}: {section}" if (section := section_text(event)) else told


def section_text(event: Event) -> str:
    """The sentences of a section that is ready; nothing for other events."""
    text = event.data.get("text") if event.type is EventType.SECTION_READY else ""
    return " ".join(str(text or "").split())


def _detail(type_: EventType, data: Mapping[str, Json]) -> str:
    match type_:
        case EventType.RUN_STARTED | EventType.RUN_RESUMED:
            return str(data.get("run_id", ""))
        case EventType.PLAN_CREATED:
            parts = data.get("sub_questions")
            queries = (
                [part.get("queries") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
            )
            asked = sum(len(texts) for texts in queries if isinstance(texts, list))
            return f"{_count(data, 'sub_questions', 'sub-question')}, {plural(asked, 'query', 'queries')}"
        case EventType.SEARCH_COMPLETED:
            return _count(data, "results", "result")
        case EventType.LIBRARY_READ:
            return _count(data, "pages", "page") + " so far"
        case EventType.PAGE_DUPLICATE:
            return f"same as {cut_on_word(str(data.get('of', '')), _SUBJECT_CHARS)}"
        case EventType.ROUND_STARTED:
            return f"round {data.get('round', '')}"
        case EventType.REPORT_COMPLETED:
            return _count(data, "claims", "claim") + ", " + _count(data, "references", "source")
        case EventType.SECTION_READY:
            return _count(data, "sentences", "sentence") + (", more is looked for" if data.get("early") else "")
        case EventType.MODEL_ANSWERED:
            return f"{data.get('model', '')}, {data.get('tokens_in')} tokens in, {data.get('tokens_out')} out"
        case _:
            return str(data.get(_SAID_BY.get(type_, ""), ""))


def _count(data: Mapping[str, Json], key: str, one: str) -> str:
    value = data.get(key)
    number = len(value) if isinstance(value, list | dict) else value if isinstance(value, int) else 0
    return plural(number, one)


def _taken_over(record: "RunRecord") -> str:
    """How many processes worked on it one after the other, where the first did not end it."""
    return f", worked on by {record.epoch} processes in turn" if record.epoch > 1 else ""


def _reason(data: Mapping[str, Json]) -> str:
    why = data.get("reasons")
    if isinstance(why, list):
        return "; ".join(str(reason) for reason in why)
    return reason_text(str(data.get("reason") or ""), str(data.get("code") or ""))


@contextmanager
def _few_lines() -> Iterator[Show]:
    """The plan, the first rounds, what went wrong and the sum."""
    progress = Progress()
    named: list[str] = []
    started = time.monotonic()

    def show(event: Event) -> None:
        known_parts, known_rounds = len(progress.parts), len(progress.rounds)
        before = progress.summary()
        progress.take(event)
        if event.type in (EventType.RUN_STARTED, EventType.RUN_RESUMED, EventType.LIBRARY_READ) and not named:
            named.append(event.run_id)
            print_note(f"Run {event.run_id}")
            if progress.library:
                print_note(f"Reading {event.data.get('library')} first; what is read is kept for the next question")
        elif event.type is EventType.PLAN_CREATED and not known_parts:
            print_note(f"Planned: {_detail(event.type, event.data)}")
        elif 0 < known_rounds < len(progress.rounds) <= TOLD_ROUNDS:
            print_note(f"Round {progress.rounds[-1].number}: {before}")

    yield show
    print_note(f"Done in {time.monotonic() - started:.1f} s: {progress.summary()}")
    _tell_trouble(progress)


@contextmanager
def _live() -> Iterator[Show]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    console = Console(stderr=True)
    progress = Progress()
    latest: list[str] = []
    started = time.monotonic()
    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")

    def view() -> Group:
        spinner.update(text=Text(f"{time.monotonic() - started:5.1f} s  {progress.summary()}", style="bold"))
        return Group(spinner, *(Text("  " + line, style="dim", overflow="ellipsis", no_wrap=True) for line in latest))

    with Live(get_renderable=view, console=console, refresh_per_second=8, transient=True) as live:

        def show(event: Event) -> None:
            progress.take(event)
            line = describe(event)
            if line and not progress.library:  # the line above moves instead
                latest.append(printable(line))
                del latest[:-LIVE_LINES]
            live.refresh()

        yield show
    print_note(f"{time.monotonic() - started:.1f} s: {progress.summary()}")
    _tell_trouble(progress)


def _tell_trouble(progress: Progress) -> None:
    """What a reader of the report would take for granted and did not happen, as a model that did no work."""
    for line in progress.trouble:
        print_note(line)


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Something to tell how far a long work is: a line that moves in a terminal, else a line now and then on stderr."""
    if _in_terminal():
        from rich.console import Console

        with Console(stderr=True).status("reading") as status:
            yield lambda said: status.update(printable(said))
        return
    last_s = time.monotonic()

    def tell(said: str) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _A_LINE_EVERY_S:
            last_s = time.monotonic()
            print_note(said)

    yield tell


def _in_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


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
    yield from _block("Searches", (_query_line(query) for round_ in progress.rounds for query in round_.queries))
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


def _query_line(query: QueryLine) -> str:
    outcome = f"no answer, {query.failure}" if query.results is None else plural(query.results, "result")
    return f"{query.text}: {outcome}"


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
        "duration_ms": _duration_ms(record, events),
        "cost_usd": float(record.usage.cost_usd),
        "rounds": [
            {"round": number, "calls": [_call_json(call) for call in of]} for number, of in _rounds(events, calls)
        ],
    }


def trace_lines(record: "RunRecord", events: Sequence[Event], calls: "Sequence[CallRecord]") -> Iterator[str]:
    """The tree as indented text."""
    total_s = _duration_ms(record, events) / 1000
    yield f"{record.run_id}  {record.status}  {total_s:.1f} s  {usd_text(record.usage.cost_usd)}  {record.question}"
    if record.request_id:
        yield f"request {record.request_id}{_taken_over(record)}"
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
    return cut_on_word(text, _WIDE)


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

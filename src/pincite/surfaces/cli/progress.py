"""What a run is doing, on stderr: live on a terminal, else a few lines."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pincite.domain.citation import cut_on_word
from pincite.domain.events import Event, EventType, Json
from pincite.domain.reasons import plural, reason_text
from pincite.surfaces.cli.run import print_note, printable
from pincite.surfaces.progress import Progress

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

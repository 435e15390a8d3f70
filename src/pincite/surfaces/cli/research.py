"""`pincite research`, `demo`, `batch`: question in, report out, progress on stderr; and `search`, without a report."""

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pincite.domain.errors import CoverageNotMet, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.reasons import reason_text
from pincite.domain.requests import ResearchRequest, SearchRequest
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import BUNDLE, format_of, read_text, report_formats, vet_output, write_report
from pincite.surfaces.cli.run import (
    print_bytes,
    print_error,
    print_json,
    print_note,
    print_text,
    print_value,
    printable,
    read_stdin,
    run_async,
    with_engine,
)
from pincite.surfaces.errors import EXIT_CHECK_FAILED, EXIT_CODES, exit_code

if TYPE_CHECKING:
    from decimal import Decimal

    from pincite.domain.events import Json
    from pincite.domain.plan import SubQuestion
    from pincite.domain.report import Report
    from pincite.domain.search import SearchResponse
    from pincite.engine import Engine
    from pincite.execution import OnEvent
    from pincite.research.model.estimate import Estimate
    from pincite.surfaces.batch import BatchProgress

# A report, the bytes to print, and why the command fails all the same: a file that was not written, too few parts.
Answer: TypeAlias = "tuple[Report, bytes, PinciteError | None]"


@options.asking(ResearchRequest, beside=("plan",))
@options.configured("resolve", "allow_network", "home")
def research(
    asked: ResearchRequest,
    plan: str | None,
    output: options.Output = None,
    format_: Annotated[
        str, typer.Option("--format", help="What to print: md, json, html, pdf, docx, csv, bib, ris or csl.json.")
    ] = "md",
    bundle: Annotated[
        Path | None, typer.Option(help="Also write report and pages as one file that checks itself (WACZ).")
    ] = None,
    queue: Annotated[bool, typer.Option("--queue", help="Leave it to `pincite worker`; print the run's id.")] = False,
    *,
    settings: dict[str, object],
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Answer a question with a report in which every sentence leads to its passage."""
    overrides = {**asked.settings(), **settings}
    printed = "json" if as_json else format_
    files = tuple(output or ()) + ((bundle,) if bundle else ())
    started: list[str] = []
    # Before anything is asked: after ten minutes of work a name that can't be written would be learnt too late.
    for path in files:
        vet_output(path, report_formats(), BUNDLE if path is bundle else None)
    asked.constraints()
    if asked.question == "-":
        asked = replace(asked, question=read_stdin())
    if plan is not None:
        shown = run_async(lambda: planned(overrides, asked, plan), lambda: how_to_resume(started))
        if isinstance(shown, str):
            print_text(shown)
            return
        asked = replace(asked, plan=shown)
    printing = Printing(printed, files, queue, verbose)
    answer = run_async(lambda: ask(overrides, asked, printing, started), lambda: how_to_resume(started))
    if not isinstance(answer, str):
        present(answer, hint=printed == "md" and not files)
    elif as_json:
        print_json({"run_id": answer, "status": "queued"})
    else:
        print_text(answer)
        print_note(f"Queued. `pincite worker` executes it; see: pincite runs show {answer}")


@dataclass(frozen=True, slots=True)
class Printing:
    """What to print and write of a run, and how; with `queue` it is left to workers."""

    printed: str
    files: tuple[Path, ...] = ()
    queue: bool = False
    verbose: bool = False


async def planned(overrides: dict[str, object], asked: ResearchRequest, plan: str) -> "str | tuple[SubQuestion, ...]":
    """The plan as text to show, or its parts as they were edited or stand in a file. Errors: those of `Engine.plan`."""
    from click import edit  # typer stands on click

    from pincite.domain.plan import Plan
    from pincite.engine import Engine
    from pincite.research.plan_text import plan_text, read_plan

    async with Engine.from_settings(**overrides) as engine:
        results = engine.settings.results_per_query
        if plan not in ("show", "edit"):
            return read_plan(read_text(Path(plan), "plan_unreadable"), asked.constraints(), results)
        text = plan_text(Plan(await engine.plan(asked)))
        if plan == "show":
            return text
        from anyio import to_thread

        edited = await to_thread.run_sync(lambda: edit(text, extension=".plan"))
        return read_plan(edited or text, asked.constraints(), results)


async def ask(
    overrides: dict[str, object], asked: ResearchRequest, printing: Printing, started: list[str]
) -> "Answer | str":
    """The report, or the id of the run that was left to workers; `started` gets the id of one that can be resumed."""
    from pincite.engine import BATCH_PRIORITY, INTERACTIVE_PRIORITY, Engine, RunOptions
    from pincite.surfaces.cli.progress import live_progress
    from pincite.wiring.observing import export_spans

    run_options = RunOptions(
        priority=INTERACTIVE_PRIORITY if printing.queue else BATCH_PRIORITY, for_workers=printing.queue
    )
    async with Engine.from_settings(**overrides) as engine:
        export_spans(engine.settings)
        # Formats need their extras: asked for now, not when the report is done.
        for wanted in (printing.printed, *map(format_of, printing.files)):
            if wanted != BUNDLE or wanted == printing.printed:
                engine.vet_format(wanted)
        print_estimate(await engine.estimate(), engine.settings.max_cost_usd)
        if printing.queue:  # its progress is the worker's
            return await engine.start(asked, run_options=run_options)
        with live_progress(verbose=printing.verbose) as show:
            run_id = await engine.start(asked, run_options=run_options)
            # Only now: until here there is nothing that could be resumed.
            started.append(run_id)
            report, unmet = await ended(engine, run_id, show)
        failed = await write_report(engine, report, printing.files) or unmet
        if asked.output_schema is not None:
            filled: dict[str, Json] = {"run_id": report.run_id, **await engine.answer(run_id)}
            return report, json.dumps(filled, ensure_ascii=False, indent=2).encode() + b"\n", failed
        data = await engine.export(report, printing.printed)
        if printing.printed == "md" and sys.stdout.isatty():
            from pincite.domain.markdown import for_terminal

            data = for_terminal(data.decode()).encode()
        return report, data, failed


async def ended(engine: "Engine", run_id: str, show: "OnEvent") -> "tuple[Report, PinciteError | None]":
    """The report of a run, and why it isn't enough where fewer parts are answered than required."""
    from pincite.domain.report import Report

    try:
        return await engine.resume(run_id, on_event=show), None
    except CoverageNotMet as error:
        if not isinstance(error.report, Report):
            raise
        return error.report, error


def print_estimate(estimate: "Estimate | None", cap_usd: "Decimal | None") -> None:
    """Say what the models of a run are expected to cost, before it starts."""
    if estimate is None:
        return
    price = "at a price nobody knows" if estimate.cost_usd is None else f"about ${estimate.cost_usd:.3f}"
    cap = "" if cap_usd is None else f"; the cap is ${cap_usd}"
    print_note(
        f"Estimate: up to {estimate.calls} calls to the model, {estimate.tokens_in:,} tokens in and "
        f"{estimate.tokens_out:,} out, {price}{cap}."
    )


def how_to_resume(started: list[str]) -> str:
    """How an interrupted run goes on."""
    if started:
        return f"Stopped; what was read is kept. Go on with: pincite runs resume {started[0]}"
    return "Stopped before a run was made."


def present(answer: Answer, *, hint: bool = True) -> None:
    """Print a finished report; leave with 7 when it found no answer, and as it says when a file was not written."""
    from pincite.domain.report import ReportStatus

    report, printed, failed = answer
    print_bytes(printed)
    # What the models of a run really used, beside what was estimated.
    used = report.metrics
    if used.tokens_in:
        print_note(f"Used: {used.tokens_in:,} tokens in and {used.tokens_out:,} out, ${used.cost_usd:.4f} in all.")
    if hint and report.claims:
        print_note(f"Every sentence with its passage: pincite runs export {report.run_id} -o report.html")
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        print_note("No passage was found that surely answers this [INSUFFICIENT_EVIDENCE]. Try other sources.")
        raise typer.Exit(EXIT_CODES["INSUFFICIENT_EVIDENCE"])
    if failed is not None:
        if isinstance(failed, CoverageNotMet):  # a file that was not written was told when that was tried
            print_error(failed)
        raise typer.Exit(exit_code(failed))


NEXT = """\
Open {file}: choose a sentence, and its passage opens in the stored page.
Next:
  pincite ui                                      # ask in your browser
  pincite research "..." --source local:FOLDER    # your own files
  pincite setup                                   # a model, search engines, folders"""


def demo(
    question: Annotated[str | None, typer.Argument(help="Another question about PostgreSQL or Python.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the report goes.")] = Path("report.html"),
    home: options.Home = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Answer a question over 80 bundled pages: no key, no model, no network."""
    started: list[str] = []

    from pincite.wiring.sources import QUESTION

    vet_output(output, report_formats(), BUNDLE if format_of(output) == BUNDLE else None)
    overrides: dict[str, object] = {"source": ("bundled",), "llm": "none", "home": writable_home(home)}
    printing = Printing("json" if as_json else "md", (output,), verbose=verbose)
    asked = ResearchRequest(question or QUESTION)
    answer = run_async(lambda: ask(overrides, asked, printing, started), lambda: how_to_resume(started))
    assert not isinstance(answer, str), "a demo is never left to workers"
    present(answer, hint=False)
    if not as_json:
        print_note(NEXT.format(file=output))


def writable_home(home: Path | None) -> Path | None:
    """`home` as it was given, or a folder for this time only where none can be kept."""
    if home is not None:
        return home
    from pincite.settings import load_settings

    wanted = load_settings({}).home
    existing = next(parent for parent in (wanted, *wanted.parents) if parent.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return None
    kept = Path(tempfile.mkdtemp(prefix="pincite-"))
    print_note(f"{wanted} can't be written; runs are kept in {kept} for now. Set PINCITE_HOME to keep them.")
    return kept


@options.configured("source", "profile", "home")
def batch(
    file: Annotated[Path, typer.Argument(help="JSON lines: a question as text, or {id, question, urls, ...}.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Answers as JSON lines; default FILE.answers.jsonl.")
    ] = None,
    slots: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 2,
    queue: Annotated[bool, typer.Option("--queue", help="Leave them to `pincite worker` and wait for it.")] = False,
    *,
    settings: dict[str, object],
    max_cost: Annotated[float | None, typer.Option(help="US dollars for each question at most.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds for each question at most.")] = None,
    as_json: options.Json = False,
) -> None:
    """Answer a file of questions; started again it goes on where it was."""
    to = output or file.with_name(file.stem + ".answers.jsonl")
    overrides = {**settings, "max_cost_usd": max_cost, "deadline_s": deadline}
    shown = [-1]

    def print_progress(progress: "BatchProgress") -> None:
        step = max(progress.total // 100, 1)
        # A line for each hundredth: a file of ten thousand questions must not scroll the terminal away.
        if progress.done // step != shown[0] or progress.done == progress.total:
            shown[0] = progress.done // step
            print_note(
                f"{progress.done} of {progress.total} done" + (f", {progress.failed} failed" * bool(progress.failed))
            )

    from pincite.engine import Engine
    from pincite.surfaces.batch import Batch, read_items
    from pincite.wiring.observing import export_spans

    items = read_items(file)
    vet_output(to)

    async def job() -> "BatchProgress":
        async with Engine.from_settings(**overrides) as engine:
            export_spans(engine.settings)
            return await Batch(engine, file.stem, items, to).run(slots, print_progress, queued=queue)

    found = run_async(job, lambda: "Stopped; the same command goes on.")
    if as_json:
        counts = {"answered": found.answered, "failed": found.failed, "kept": found.kept}
        print_json({"output": str(to), "total": found.total, **counts})
    else:
        print_text(str(to))
    if found.failed:
        print_note(f"{found.failed} of {found.total} have no answer; the same command tries those again.")
        raise typer.Exit(EXIT_CHECK_FAILED)


@options.asking(SearchRequest)
def search(
    asked: SearchRequest,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which engines were asked, why, and the cost.")
    ] = False,
    words_only: options.WordsOnly = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Search the web or a local library."""

    async def find(engine: "Engine") -> "tuple[SearchResponse, tuple[str, ...]]":
        # Before the search, since the search itself changes which engine would be asked next.
        plan = await engine.explain_search(asked.asked()) if explain else ()
        return await engine.search(asked), plan

    settings: dict[str, object] = {"source": asked.source or None, "max_cost_usd": asked.cost_cap()}
    settings |= {"home": home, "embeddings": "none" if words_only else None}
    response, plan = with_engine(find, settings)
    for line in (*plan, *(account(response) if explain else ())):
        print_note(line)
    if as_json:
        print_value(response)
        return
    if not response.results:
        print_text("No results.")
    elif sys.stdout.isatty():
        _print_table(response)
    else:
        for result in response.results:
            print_text(f"{result.rank}. {result.title}\n   {result.url}\n   {result.snippet}\n")
    info = response.info
    for left_out in info.left_out:
        print_note(f"Left out: {left_out.url} ({reason_text(left_out.reason)})")
    if explain:  # which has said it all
        return
    local = {hit.provider for hit in response.results} <= {"local"}
    if info.stale:
        print_note(f"Older results: {info.reason}")
    elif info.reason and (asked.file_type or asked.in_title or local):
        print_note(info.reason)
    if not response.results and info.dropped:
        print_note("Left out: " + ", ".join(f"{count} ({reason})" for reason, count in info.dropped.items()))


def account(response: "SearchResponse") -> list[str]:
    """How the answer came about, a line for each engine asked and one for the whole."""
    info = response.info
    lines = [f"cache: {info.cache}" + (f"; {info.reason}" if info.reason else "")]
    if info.cache not in {"hit", "near", "stale"}:
        lines += [
            f"asked {tried.provider}: {tried.outcome}, {tried.latency_ms:.0f} ms, ${tried.cost_usd}; {tried.detail}"
            for tried in info.providers_tried
        ]
    if response.answer:
        lines.append(f"the engine's own answer (a lead, not evidence): {response.answer}")
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(info.dropped.items()))
    lines.append(f"cost: ${info.cost_usd}, {info.latency_ms:.0f} ms" + (f"; dropped: {dropped}" if dropped else ""))
    return lines


def _print_table(response: "SearchResponse") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("result", ratio=1, overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    for hit in response.results:
        # Text and not markup: titles come from strangers.
        cell = Text.assemble(
            (printable(hit.title), "bold"), "\n", (printable(hit.url), "cyan"), "\n", printable(hit.snippet)
        )
        day = f"{hit.published_at:%Y-%m-%d}" if hit.published_at else ""
        table.add_row(str(hit.rank), cell, day, hit.provider)
    Console().print(table)

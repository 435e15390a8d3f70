"""`pincite research`, `demo`, `batch`: question in, report out, progress on stderr."""

import json
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pincite.domain.errors import CoverageNotMet, InvalidInput, PinciteError
from pincite.domain.plan import ReportStyle
from pincite.domain.search import Constraints
from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import BUNDLE, format_of, read_schema, report_formats, vet_output, write_report
from pincite.surfaces.cli.run import guarded, note, print_bytes, print_json, print_text, run_async, tell, typed
from pincite.surfaces.errors import EXIT_CHECK_FAILED, EXIT_CODES, exit_code

if TYPE_CHECKING:
    from decimal import Decimal

    from pincite.domain.events import Json
    from pincite.domain.plan import SubQuestion
    from pincite.domain.report import Report
    from pincite.engine import Engine
    from pincite.execution import OnEvent
    from pincite.jobs.batch import Progress
    from pincite.research.model.estimate import Estimate

INTERACTIVE = 10
"""Somebody waits for a queued run: before every batch."""
Answer: TypeAlias = "tuple[Report, bytes, PinciteError | None]"
"""A report, the bytes to print, and why the command fails all the same: a file that was not written, too few parts."""


def research(
    question: Annotated[str, typer.Argument(help="The question; `-` reads it from stdin.")],
    url: Annotated[list[str] | None, typer.Option("--url", help="Read this page (repeatable).")] = None,
    source: options.Source = None,
    profile: options.Profile = None,
    include_domain: options.IncludeDomain = None,
    prefer_domain: options.PreferDomain = None,
    exclude_domain: options.ExcludeDomain = None,
    per_domain_cap: options.PerDomainCap = None,
    since: options.Since = None,
    until: options.Until = None,
    language: options.Language = None,
    llm: options.Llm = None,
    judge: options.Judge = None,
    words_only: options.WordsOnly = False,
    require_coverage: options.RequireCoverage = None,
    audience: options.Audience = None,
    length: options.Length = None,
    report_language: options.ReportLanguage = None,
    depth: options.Depth = None,
    instructions: options.Instructions = None,
    plan: options.PlanOption = None,
    max_rounds: Annotated[int | None, typer.Option(help="Rounds of search and reading at most.")] = None,
    max_pages: Annotated[int | None, typer.Option(help="Pages read at most.")] = None,
    max_web_requests: Annotated[int | None, typer.Option(help="Requests of all kinds together at most.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars at most.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds after which the run ends with what it has.")] = None,
    output: options.Output = None,
    format_: Annotated[
        str, typer.Option("--format", help="What to print: md, json, html, pdf, docx, csv, bib, ris or csl.json.")
    ] = "md",
    bundle: Annotated[
        Path | None, typer.Option(help="Also write report and pages as one file that checks itself (WACZ).")
    ] = None,
    queue: Annotated[bool, typer.Option("--queue", help="Leave it to `pincite worker`; print the run's id.")] = False,
    project: Annotated[str, typer.Option(help="File the run under this project.")] = "",
    output_schema: Annotated[
        Path | None, typer.Option(help="Print the answer as JSON of this JSON Schema, each value with its passages.")
    ] = None,
    continued: Annotated[
        str, typer.Option("--continue", metavar="RUN", help="Go on from this run (or `last`): its pages are at hand.")
    ] = "",
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Answer a question with a report in which every sentence leads to its passage."""
    overrides: dict[str, object] = {"profile": profile, "llm": llm, "judge": judge, "home": home}
    overrides |= {"source": options.joined(source), "embeddings": "none" if words_only else None}
    overrides |= {"per_domain_cap": per_domain_cap, "require_coverage": require_coverage, "deadline_s": deadline}
    overrides |= {"max_rounds": max_rounds, "max_pages": max_pages, "max_web_requests": max_web_requests}
    overrides |= {"resolve": options.joined(resolve), "allow_networks": options.joined(allow_network)}
    overrides["max_cost_usd"] = max_cost
    printed = "json" if as_json else format_
    files = tuple(output or ()) + ((bundle,) if bundle else ())
    started: list[str] = []
    schema = guarded(lambda: read_schema(output_schema), as_json=as_json) if output_schema else None

    async def job() -> "Answer | str | Shown":
        when = {"since": since, "until": until, "language": language}
        constraints = options.constraints(
            include=include_domain, prefer=prefer_domain, exclude=exclude_domain, cap=per_domain_cap, **when
        )
        for path in files:
            vet_output(path, report_formats(), BUNDLE if path is bundle else None)
        style = options.style(audience, length, report_language, depth, instructions)
        wish = Wish(question, tuple(url or ()), constraints, project, queue, printed, files, continued, schema, style)
        return await ask_planned(overrides, wish, started, plan, verbose=verbose)

    answer = run_async(job, as_json=as_json, stopped=lambda: how_to_resume(started))
    if isinstance(answer, Shown):
        print_text(answer.text)
        return
    if isinstance(answer, str):
        tell_queued(answer, as_json=as_json)
        return
    present(answer, hint=printed == "md" and not files)


@dataclass(frozen=True, slots=True)
class Wish:
    """What to find out, where to file it, and what to print and write of it."""

    question: str
    urls: tuple[str, ...]
    constraints: Constraints
    project: str
    queue: bool
    printed: str
    files: tuple[Path, ...]
    continues: str = ""
    schema: "Json" = None
    style: ReportStyle = ReportStyle()
    parts: "tuple[SubQuestion, ...]" = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """What is printed instead of a report."""

    text: str


async def ask_planned(
    overrides: dict[str, object], wish: Wish, started: list[str], plan: str | None, *, verbose: bool
) -> "Answer | str | Shown":
    """As `ask`, with a plan that is shown, edited or taken from a file first."""
    if plan is not None:
        shown = await planned(overrides, wish, plan)
        if isinstance(shown, str):
            return Shown(shown)
        wish = replace(wish, parts=shown)
    return await ask(overrides, wish, started, verbose=verbose)


async def planned(overrides: dict[str, object], wish: Wish, plan: str) -> "str | tuple[SubQuestion, ...]":
    """The plan as text to show, or its parts as they were edited or stand in a file. Errors: those of `Engine.plan`."""
    from click import edit  # typer stands on click

    from pincite.domain.plan import Plan
    from pincite.engine import Engine
    from pincite.research.plan_text import plan_text, read_plan

    async with Engine.from_settings(**overrides) as engine:
        if plan not in ("show", "edit"):
            text = read_text(Path(plan))
            return read_plan(text, wish.constraints, engine.settings.results_per_query)
        parts = await engine.plan(wish.question, constraints=wish.constraints, style=wish.style)
        text = plan_text(Plan(parts))
        if plan == "show":
            return text
        from anyio import to_thread

        edited = await to_thread.run_sync(lambda: edit(text, extension=".plan"))
        return read_plan(edited or text, wish.constraints, engine.settings.results_per_query)


def read_text(path: Path) -> str:
    """The text of a file of the user. Errors: InvalidInput."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"can't read {path}: {error}", reason="plan_unreadable") from error


async def ask(overrides: dict[str, object], wish: Wish, started: list[str], *, verbose: bool = False) -> "Answer | str":
    """The report, or the id of the run that was left to workers; `started` gets the id of one that can be resumed."""
    from pincite.engine import Engine, Filing
    from pincite.surfaces.cli.progress import live_progress
    from pincite.wiring.observing import export_spans

    text = typed() if wish.question == "-" else wish.question
    filing = Filing(project=wish.project, priority=INTERACTIVE if wish.queue else 0, for_workers=wish.queue)
    async with Engine.from_settings(**overrides) as engine:
        export_spans(engine.settings)
        for wanted in (wish.printed, *map(format_of, wish.files)):
            if wanted != BUNDLE or wanted == wish.printed:
                engine.vet_format(wanted)
        if wish.schema is not None and await engine.estimate() is None:
            raise InvalidInput("--output-schema needs a language model", hint="Set one with --llm MODEL.")
        tell_estimate(await engine.estimate(), engine.settings.max_cost_usd)
        with live_progress(verbose=verbose) as show:
            run_id = await engine.start(
                text,
                urls=wish.urls,
                constraints=wish.constraints,
                filing=filing,
                continues=wish.continues,
                style=wish.style,
                parts=wish.parts,
            )
            if wish.queue:
                return run_id
            started.append(run_id)
            report, unmet = await ended(engine, run_id, show)
        failed = await write_report(engine, report, wish.files) or unmet
        if wish.schema is not None:
            filled: dict[str, Json] = {"run_id": report.run_id, **await engine.structure(report, wish.schema)}
            return report, json.dumps(filled, ensure_ascii=False, indent=2).encode() + b"\n", failed
        return report, await engine.export(report, wish.printed), failed


async def ended(engine: "Engine", run_id: str, show: "OnEvent") -> "tuple[Report, PinciteError | None]":
    """The report of a run, and why it isn't enough where fewer parts are answered than required."""
    from pincite.domain.report import Report

    try:
        return await engine.resume(run_id, on_event=show), None
    except CoverageNotMet as error:
        if not isinstance(error.report, Report):
            raise
        return error.report, error


def tell_queued(run_id: str, *, as_json: bool) -> None:
    """Print the id of a run that was left to workers."""
    if as_json:
        print_json({"run_id": run_id, "status": "queued"})
        return
    print_text(run_id)
    note(f"Queued. `pincite worker` executes it; see: pincite runs show {run_id}")


def tell_estimate(estimate: "Estimate | None", cap_usd: "Decimal | None") -> None:
    """Say what the models of a run are expected to cost, before it starts."""
    if estimate is None:
        return
    price = "at a price nobody knows" if estimate.cost_usd is None else f"about ${estimate.cost_usd:.3f}"
    cap = "" if cap_usd is None else f"; the cap is ${cap_usd}"
    note(
        f"Estimate: up to {estimate.calls} calls to the model, {estimate.tokens_in:,} tokens in and "
        f"{estimate.tokens_out:,} out, {price}{cap}."
    )


def tell_cost(report: "Report") -> None:
    """Say what the models of a run really used."""
    used = report.metrics
    if used.tokens_in:
        note(f"Used: {used.tokens_in:,} tokens in and {used.tokens_out:,} out, ${used.cost_usd:.4f} in all.")


def how_to_resume(started: list[str]) -> str:
    """How an interrupted run goes on."""
    if started:
        return f"Stopped; what was read is kept. Go on with: pincite runs resume {started[0]}"
    return "Stopped before a run was made; pages that were indexed are kept. The same command goes on."


def present(answer: Answer, *, hint: bool = True) -> None:
    """Print a finished report; leave with 7 when it found no answer, and as it says when a file was not written."""
    from pincite.domain.report import ReportStatus

    report, printed, failed = answer
    print_bytes(printed)
    tell_cost(report)
    if hint and report.claims:
        note(f"Every sentence with its passage: pincite runs export {report.run_id} -o report.html")
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        note("Nothing that was read supports an answer [INSUFFICIENT_EVIDENCE]. Try other sources.")
        raise typer.Exit(EXIT_CODES["INSUFFICIENT_EVIDENCE"])
    if failed is not None:
        if isinstance(failed, CoverageNotMet):  # a file that was not written was told when that was tried
            tell(failed)
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

    async def job() -> "Answer":
        from pincite.domain.search import Constraints
        from pincite.wiring.sources import QUESTION

        vet_output(output, report_formats(), BUNDLE if format_of(output) == BUNDLE else None)
        overrides: dict[str, Any] = {"source": ("bundled",), "llm": "none", "home": writable_home(home)}
        wish = Wish(question or QUESTION, (), Constraints(), "", False, "json" if as_json else "md", (output,))
        answer = await ask(overrides, wish, started, verbose=verbose)
        assert not isinstance(answer, str), "a demo is never left to workers"
        return answer

    answer = run_async(job, as_json=as_json, stopped=lambda: how_to_resume(started))
    present(answer, hint=False)
    if not as_json:
        note(NEXT.format(file=output))


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
    note(f"{wanted} can't be written; runs are kept in {kept} for now. Set PINCITE_HOME to keep them.")
    return kept


def batch(
    file: Annotated[Path, typer.Argument(help="JSON lines: a question as text, or {id, question, urls, ...}.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Answers as JSON lines; default FILE.answers.jsonl.")
    ] = None,
    slots: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 2,
    queue: Annotated[bool, typer.Option("--queue", help="Leave them to `pincite worker` and wait for it.")] = False,
    source: options.Source = None,
    profile: options.Profile = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars for each question at most.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds for each question at most.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Answer a file of questions; started again it goes on where it was."""
    to = output or file.with_name(file.stem + ".answers.jsonl")
    overrides = {
        "source": options.joined(source),
        "profile": profile,
        "max_cost_usd": max_cost,
        "deadline_s": deadline,
        "home": home,
    }
    shown = [-1]

    def tell(progress: "Progress") -> None:
        step = max(progress.total // 100, 1)
        if progress.done // step != shown[0] or progress.done == progress.total:
            shown[0] = progress.done // step
            note(f"{progress.done} of {progress.total} done" + (f", {progress.failed} failed" * bool(progress.failed)))

    async def job() -> "Progress":
        from pincite.engine import Engine
        from pincite.jobs.batch import Batch, batch_name, read_items
        from pincite.wiring.observing import export_spans

        items = read_items(file)
        vet_output(to)
        async with Engine.from_settings(**overrides) as engine:
            export_spans(engine.settings)
            return await Batch(engine, batch_name(file), items, to).run(slots, tell, queued=queue)

    found = run_async(job, as_json=as_json, stopped=lambda: "Stopped; the same command goes on.")
    if as_json:
        counts = {"answered": found.answered, "failed": found.failed, "kept": found.kept}
        print_json({"output": str(to), "total": found.total, **counts})
    else:
        print_text(str(to))
    if found.failed:
        note(f"{found.failed} of {found.total} have no answer; the same command tries those again.")
        raise typer.Exit(EXIT_CHECK_FAILED)

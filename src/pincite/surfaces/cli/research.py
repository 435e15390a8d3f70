"""`pincite research`: question in, report out, progress on stderr."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.bundle import write_bundle
from pincite.surfaces.cli.run import format_of, guarded, note, print_bytes, run_async, write_file
from pincite.surfaces.outcomes import EXIT_CODES

if TYPE_CHECKING:
    from pincite.domain.report import Report

BUNDLE = "wacz"

Answer: TypeAlias = "tuple[Report, bytes]"
"""A report, and the bytes to print."""


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
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Answer a question with a report in which every sentence leads to its passage."""
    overrides = {
        "profile": profile,
        "source": options.joined(source),
        "per_domain_cap": per_domain_cap,
        "max_rounds": max_rounds,
        "max_pages": max_pages,
        "max_web_requests": max_web_requests,
        "max_cost_usd": max_cost,
        "deadline_s": deadline,
        "resolve": options.joined(resolve),
        "allow_networks": options.joined(allow_network),
        "home": home,
    }

    printed = "json" if as_json else format_
    exports = [path for path in output or [] if format_of(path) != BUNDLE]
    bundles = [path for path in output or [] if format_of(path) == BUNDLE] + ([bundle] if bundle else [])
    started: list[str] = []

    async def job() -> Answer:
        import sys

        from pincite.engine import Engine
        from pincite.surfaces.cli.progress import live_progress

        text = sys.stdin.read() if question == "-" else question
        constraints = options.constraints(
            include=include_domain,
            prefer=prefer_domain,
            exclude=exclude_domain,
            cap=per_domain_cap,
            since=since,
            until=until,
            language=language,
        )
        async with Engine.from_settings(**overrides) as engine:
            for wanted in (printed, *map(format_of, exports)):
                engine.vet_format(wanted)
            with live_progress() as show:
                run_id = await engine.start(text, urls=tuple(url or ()), constraints=constraints)
                started.append(run_id)
                report = await engine.resume(run_id, on_event=show)
            for path in exports:
                write_file(path, await engine.export(report, format_of(path)))
            return report, await engine.export(report, printed)

    answer = run_async(job, as_json=as_json, on_interrupt=lambda: tell_how_to_resume(started))
    for path in bundles:
        guarded(partial(write_bundle, answer[0].run_id, path, home), as_json=as_json)
    present(answer, hint=printed == "md" and not output and not bundle)


def tell_how_to_resume(started: list[str]) -> None:
    """Say how an interrupted run goes on."""
    if started:
        note(f"Stopped; what was read is kept. Go on with: pincite runs resume {started[0]}")


def present(answer: Answer, *, hint: bool = True) -> None:
    """Print a finished report and leave with 7 when it found no answer."""
    from pincite.domain.report import ReportStatus

    report, printed = answer
    print_bytes(printed)
    if hint:
        note(f"Every sentence with its passage: pincite runs export {report.run_id} -o report.html")
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        note("Nothing that was read supports an answer [INSUFFICIENT_EVIDENCE]. Try other sources.")
        raise typer.Exit(EXIT_CODES["INSUFFICIENT_EVIDENCE"])

"""`pincite research`: question in, report out, progress on stderr."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import format_of, note, print_text, run_async, write_file
from pincite.surfaces.outcomes import EXIT_CODES

if TYPE_CHECKING:
    from pincite.domain.report import Report

Answer: TypeAlias = "tuple[Report, bytes]"
"""A report, and its JSON where that was asked for."""


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
            for path in output or []:
                engine.vet_format(format_of(path))
            with live_progress() as show:
                run_id = await engine.start(text, urls=tuple(url or ()), constraints=constraints)
                started.append(run_id)
                report = await engine.resume(run_id, on_event=show)
            for path in output or []:
                write_file(path, await engine.export(report, format_of(path)))
            return report, await engine.export(report, "json") if as_json else b""

    answer = run_async(job, as_json=as_json, on_interrupt=lambda: tell_how_to_resume(started))
    present(answer, as_json=as_json, hint=not output)


def tell_how_to_resume(started: list[str]) -> None:
    """Say how an interrupted run goes on."""
    if started:
        note(f"Stopped; what was read is kept. Go on with: pincite runs resume {started[0]}")


def present(answer: Answer, *, as_json: bool, hint: bool = True) -> None:
    """Print a finished report and leave with 7 when it found no answer."""
    from pincite.domain.report import ReportStatus

    report, as_bytes = answer
    if as_json:
        print_text(as_bytes.decode())
    else:
        print_text(report.markdown)
        if hint:
            note(f"Every sentence with its passage: pincite runs export {report.run_id} -o report.html")
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        note("Nothing that was read supports an answer [INSUFFICIENT_EVIDENCE]. Try other sources.")
        raise typer.Exit(EXIT_CODES["INSUFFICIENT_EVIDENCE"])

"""`pincite research`: question in, report out, progress on stderr."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import fail, note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.domain.report import Report


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

    async def job() -> "Report":
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
            with live_progress() as show:
                report = await engine.research(text, urls=tuple(url or ()), constraints=constraints, on_event=show)
            for path in output or []:
                path.write_bytes(await engine.export(report, path.suffix.lstrip(".")))
                note(f"Written: {path}")
            return report

    present(run_async(job, as_json=as_json), as_json=as_json, output=output)


def present(report: "Report", *, as_json: bool, output: list[Path] | None = None) -> None:
    """Print a finished report and leave with 7 when it found no answer."""
    from pincite.domain.errors import InsufficientEvidence
    from pincite.domain.report import ReportStatus

    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(report))
    else:
        print_text(report.markdown)
        if not output:
            note(f"Every sentence with its passage: pincite runs export {report.run_id} -o report.html")
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        if as_json:
            raise typer.Exit(7)
        fail(InsufficientEvidence("nothing that was read supports an answer", hint="Try other sources."), as_json=False)

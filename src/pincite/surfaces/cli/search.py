"""`pincite search`: results of one provider or several, or of a local library."""

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.domain.search import SearchResponse


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    source: options.Source = None,
    max_results: Annotated[int, typer.Option(min=1, max=50, help="Results at most.")] = 5,
    include_domain: options.IncludeDomain = None,
    prefer_domain: options.PreferDomain = None,
    exclude_domain: options.ExcludeDomain = None,
    per_domain_cap: options.PerDomainCap = None,
    since: options.Since = None,
    until: options.Until = None,
    language: options.Language = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Search the web or a local library."""

    async def job() -> "SearchResponse":
        from pincite.domain.search import Query
        from pincite.engine import Engine

        wanted = Query(
            query,
            max_results=max_results,
            constraints=options.constraints(
                include=include_domain,
                prefer=prefer_domain,
                exclude=exclude_domain,
                cap=per_domain_cap,
                since=since,
                until=until,
                language=language,
            ),
        )
        async with Engine.from_settings(source=options.joined(source), home=home) as engine:
            return await engine.search(wanted)

    response = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(response, outside=True))
        return
    for result in response.results:
        print_text(f"{result.rank}. {result.title}\n   {result.url}\n   {result.snippet}\n")
    if not response.results:
        print_text("No results.")

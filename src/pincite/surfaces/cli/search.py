"""`pincite search`: results of one engine, of several fused, or of a local library."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.domain.reasons import reason_text
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, print_text, printable, run_async

if TYPE_CHECKING:
    from pincite.domain.search import SearchResponse


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    source: options.Source = None,
    max_results: Annotated[int, typer.Option(min=1, max=50, help="Results at most; 10 unless set higher.")] = 5,
    include_domain: options.IncludeDomain = None,
    prefer_domain: options.PreferDomain = None,
    exclude_domain: options.ExcludeDomain = None,
    per_domain_cap: options.PerDomainCap = None,
    since: options.Since = None,
    time_range: Annotated[
        str | None, typer.Option(help="day, week, month or year: only what was published since; instead of --since.")
    ] = None,
    until: options.Until = None,
    language: options.Language = None,
    region: Annotated[str | None, typer.Option(help="Country of the results, as in `de`.")] = None,
    topic: Annotated[str, typer.Option(help="general, news, research or code.")] = "general",
    depth: Annotated[
        str | None,
        typer.Option("--depth", "--search-depth", help="basic or advanced; by default what the money allows."),
    ] = None,
    no_answer: Annotated[bool, typer.Option("--no-answer", help="Do not ask for the engine's own answer.")] = False,
    lane: Annotated[
        str | None, typer.Option(help="Who goes first at a short limit: critical, interactive or batch.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="US dollars at most.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which engines were asked, why, and the cost.")
    ] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Search the web or a local library."""

    async def job() -> "tuple[SearchResponse, tuple[str, ...]]":
        from pincite.domain.given import member
        from pincite.domain.search import Depth, Query, Topic
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
                time_range=time_range,
                until=until,
                language=language,
            ),
            region=region,
            topic=member(Topic, topic.lower(), "--topic"),
            depth=None if depth is None else member(Depth, depth.lower(), "--depth"),
            include_answer=not no_answer,
        )
        overrides = {"source": options.joined(source), "home": home, "max_cost_usd": max_cost, "lane": lane}
        async with Engine.from_settings(**overrides) as engine:
            plan = await engine.explain_search(wanted) if explain else ()
            return await engine.search(wanted), plan

    response, plan = run_async(job, as_json=as_json)
    for line in (*plan, *(account(response) if explain else ())):
        note(line)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(response, outside=True))
    elif not response.results:
        print_text("No results.")
    elif sys.stdout.isatty():
        _print_table(response)
    else:
        for result in response.results:
            print_text(f"{result.rank}. {result.title}\n   {result.url}\n   {result.snippet}\n")
    for left_out in response.info.left_out if not as_json else ():
        note(f"Left out: {left_out.url} ({reason_text(left_out.reason)})")
    if not as_json and not explain and response.info.stale:
        note(f"Older results: {response.info.reason}")


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

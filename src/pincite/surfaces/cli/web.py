"""`pincite search` and `pincite fetch`: results of engines or a library, and one page as clean Markdown."""

import sys
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from pincite.domain.fetch_rules import DEFAULTS, RULES
from pincite.domain.given import member
from pincite.domain.page import FetchRequest, Render
from pincite.domain.reasons import reason_text
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, print_text, printable, run_async

if TYPE_CHECKING:
    from pincite.domain.page import FetchResult
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
    words_only: options.WordsOnly = False,
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
        chosen = {"max_cost_usd": max_cost, "lane": lane, "embeddings": "none" if words_only else None}
        async with Engine.from_settings(source=options.joined(source), home=home, **chosen) as engine:
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


def _range(name: str, note: str = "") -> Any:  # what typer's own Option returns
    rule = RULES[name]
    return typer.Option(min=rule.low, max=rule.high, help=note or _sentence(name))


def _sentence(name: str) -> str:
    note = RULES[name].note.replace("`", "")
    return f"{note[0].upper()}{note[1:]}."


Format = Annotated[str, typer.Option("--format", "--output-format", help="markdown or text.")]
Links = Annotated[bool, typer.Option("--links", "--include-links", help="List the page's links.")]


def fetch(
    url: Annotated[str, typer.Argument(help="The page.")],
    max_chars: Annotated[int, _range("max_chars")] = DEFAULTS.max_chars,
    offset: Annotated[int, _range("offset")] = DEFAULTS.offset,
    output_format: Format = DEFAULTS.output_format,
    mode: Annotated[str, typer.Option(help="auto, reader, or raw: the page's own source.")] = DEFAULTS.mode,
    max_html_chars: Annotated[int, _range("max_html_chars")] = DEFAULTS.max_html_chars,
    markdown: Annotated[str, typer.Option(help="Who writes the Markdown: rules, or a model (--llm).")] = (
        DEFAULTS.markdown
    ),
    llm: options.Llm = None,
    render: Annotated[str, typer.Option(help="Use a browser: auto, never or always.")] = DEFAULTS.render.value,
    include_links: Links = DEFAULTS.include_links,
    max_links: Annotated[int, _range("max_links")] = DEFAULTS.max_links,
    no_redirects: Annotated[bool, typer.Option("--no-redirects", help="Show a redirect, don't follow it.")] = False,
    no_persist: Annotated[bool, typer.Option("--no-persist", help="Leave the page cache alone.")] = False,
    force_refresh: Annotated[bool, typer.Option("--force-refresh", help="Ask the site even if it is cached.")] = False,
    prefer_language: Annotated[str | None, typer.Option(help=_sentence("prefer_language"))] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds in all, at most 40.")] = None,
    include_domain: options.IncludeDomain = None,
    exclude_domain: options.ExcludeDomain = None,
    source: options.Source = None,
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Read one page safely and politely."""

    async def job() -> "FetchResult":
        from pincite.engine import Engine

        request = FetchRequest(
            url,
            mode=mode,
            output_format=output_format,
            max_chars=max_chars,
            max_html_chars=max_html_chars,
            markdown=markdown,
            offset=offset,
            include_links=include_links,
            max_links=max_links,
            allow_redirects=not no_redirects,
            persist=not no_persist,
            force_refresh=force_refresh,
            prefer_language=prefer_language,
            render=member(Render, render, "render"),
            include_domains=options.joined(include_domain) or (),
            exclude_domains=options.joined(exclude_domain) or (),
            deadline_s=deadline,
            user_triggered=True,
        )
        overrides = {
            "source": options.joined(source),
            "resolve": options.joined(resolve),
            "allow_networks": options.joined(allow_network),
            "home": home,
            "llm": llm,
        }
        async with Engine.from_settings(**overrides) as engine:
            return await engine.fetch(request)

    result = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        plain = to_json(result, outside=True)
        if isinstance(plain, dict):
            for inner in ("snapshot", "document"):
                plain.pop(inner, None)
        print_json(plain)
        return
    print_text(_header(result) + "\n" + result.content)
    for link in result.links:
        print_text(f"- [{link.text}]({link.url})")
    if result.next_offset is not None:
        note(f"More: --offset {result.next_offset}")


def _older(result: "FetchResult") -> str:
    return " (an older copy)" if result.info.stale else ""


def _written_by(result: "FetchResult") -> str:
    """Who wrote the content, where a model was asked for it."""
    info = result.info
    if info.markdown_note:
        return f"{info.markdown_by} ({info.markdown_note.replace('_', ' ')})"
    used = f", {info.tokens_in} tokens in, {info.tokens_out} out" if info.tokens_in else ""
    return "" if info.markdown_by == "rules" else info.markdown_by + used


def _header(result: "FetchResult") -> str:
    lines = [
        ("title", result.title),
        ("site", result.site_name or (urlsplit(result.final_url).hostname or "")),
        ("by", result.byline),
        ("published", result.published_at.date().isoformat() if result.published_at else ""),
        ("modified", result.modified_at.date().isoformat() if result.modified_at else ""),
        ("url", result.final_url),
        ("leads to", result.location),
        ("fetched", f"{result.info.fetched_at:%Y-%m-%d %H:%M:%S} UTC via {result.info.via}{_older(result)}"),
        ("snapshot", result.snapshot_id),
        ("markdown by", _written_by(result)),
    ]
    return "---\n" + "".join(f"{name}: {' '.join(value.split())}\n" for name, value in lines if value) + "---\n"

"""`pincite fetch`: one page as clean Markdown with a header, or one clear sentence about why not."""

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.domain.page import FetchResult


def fetch(
    url: Annotated[str, typer.Argument(help="The page.")],
    max_chars: Annotated[int, typer.Option(min=1, max=12_000, help="Characters of content at most.")] = 6_000,
    offset: Annotated[int, typer.Option(min=0, help="Start of the window, from a previous `next_offset`.")] = 0,
    output_format: Annotated[str, typer.Option("--format", help="markdown or text.")] = "markdown",
    include_links: Annotated[bool, typer.Option("--links", help="List the page's links.")] = False,
    force_refresh: Annotated[bool, typer.Option("--force-refresh", help="Ask the site even if it is cached.")] = False,
    source: options.Source = None,
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Read one page safely and politely."""

    async def job() -> "FetchResult":
        from pincite.domain.page import FetchRequest
        from pincite.engine import Engine

        request = FetchRequest(
            url,
            max_chars=max_chars,
            offset=offset,
            output_format=output_format,
            include_links=include_links,
            force_refresh=force_refresh,
            user_triggered=True,
        )
        overrides = {
            "source": options.joined(source),
            "resolve": options.joined(resolve),
            "allow_networks": options.joined(allow_network),
            "home": home,
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


def _header(result: "FetchResult") -> str:
    lines = [
        ("title", result.title),
        ("site", result.site_name),
        ("by", result.byline),
        ("published", result.published_at.date().isoformat() if result.published_at else ""),
        ("url", result.final_url),
        ("fetched", f"{result.info.fetched_at:%Y-%m-%d %H:%M:%S} UTC via {result.info.via}"),
        ("snapshot", result.snapshot_id),
    ]
    return "---\n" + "".join(f"{name}: {' '.join(value.split())}\n" for name, value in lines if value) + "---\n"

"""`pincite fetch`: one page as clean Markdown with a header, or one clear sentence about why not."""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from pincite.domain.fetch_rules import DEFAULTS, RULES
from pincite.domain.given import member
from pincite.domain.page import FetchRequest, Render
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.domain.page import FetchResult


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

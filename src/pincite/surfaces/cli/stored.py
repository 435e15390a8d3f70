"""`pincite index`, `cache`, `scope`, `log`: what is kept in the home, shown, exported and deleted."""

from collections import Counter
from contextlib import aclosing
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.domain.errors import ExtraNotInstalled
from pincite.domain.reasons import plural, reason_text
from pincite.runtime.system import install_extra
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import vet_output
from pincite.surfaces.cli.run import (
    confirm,
    print_json,
    print_note,
    print_result,
    print_text,
    print_value,
    result_stream,
    run_async,
    with_engine,
)

if TYPE_CHECKING:
    from pincite.domain.records import LoggedCall
    from pincite.domain.search import IndexReport, Skipped
    from pincite.engine import Engine
    from pincite.wiring.scopes import Expired

# A screenful; `pincite doctor` counts them all.
SKIPPED_SHOWN = 20
# Of so many files that are left out for one reason each is named; more are counted by their suffixes.
_NAMED = 10
_REASONS = {
    "other_kind": "another kind of file",
    "no_text": "empty, or no text",
    "source_of_page": "sources of pages that are read",
}


def index(
    paths: Annotated[list[Path], typer.Argument(help="Folders of pages, WARC or WACZ files.")],
    words_only: Annotated[
        bool,
        typer.Option(
            "--words-only", help="Make no vectors of passages: far faster, and finds less of what is worded otherwise."
        ),
    ] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Index local pages. Running it again reads only what changed.

    With the extra `embeddings` it also makes a vector of every passage, so that
    pages are found by meaning: 25 to 30 ms of processor time each, once. Ctrl-C
    keeps those that were made, and the same command goes on.
    """

    async def indexed(engine: "Engine") -> "list[IndexReport]":
        from pincite.surfaces.cli.progress import progress_line

        with progress_line() as told:
            return [await engine.index(path, vectors=not words_only, progress=told) for path in paths]

    stopped = "Stopped; pages that were indexed are kept. The same command goes on."
    summaries = with_engine(indexed, {"home": home}, stopped=lambda: stopped)
    if as_json:
        print_value(summaries)
        return
    for path, summary in zip(paths, summaries, strict=True):
        print_text(
            f"{path}: {plural(summary.pages, 'page')}, {plural(summary.passages, 'passage')} ({summary.added} read, "
            f"{summary.unchanged} unchanged, {summary.removed} removed, {len(summary.skipped)} skipped) "
            f"in {summary.seconds:.1f} s" + (f"; {plural(summary.vectors, 'vector')} made" if summary.vectors else "")
        )
        for skipped in summary.skipped[:SKIPPED_SHOWN]:
            print_note(f"  {skipped_line(skipped)}")
        if len(summary.skipped) > SKIPPED_SHOWN:
            print_note(f"  and {len(summary.skipped) - SKIPPED_SHOWN} more; --json lists all")
        for line in not_read(summary):
            print_note(f"  {line}")
        if any(skipped.reason == ExtraNotInstalled.default_reason for skipped in summary.skipped):
            print_note(f"  to read Office files: {install_extra('office')}; then the same command again")
    if any(summary.pages for summary in summaries):
        print_note('Now: pincite research "..." uses it without --source.')
    else:
        print_note("No page was found there. What can be read: HTML, Markdown, text, PDF, Office files, WARC, WACZ.")


def skipped_line(skipped: "Skipped") -> str:
    """What was skipped and why, in words where there are some, with the code of docs/library.md."""
    return f"skipped {skipped.place}: " + (
        f"{skipped.detail} ({skipped.reason})" if skipped.detail else reason_text(skipped.reason)
    )


def not_read(report: "IndexReport") -> list[str]:
    """A line for each reason for which files were left out: their names, or how many of which suffix."""
    by_reason: dict[str, list[str]] = {}
    for left in report.ignored_files:
        by_reason.setdefault(left.reason, []).append(left.place)
    lines = []
    for reason, places in by_reason.items():
        kinds = Counter(PurePath(place).suffix or PurePath(place).name for place in places).most_common(_NAMED)
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds)
        more = "; --json names them" if len(places) > _NAMED else ""
        shown = counted if len(places) > _NAMED else ", ".join(places)
        lines.append(f"not read, {_REASONS.get(reason, reason)}: {shown}{more}")
    return lines


cache_app = typer.Typer(help="Show and clear what is cached.", no_args_is_help=True, rich_markup_mode=None)
_MEGABYTE = 1_000_000


@cache_app.command()
def stats(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print what cached answers and captured pages take up."""
    held = with_engine(lambda engine: engine.cache_stats(), {"home": home})
    cached = f"cache: {held.entries} entries, {held.size_bytes / _MEGABYTE:.1f} MB"
    captured = f"captured pages: {held.captured_bytes / _MEGABYTE:.1f} MB, compressed"
    print_result(held, f"{cached}\n{captured}", as_json=as_json)


@cache_app.command()
def clear(home: options.Home = None, as_json: options.Json = False) -> None:
    """Empty the cache and forget pages that no run refers to; runs and reports stay whole."""
    gone = with_engine(lambda engine: engine.clear_cache(), {"home": home})
    said = f"Removed {gone.entries} cache entries and {gone.captures} captures that no run refers to."
    print_result(gone, said, as_json=as_json)


scope_app = typer.Typer(
    help="Export, delete or prune all that is kept of a user.", no_args_is_help=True, rich_markup_mode=None
)
User = Annotated[str, typer.Argument(help="The scope: a user, or `local`.")]


@scope_app.command()
def export(
    user: User,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File of JSON lines; default stdout.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write every row that is kept of a user as JSON lines."""

    async def job() -> int:
        from pincite.settings import load_settings
        from pincite.wiring.scopes import export_scope

        if output is not None:
            vet_output(output)
        rows = 0
        exported = aclosing(export_scope(load_settings({"home": home, "scope": user})))
        with result_stream() if output is None else output.open("w", encoding="utf-8") as out:
            async with exported as lines:
                async for line in lines:
                    out.write(line + "\n")
                    rows += 1
        return rows

    rows = run_async(job)
    if as_json and output is not None:
        print_json({"scope": user, "rows": rows, "output": str(output)})
    print_note(f"{rows} rows of {user}.")


@scope_app.command()
def delete(
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Remove all that is kept of a user: runs, reports, pages, cache, log. It can't be undone."""
    if not yes and not confirm(f"Remove everything of {user}?"):
        print_note("Nothing was removed.")
        raise typer.Abort

    from pincite.settings import load_settings
    from pincite.wiring.scopes import delete_scope

    went = run_async(lambda: delete_scope(load_settings({"home": home, "scope": user})))
    counts = {"rows": went.rows, "cache_entries": went.cache_entries, "calls": went.logged_calls}
    said = f"Removed {went.rows} rows, {went.cache_entries} cached answers and {went.logged_calls} logged calls."
    print_result({"scope": user, **counts}, said, as_json=as_json)
    if not as_json:
        print_note("API keys of this user still open an empty scope; revoke them with: pincite keys revoke NAME")


@scope_app.command()
def prune(user: User, home: options.Home = None, as_json: options.Json = False) -> None:
    """Delete what the settings keep no longer (runs_keep_days, ...); workers and servers do it each hour."""

    async def job() -> "Expired":
        from pincite.settings import load_settings
        from pincite.wiring.scopes import expire
        from pincite.wiring.stores import open_shared

        settings = load_settings({"home": home, "scope": user})
        async with open_shared(settings) as shared:
            return await expire(settings, shared)

    went = run_async(job)
    said = f"Deleted {went.runs} runs, {went.events} events and {went.captures} captures."
    found = {"scope": user, "runs": went.runs, "events": went.events, "captures": went.captures}
    print_result(found, said, as_json=as_json)


def log(
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=1000, help="Calls at most, newest first.")] = 20,
    tool: Annotated[str | None, typer.Option(help="Only search, fetch, audit, research or another kind.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Only those of this run.")] = None,
    session: Annotated[str | None, typer.Option(help="Only those of this session.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """List the calls that were made: when, by which surface, what came of them, time and money."""
    found = with_engine(lambda engine: engine.log(limit, tool=tool, run_id=run_id, session_id=session), {"home": home})
    print_result(found, "\n".join(map(_line, found)) or "No calls on record.", as_json=as_json)


def _line(call: "LoggedCall") -> str:
    request = call.request if isinstance(call.request, dict) else {}
    what = next((str(request[name]) for name in ("text", "query", "url", "question") if request.get(name)), call.run_id)
    short = what if len(what) <= 70 else f"{what[:69]}…"
    cost = f"  ${call.cost_usd}" if call.cost_usd else ""
    return (
        f"{call.at:%Y-%m-%d %H:%M:%S}  {call.surface:<6} {call.tool:<8} {call.outcome:<12} "
        f"{call.latency_ms:>8.0f} ms{cost}  {short}"
    )

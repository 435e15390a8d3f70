"""`pincite scope`: all that is kept of one user, handed out or removed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import vet_output
from pincite.surfaces.cli.run import confirmed, note, print_json, print_text, results, run_async

if TYPE_CHECKING:
    from pincite.wiring.scopes import Expired, Removed

app = typer.Typer(
    help="Export, delete or prune all that is kept of a user.", no_args_is_help=True, rich_markup_mode=None
)
User = Annotated[str, typer.Argument(help="The scope: a user, or `local`.")]


@app.command()
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
        out = results() if output is None else output.open("w", encoding="utf-8")
        try:
            async for line in export_scope(load_settings({"home": home, "scope": user})):
                out.write(line + "\n")
                rows += 1
        finally:
            if output is not None:
                out.close()
        return rows

    rows = run_async(job, as_json=as_json)
    if as_json and output is not None:
        print_json({"scope": user, "rows": rows, "output": str(output)})
    note(f"{rows} rows of {user}.")


@app.command()
def delete(
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Remove all that is kept of a user: runs, reports, pages, cache, log. It can't be undone."""
    if not yes and not confirmed(f"Remove everything of {user}?"):
        note("Nothing was removed.")
        raise typer.Abort

    async def job() -> "Removed":
        from pincite.settings import load_settings
        from pincite.wiring.scopes import delete_scope

        return await delete_scope(load_settings({"home": home, "scope": user}))

    went = run_async(job, as_json=as_json)
    if as_json:
        print_json({"scope": user, "rows": went.rows, "cache_entries": went.cache_entries, "calls": went.logged_calls})
        return
    print_text(f"Removed {went.rows} rows, {went.cache_entries} cached answers and {went.logged_calls} logged calls.")
    note("API keys of this user still open an empty scope; revoke them with: pincite keys revoke NAME")


@app.command()
def prune(user: User, home: options.Home = None, as_json: options.Json = False) -> None:
    """Let go what the settings keep no longer (runs_keep_days, ...); workers and servers do it each hour."""

    async def job() -> "Expired":
        from pincite.settings import load_settings
        from pincite.wiring import open_shared
        from pincite.wiring.scopes import expire

        settings = load_settings({"home": home, "scope": user})
        async with open_shared(settings) as shared:
            return await expire(settings, shared)

    went = run_async(job, as_json=as_json)
    if as_json:
        print_json({"scope": user, "runs": went.runs, "events": went.events, "captures": went.captures})
    else:
        print_text(f"Let go {went.runs} runs, {went.events} events and {went.captures} captures.")

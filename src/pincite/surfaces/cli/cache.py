"""`pincite cache`: what is kept for a while, and how to be rid of it."""

from typing import TYPE_CHECKING

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.wiring import CacheCleared, CacheStats

app = typer.Typer(help="Show and clear what is cached.", no_args_is_help=True, rich_markup_mode=None)
_MEGABYTE = 1_000_000


@app.command()
def stats(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print what cached answers and captured pages take up."""

    async def job() -> "CacheStats":
        from pincite.engine import Engine

        async with Engine.from_settings(home=home) as engine:
            return await engine.cache_stats()

    held = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(held, outside=True))
        return
    print_text(f"cache: {held.entries} entries, {held.size_bytes / _MEGABYTE:.1f} MB")
    print_text(f"captured pages: {held.captured_bytes / _MEGABYTE:.1f} MB, compressed")


@app.command()
def clear(home: options.Home = None, as_json: options.Json = False) -> None:
    """Empty the cache and forget pages that no run refers to; runs and reports stay whole."""

    async def job() -> "CacheCleared":
        from pincite.engine import Engine

        async with Engine.from_settings(home=home) as engine:
            return await engine.clear_cache()

    gone = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(gone, outside=True))
        return
    print_text(f"Removed {gone.entries} cache entries and {gone.captures} captures that no run refers to.")
